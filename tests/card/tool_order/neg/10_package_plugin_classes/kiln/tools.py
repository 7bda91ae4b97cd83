# card: tool_order | expect: nothing | why: a tuple has an order
from . import plugins


def specs() -> list[dict]:
    return [plugin().spec() for plugin in plugins.INSTALLED]
