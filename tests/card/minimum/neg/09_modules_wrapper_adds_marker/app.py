from llm import complete
from prompts import ROLE


def describe(titles: list[str]) -> list[str]:
    return [complete(ROLE, title, temperature=0) for title in titles]


if __name__ == "__main__":
    print(describe(["Prelude in C", "Lament", "Galop"]))
