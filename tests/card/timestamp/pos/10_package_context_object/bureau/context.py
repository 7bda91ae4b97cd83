# card: timestamp | expect: volatile-time @ L13
from datetime import datetime


class Context:
    def __init__(self, client: str) -> None:
        self.client = client
        self.opened = datetime.now()

    def lines(self) -> list[str]:
        return [
            f"Client: {self.client}.",
            f"Time: {datetime.now():%H:%M:%S}.",  # <- volatile-time
        ]


CONTEXT = Context("the port authority")
