"""A client that sends nothing."""

from types import SimpleNamespace

import recorder

from google.genai import types as types


class _Caches:
    def create(self, **body):
        recorder.record("caches", body)
        return SimpleNamespace(name="cachedContents/1")


class _Models:
    def generate_content(self, **body):
        return SimpleNamespace(text=recorder.record("gemini", body))


class Client:
    def __init__(self, **_):
        self.caches, self.models = _Caches(), _Models()
