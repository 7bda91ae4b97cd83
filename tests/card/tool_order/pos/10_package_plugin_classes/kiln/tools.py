# card: tool_order | expect: unordered-tools @ L6
from . import plugins


def specs() -> list[dict]:
    return [plugin().spec() for plugin in plugins.INSTALLED]  # <- unordered-tools
