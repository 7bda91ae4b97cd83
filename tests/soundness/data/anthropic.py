"""A client that sends nothing."""

from types import SimpleNamespace

import recorder


class _Messages:
    def create(self, **body):
        return SimpleNamespace(content=[SimpleNamespace(type="text", text=recorder.record("anthropic", body))])


class Anthropic:
    def __init__(self, **_):
        self.messages = _Messages()


class _AsyncMessages(_Messages):
    async def create(self, **body):
        return super().create(**body)


class AsyncAnthropic:
    def __init__(self, **_):
        self.messages = _AsyncMessages()
