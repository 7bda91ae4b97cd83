SAFETY = "The doors stay locked until the floor is level and the brake has closed. " * 200


def system() -> list[dict]:
    return [{"type": "text", "text": SAFETY, "cache_control": {"type": "ephemeral"}}]
