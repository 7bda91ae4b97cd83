"""One request through the official SDK of its vendor, and every way in which that can go wrong."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from promptlint.output.words import discreet, plain
from promptlint.probe import bodies
from promptlint.probe.plan import PAIR, Destination, Step

HINT = 'the SDKs are missing: install "promptlint-cache[probe]"'
TIMEOUT = 120.0
"""Seconds for one answer."""
RETRIES = 2
"""How often a request that failed is sent again."""
_LONGEST_WAIT = 60.0
_PATHS = {"messages": "/v1/messages", "chat": "/chat/completions", "responses": "/responses"}
_KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}


class Stop(Exception):
    """Nothing more can be sent: a missing key or extra, a key that is not accepted. The message says what to do."""


class NotSent(Exception):
    """This request has no answer; the message says why. Others may have one."""


class Refused(Exception):
    """The API does not take the request; the message is its own."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: ``usage`` and ``diagnosis`` are the provider's own objects."""

    id: str
    usage: Mapping[str, Any] | None
    diagnosis: Mapping[str, Any] | None
    asked: bool = False
    """Whether a diagnosis was asked for."""


@dataclass(slots=True)
class Sender:
    """Clients for each destination. ``sent`` counts every request for an answer that left, the repeated ones, too.

    ``limit`` is the most that may leave. The SDKs' own retries are switched off, so that none is hidden.
    """

    limit: int | None = None
    timeout: float = TIMEOUT
    sleep: Callable[[float], None] = time.sleep
    sent: int = 0
    _clients: dict[Destination, Any] = field(default_factory=dict)
    _silent: set[Destination] = field(default_factory=set)

    def check(self, destinations: set[Destination]) -> None:
        """Makes a client for each destination. Raises ``Stop`` where an SDK or a key is missing."""
        for where in sorted(destinations, key=lambda d: d.url):
            self._client(where)

    def post(self, step: Step, where: Destination, body: dict[str, Any]) -> Answer:
        """Sends one request, and sends it again where that is harmless and useful.

        Raises ``Refused``, ``NotSent`` or ``Stop``.
        """
        for attempt in range(RETRIES + 1):
            if self.limit is not None and self.sent >= self.limit:
                raise NotSent(f"not sent: --max-requests allows {self.limit}, and they are used up")
            try:
                return self._once(step, where, body)
            except _Again as again:
                if attempt == RETRIES:
                    raise NotSent(f"{again} ({RETRIES + 1} tries)") from None
                if again.wait > _LONGEST_WAIT:
                    raise NotSent(f"{again}; the server asks to wait {again.wait:g} s: try again then") from None
                self.sleep(again.wait or 2.0**attempt)
        raise AssertionError("every way out of the loop is taken inside it")

    def _once(self, step: Step, where: Destination, body: dict[str, Any]) -> Answer:
        client = self._client(where)
        sdk, kind = _sdk(step, where)
        path = _PATHS[step.sample.wire.api]
        headers = {name: value for name, value in step.sample.exchange.headers.items() if name == "anthropic-beta"}
        self.sent += 1
        try:
            reply = client.post(path, body=body, cast_to=kind, options={"headers": headers})
            return _answer(reply.to_dict(), body)
        except (sdk.AuthenticationError, sdk.PermissionDeniedError) as error:
            raise Stop(f"{where.url} does not accept the key in {_KEYS[where.sdk]}: {self._words(error)}") from None
        except sdk.NotFoundError as error:
            model = step.sample.wire.model or "the model"
            raise NotSent(f"404: {where.url} knows no {model}, or not this API ({self._words(error)})") from None
        except sdk.RateLimitError as error:
            if "quota" in str(error.code if hasattr(error, "code") else ""):
                raise Stop(f"429: the quota at {where.url} is used up ({self._words(error)})") from None
            raise _Again(
                f"429: too many requests ({self._words(error)})", _retry_after(error.response.headers)
            ) from None
        except sdk.APIStatusError as error:
            if error.status_code < 500 and error.status_code not in (408, 409):
                raise Refused(self._words(error)) from None
            raise self._failed(step, f"{error.status_code}: {self._words(error)}", error.response.headers) from None
        except sdk.APITimeoutError:
            raise self._failed(step, f"no answer within {self.timeout:g} s") from None
        except sdk.APIConnectionError as error:
            raise self._failed(step, f"the connection failed: {self._words(error.__cause__ or error)}") from None
        except (sdk.APIError, ValueError, AttributeError, TypeError) as error:
            raise NotSent(f"the answer is not what {sdk.__name__} expects: {self._words(error)}") from None

    def count(self, step: Step, where: Destination) -> int | None:
        """The tokens of a request as its provider counts them beforehand; ``None`` where it does not."""
        body = bodies.countable(step.sample)
        if body is None or where.sdk != "anthropic" or where in self._silent:
            return None
        import anthropic
        from anthropic.types import MessageTokensCount

        try:
            found = self._client(where).post(bodies.COUNTING, body=body, cast_to=MessageTokensCount).input_tokens
        except anthropic.AnthropicError:  # what is wrong with the request is said when it is sent itself
            self._silent.add(where)
            return None
        return found if isinstance(found, int) and found > 0 else None

    def _failed(self, step: Step, words: str, headers: Mapping[str, str] | None = None) -> Exception:
        """An attempt of which nobody knows how far it got. The second request is not repeated after that: it would find
        what its first attempt may have stored.
        """
        if step.purpose == PAIR:
            return NotSent(f"{words}; a second try might find what the first one stored")
        return _Again(words, _retry_after(headers or {}))

    def _client(self, where: Destination) -> Any:
        if where not in self._clients:
            self._clients[where] = _client(where, self.timeout)
        return self._clients[where]

    def _words(self, error: BaseException) -> str:
        """What an error says, on one line, without keys."""
        body = getattr(error, "body", None)
        inner = body.get("error", body) if isinstance(body, Mapping) else None
        text = str(inner.get("message")) if isinstance(inner, Mapping) and inner.get("message") else str(error)
        for name in _KEYS.values():
            if key := os.environ.get(name):
                text = text.replace(key, "***")
        return discreet(plain(text))[:300]


class _Again(Exception):
    """Worth another try after ``wait`` seconds; 0 where the server does not say."""

    def __init__(self, message: str, wait: float) -> None:
        super().__init__(message)
        self.wait = wait


def _client(where: Destination, timeout: float) -> Any:
    name = _KEYS[where.sdk]
    key = os.environ.get(name) or ("none" if where.local else "")
    if not key:
        raise Stop(f"there is no key for {where.url}: set {name}")
    try:
        if where.sdk == "anthropic":
            import anthropic

            return anthropic.Anthropic(api_key=key, base_url=where.url, max_retries=0, timeout=timeout)
        import openai

        return openai.OpenAI(api_key=key, base_url=where.url, max_retries=0, timeout=timeout)
    except ImportError:
        raise Stop(HINT) from None


def _sdk(step: Step, where: Destination) -> tuple[Any, Any]:
    """The module with the errors, and the type of the answer."""
    if where.sdk == "anthropic":
        import anthropic
        from anthropic.types import Message

        return anthropic, Message
    import openai
    from openai.types.chat import ChatCompletion
    from openai.types.responses import Response

    return openai, ChatCompletion if step.sample.wire.api == "chat" else Response


def _retry_after(headers: Mapping[str, str]) -> float:
    """Seconds that the server asks to wait: a number of seconds, of milliseconds, or a date (RFC 9110)."""
    from email.utils import parsedate_to_datetime

    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        return max(0.0, float(headers.get("retry-after", 0)))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(headers["retry-after"]).timestamp() - time.time())
    except ValueError:
        return 0.0


def _answer(reply: Mapping[str, Any], body: Mapping[str, Any]) -> Answer:
    usage, named = reply.get("usage"), reply.get("id")
    found = reply.get("diagnostics") or reply.get("prompt_cache_diagnostics")
    asked = (body.get("diagnostics") or {}).get("previous_message_id") or (body.get("prompt_cache_options") or {}).get(
        "comparison_response_id"
    )
    return Answer(
        named if isinstance(named, str) else "",
        usage if isinstance(usage, Mapping) else None,
        found if isinstance(found, Mapping) else None,
        bool(asked),
    )
