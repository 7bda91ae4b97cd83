"""A trace as one HTML page: tokens over time, the requests of each conversation, and what was lost.

The page holds its data, style and script, and loads nothing. Data becomes text nodes only, never markup.
"""

from __future__ import annotations

from promptlint.output import tracewords, words
from promptlint.output.page import filled
from promptlint.output.tracejson import document
from promptlint.trace.analysis import Analysis
from promptlint.trace.explain import SOUND
from promptlint.trace.matching import Comparison


def render(analysis: Analysis, comparison: Comparison | None) -> str:
    """The page for a trace."""
    data = document(analysis, comparison)
    groups = analysis.tally.ranked()
    data["titles"] = [tracewords.cause(group) for group in groups]
    data["places"] = [tracewords.site(group.site) for group in groups]
    data["facts"] = [tracewords.facts(group) for group in groups]
    data["pairs"] = [tracewords.compared(group) for group in groups]
    data["sound"] = sorted(str(cause) for cause in SOUND)
    data["predictions"] = (
        [[f"{one.rule} at {words.spot(one.primary)}" for one in found] for found in comparison.predicted]
        if comparison
        else None
    )
    return filled("tracepage.html", data)
