from .llm import LLM
from .tools import specs

POTTERY = "Raise the kiln slowly until the chemical water has left the clay. " * 200


def main() -> None:
    llm = LLM()
    messages: list[dict] = [{"role": "system", "content": POTTERY}]
    while line := input("pot: "):
        messages.append({"role": "user", "content": line})
        messages.append(llm.complete(messages, specs()))


if __name__ == "__main__":
    main()
