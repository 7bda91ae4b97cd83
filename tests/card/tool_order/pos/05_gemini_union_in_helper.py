# card: tool_order | expect: unordered-tools @ L12
from google import genai
from google.genai import types

client = genai.Client()
COMMON = ("search", "open")
EXTRA = ("annotate", "open", "export")
STYLE = "Cite the archive, the fonds, the box and the folio, in this order. " * 400


def merged(first: tuple[str, ...], second: tuple[str, ...]) -> list[str]:
    return list({*first, *second})  # <- unordered-tools


def declarations() -> list[types.Tool]:
    functions = [{"name": name, "description": f"{name} a document"} for name in merged(COMMON, EXTRA)]
    return [types.Tool(function_declarations=functions)]


def chat(contents: list, text: str) -> str | None:
    contents.append({"role": "user", "parts": [{"text": text}]})
    config = types.GenerateContentConfig(system_instruction=STYLE, tools=declarations())
    response = client.models.generate_content(model="gemini-2.5-flash", contents=contents, config=config)
    contents.append(response.candidates[0].content)
    return response.text


if __name__ == "__main__":
    reading: list = []
    while line := input("archive> "):
        print(chat(reading, line))
