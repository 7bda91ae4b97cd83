"""A trace for other programs, version 1; ``docs/trace.md`` describes every field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from promptlint.output import tracewords
from promptlint.output.jsonformat import dumps, point
from promptlint.trace.analysis import Analysis
from promptlint.trace.format import Frame
from promptlint.trace.matching import Comparison
from promptlint.trace.tally import Group, Row, Totals

VERSION = 1
K = TypeVar("K")
_CONVERSATIONS = 1000


def render(analysis: Analysis, comparison: Comparison | None) -> str:
    """The report as JSON."""
    return dumps(document(analysis, comparison))


def document(analysis: Analysis, comparison: Comparison | None) -> dict[str, object]:
    """The report as what JSON can say."""
    tally = analysis.tally
    return {
        "version": VERSION,
        "files": list(analysis.files),
        "skipped": analysis.skipped,
        "closed": analysis.closed,
        "problems": [{"file": p.path, "line": p.line, "message": p.message} for p in analysis.problems],
        "conversations": tally.conversation_count,
        "totals": _totals(tally.totals),
        "losses": [
            _group(group, comparison.predicted[number] if comparison else None)
            for number, group in enumerate(tally.ranked())
        ],
        "by_cause": [{"cause": str(cause), **_totals(totals)} for cause, totals in _ranked(tally.causes)],
        "by_model": [
            {"provider": provider, "model": model, **_totals(totals)}
            for (provider, model), totals in _ranked(tally.models)
        ],
        "by_site": [{"site": _site(site), **_totals(totals)} for site, totals in _ranked(tally.sites)],
        "by_conversation": [
            {"conversation": number, **_totals(totals)}
            for number, totals in _ranked(tally.conversations)[:_CONVERSATIONS]
        ],
        "timeline": {
            "seconds": tally.timeline.seconds,
            "buckets": [
                {
                    "at": at,
                    "requests": bucket.requests,
                    "read": bucket.read,
                    "written": bucket.written,
                    "uncached": bucket.uncached,
                    "lost": bucket.lost,
                }
                for at, bucket in tally.timeline.items()
            ],
        },
        "requests": [_row(row) for row in tally.rows],
        "findings": None if comparison is None else _findings(comparison),
    }


def _ranked(sums: Mapping[K, Totals]) -> list[tuple[K, Totals]]:
    """The dearest first; of equals those with most requests."""
    return sorted(sums.items(), key=lambda item: (-item[1].lost_weight, -item[1].requests, str(item[0])))


def _totals(totals: Totals) -> dict[str, object]:
    return {
        "requests": totals.requests,
        "failed": totals.failed,
        "input_tokens": totals.total,
        "read_tokens": totals.read,
        "written_tokens": totals.written,
        "output_tokens": totals.output,
        "hit_ratio": None if totals.hit_ratio is None else round(totals.hit_ratio, 4),
        "equivalent_tokens": round(totals.weight, 1),
        "dollars": round(totals.dollars, 6) if totals.dollars else None,
        "lost_tokens": totals.lost,
        "lost_equivalent_tokens": round(totals.lost_weight, 1),
        "lost_dollars": round(totals.lost_dollars, 6) if totals.dollars else None,
        "compared_requests": totals.compared,
        "agreed_requests": totals.agreed,
        "predicted_read_tokens": totals.predicted,
        "compared_read_tokens": totals.compared_read,
        "compared_writes": totals.writes,
        "agreed_writes": totals.writes_agreed,
        "predicted_written_tokens": totals.predicted_written,
        "compared_written_tokens": totals.compared_written,
    }


def _site(site: Sequence[Frame]) -> list[dict[str, object]]:
    return [{"file": frame.file, "line": frame.line, "function": frame.function} for frame in site]


def _group(group: Group, predicted: Sequence[object] | None) -> dict[str, object]:
    example = group.example
    before, after = tracewords.pair(group.cause, group.example.before, group.example.after)
    return {
        "cause": str(group.cause),
        "region": group.region or None,
        "path": group.path or None,
        "site": _site(group.site),
        "models": sorted(group.models),
        "advice": tracewords.advice(group.cause),
        "predicted": None if predicted is None or not group.site else bool(predicted),
        **_totals(group.totals),
        "example": {
            "request": example.request,
            "compared_with": example.base,
            "same_conversation": example.same,
            "at": example.at,
            "gap_seconds": round(example.gap, 3),
            "lost_tokens": example.lost,
            "path": example.path or None,
            "character": example.char,
            "before": before,
            "after": after,
            "names": [tracewords.shown(name) for name in example.names],
            "moved_parts": example.moved,
            "newest_message": example.newest,
            "note": example.note,
        },
    }


def _row(row: Row) -> dict[str, object]:
    return {
        "id": row.id,
        "at": row.at,
        "conversation": row.conversation,
        "site": _site(row.site[:1]),
        "model": row.model,
        "input_tokens": row.total,
        "read_tokens": row.read,
        "written_tokens": row.written,
        "predicted_read_tokens": row.predicted,
        "predicted_written_tokens": row.predicted_written,
        "cause": str(row.cause),
        "lost_tokens": row.lost,
    }


def _findings(comparison: Comparison) -> list[Mapping[str, object]]:
    return [
        {
            "rule": match.finding.rule,
            "fingerprint": match.finding.fingerprint,
            "verdict": match.verdict,
            **point(match.finding.primary),
        }
        for match in comparison.matches
    ]
