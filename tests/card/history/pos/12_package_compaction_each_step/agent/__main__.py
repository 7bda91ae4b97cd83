from openai import OpenAI

from .loop import Agent

if __name__ == "__main__":
    agent = Agent(OpenAI())
    while task := input("task: "):
        print(agent.run(task))
