"""The language server, ``promptlint server``: the findings of a whole project in an editor, as one types.

``analysis`` runs the engine and knows nothing of the protocol; ``places``, ``diagnostics``, ``actions`` and ``views``
turn what it found into what editors ask for; ``serve`` wires them to pygls, which is installed by the extra ``lsp``.
"""

from __future__ import annotations


class ServerError(Exception):
    """The server cannot be started; the message says what to install or to change."""


def start(tcp: tuple[str, int] | None = None) -> None:
    """Serves one client on standard input and output, or on a TCP port, until it leaves. Raises ServerError."""
    try:
        from promptlint.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol", "cattrs", "attrs"):
            raise
        raise ServerError(
            f"the language server needs {error.name}, which is not installed: pip install 'promptlint-cache[lsp]'"
        ) from error
    serve.run(tcp)
