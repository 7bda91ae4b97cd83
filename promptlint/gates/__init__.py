"""What a request means to a provider's cache: the gates and levels of findings."""
