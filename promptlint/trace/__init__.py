"""Requests to language models as they were sent: the trace that ``record`` writes, and what is found in one.

``format``, ``secrets``, ``endpoints`` and ``responses`` need nothing but the standard library: the recorder loads them
inside other people's programs.
"""
