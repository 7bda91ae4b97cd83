RULES = "A guest may stay up to thirty nights and leaves the key at the desk. " * 200


def with_page(page: str, question: str) -> str:
    return f"<page>\n{page}\n</page>\n\n{question}"
