"""Findings put to the test: the provider's own count of cached tokens says whether a request really misses.

``samples`` reads requests that were sent, ``pairs`` picks two that should share a prefix, ``offline`` says what to
expect of them, ``plan`` what would be sent and what it may cost, ``send`` sends it through the official SDKs,
``verdict`` judges the answers. Nothing is sent but what the plan holds.

For a function, ``program`` has ``twice`` run it in processes of its own (``child``), where ``network`` answers requests
to language models with what ``canned`` has, and denies everything else.
"""
