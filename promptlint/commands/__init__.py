"""One module for each command that has more to say than a few lines of ``cli``, which registers them."""
