"""What is found under a path, what the files are called, and what their imports mean."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from promptlint.files.project import NoPython, Options, Project, SourceRef, discover
from promptlint.files.source import Source, Unreadable


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "repo"
    root.mkdir()
    monkeypatch.chdir(root)
    return root


def write(*paths: str) -> None:
    """Make empty files."""
    for path in paths:
        put(path, "")


def put(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)


def found(*given: str, **options: object) -> list[str]:
    return [ref.path for ref in project(*given, **options).files]


def project(*given: str, **options: object) -> Project:
    return discover([Path(path) for path in given or (".",)], Options(**options))  # type: ignore[arg-type]


def ref(of: Project, path: str) -> SourceRef:
    return next(ref for ref in of.files if ref.path == path)


def path_of(found: SourceRef | None) -> str | None:
    return found.path if found else None


# --- what is found


def test_files_are_found_in_a_fixed_order_and_once() -> None:
    write("b.py", "a/z.py", "a/b/c.py", "note.txt", "stub.pyi")
    assert found() == ["a/b/c.py", "a/z.py", "b.py"]
    assert found("b.py", "a", ".", "a/z.py") == found()


def test_caches_environments_and_vendored_packages_are_skipped() -> None:
    write(
        "app.py",
        ".git/hooks/x.py",
        "__pycache__/x.py",
        "node_modules/gyp/x.py",
        ".tox/py311/x.py",
        "tool.egg-info/x.py",
        "vendored/site-packages/openai/x.py",
        "myenv/pyvenv.cfg",
        "myenv/lib/x.py",
        "conda/conda-meta/history",
        "conda/x.py",
        "build/lib/app.py",
    )
    assert found() == ["app.py"]
    write("build/stages.py", ".github/release.py", "tools/build/run.py")
    (Path("build/lib/app.py")).unlink()
    Path("build/lib").rmdir()
    assert found() == [".github/release.py", "app.py", "build/stages.py", "tools/build/run.py"]


def test_a_named_path_is_scanned_even_if_ignored_or_installed() -> None:
    write(".git/HEAD", "app.py", "gen/a.py", "gen/deep/b.py", "gen/deep/skip_me.py", "site-packages/openai/x.py")
    put(".gitignore", "gen/\nskip_*.py\n")
    assert found() == ["app.py"]
    assert found("gen") == ["gen/a.py", "gen/deep/b.py"]
    assert found("gen/deep") == ["gen/deep/b.py"]
    put(".gitignore", "gen/*\n")
    assert found("gen") == ["gen/a.py", "gen/deep/b.py", "gen/deep/skip_me.py"]
    assert found("gen/deep/skip_me.py") == ["gen/deep/skip_me.py"]
    assert found("site-packages") == ["site-packages/openai/x.py"]
    assert len(found("gen", exclude=("gen",))) == 3


def test_nested_ignore_files_and_those_up_to_the_repository() -> None:
    write(".git/info/none", "local.py", "app/a.py", "app/b.py", "app/keep/b.py", "app/out/x.py", "other/out/x.py")
    put(".gitignore", "b.py\n/app/out\n!\n")
    put("app/keep/.gitignore", "!b.py\n")
    put(".git/info/exclude", "local.py\n")
    assert found() == ["app/a.py", "app/keep/b.py", "other/out/x.py"]
    assert found("app") == ["app/a.py", "app/keep/b.py"]
    assert found("app/keep") == ["app/keep/b.py"]


def test_ignore_files_above_count_only_within_a_repository() -> None:
    write("app/b.py")
    put(".gitignore", "b.py\n")
    assert found("app") == ["app/b.py"]


def test_a_list_of_what_is_not_ignored() -> None:
    put(".gitignore", "*\n!*/\n!*.py\nsecret.py\n")
    write("app/a.py", "app/secret.py")
    assert found() == ["app/a.py"]


def test_exclude_is_relative_to_its_root_and_cannot_bring_back_what_git_ignores() -> None:
    write("a/x.py", "b/x.py", "b/y.py", "c/x.py")
    put(".gitignore", "c/\n")
    assert found(exclude=("/a", "b/x.py", "!c/")) == ["b/y.py"]
    assert found(exclude=("/x.py",), root=Path("b")) == ["a/x.py", "b/y.py"]


def test_links_in_a_circle_and_out_of_the_tree_are_not_followed(tmp_path: Path) -> None:
    write("app/a.py")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x.py").write_text("")
    os.symlink(".", "app/self")
    os.symlink("..", "app/up")
    os.symlink(tmp_path / "outside", "app/out")
    os.symlink("circle.py", "circle.py")
    os.symlink("user@host:1", ".#lock.py")
    assert found() == ["app/a.py"]


def test_a_linked_path_that_is_named_is_followed_and_its_files_are_checked_once() -> None:
    write("app/a.py")
    os.symlink("app", "link")
    assert found("link") == ["link/a.py"]
    assert found("app", "link") == ["app/a.py"]


def test_a_file_linked_twice_is_checked_once() -> None:
    put("common/shared.py", "x = 1\n")
    write("app/main.py")
    os.symlink("../common/shared.py", "app/shared.py")
    assert found() == ["app/main.py", "common/shared.py"]
    both = project()
    assert path_of(both.module("app.shared", ref(both, "app/main.py"))) == "common/shared.py"
    assert found("app") == ["app/main.py", "app/shared.py"]


def test_tests_are_left_out_unless_asked_for_or_named() -> None:
    write("app/a.py", "app/a_test.py", "tests/helper.py", "app/test/x.py", "conftest.py", "test_b.py", "contest.py")
    assert found() == ["app/a.py", "contest.py"]
    everything = project(include_tests=True)
    tests = [ref.path for ref in everything.files if ref.is_test]
    assert tests == ["app/a_test.py", "app/test/x.py", "conftest.py", "test_b.py", "tests/helper.py"]
    assert found("tests") == ["tests/helper.py"]
    named = project("test_b.py")
    assert [(ref.path, ref.is_test) for ref in named.files] == [("test_b.py", False)]


def test_a_directory_above_the_project_does_not_make_it_tests() -> None:
    write("tests/examples/shop/pyproject.toml", "tests/examples/shop/app.py", "tests/examples/shop/tests/x.py")
    [app] = project("tests/examples/shop").files
    assert (app.path, app.is_test) == ("tests/examples/shop/app.py", False)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("gone", "gone: no such file or directory"),
        ("note.txt", "note.txt: not a Python file (.py)"),
        ("empty", "empty: no Python files"),
        ("hidden", "hidden: every Python file is ignored"),
        ("only", "only: no Python files but tests"),
    ],
)
def test_a_path_without_python_is_named(given: str, message: str) -> None:
    write("app.py", "note.txt", "hidden/a.py", "only/test_a.py")
    Path("empty").mkdir()
    put("hidden/.gitignore", "*.py\n")
    with pytest.raises(NoPython) as caught:
        project("app.py", given)
    assert str(caught.value).startswith(message)


def test_a_script_without_extension_can_be_named() -> None:
    put("tool", "#!/usr/bin/env python3\nx = 1\n")
    [tool] = project("tool").files
    assert isinstance(tool.source, Source)
    assert tool.module == "tool"


def test_a_directory_that_cannot_be_listed_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    write("app.py", "locked/a.py")
    listing = os.scandir

    def scan(path: str) -> object:
        if path.endswith("locked"):
            raise PermissionError(13, "Permission denied")
        return listing(path)

    monkeypatch.setattr(os, "scandir", scan)
    partly = project()
    assert [ref.path for ref in partly.files] == ["app.py"]
    assert partly.unreadable == (Unreadable("locked", "permission denied"),)
    with pytest.raises(NoPython, match="locked: permission denied"):
        project("locked")


def test_texts_of_an_editor_stand_in_for_the_disk() -> None:
    put("a.py", "x = 'disk'\n")
    [saved] = discover([Path(".")], Options(), {Path("a.py"): b"x = 'editor'\n"}).files
    assert saved.data == b"x = 'editor'\n"
    [fresh] = discover([Path("new.py")], Options(), {Path("new.py"): b"y = 1\n"}).files
    assert (fresh.path, fresh.data) == ("new.py", b"y = 1\n")


# --- names and imports


def test_regular_packages_and_src_layout() -> None:
    write("pyproject.toml", "src/shop/__init__.py", "src/shop/llm/__init__.py", "src/shop/llm/ask.py", "run.py")
    it = project()
    assert [ref.module for ref in it.files] == ["run", "shop", "shop.llm", "shop.llm.ask"]
    run, ask = ref(it, "run.py"), ref(it, "src/shop/llm/ask.py")
    assert path_of(it.module("shop.llm.ask", run)) == "src/shop/llm/ask.py"
    assert path_of(it.module("src.shop.llm", run)) == "src/shop/llm/__init__.py"
    assert path_of(it.module("run", ask)) == "run.py"
    assert it.resolve_import(run, "shop.llm.ask.Client.send") == (ask, "Client.send")
    assert it.resolve_import(run, "shop.VERSION") == (ref(it, "src/shop/__init__.py"), "VERSION")
    assert it.resolve_import(run, "openai.OpenAI") is None


def test_names_are_the_same_from_whichever_directory_the_package_is_given() -> None:
    write("pyproject.toml", "src/shop/__init__.py", "src/shop/llm/__init__.py", "src/shop/llm/ask.py")
    for given in (".", "src", "src/shop", "src/shop/llm", "src/shop/llm/ask.py"):
        assert ref(project(given), "src/shop/llm/ask.py").module == "shop.llm.ask"


def test_namespace_package_is_known_by_every_name_it_may_be_imported_as() -> None:
    write("main.py", "app/prompts.py", "app/agent.py")
    it = project()
    main, agent, prompts = ref(it, "main.py"), ref(it, "app/agent.py"), ref(it, "app/prompts.py")
    assert prompts.module == "app.prompts"
    assert it.module("app.prompts", main) is prompts
    assert it.module("app.prompts", agent) is prompts
    assert it.module("prompts", agent) is prompts
    assert it.module("prompts", main) is None
    assert it.module("app.prompts") is prompts


def test_a_script_inside_a_package_may_import_its_neighbours_by_bare_name() -> None:
    write("app/__init__.py", "app/main.py", "app/prompts.py", "app/deep/__init__.py", "app/deep/x.py")
    it = project()
    assert path_of(it.module("prompts", ref(it, "app/main.py"))) == "app/prompts.py"
    assert it.module("prompts", ref(it, "app/deep/x.py")) is None
    given = project("app")
    assert path_of(given.module("prompts", ref(given, "app/deep/x.py"))) == "app/prompts.py"
    write("prompts.py")
    it = project()
    assert path_of(it.module("prompts", ref(it, "app/main.py"))) == "prompts.py"


def test_a_directory_without_init_inside_a_package_is_no_root_for_others() -> None:
    write("kit/__init__.py", "kit/hooks/azure/__init__.py", "kit/hooks/log.py", "kit/llm/azure.py", "kit/llm/deep/x.py")
    it = project()
    assert it.module("azure", ref(it, "kit/__init__.py")) is None
    assert it.module("azure", ref(it, "kit/llm/deep/x.py")) is None
    assert path_of(it.module("kit.hooks.azure", ref(it, "kit/llm/azure.py"))) == "kit/hooks/azure/__init__.py"
    assert ref(it, "kit/llm/azure.py").module == "kit.llm.azure"
    hooks = ref(it, "kit/hooks/azure/__init__.py")
    dotted = it.relative(hooks, 2, "log")
    assert dotted == "kit.hooks.log"
    assert path_of(it.module(dotted, hooks)) == "kit/hooks/log.py"


def test_the_nearest_of_equal_names_wins() -> None:
    for name in ("a", "b"):
        write(f"{name}/pyproject.toml", f"{name}/app/__init__.py", f"{name}/app/prompts.py", f"{name}/main.py")
    write("tools/run.py")
    it = project()
    for name in ("a", "b"):
        for near in ("main.py", "app/prompts.py"):
            assert path_of(it.module("app.prompts", ref(it, f"{name}/{near}"))) == f"{name}/app/prompts.py"
    assert path_of(it.module("app.prompts", ref(it, "tools/run.py"))) == "a/app/prompts.py"
    turned = project("b", "tools", "a")
    assert path_of(turned.module("app.prompts", ref(turned, "tools/run.py"))) == "a/app/prompts.py"


def test_packages_of_a_monorepo_see_each_other_but_not_each_others_scripts() -> None:
    write("packages/core/src/core/__init__.py", "packages/core/src/core/llm.py", "packages/core/pyproject.toml")
    write("packages/web/src/web/__init__.py", "packages/web/scripts/helper.py", "services/api/kit/__init__.py")
    it = project()
    web = ref(it, "packages/web/src/web/__init__.py")
    assert path_of(it.module("core.llm", web)) == "packages/core/src/core/llm.py"
    assert path_of(it.module("kit", web)) == "services/api/kit/__init__.py"
    assert it.module("helper", web) is None


def test_the_standard_library_and_published_libraries_are_not_the_project() -> None:
    write("app/logging.py", "providers/openai.py", "providers/base.py", "providers/yaml.py", "main.py")
    it = project()
    assert it.module("logging", ref(it, "app/logging.py")) is None
    assert it.module("openai", ref(it, "providers/openai.py")) is None
    assert path_of(it.module("providers.openai", ref(it, "main.py"))) == "providers/openai.py"
    assert path_of(it.module("openai", ref(it, "providers/base.py"))) == "providers/openai.py"
    it = project(foreign=frozenset({"openai"}))
    base = ref(it, "providers/base.py")
    assert it.module("openai", base) is None
    relative = it.relative(base, 1, "openai")
    assert relative and path_of(it.module(relative, base)) == "providers/openai.py"


@pytest.mark.parametrize("regular", [True, False])
def test_relative_imports(regular: bool) -> None:
    modules = ("pkg/a.py", "pkg/logging/b.py", "pkg/logging/handlers.py", "pkg/sub/c.py")
    write("pyproject.toml", *modules)
    if regular:
        write("pkg/__init__.py", "pkg/sub/__init__.py", "pkg/logging/__init__.py")
    it = project()

    def target(of: str, level: int, name: str | None) -> str | None:
        dotted = it.relative(ref(it, of), level, name)
        return path_of(it.module(dotted, ref(it, of))) if dotted else None

    assert target("pkg/a.py", 1, "sub.c") == "pkg/sub/c.py"
    assert target("pkg/sub/c.py", 2, "a") == "pkg/a.py"
    assert target("pkg/sub/c.py", 2, "logging.b") == "pkg/logging/b.py"
    assert target("pkg/logging/b.py", 1, "handlers") == "pkg/logging/handlers.py"
    assert it.relative(ref(it, "pkg/sub/c.py"), 9, "a") is None
    if regular:
        assert target("pkg/__init__.py", 1, "a") == "pkg/a.py"
        assert target("pkg/__init__.py", 1, None) == "pkg/__init__.py"
        assert target("pkg/sub/__init__.py", 2, None) == "pkg/__init__.py"
        assert target("pkg/sub/__init__.py", 1, "c") == "pkg/sub/c.py"
        assert it.relative(ref(it, "pkg/sub/c.py"), 1, None) == "pkg.sub"


def test_relative_imports_where_the_package_itself_is_given() -> None:
    write("pkg/types.py", "pkg/a.py", "pkg/sub/b.py")
    it = project("pkg")
    near = ref(it, "pkg/sub/b.py")
    dotted = it.relative(near, 2, "types")
    assert dotted == "pkg.types"
    assert path_of(it.module(dotted, near)) == "pkg/types.py"


def test_prompt_files_are_found_beside_above_and_in_the_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    write("pyproject.toml", "app/llm/ask.py", "app/llm/near.md", "app/prompts/system.md", "prompts/top.txt", "near.md")
    it = project()
    ask = ref(it, "app/llm/ask.py")
    root = Path.cwd()
    assert it.prompt_file(ask, "near.md") == root / "app/llm/near.md"
    assert it.prompt_file(ask, "../prompts/system.md") == root / "app/prompts/system.md"
    assert it.prompt_file(ask, "prompts/system.md") == root / "app/prompts/system.md"
    assert it.prompt_file(ask, "prompts/top.txt") == root / "prompts/top.txt"
    assert it.prompt_file(ask, str(root / "near.md")) == root / "near.md"
    write("elsewhere/only.md")
    monkeypatch.chdir("elsewhere")
    assert it.prompt_file(ask, "only.md") == root / "elsewhere/only.md"


def test_prompt_files_never_lie_outside_the_given_paths(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    write("pyproject.toml", "app/ask.py", "beside.md")
    os.symlink(tmp_path / "secret.md", "app/link.md")
    os.mkfifo("app/pipe.md")
    it = project("app")
    ask = ref(it, "app/ask.py")
    for asked in (
        "../../secret.md",
        "link.md",
        str(tmp_path / "secret.md"),
        "beside.md",
        "pipe.md",
        "\0",
        "a" * 5000,
        "",
    ):
        assert it.prompt_file(ask, asked) is None


# --- the scan


def test_mentions_are_whole_identifiers() -> None:
    put("a.py", "ask(1)\n")
    put("b.py", "task(1); ask_all()\n")
    put("c.py", "x = client.ask\n")
    put("é.py", "größe = 1\n")
    it = project()
    assert [ref.path for ref in it.mentions("ask")] == ["a.py", "c.py"]
    assert [ref.path for ref in it.mentions("größe")] == ["é.py"]
    assert it.mentions("nobody") == []
    assert not any(ref.is_loaded for ref in it.files)


def test_a_file_that_vanishes_after_it_was_found() -> None:
    write("a.py", "b.py")
    it = project()
    Path("a.py").unlink()
    assert it.mentions("x") == []
    gone = ref(it, "a.py")
    assert gone.data == b""
    assert gone.source == Unreadable("a.py", "no longer exists")


def test_a_directory_inside_a_package_that_programs_put_on_their_path() -> None:
    write("backend/__init__.py", "backend/chat/__init__.py", "backend/chat/agent.py", "backend/server/app.py")
    it = project()
    app = ref(it, "backend/server/app.py")
    assert path_of(it.module("chat.agent", app)) == "backend/chat/agent.py"
    assert it.module("chat", app) is None


def test_a_package_with_the_name_of_a_library_is_the_project_s_where_a_module_of_it_is_named() -> None:
    write("backend/agents/__init__.py", "backend/agents/planner.py", "backend/agents/base.py", "backend/api/main.py")
    write("frontend/tool.py")
    it = project(foreign=frozenset({"agents"}))
    for near in ("backend/api/main.py", "backend/agents/base.py"):
        assert path_of(it.module("agents.planner", ref(it, near))) == "backend/agents/planner.py"
        assert it.module("agents", ref(it, near)) is None
    assert it.module("agents.planner", ref(it, "frontend/tool.py")) is None


@pytest.mark.parametrize(
    "settings",
    [
        '[tool.hatch.build.sources]\n"pylib" = "shop"\n',
        '[tool.hatch.build.targets.wheel.sources]\n"pylib/" = "shop"\n',
        '[tool.setuptools]\npackage-dir = {"" = "src", "shop" = "pylib"}\n',
    ],
)
def test_a_package_has_the_name_that_the_build_gives_it_too(settings: str) -> None:
    write("pylib/__init__.py", "pylib/prompts/system.py", "main.py")
    put("pyproject.toml", settings)
    of = project(".")
    near = ref(of, "main.py")
    assert path_of(of.module("shop", near)) == "pylib/__init__.py"
    assert path_of(of.module("shop.prompts.system", near)) == "pylib/prompts/system.py"
    assert path_of(of.module("pylib.prompts.system", near)) == "pylib/prompts/system.py"


@pytest.mark.parametrize(
    "settings", ["[tool.hatch.build.sources", "tool = 3 # sources", '[tool.hatch.build]\nsources = ["pylib"]\n']
)
def test_a_project_file_that_names_no_folder_changes_nothing(settings: str) -> None:
    write("pylib/system.py", "main.py")
    put("pyproject.toml", settings)
    of = project(".")
    assert of.module("shop.system", ref(of, "main.py")) is None
