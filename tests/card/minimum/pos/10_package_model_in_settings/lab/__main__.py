from pathlib import Path

from .reader import Reader

if __name__ == "__main__":
    reader = Reader()
    for page in sorted(Path("pages").glob("*.txt")):
        print(reader.read(page.read_text()))
