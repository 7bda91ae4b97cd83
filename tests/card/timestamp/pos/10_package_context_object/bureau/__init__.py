"""A translation bureau."""
