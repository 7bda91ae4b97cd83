# card: minimum | expect: prefix-below-minimum @ L11
from pathlib import Path

import litellm

FOLDER = Path(__file__).parent
HOUSE_STYLE = "Headlines are in the present tense and have no full stop. "


def headline(article: str) -> str:
    style = {"type": "text", "text": HOUSE_STYLE, "cache_control": {"type": "ephemeral"}}  # <- prefix-below-minimum
    response = litellm.completion(
        model="anthropic/claude-sonnet-4-5",
        messages=[{"role": "system", "content": [style]}, {"role": "user", "content": article}],
    )
    return response.choices[0].message.content


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("articles/*.txt")):
        print(headline(path.read_text()))
