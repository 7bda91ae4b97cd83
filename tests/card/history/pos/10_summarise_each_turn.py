# card: history | expect: rewritten-history @ L21
from openai import OpenAI


class Hearing:
    """A witness hearing; earlier questions and answers are carried along as a summary."""

    def __init__(self) -> None:
        self.client = OpenAI()
        self.messages: list[dict] = []

    def condense(self) -> str:
        text = "\n".join(f"{message['role']}: {message['content']}" for message in self.messages)
        reply = self.client.chat.completions.create(
            model="gpt-4.1-mini", messages=[{"role": "user", "content": f"Summarise this hearing:\n{text}"}]
        )
        return reply.choices[0].message.content or ""

    def shorten(self) -> None:
        if self.messages:
            self.messages = [{"role": "user", "content": self.condense()}]  # <- rewritten-history

    def ask(self, question: str) -> str:
        self.shorten()
        self.messages.append({"role": "user", "content": question})
        system = {"role": "system", "content": "You are the witness. Say only what you saw. " * 200}
        reply = self.client.chat.completions.create(model="gpt-4.1", messages=[system, *self.messages])
        answer = reply.choices[0].message.content or ""
        self.messages.append({"role": "assistant", "content": answer})
        return answer


if __name__ == "__main__":
    hearing = Hearing()
    while line := input("counsel: "):
        print(hearing.ask(line))
