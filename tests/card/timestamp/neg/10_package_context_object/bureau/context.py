# card: timestamp | expect: nothing | why: the time is that of the import
from datetime import datetime


class Context:
    def __init__(self, client: str) -> None:
        self.client = client
        self.opened = datetime.now()

    def lines(self) -> list[str]:
        return [
            f"Client: {self.client}.",
            f"Time: {self.opened:%H:%M:%S}.",
        ]


CONTEXT = Context("the port authority")
