"""Who calls a function, by which way, and with what."""
