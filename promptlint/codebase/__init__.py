"""The code base as a whole: modules on demand, classes and callers by name, and what a run asked of each file."""
