# card: minimum | expect: nothing | why: the size of the text is not known
from pathlib import Path

import litellm

FOLDER = Path(__file__).parent
HOUSE_STYLE = (FOLDER / "house_style_of_the_paper.txt").read_text()


def headline(article: str) -> str:
    style = {"type": "text", "text": HOUSE_STYLE, "cache_control": {"type": "ephemeral"}}
    response = litellm.completion(
        model="anthropic/claude-sonnet-4-5",
        messages=[{"role": "system", "content": [style]}, {"role": "user", "content": article}],
    )
    return response.choices[0].message.content


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("articles/*.txt")):
        print(headline(path.read_text()))
