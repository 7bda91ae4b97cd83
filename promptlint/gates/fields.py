"""Cache fields of a request that the model or the platform does not take, and fields that exclude each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from promptlint.finding import Confidence, Severity
from promptlint.gates.levels import certainty, one_step_down
from promptlint.request import Breakpoint, Parameter, Request
from promptlint.span import Span

OPTIONS = "prompt_cache_options"
RETENTION = "prompt_cache_retention"


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A cache field in a request that does not take it: what is wrong with it, and what comes of that."""

    field: str
    span: Span
    why: str
    refused: bool
    severity: Severity
    confidence: Confidence


def unsupported(request: Request) -> Iterator[Unsupported]:
    """The cache fields that the request's model, platform or endpoint does not take."""
    for marker in request.breakpoints:
        found = _marker(request, marker)
        if found is not None:
            yield found
    facts, parameters = request.facts, request.parameters
    options = next((p for p in parameters.values() if p.head == OPTIONS), None)
    if options is not None and facts.model is not None:
        if OPTIONS in facts.refuses and _direct(request, "openai."):
            yield _refused(request, OPTIONS, options, f"{facts.model} does not take it")
        elif (
            facts.routing == "prompt_cache_key"
            and facts.marker != "prompt_cache_breakpoint"
            and facts.trigger != "explicit"
        ):
            yield _idle(request, OPTIONS, options.span, f"{facts.model} knows no such option")
    retention = parameters.get(RETENTION)
    accepted = facts.retentions if _direct(request, "openai.") else ()
    if retention is not None and retention.text and accepted and retention.text not in accepted:
        wanted = " or ".join(dict.fromkeys(r.replace("-", "_") for r in accepted))
        yield _refused(request, f"{RETENTION}={retention.text}", retention, f"{facts.model} takes {wanted} only")
    cached = parameters.get("cached_content")
    if cached is not None and ".interactions." in request.api:
        yield _refused(request, "cached_content", cached, "the Interactions API takes no cache objects")


def _marker(request: Request, marker: Breakpoint) -> Unsupported | None:
    facts, key = request.facts, marker.key
    if not key or facts.trigger == "unknown":
        return None
    if key == "cache_control" and _direct(request, "boto3.converse"):
        return _refused(request, key, marker, "the Converse API has blocks of their own: " + '{"cachePoint": ...}')
    if key == "cachePoint" and _direct(request, "anthropic."):
        return _refused(request, key, marker, "only the Converse API of Bedrock knows it")
    if marker.automatic and f"request {key}" in facts.refuses and _direct(request, "anthropic."):
        return _refused(request, key, marker, f"Bedrock takes it on blocks only for {facts.model}")
    if key in facts.refuses and facts.model is not None and _direct(request, "openai."):
        return _refused(request, key, marker, f"{facts.model} does not take it")
    if key == facts.marker and marker.ttl is not None and facts.ttls and marker.ttl not in ("5m", *facts.ttls):
        return _refused(
            request, f"ttl {marker.ttl}", marker, f"{facts.model or facts.provider} takes {_listed(facts.ttls)}"
        )
    return None


def _direct(request: Request, api: str) -> bool:
    """Whether the request is written for the provider's own SDK, and no library in between translates its fields."""
    return request.api.startswith(api)


def _listed(ttls: tuple[str, ...]) -> str:
    return f"{' or '.join(ttls)}" + (" only" if len(ttls) == 1 else "")


def _refused(request: Request, field: str, given: Parameter | Breakpoint, why: str) -> Unsupported:
    sure = certainty(request)
    if given.optional:
        sure = one_step_down(sure)
    return Unsupported(field, given.span, why, True, Severity.ERROR, sure)


def _idle(request: Request, field: str, span: Span, why: str) -> Unsupported:
    return Unsupported(field, span, why, False, Severity.INFO, one_step_down(certainty(request)))


def conflicts(request: Request) -> Iterator[tuple[Parameter, Parameter, Confidence]]:
    """The reference to a cache object and each parameter that the API refuses beside it.

    Silent where both may be missing: then one is most likely set where the other is not.
    """
    cached = request.parameters.get("cached_content")
    if cached is None:
        return
    for name in request.facts.object_conflicts:
        other = next((p for p in request.parameters.values() if p.head == name), None)
        if other is not None and not (cached.optional and other.optional):
            sure = certainty(request)
            yield cached, other, one_step_down(sure) if cached.optional or other.optional else sure
