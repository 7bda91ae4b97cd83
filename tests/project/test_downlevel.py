"""Syntax of newer Pythons is read on every Python, and everything keeps its place."""

from __future__ import annotations

import ast
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import promptlint
from promptlint.files.downlevel import downlevel
from promptlint.files.source import Broken, Source, from_bytes

STATEMENTS = [
    ("type Row = dict[str, str]", "Row = dict[str, str]"),
    ("type Row[K, *V, **P] = dict[K, str]", "Row = dict[K, str]"),
    ("type Row[\n    K: (int, str) = int,  # it's [a] key\n\n] = \\\n    dict[K, str]", "Row = dict[K, str]"),
    ("if x: type Row = int; type Cell = str", "if x: Row = int; Cell = str"),
    ("class Box:\n    type Row = 'Box'\n    type = 3", "class Box:\n    Row = 'Box'\n    type = 3"),
    ("def first[T](rows: list[T]) -> T: ...", "def first(rows: list[T]) -> T: ..."),
    ("async def first[T: 'é' = f(']')](*rows: T): ...", "async def first(*rows: T): ..."),
    ("def first[\n    T,\n\n    # more\n    *Ts,\n](a, b=1): return a", "def first(a, b=1): return a"),
    ("@deco[0]\nclass Box[T]:\n    x: T", "@deco[0]\nclass Box:\n    x: T"),
    ("class Box[T, **P](Base[T], metaclass=M): x = 1", "class Box(Base[T], metaclass=M): x = 1"),
    ("class Box[\n    T\n](Base):\n    def get[U](self): return 1", "class Box(Base):\n    def get(self): return 1"),
    ("try: a()\nexcept A, b.B: c()", "try: a()\nexcept (A, b.B): c()"),
    ("try: a()\nexcept* A, b(\n  1, [f'{x[':']}']), C : c()", "try: a()\nexcept* (A, b(1, [f'{x[\":\"]}']), C): c()"),
    ("try: a()\nexcept A: c()\nexcept B,C: d()", "try: a()\nexcept A: c()\nexcept (B, C): d()"),
    ("lazy import json, re\nlazy from a import b", "import json, re\nfrom a import b"),
]

STRINGS = [
    ('f"{a["b"]}"', "f\"{a['b']}\""),
    ('""\'\'f"{\n\nx}".join(y)', 'f"{x}".join(y)'),
    ("f'{', '.join(x)}'", "f\"{', '.join(x)}\""),
    ('f"{f"{f"{f"{1 + 1}"}"}"}"', "f'''{f\"\"\"{f'{f\"{1 + 1}\"}'}\"\"\"}'''"),
    ('f"a{x["é"]}b{{c}}{y!r:>{w["é"]}.{p}}" + z', "f\"a{x['é']}b{{c}}{y!r:>{w['é']}.{p}}\" + z"),
    ('f"{x["a"] = }{y =!s}"', "f'{x[\"a\"] = }{y =!s}'"),
    ('f"{\n  x  # why "{\n  + y["a"]\n}"', "f\"{x + y['a']}\""),
    ('f"""a\n{\nx["""b"""]\n}\nc\\\nd"""', "f'''a\n{x['b']}\nc\\\nd'''"),
    ('f"{a["b"]}\\n\\x41\\N{EM DASH}\\"\\d"', 'f\'{a["b"]}\\n\\x41\\N{EM DASH}"\\\\d\''),
    ('Rf"\\d{a["b"]}\\N{c}\\""', 'rf\'\\d{a["b"]}\\N{c}\\"\''),
    ('"a\\t" f"{b["c"]}" \'d\' f"" rf"{e}\\\\"', "f'a\\t{b[\"c\"]}d{e}\\\\\\\\'"),
    ('("a"  # one\n  "b" f"{c["d"]}"\n  "e")', "f'ab{c[\"d\"]}e'"),
    ('""f"{a["b"]}"""', "f'{a[\"b\"]}'"),
    ('f"{a, b["c"]}"', "f'{(a, b[\"c\"])}'"),
    ('f"{a["b"] != 1}{(lambda q: q["c"])}{(r := 5)}{s:=5}"', 'f\'{a["b"] != 1}{(lambda q: q["c"])}{(r := 5)}{s:=5}\''),
    ('f"{a["b"]:%H:%M\\n}{c:}"', "f'{a[\"b\"]:%H:%M\\n}{c:}'"),
    ('f"{ {"k": [v for v in w if v["x"]]}["k"] }"', 'f\'{ {"k": [v for v in w if v["x"]]}["k"] }\''),
    ('t"Hello {name!r:>5}"', 'f"Hello {name!r:>5}"'),
    ('ask(rT"{a["b"]}")', "ask(f'{a[\"b\"]}')"),
]


def tree_of(text: str) -> ast.Module:
    tree = downlevel(text)
    assert isinstance(tree, ast.Module), tree
    return tree


def source_of(text: str) -> Source:
    source = from_bytes("a.py", Path("a.py"), text.encode())
    assert isinstance(source, Source)
    return source


def older(text: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.dump(ast.parse(text))


def assert_in_place(text: str, tree: ast.AST) -> None:
    """Every name, attribute and plain string is where the tree says."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            assert ast.get_source_segment(text, node) == node.id
        elif isinstance(node, ast.Attribute):
            assert (ast.get_source_segment(text, node) or "").endswith(node.attr)
        elif isinstance(node, ast.JoinedStr):
            assert all(isinstance(part, ast.Constant | ast.FormattedValue) for part in node.values)
        elif isinstance(node, ast.FormattedValue):
            segment = ast.get_source_segment(text, node) or ""
            assert segment[0] == "{" and segment[-1] == "}"


@pytest.mark.parametrize(("text", "same"), STATEMENTS)
def test_statements(text: str, same: str) -> None:
    tree = tree_of(text)
    assert ast.dump(tree) == older(same)
    assert_in_place(text, tree)
    assert isinstance(source_of(text).tree, ast.Module)


@pytest.mark.parametrize(("text", "same"), STRINGS)
def test_strings(text: str, same: str) -> None:
    tree = tree_of(text)
    nothing = ", Constant(value='')"  # which Python 3.12 puts behind a field of a format
    assert ast.dump(tree).replace(nothing, "") == older(same).replace(nothing, "")
    assert_in_place(text, tree)
    assert isinstance(source_of(text).tree, ast.Module)


@pytest.mark.parametrize("text", [text for text, _ in STATEMENTS + STRINGS])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_code_behind_a_construct_keeps_its_place(text: str, end: str) -> None:
    before = f"é = 'ü'\n{text}"
    text = f"{before}; target(é.y)\ntarget(é.y)\n".replace("\n", end)
    behind = [node for node in ast.walk(tree_of(text)) if isinstance(node, ast.Name) and node.id == "target"]
    line, column = before.count("\n") + 1, len(before.rpartition("\n")[2].encode()) + 2
    assert [(node.lineno, node.col_offset) for node in behind] in (
        [(line, column), (line + 1, 0)],
        [(line + 1, 0), (line, column)],
    )


def test_parts_of_a_string_have_places_of_their_own() -> None:
    text = 'x = f"é {a["b"]:>{w}} {\n  c.d}z"'
    parts = {
        ast.get_source_segment(text, node)
        for node in ast.walk(tree_of(text))
        if isinstance(node, ast.expr) and not isinstance(node, ast.Name)
    }
    assert parts == {
        text[4:],
        "é ",
        '{a["b"]:>{w}}',
        'a["b"]',
        '"b"',
        ":>{w}",
        ">",
        "{w}",
        " ",
        "{\n  c.d}",
        "c.d",
        "z",
    }


def test_a_program_with_everything_reads_as_its_older_twin() -> None:
    text = '''\
"""A chat."""
lazy import json
type History = list[dict[str, str]]

class Chat[Client: Any = object](Base[Client]):
    def ask[T](self, question: str, *, parse: Callable[[str], T]) -> T:
        system = f"You are {self.config["name"]}.\\n{"\\n".join(f"- {rule["text"]}" for rule in self.rules)}"
        try:
            reply = self.client.send(system=system, prompt=t"{question}")
        except TimeoutError, ConnectionError:
            raise
        return parse(reply)
'''
    twin = '''\
"""A chat."""
import json
History = list[dict[str, str]]

class Chat(Base[Client]):
    def ask(self, question: str, *, parse: Callable[[str], T]) -> T:
        system = f"You are {self.config['name']}.\\n{NEWLINE.join(f'- {rule[chr(34)]}' for rule in self.rules)}"
        try:
            reply = self.client.send(system=system, prompt=f"{question}")
        except (TimeoutError, ConnectionError):
            raise
        return parse(reply)
'''
    # What no older f-string can hold: a backslash inside the braces.
    tree = ast.dump(tree_of(text))
    assert tree == older(twin).replace("Name(id='NEWLINE', ctx=Load())", r"Constant(value='\n')").replace(
        "Call(func=Name(id='chr', ctx=Load()), args=[Constant(value=34)], keywords=[])", "Constant(value='text')"
    ).replace("Call(func=Name(id='chr', ctx=Load()), args=[Constant(value=34)])", "Constant(value='text')")
    assert_in_place(text, tree_of(text))


@pytest.mark.parametrize("file", sorted(Path(promptlint.__file__).parent.glob("*.py")), ids=lambda file: file.stem)
def test_plain_code_around_a_construct_is_read_as_ever(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    newer = f"{text}\ntype Row = int\n"
    tree = tree_of(newer)
    assert ast.dump(tree) == older(f"{text}\nRow = int\n")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x = = 1",
        "type = = 3",
        "type in x = 3",
        'print "type x = 1"',
        "def f[T(x): ...",
        "x = (1, 2",
        'x = f"{a["b"]"',
        'x = f"{a["b"] c}"',
        'x = f"{}"',
        'x = f"{ # nothing\n}"',
        'x = f"{a for a in b}"',
        'x = f"{a!z}"',
        'x = f"}"',
        'x = f"\n{a["b"]}"',
        'x = b"a" f"{b["c"]}"',
        'x = f"\\x{a["b"]}"',
        "x = '''",
        "x = \ud800",
        "f'{" * 3000,
        "x = " + "f'{" * 50 + "1" + "}'" * 50,
        "type Row = A = int",
        "type Row[] = int",
        "type Row[T].x = int",
        "def first[T]: ...",
        "except A, B: ...",
        "x f'{a}'",
        "x = 3 \\ + f'{a['b']}'",
        "f'{a}' = 3",
        "type Row = int\nx = = 1",
        "lazy imports",
        "(" * 300 + "f'{a['b']}'" + ")" * 300,
    ],
)
def test_what_is_wrong_in_every_python_stays_wrong(text: str) -> None:
    assert not isinstance(downlevel(text), ast.Module)


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("é = f'ü{a['é']}' + * 2", 3, 20, "invalid syntax"),
        ("f(f'{a['b']}'", 3, 2, "'(' was never closed"),
        ("y = f'{a['b']}']\ntype Cell = int", 3, 16, "unmatched ']'"),
        ("y = 'a\ntype Cell = int", 3, 5, "unterminated string literal (detected at line 3)"),
        ("try: a()\nexcept A, B as c: d()", 4, 8, "multiple exception types must be parenthesized"),
    ],
)
def test_the_error_told_is_the_one_that_newer_pythons_have_too(text: str, line: int, column: int, message: str) -> None:
    assert source_of(f"type Row = int\nx = f'{{a['b']}}'\n{text}\n").tree == Broken(line, column, message)


def test_the_first_error_is_told_when_newer_syntax_follows() -> None:
    tree = source_of("x = = 1\ntype Row = int\n").tree
    assert tree == Broken(1, 5, "invalid syntax")


def test_a_broken_string_is_told_where_it_is() -> None:
    tree = source_of("type Row = int\ny = f'{a b}'\ntype Cell = int\n").tree
    assert isinstance(tree, Broken) and tree.line == 2
    assert tree.message.removeprefix("f-string: ").startswith("invalid syntax")  # Python 3.12 names no f-string


@pytest.mark.parametrize(
    ("since", "text"),
    [
        ((3, 0), "x = f'{a}'"),
        ((3, 12), "type Row = int"),
        ((3, 12), "x = f'{a['b']}'"),
        ((3, 14), "try: a()\nexcept A, B: c()"),
        ((3, 14), "x = t'{a}'"),
    ],
)
def test_is_not_reached_where_python_knows_the_syntax(
    since: tuple[int, int], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    monkeypatch.setattr("promptlint.files.downlevel.downlevel", seen.append)
    tree = source_of(text).tree
    knows = sys.version_info >= since
    assert seen == ([] if knows else [text])
    assert isinstance(tree, ast.Module) == knows


PIECES = [
    *(
        'f"',
        "f'",
        "t'''",
        'rf"""',
        '"',
        "'",
        "'''",
        '"""',
        "{",
        "}",
        "{{",
        "}}",
        "[",
        "]",
        "(",
        ")",
        ":",
        ";",
        ",",
        "=",
    ),
    *(
        "==",
        "!=",
        "!",
        "!r",
        "#",
        "\\",
        "\\N{",
        "\\N{EM DASH}",
        "\\x41",
        "\r\n",
        "\n",
        "\t",
        " ",
        "\r",
        "\x0c",
        "\ud800",
        "\0",
    ),
    *(
        "type ",
        "def ",
        "class ",
        "except ",
        "except* ",
        "lazy ",
        "import ",
        "from ",
        " as ",
        "async ",
        "lambda ",
        "yield ",
    ),
    *("x", "é", "ü.y", "1", "0xf", "T", "*Ts", "**P", "->", "|", "...", " if ", " else "),
]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=3)))
def test_nothing_raises(pieces: list[str]) -> None:
    text = "".join(pieces)
    for tried in (
        text,
        f"type X = int\n{text}",
        f'f"{{{text}}}"',
        f"def f[{text}](): ...",
        f"try: x\nexcept {text}: y",
    ):
        tree = downlevel(tried)
        if isinstance(tree, ast.Module):
            for node in ast.walk(tree):
                if isinstance(node, ast.expr | ast.stmt):
                    assert (node.lineno, node.col_offset) <= (node.end_lineno or 0, node.end_col_offset or 0)


EXPRESSIONS = st.recursive(
    st.sampled_from(["x", "é.y", "1", "(a, b)", "[v for v in w]", "(lambda: 0)", "'s'", "x != y", "dict(**d)['k']"]),
    lambda inner: st.builds(
        "f{q}{text}{{{value}{mark}}}{text}{q}".format,
        q=st.sampled_from(['"', "'", '"""', "'''"]),
        text=st.sampled_from(["", "é", "{{}}", " - ", "\\\\"]),
        value=inner,
        mark=st.sampled_from(["", "!r", "=", " = ", ":>5", ":{w}", "=!s:{w}x"]),
    ),
    max_leaves=4,
)


@given(EXPRESSIONS)
def test_nested_strings_read_as_their_parts(expression: str) -> None:
    """The outermost string alone is newer or not; its value reads as the value read alone."""
    tree = tree_of(f"t'{{ {expression} }}'")
    [statement] = tree.body
    assert isinstance(statement, ast.Expr) and isinstance(statement.value, ast.JoinedStr)
    [field] = statement.value.values
    assert isinstance(field, ast.FormattedValue)
    alone = downlevel(expression) or ast.parse(expression)
    assert isinstance(alone, ast.Module)
    assert ast.dump(ast.Module([ast.Expr(field.value)], [])) == ast.dump(alone)
