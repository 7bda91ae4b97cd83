"""Changes to the code that end a finding, for ``check --fix`` and ``--diff``; LibCST is imported by nothing else.

``order`` proposes edits of one file, ``plan`` keeps those after which the engine no longer finds the cause, and
``write`` puts them on the disk.
"""
