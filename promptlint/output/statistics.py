"""The table of counts that ``--statistics`` adds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from promptlint.finding import Finding
from promptlint.output.words import active


def table(shown: Sequence[Finding]) -> list[str]:
    """One line a rule: how often it is shown, its code and its name; the most frequent first."""
    tally = Counter((finding.code, finding.rule) for finding in active(shown))
    digits = max((len(f"{number:,}") for number in tally.values()), default=1)
    ordered = sorted(tally.items(), key=lambda entry: (-entry[1], entry[0]))
    return [f"{number:>{digits},}  {code:<5}  {rule}" for (code, rule), number in ordered]
