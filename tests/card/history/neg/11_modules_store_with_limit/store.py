# card: history | expect: nothing | why: the caller asks for all turns
class Store:
    """Turns of all sessions, oldest first."""

    def __init__(self) -> None:
        self._rows: dict[str, list[dict]] = {}

    def append(self, session: str, role: str, content: str) -> None:
        self._rows.setdefault(session, []).append({"role": role, "content": content})

    def load(self, session: str, limit: int | None = None) -> list[dict]:
        rows = self._rows.get(session, [])
        if limit is None:
            return list(rows)
        return rows[-limit:]
