"""Linking: from each sink, on demand, what the request holds in each calling context."""
