"""A potter's assistant."""
