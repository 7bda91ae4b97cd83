class Book:
    """What was said, by room."""

    def __init__(self) -> None:
        self.rooms: dict[str, list[dict]] = {}

    def turns(self, room: str) -> list[dict]:
        return self.rooms.setdefault(room, [])

    def note(self, room: str, who: str, text: str) -> None:
        self.rooms.setdefault(room, []).append({"role": who, "content": text})
