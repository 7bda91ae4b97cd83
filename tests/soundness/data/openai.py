"""A client that sends nothing."""

from types import SimpleNamespace

import recorder


class _Completions:
    def create(self, **body):
        message = SimpleNamespace(role="assistant", content=recorder.record("openai", body))
        return SimpleNamespace(choices=[SimpleNamespace(message=message)])


class _Responses:
    def create(self, **body):
        return SimpleNamespace(output_text=recorder.record("responses", body))


class OpenAI:
    def __init__(self, **_):
        self.chat = SimpleNamespace(completions=_Completions())
        self.responses = _Responses()


class _AsyncCompletions(_Completions):
    async def create(self, **body):
        return super().create(**body)


class _AsyncResponses(_Responses):
    async def create(self, **body):
        return super().create(**body)


class AsyncOpenAI:
    def __init__(self, **_):
        self.chat = SimpleNamespace(completions=_AsyncCompletions())
        self.responses = _AsyncResponses()
