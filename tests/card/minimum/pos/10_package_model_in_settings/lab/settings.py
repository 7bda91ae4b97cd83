from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    model: str = "claude-opus-4-6"
    max_tokens: int = 500


SETTINGS = Settings()
