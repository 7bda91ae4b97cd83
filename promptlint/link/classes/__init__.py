"""Classes of the project: what makes an object, and what its attributes and methods are."""
