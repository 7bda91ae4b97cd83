from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    model: str = "claude-opus-4-8"
    max_tokens: int = 500


SETTINGS = Settings()
