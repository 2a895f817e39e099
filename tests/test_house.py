"""What holds for the house as a whole: layers, captions, sizes, names, and everything told."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).parents[1]
MODULE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60
VAGUE = {"base", "common", "helper", "helpers", "manager", "managers", "util", "utils"}
TOLD_ELSEWHERE = {"overload", "override", "setter", "deleter"}  # decorators whose functions another docstring tells

Told: TypeAlias = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Module:
    """A source file, as text and as a tree."""

    path: str
    text: str

    @property
    def tree(self) -> ast.Module:
        """What the text says to Python."""
        return ast.parse(self.text, self.path)


Rule: TypeAlias = Callable[[Module], Iterator[str]]


def table() -> dict[str, Any]:
    """The project's own pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def packages() -> list[str]:
    """The five packages, as the wheel has them."""
    return list(table()["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])


def modules() -> list[Module]:
    """All modules of the packages, the examples and the benchmarks."""
    files = (file for house in [*packages(), "examples", "benchmarks"] for file in sorted((ROOT / house).rglob("*.py")))
    return [Module(file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8")) for file in files]


def without_a_caption(module: Module) -> Iterator[str]:
    """The first line says in one sentence what the module is; more may follow behind an empty line."""
    first, _, rest = (ast.get_docstring(module.tree) or "").partition("\n")
    if not first.endswith(".") or re.search(r"[.!?] +[A-Z]", first) or (rest and not rest.startswith("\n")):
        yield f"{module.path}: the caption is not one sentence on one line: {first!r}"


def too_long(module: Module) -> Iterator[str]:
    """Modules and functions stay small enough to be read at once."""
    if (lines := len(module.text.splitlines())) > MODULE_LINES_MAX:
        yield f"{module.path}: {lines} lines"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                yield f"{module.path}:{node.lineno}: {node.name} has {lines} lines"


def public(body: list[ast.stmt]) -> Iterator[Told]:
    """Classes and functions that a reader may use, and those inside such classes."""
    for node in body:
        if isinstance(node, Told) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from public(node.body)


def untold(module: Module) -> Iterator[str]:
    """Every public class and function has a docstring."""
    for node in public(module.tree.body):
        decorators = {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}
        if not ast.get_docstring(node) and not decorators & TOLD_ELSEWHERE:
            yield f"{module.path}:{node.lineno}: {node.name} has no docstring"


def vaguely_named(module: Module) -> Iterator[str]:
    """A file is named by the noun it holds."""
    words = set(re.split(r"[/_.]", module.path))
    for word in sorted(words & VAGUE):
        yield f"{module.path}: {word!r} says nothing"


def spelled_by_the_json_module(module: Module) -> Iterator[str]:
    """Bytes have one spelling, the codec's: who sets this option is about to write another."""
    for number, line in enumerate(module.text.splitlines(), start=1):
        if "ensure_ascii" in line:
            yield f"{module.path}:{number}: ensure_ascii"


def left_for_later(module: Module) -> Iterator[str]:
    """What is to be done stands in an issue, not in the sources."""
    for number, line in enumerate(module.text.splitlines(), start=1):
        if found := re.search(r"\b(TODO|FIXME)\b", line):
            yield f"{module.path}:{number}: {found[0]}"


HOMES = {"duckdb": "projections/redrive_projections/history", "syrupy": "replays/redrive_replays/testing"}


def away_from_home(module: Module) -> Iterator[str]:
    """Each of these libraries has one job, and is imported in one folder alone."""
    for node in ast.walk(module.tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for library in (name.partition(".")[0] for name in names):
            if not module.path.startswith((HOMES.get(library, ""), "examples/", "benchmarks/")):
                yield f"{module.path}: {library} lives in {HOMES[library]}"


def past_the_door(module: Module) -> Iterator[str]:
    """What a folder shares, its `__init__` exports; a folder inside it may have a door of its own."""
    houses = {Path(package).name: ROOT / package for package in packages()}
    for node in ast.walk(module.tree):
        package, *inside = (node.module or "").split(".") if isinstance(node, ast.ImportFrom) else [""]
        neighbour = package in houses and f"/{package}/" not in module.path
        # A benchmark measures the stages of what a user gets as one.
        if neighbour and not module.path.startswith("benchmarks/") and not houses[package].joinpath(*inside).is_dir():
            yield f"{module.path}: {'.'.join([package, *inside])} is a file, import from its folder"


PLANTS = [
    pytest.param(without_a_caption, Module("events/a.py", "x = 1\n"), id="no caption"),
    pytest.param(without_a_caption, Module("events/a.py", '"""A caption"""\n'), id="no period"),
    pytest.param(without_a_caption, Module("events/a.py", '"""One. Two."""\n'), id="two sentences"),
    pytest.param(without_a_caption, Module("events/a.py", '"""One\nsentence."""\n'), id="two lines"),
    pytest.param(too_long, Module("events/a.py", "\n" * 401), id="a long module"),
    pytest.param(too_long, Module("events/a.py", "def f():\n" + "    f()\n" * 60), id="a long function"),
    pytest.param(untold, Module("events/a.py", "def f(): ...\n"), id="an untold function"),
    pytest.param(untold, Module("events/a.py", "class A: ...\n"), id="an untold class"),
    pytest.param(untold, Module("events/a.py", 'class A:\n    """A."""\n    async def f(self): ...\n'), id="a method"),
    pytest.param(vaguely_named, Module("events/json_utils.py", ""), id="a vague file"),
    pytest.param(vaguely_named, Module("events/common/a.py", ""), id="a vague folder"),
    pytest.param(spelled_by_the_json_module, Module("events/a.py", "dumps(x, ensure_ascii=False)\n"), id="a spelling"),
    pytest.param(left_for_later, Module("events/a.py", "# TODO: all\n"), id="left for later"),
    pytest.param(away_from_home, Module("cli/redrive/a.py", "from duckdb import sql\n"), id="duckdb in the command"),
    pytest.param(away_from_home, Module("cli/redrive/a.py", "import syrupy.data\n"), id="syrupy in the command"),
    pytest.param(
        past_the_door, Module("cli/redrive/a.py", "from redrive_engine.react import react\n"), id="a neighbour's file"
    ),
]
RULES = list(dict.fromkeys(plant.values[0] for plant in PLANTS))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_no_module_is(rule: Rule) -> None:
    """The finding names the place, so that nobody has to look for it."""
    assert [finding for module in modules() for finding in rule(module)] == []


@pytest.mark.parametrize(("rule", "plant"), PLANTS)
def test_each_rule_finds_what_was_planted(rule: Rule, plant: Module) -> None:
    """A rule that finds nothing, ever, would hold too."""
    assert len(list(rule(plant))) == 1


def test_imports_run_downwards(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The layers of pyproject.toml hold: a log can be read by a program that has no engine."""
    monkeypatch.chdir(ROOT)
    assert lint_imports(no_cache=True, no_logo=True) == 0, capsys.readouterr().out


def test_every_package_says_that_it_is_typed() -> None:
    """Without the marker a user's type checker reads none of our annotations."""
    assert [package for package in packages() if not (ROOT / package / "py.typed").exists()] == []


def test_every_folder_with_code_is_type_checked() -> None:
    """A new folder joins mypy's list on the day its first module does."""
    folders = {file.relative_to(ROOT).parts[0] for file in ROOT.glob("[!.]*/**/*.py")}
    assert folders - {"build", "dist"} <= set(table()["tool"]["mypy"]["files"])
