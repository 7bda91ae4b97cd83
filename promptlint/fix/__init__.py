"""Changes to the code that end a finding, for ``check --fix`` and ``--diff``; LibCST is imported by nothing else.

``order``, ``markers``, ``clocks``, ``history``, ``objects`` and ``remarks`` know which edits of a file (``module``)
would do it, ``proposals`` asks them, ``plan`` keeps the edits after which the engine no longer finds the cause, and
``write`` puts them on the disk.
"""

from __future__ import annotations

FIXABLE = frozenset(
    [
        "cached-content-conflict",
        "invalid-breakpoint",
        "missing-breakpoint",
        "prefix-below-minimum",
        "prepended-history",
        "sliding-window",
        "too-many-breakpoints",
        "ttl-order",
        "unordered-text",
        "unordered-tools",
        "unstable-json",
        "unused-ignore",
        "volatile-environment",
        "volatile-random",
        "volatile-state",
        "volatile-time",
    ]
)
"""The rules whose findings may have a fix that changes code."""
