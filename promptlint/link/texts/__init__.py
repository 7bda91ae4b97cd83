"""Texts: what stands where in one, and what of a time, a template, a file or JSON is left in it."""
