"""What is not looked into: files that have nothing to do with a request, in a large tree most of them."""

from pathlib import Path

import pytest

from promptlint import engine
from promptlint.codebase import program
from promptlint.config import Settings
from promptlint.link.evaluate import Evaluator
from promptlint.link.libraries import sinks


def opened(files: dict[str, str], monkeypatch: pytest.MonkeyPatch, folder: Path) -> Evaluator:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    monkeypatch.chdir(folder)
    _, ev = engine._open([Path()], Settings(), None)
    return ev


def parsed(ev: Evaluator) -> set[str]:
    return {ref.path for ref in ev.program.parsed}


def test_a_method_of_the_project_sends_nothing_whichever_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = "import openai\n\n\nclass Model:\n    def create(self, **rest):\n        pass\n\n"
    model += "    def use(self):\n        self.create(model='m', messages=[], input='x')\n"
    below = "from model import Model\n\n\nclass Small(Model):\n    def create(self, **rest):\n        pass\n"
    ev = opened({"model.py": model, "below.py": below}, monkeypatch, tmp_path)
    (ref,) = (ref for ref in ev.program.project.files if ref.path == "model.py")
    module = ev.program.parse(ref)
    assert module is not None
    assert not [s for f in sinks.candidates(ev, module) for s in sinks.in_function(ev, f)]
    assert parsed(ev) == {"model.py"}


def test_a_package_is_used_by_who_imports_it_from_where_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a large tree with folders of one name in many places, ``core`` of another package is no use of this one."""
    use = "from {} import talk\n\n\ndef drop(x):\n    talk.clear()\n"
    files = {
        "llama/core/__init__.py": "",
        "llama/core/talk.py": "def clear():\n    pass\n",
        "one/__init__.py": "",
        "one/use.py": use.format("llama.core"),
        "two/__init__.py": "",
        "two/use.py": use.format("django.core"),
        "three/__init__.py": "",
        "three/use.py": use.format(".core"),
        "three/core.py": "",
        "four/__init__.py": "",
        "four/use.py": "from llama import core\n\n\ndef drop(x):\n    core.talk.clear()\n",
    }
    monkeypatch.setattr(program, "MANY_FILES", 1)
    ev = opened(files, monkeypatch, tmp_path)
    (ref,) = (ref for ref in ev.program.project.files if ref.path == "llama/core/talk.py")
    module = ev.program.parse(ref)
    assert module is not None
    found = ev.program.calls_named("clear", module)
    assert [f.module.path for f, _ in found] == ["four/use.py", "one/use.py"]
