"""Reads the notebooks of a laboratory."""
