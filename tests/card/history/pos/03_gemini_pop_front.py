# card: history | expect: sliding-window @ L14
from google import genai
from google.genai import types

client = genai.Client()
CONFIG = types.GenerateContentConfig(system_instruction="You tell one long story, a scene at a time. " * 300)


def story() -> None:
    contents: list = []
    while True:
        contents.append({"role": "user", "parts": [{"text": input("and then? ")}]})
        while len(contents) > 16:
            contents.pop(0)  # <- sliding-window
        response = client.models.generate_content(model="gemini-2.5-pro", contents=contents, config=CONFIG)
        contents.append(response.candidates[0].content)
        print(response.text)


if __name__ == "__main__":
    story()
