from .context import CONTEXT

GLOSSARY = "Quay is rendered as Kai, berth as Liegeplatz, and mooring as Festmachen. " * 200


def system_text() -> str:
    head = "\n".join(CONTEXT.lines())
    return f"{head}\n\n{GLOSSARY}"
