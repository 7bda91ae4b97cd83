# card: history | expect: nothing | why: the newest entry comes last
import litellm


class Diary:
    def __init__(self) -> None:
        self.entries: list[dict] = []

    def write(self, text: str) -> None:
        self.entries = [*self.entries, {"role": "user", "content": text}]

    def reflect(self, text: str) -> str:
        self.write(text)
        system = {"role": "system", "content": "You answer a diary kindly and briefly. " * 200}
        response = litellm.completion(model="gpt-4.1-mini", messages=[system, *self.entries])
        return response.choices[0].message.content


if __name__ == "__main__":
    diary = Diary()
    while line := input("today: "):
        print(diary.reflect(line))
