"""Text cut into chunks of one kind each: what a difference is made of is told by them, and a redacted trace keeps them.

Joined, the chunks are the text again. Standard library only: the recorder loads this, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

CLOCK = "clock"
"""A date, a time of day, a weekday, or seconds since 1970."""
ID = "id"
"""A UUID, a long hexadecimal number, an id such as ``toolu_01A...``, or random letters and digits."""
NUMBER = "number"
WORD = "word"
SPACE = "space"
MARK = "mark"
"""One character that is none of the above: punctuation, mostly."""

_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?"
    r"|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\b\.?"
)
_DAY = r"(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?\b"
_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:[ ]?[AaPp]\.?[Mm]\b\.?)?(?:Z|[+-]\d{2}:?\d{2})?"
# Most words are "plain": told apart first, they cost a third of the time.
_CHUNK = re.compile(
    rf"""
    (?P<space> \s+ )
  | (?P<plain> [a-z]+(?![\w-]) )
  | (?P<clock>
        (?<!\d)\d{{4}}-\d{{2}}-\d{{2}}(?:[T ]{_TIME})?
      | (?<!\d)\d{{8}}T\d{{6}}Z?
      | (?<![\d:]){_TIME}(?![\d:])
      | (?<!\d)\d{{1,4}}[/.]\d{{1,2}}[/.]\d{{2,4}}(?![\d./])
      | (?<!\w)(?:\d{{1,2}}(?:st|nd|rd|th)?\s+)?{_MONTH}(?:\s+\d{{1,2}}(?!\d)(?:st|nd|rd|th)?)?(?:,?\s+\d{{4}}\b)?
      | (?<!\w){_DAY}
      | (?<![\w.])1[4-9]\d{{8}}(?:\d{{3}}|\d{{6}}|\.\d+)?(?![\w.]\d)
    )
  | (?P<id>
        (?<![0-9A-Za-z])(?:[A-Za-z]{{2,12}}[_-])?[0-9a-fA-F]{{8}}-(?:[0-9a-fA-F]{{4}}-){{3}}[0-9a-fA-F]{{12}}
      | (?<![0-9A-Za-z])(?=[a-zA-Z]{{0,15}}\d)[0-9a-fA-F]{{8,}}(?![0-9A-Za-z])
      | (?<![0-9A-Za-z])[A-Za-z]{{2,12}}[_-](?=[A-Za-z]{{0,11}}\d)[0-9A-Za-z]{{8,}}
      | (?<![0-9A-Za-z])(?=[A-Za-z]{{0,15}}\d)(?=\d{{0,15}}[A-Za-z])[0-9A-Za-z]{{16,}}
    )
  | (?P<number> (?<![A-Za-z])\d+(?:[.,]\d+)* )
  | (?P<word> \w+ )
  | (?P<mark> . )
    """,
    re.VERBOSE | re.DOTALL,
)


def chunks(text: str) -> Iterator[tuple[str, str]]:
    """The chunks of a text, each with its kind, in order."""
    for match in _CHUNK.finditer(text):
        kind = str(match.lastgroup)
        yield match[0], WORD if kind == "plain" else kind
