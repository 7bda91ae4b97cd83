"""Python imports this at its start below ``promptlint record``; then it imports the ``sitecustomize`` that it hides.

Whatever Python it is has to understand this file. The program finds neither it nor its folder afterwards.
"""

import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _here]

if sys.version_info >= (3, 10) and "PROMPTLINT_RECORD" in os.environ:
    try:
        _file = os.path.join(os.path.dirname(_here), "wake.py")
        _wake = {"__name__": "promptlint.recorder.wake", "__file__": _file}
        with open(_file, encoding="utf-8") as _text:
            exec(compile(_text.read(), _file, "exec"), _wake)
        _wake["wait"]()  # type: ignore[operator]
    except Exception:
        if os.environ.get("PROMPTLINT_DEBUG") == "1":
            raise

_own = sys.modules.pop("sitecustomize", None)
try:
    import sitecustomize  # type: ignore[import-not-found]  # noqa: F401 - the one of the program, if it has one
except ImportError as error:
    if "sitecustomize" not in str(error):
        raise
    sys.modules["sitecustomize"] = _own  # type: ignore[assignment]
