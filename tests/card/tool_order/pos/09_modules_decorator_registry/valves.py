from registry import tool


@tool
def read_meter(station: str) -> str:
    """Pressure and flow at a station."""
    return f"{station}: 4.1 bar"


@tool
def close_valve(station: str) -> str:
    """Close the main valve of a station."""
    return f"{station}: closed"


@tool
def open_valve(station: str) -> str:
    """Open the main valve of a station."""
    return f"{station}: open"


@tool
def page_engineer(station: str) -> str:
    """Call the engineer on duty."""
    return f"{station}: called"
