"""A newspaper's style desk."""
