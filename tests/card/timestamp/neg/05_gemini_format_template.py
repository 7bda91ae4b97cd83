# card: timestamp | expect: nothing | why: the template does not render the clock it is given
from datetime import datetime

from google import genai
from google.genai import types

client = genai.Client()
TEMPLATE = "Control room of {plant}.\n" + "Alarms are ranked by the damage they announce. " * 300


def instruction() -> str:
    return TEMPLATE.format(plant="Unit 4", now=datetime.now().strftime("%H:%M:%S"))


def main() -> None:
    contents: list[types.Content] = []
    while True:
        contents.append(types.Content(role="user", parts=[types.Part(text=input("operator: "))]))
        response = client.models.generate_content(
            model="gemini-2.5-flash",
            contents=contents,
            config=types.GenerateContentConfig(system_instruction=instruction()),
        )
        contents.append(response.candidates[0].content)
        print(response.text)


if __name__ == "__main__":
    main()
