"""``python -m promptlint``."""

from promptlint.cli import main

if __name__ == "__main__":
    main()
