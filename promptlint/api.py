"""All that a rule may import: the domain model, the finding, and the ``rule`` decorator."""

from __future__ import annotations

from promptlint.finding import Confidence, Finding, Region, Scope, Severity
from promptlint.levels import (
    assumed,
    certainty,
    constant,
    evidence,
    in_words,
    keeps_history,
    one_step_down,
    reaches_minimum,
    report,
    report_mutator,
    shared_prefix,
    spoiled_marker,
    text_breaks,
    tool_breaks,
    unmarked,
)
from promptlint.registry import rule
from promptlint.request import (
    Axis,
    Break,
    Breakpoint,
    Cause,
    Conversation,
    Kind,
    Moment,
    Mutator,
    Parameter,
    Request,
    Segment,
    Siblings,
)
from promptlint.span import Span, Step
from promptlint.tokens import Interval

__all__ = [
    "Axis",
    "Break",
    "Breakpoint",
    "Cause",
    "Confidence",
    "Conversation",
    "Finding",
    "Interval",
    "Kind",
    "Moment",
    "Mutator",
    "Parameter",
    "Region",
    "Request",
    "Scope",
    "Segment",
    "Severity",
    "Siblings",
    "Span",
    "Step",
    "assumed",
    "certainty",
    "constant",
    "evidence",
    "in_words",
    "keeps_history",
    "one_step_down",
    "reaches_minimum",
    "report",
    "report_mutator",
    "rule",
    "shared_prefix",
    "spoiled_marker",
    "text_breaks",
    "tool_breaks",
    "unmarked",
]
