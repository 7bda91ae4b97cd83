"""The files of a project: which there are, what is in them, what was asked of the disk."""
