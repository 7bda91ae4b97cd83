"""Keys and tokens are masked before anything is written: by their pattern, and by value where it is known.

A mask names the kind and ends in a few digits of a hash under a key that is never written, so that two different
secrets stay different and a changing one can still be found: ``[masked token 3fa1c2]``. Standard library only.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping

_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=\\u[0-9a-fA-F]{4}))"
"""Where a word starts in text that may be inside a JSON string: ``\\n`` is no letter there."""

_PATTERNS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("private key", ("PRIVATE KEY-----",), r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:.*?-----END [A-Z ]*KEY-----|[^\"]*)"),
    ("key", ("sk-",), r"sk-(?:ant|proj|svcacct|admin|or|lf)-[\w-]{8,}"),
    ("key", ("sk-",), _START + r"sk-(?=[\w-]*\d)[A-Za-z0-9][\w-]{15,}"),
    ("key", ("AIza",), r"AIza[\w-]{30,}"),
    ("key", ("AKIA", "ASIA"), _START + r"A(?:KI|SI)A[A-Z0-9]{16}"),
    ("key", ("gsk_", "xai-", "pplx-", "nvapi-", "tvly-"), _START + r"(?:gsk_|xai-|pplx-|nvapi-|tvly-)[\w-]{16,}"),
    ("key", ("_live_", "_test_"), _START + r"[srp]k_(?:live|test)_\w{10,}"),
    ("key", ("lsv2_",), r"lsv2_[a-z]+_\w{16,}"),
    ("token", ("hf_", "r8_", "npm_", "fw_"), _START + r"(?:hf|r8|npm|fw)_[A-Za-z0-9]{20,}"),
    ("token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_[A-Za-z0-9]{20,}"),
    ("token", ("github_pat_",), r"github_pat_\w{20,}"),
    ("token", ("glpat-",), r"glpat-[\w-]{16,}"),
    ("token", ("xox",), r"xox[a-z]-[\w-]{10,}"),
    ("token", ("ya29.",), r"ya29\.[\w.-]{16,}"),
    ("token", ("SG.",), _START + r"SG\.[\w-]{16,}\.[\w-]{16,}"),
    ("token", ("eyJ",), r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*"),
    ("password", ("://",), r"(?<=://)[^\s/\"'\\@:]*:[^\s/\"'\\@]+(?=@)"),
)
"""Kind; what must occur for the pattern to be tried; the pattern."""

_NAMES = (
    *("api_key", "api-key", "apikey", "access_token", "access-token", "accesstoken", "auth_token", "auth-token"),
    *("refresh_token", "id_token", "session_token", "security-token", "secret_key", "secret-key", "secretkey"),
    *("access_key", "accesskey", "client_secret", "client-secret", "clientsecret", "private_key", "password", "passwd"),
    *("authorization", "x-amz-signature", "x-amz-credential", "x-goog-signature", "x-goog-credential"),
)
_SCHEMES = ("bearer ", "basic ")
_VALUE = re.compile(
    r"\w*(?:\\*[\"'])?\s*[:=]\s*(?:\\*[\"'])?(?:bearer |basic )?"
    r"((?!bearer |basic )[^\s\"'\\,;&<>(){}\[\]]{6,})",
    re.IGNORECASE,
)
"""What follows such a name: the value is the group."""
_BEHIND_SCHEME = re.compile(r"((?:[\w.~+-]|\\?/){12,}={0,2})")
_IN_ADDRESSES = re.compile(r"(?:(?<=[?&]key=)|(?<=[?&]sig=)|(?<=[?&]token=))[^\s\"'\\&#<>\[\]]{6,}")
_SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|_PAT)$", re.IGNORECASE)
_SECRET_HEADERS = ("authorization", "key", "token", "secret", "cookie", "signature", "credential")
_SHORTEST = 8
"""Characters below which a known value is taken for a placeholder: masking "test" would damage prompts."""

_COMPILED = tuple((kind, signs, re.compile(pattern, re.DOTALL)) for kind, signs, pattern in _PATTERNS)


class Masker:
    """Masks secrets in texts.

    ``key`` is for the hashes in the masks: all who write one trace share it, and it is kept in memory only.
    ``environment`` is searched for values whose names say that they are secret.
    """

    def __init__(self, key: bytes, environment: Mapping[str, str] | None = None) -> None:
        self._key = key
        values = (value for name, value in (environment or {}).items() if _SECRET_NAME.search(name))
        self._known = _forms(value for value in values if not value.startswith(("/", "[masked")))

    def __call__(self, text: str, secrets: Iterable[str] = ()) -> str:
        """The text with masks; ``secrets`` are values known to be some, such as those of ``credentials``."""
        for value in (*_forms(secrets), *self._known):
            if value in text:
                text = text.replace(value, self._mask("secret", value))
        for kind, signs, pattern in _COMPILED:
            if any(sign in text for sign in signs):
                text = pattern.sub(lambda found, kind=kind: self._mask(kind, found[0]), text)  # type: ignore[misc]
        if "?" in text:
            text = _IN_ADDRESSES.sub(lambda found: self._mask("token", found[0]), text)
        return self._named(text)

    def _named(self, text: str) -> str:
        """Masks what is assigned to a name that says it is secret, or stands behind the word for a kind of login."""
        lowered = text.lower()
        if len(lowered) != len(text):  # rare letters whose small form is longer
            lowered = "".join(letter.lower() if letter.isascii() else letter for letter in text)
        spans = set()
        for name in (*_NAMES, *_SCHEMES):
            form = _BEHIND_SCHEME if name in _SCHEMES else _VALUE
            at = lowered.find(name)
            while at >= 0:
                if found := form.match(text, at + len(name)):
                    spans.add(found.span(1))
                at = lowered.find(name, at + len(name))
        done, pieces = 0, []
        for start, end in sorted(spans):
            if end > done:
                pieces += [text[done:start], self._mask("secret", text[start:end])] if start >= done else []
                done = end
        return "".join([*pieces, text[done:]])

    def _mask(self, kind: str, value: str) -> str:
        digest = hashlib.blake2b(value.encode("utf-8", "surrogatepass"), key=self._key, digest_size=3)
        return f"[masked {kind} {digest.hexdigest()}]"


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
