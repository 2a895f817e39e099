"""Documents are held to what they show: commands are run, code too, and files stand as they are.

In a page, ``console`` blocks are run line by line (``$ ``) and their output compared, where a line ``…`` stands for any
lines; ``python`` blocks are run one after the other; a block whose language is followed by a file's name is that file.
``pytest --snapshot-update`` puts the output of today where no line is left out.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from redrive.command import VERBS, main
from refund_desk import desk
from refund_desk.shop import Bank
from tests.generated_pages import PAGES as GENERATED

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FILES = [ROOT / "cli" / "redrive" / "demo" / "incident.json", ROOT / "cli" / "redrive" / "demo" / "stricter.toml"]
EXAMPLE = ROOT / "examples" / "refund_desk"

FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
ANY_LINES = "…"


class Block(NamedTuple):
    """A fenced block of a page: its language, the file it is, if any, its text, and where that begins and ends."""

    language: str
    file: str
    text: str
    start: int
    end: int


def blocks(text: str) -> Iterator[Block]:
    """All fenced blocks of a page."""
    for found in FENCE.finditer(text):
        yield Block(found[1], found[2] or "", found[3], found.start(3), found.end(3))


def steps(block: Block) -> Iterator[tuple[str, str]]:
    """The commands of a console block, each with the output that is shown below it."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def fits(shown: str, said: str) -> bool:
    """Whether ``said`` is what is shown, any lines standing where there is a line ``…``."""
    pattern = "".join(
        r"(?:.*\n)*" if line == ANY_LINES else re.escape(line) + r" *\n" for line in shown.rstrip("\n").split("\n")
    )
    return re.fullmatch(pattern, said.rstrip("\n") + "\n") is not None


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that pages speak of."""
    for file in FILES:
        shutil.copy(file, tmp_path)
    shutil.copytree(EXAMPLE, tmp_path / "refund_desk", ignore=shutil.ignore_patterns("__pycache__", "test_*"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REDRIVE_LOG", raising=False)
    monkeypatch.setattr(desk, "bank", Bank())
    return tmp_path


def said(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command of a console block says: the command itself, ``cat`` and ``echo $?`` are known."""
    name, *arguments = shlex.split(command, comments=True)
    assert name in {"redrive", "cat"}, command
    if name == "cat":
        return Path(arguments[0]).read_text(encoding="utf-8")
    main(arguments)
    out, err = capsys.readouterr()
    return out + err


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_what_a_page_shows_is_what_happens(
    path: Path, folder: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    """From its first block to its last, as somebody would follow it."""
    text = path.read_text(encoding="utf-8")
    renewed, end = "", 0
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks(text):
        fresh = block.text
        if block.file:
            assert block.text == (folder / block.file).read_text(encoding="utf-8"), f"{path.name}: {block.file}"
        elif block.language == "python":
            exec(compile(block.text, path.name, "exec"), names)
        elif block.language == "console":
            fresh = "".join(_fresh(command, shown, said(command, capsys)) for command, shown in steps(block))
        renewed, end = renewed + text[end : block.start] + fresh, block.end
    renewed += text[end:]
    if request.config.option.update_snapshots:
        path.write_text(renewed, encoding="utf-8")
    else:
        assert renewed == text


def _fresh(command: str, shown: str, out: str) -> str:
    """The command with what it says, as shown where that fits."""
    keeps = not shown.strip() or fits(shown, out) or ANY_LINES in shown.split("\n")
    if keeps and shown.strip():
        assert fits(shown, out), f"$ {command}\n{out}"
    lines = "".join(f"{line.rstrip()}\n" for line in out.splitlines())
    return f"$ {command}\n{shown if keeps else lines}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    """Within the repository."""
    links = [link for link in LINK.findall(path.read_text(encoding="utf-8")) if "://" not in link]
    assert [link for link in links if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("name", GENERATED)
def test_what_is_told_of_tables_and_formats_is_what_there_is(name: str, request: pytest.FixtureRequest) -> None:
    """``pytest --snapshot-update`` renews these pages, and so does ``python -m tests.generated_pages``."""
    if request.config.option.update_snapshots:
        (ROOT / "docs" / name).write_text(GENERATED[name](), encoding="utf-8")
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == GENERATED[name]()


def test_every_verb_is_told() -> None:
    """On the page about the command line."""
    headings = re.findall(
        r"^## `redrive (\w+)", (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert headings == list(VERBS)
