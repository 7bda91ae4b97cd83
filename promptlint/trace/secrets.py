"""Keys and tokens are masked before anything is written: by their pattern, and by value where it is known.

A mask names the kind and ends in a few digits of a hash under a key that is never written, so that two different
secrets stay different and a changing one can still be found: ``[masked token 3fa1c2]``. Standard library only.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Form:
    """How a kind of secret looks.

    It starts with one of ``signs`` (in small letters where ``any_case``), which stand at the start of a word where
    ``word``. ``pattern`` is matched there; its group, if there is one, is the secret.
    """

    kind: str
    signs: tuple[str, ...]
    pattern: re.Pattern[str]
    word: bool = False
    any_case: bool = False

    def spans(self, text: str, start: int, part: str, lowered: str) -> Iterator[tuple[int, int]]:
        """Where such secrets stand whose sign is in a part of the text, which begins at ``start``."""
        where = lowered if self.any_case else part
        for sign in self.signs:
            at = where.find(sign)
            while at >= 0:
                if (not self.word or _WORD.match(text, start + at)) and (found := self.pattern.match(text, start + at)):
                    yield found.span(self.pattern.groups)
                at = where.find(sign, at + 1)


_WORD = re.compile(r"(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=\\u[0-9a-fA-F]{4})")
"""Where a word starts in text that may be inside a JSON string: ``\\n`` is no letter there."""

_NAMES = (
    *("api_key", "api-key", "apikey", "access_token", "access-token", "accesstoken", "auth_token", "auth-token"),
    *("refresh_token", "id_token", "session_token", "security-token", "secret_key", "secret-key", "secretkey"),
    *("access_key", "accesskey", "client_secret", "client-secret", "clientsecret", "private_key", "password", "passwd"),
    *("authorization", "x-amz-signature", "x-amz-credential", "x-goog-signature", "x-goog-credential"),
)
_ASSIGNED = re.compile(
    r"[a-zA-Z-]+(?:_[a-zA-Z_-]+)?\w*(?:\\*[\"'])?\s*[:=]\s*(?:\\*[\"'])?(?:bearer |basic )?"
    r"((?!bearer |basic )[^\s\"'\\,;&<>(){}\[\]]{6,})",
    re.IGNORECASE,
)

_FORMS = (
    _Form(
        "private key",
        ("-----BEGIN ",),
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:.*?-----END [A-Z ]*KEY-----|[^\"]*)", re.DOTALL),
    ),
    _Form("key", ("sk-",), re.compile(r"sk-(?:ant|proj|svcacct|admin|or|lf)-[\w-]{8,}")),
    _Form("key", ("sk-",), re.compile(r"sk-(?=[\w-]*\d)[A-Za-z0-9][\w-]{15,}"), word=True),
    _Form("key", ("AIza",), re.compile(r"AIza[\w-]{30,}")),
    _Form("key", ("AKIA", "ASIA"), re.compile(r"[A-Z0-9]{20}"), word=True),
    _Form("key", ("gsk_", "xai-", "pplx-", "nvapi-", "tvly-"), re.compile(r"[a-z]+[_-][\w-]{16,}"), word=True),
    _Form("key", ("sk_live_", "sk_test_", "rk_live_", "rk_test_"), re.compile(r"[a-z]+_[a-z]+_\w{10,}"), word=True),
    _Form("key", ("lsv2_",), re.compile(r"lsv2_[a-z]+_\w{16,}")),
    _Form("token", ("hf_", "r8_", "npm_", "fw_"), re.compile(r"[a-z8]+_[A-Za-z0-9]{20,}"), word=True),
    _Form("token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), re.compile(r"gh._[A-Za-z0-9]{20,}")),
    _Form("token", ("github_pat_",), re.compile(r"github_pat_\w{20,}")),
    _Form("token", ("glpat-",), re.compile(r"glpat-[\w-]{16,}")),
    _Form("token", ("xox",), re.compile(r"xox[a-z]-[\w-]{10,}")),
    _Form("token", ("ya29.",), re.compile(r"ya29\.[\w.-]{16,}")),
    _Form("token", ("SG.",), re.compile(r"SG\.[\w-]{16,}\.[\w-]{16,}"), word=True),
    _Form("token", ("eyJ",), re.compile(r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*")),
    _Form("token", ("bearer ", "basic "), re.compile(r"\w+ ((?:[\w.~+-]|\\?/){12,}={0,2})"), any_case=True),
    _Form("password", ("://",), re.compile(r"://([^\s/\"'\\@:]*:[^\s/\"'\\@]+)@")),
    _Form(
        "token",
        ("?key=", "&key=", "?sig=", "&sig=", "?token=", "&token="),
        re.compile(r".\w+=([^\s\"'\\&#<>\[\]]{6,})"),
    ),
    _Form("secret", _NAMES, _ASSIGNED, any_case=True),
)

_SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|_PAT)$", re.IGNORECASE)
_SECRET_HEADERS = ("authorization", "key", "token", "secret", "cookie", "signature", "credential")
_SHORTEST = 8
"""Characters below which a known value is taken for a placeholder: masking "test" would damage prompts."""


_BLOCK, _MARGIN, _REMEMBERED = 2048, 2048, 4
"""Characters that are compared at once; around a difference that are searched again; texts to compare with."""

_LONGEST_KEPT = 1 << 22
"""Characters above which a text is not remembered: memory is the program's."""

_Span = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class _Searched:
    """A text with what was looked for in it, and what was found."""

    text: str
    known: tuple[str, ...]
    spans: frozenset[_Span]


class Masker:
    """Masks secrets in texts.

    ``key`` is for the hashes in the masks: all who write one trace share it, and it is kept in memory only.
    ``environment`` is searched for values whose names say that they are secret. The last long texts are remembered:
    a conversation is sent again with every turn, and only what is new in it is searched.
    """

    def __init__(self, key: bytes, environment: Mapping[str, str] | None = None) -> None:
        self._key = key
        values = (value for name, value in (environment or {}).items() if _SECRET_NAME.search(name))
        self._known = _forms(value for value in values if not value.startswith(("/", "[masked")))
        self._recent: deque[_Searched] = deque(maxlen=_REMEMBERED)

    def __call__(self, text: str, secrets: Iterable[str] = ()) -> str:
        """The text with masks; ``secrets`` are values known to be some, such as those of ``credentials``."""
        known = (*_forms(secrets), *self._known)
        if len(text) <= 4 * _MARGIN:
            found = _found(text, known, 0, len(text))
        else:
            found = self._found_anew(text, known)
            if len(text) <= _LONGEST_KEPT:
                self._recent.append(_Searched(text, known, frozenset(found)))
        done, pieces = 0, []
        for first, end, kind in sorted(found):
            start = max(first, done)
            if end > start:
                pieces += [text[done:start], self._mask(kind, text[start:end])]
                done = end
        return "".join([*pieces, text[done:]])

    def _found_anew(self, text: str, known: tuple[str, ...]) -> set[_Span]:
        """What stands in a long text: searched around what differs from one that was searched before."""
        front = back = 0
        old: _Searched | None = None
        for one in reversed(list(self._recent)):
            if one.known == known and sum(shared := _shared(one.text, text)) > front + back:
                (front, back), old = shared, one
            if 2 * (front + back) > len(text):
                break
        if old is None:
            return _found(text, known, 0, len(text))
        start = max(0, front - _MARGIN)
        behind = len(old.text) - back + _MARGIN
        moved = len(text) - len(old.text)
        # A secret that reaches into what is searched again is searched again from its start.
        start = min([start, *(first for first, end, _ in old.spans if first < start < end)])
        before = {span for span in old.spans if span[1] <= start}
        after = {(first + moved, end + moved, kind) for first, end, kind in old.spans if first >= behind}
        return before | after | _found(text, known, max(0, start - _MARGIN), min(len(text), behind + moved))

    def _mask(self, kind: str, value: str) -> str:
        digest = hashlib.blake2b(value.encode("utf-8", "surrogatepass"), key=self._key, digest_size=3)
        return f"[masked {kind} {digest.hexdigest()}]"


def _found(text: str, known: tuple[str, ...], start: int, end: int) -> set[_Span]:
    """The secrets that begin between two places."""
    part = text[start:end]
    lowered = part.lower()
    if len(lowered) != len(part):  # rare letters whose small form is longer
        lowered = "".join(letter.lower() if letter.isascii() else letter for letter in part)
    found = {(*span, form.kind) for form in _FORMS for span in form.spans(text, start, part, lowered)}
    for value in known:
        at = text.find(value, start)
        while 0 <= at < end:
            found.add((at, at + len(value), "secret"))
            at = text.find(value, at + len(value))
    return found


def _shared(one: str, two: str) -> tuple[int, int]:
    """How many characters two texts have in common at the front and at the back, in whole blocks."""
    shorter = min(len(one), len(two))
    front = back = 0
    while front < shorter and one[front : front + _BLOCK] == two[front : front + _BLOCK]:
        front += _BLOCK
    front = min(front, shorter)
    while back < shorter - front and _block(one, back) == _block(two, back):
        back += _BLOCK
    return front, min(back, shorter - front)


def _block(text: str, back: int) -> str:
    return text[max(0, len(text) - back - _BLOCK) : len(text) - back]


def credentials(headers: Mapping[str, str]) -> Iterable[str]:
    """The secrets in the headers of a request: whole values, and what stands behind the word for their kind."""
    for name, value in headers.items():
        if any(word in name.lower() for word in _SECRET_HEADERS):
            yield value
            scheme, _, rest = value.partition(" ")
            if rest and scheme.isalpha():
                yield rest.strip()


def _forms(values: Iterable[str]) -> tuple[str, ...]:
    """Each value as it stands in plain text, and in JSON that stands in a JSON string again; longest first."""
    forms = set()
    for value in values:
        if len(value) >= _SHORTEST:
            for ascii_only in (False, True):
                once = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
                forms |= {value, once, json.dumps(once, ensure_ascii=ascii_only)[1:-1]}
    return tuple(sorted(forms, key=len, reverse=True))
