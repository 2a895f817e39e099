"""A prompt for SQL: statements over several lines up to a semicolon, and a few commands that begin with a dot."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from redrive.statements import cut, is_blank
from redrive.terminal import columns, say, warn
from redrive_events import RedriveError
from redrive_projections.history import MACROS, schema, views

FIRST, NEXT = "redrive> ", "     ... "
INTERRUPTED = "\0"  # no terminal gives such a line
HISTORY_LINES_MAX = 1_000

HELP = """\
A statement ends with a semicolon, and may take several lines.
.tables         the tables, views and macros there are
.schema [NAME]  the columns of a table, or of all
.help           this
.quit           leave, as does the end of input (Ctrl-D)"""


class Prompt:
    """Reads statements from stdin and has each of them answered; nothing else of it is about SQL.

    At a terminal it asks, remembers what was typed for the next time, and goes on after a mistake. From a pipe it says
    nothing of its own, and the first mistake is the end.
    """

    def __init__(self, answer: Callable[[str], None]) -> None:
        self._answer = answer
        self._watched = sys.stdin.isatty()

    def run(self) -> None:
        """Until there is nothing more, or `.quit`.

        Raises:
            RedriveError: from a pipe, a statement cannot be answered.
        """
        if not self._watched:
            self._read()
            return
        say('SQL over every run; ".help" says more.')
        with _remembered():
            self._read()

    def _read(self) -> None:
        waiting = ""
        while (line := self._line(NEXT if waiting else FIRST)) is not None:
            if line.startswith(".") and not waiting:
                if not _commanded(line.split()):
                    return
                continue
            found, waiting = cut(f"{waiting}{line}\n" if line != INTERRUPTED else "")
            waiting = "" if is_blank(waiting) else waiting
            for statement in found:
                self._answered(statement)
        if waiting:
            self._answered(waiting.strip())

    def _line(self, prompt: str) -> str | None:
        """The next line; None behind the last one."""
        if not self._watched:
            line = sys.stdin.readline()
            return line.rstrip("\n") if line else None
        try:
            return input(prompt)
        except EOFError:
            print()
            return None
        except KeyboardInterrupt:
            print()
            return INTERRUPTED

    def _answered(self, statement: str) -> None:
        try:
            self._answer(statement)
        except RedriveError as error:
            if not self._watched:
                raise
            warn(str(error))
        except KeyboardInterrupt:
            if not self._watched:
                raise
            warn("interrupted")


def _commanded(words: list[str]) -> bool:
    """Do what a command says; False to leave."""
    command, *names = words
    match command:
        case ".quit" | ".exit":
            return False
        case ".tables":
            say(*columns((kind, name) for kind, names in _kinds().items() for name in names))
        case ".schema":
            _schema(names)
        case ".help":
            print(HELP)
        case _:
            warn(f"{command}: no such command; .help lists them")
    return True


def _kinds() -> dict[str, list[str]]:
    return {
        "table": [table.name for table in schema()],
        "view": [view.name for view in views()],
        "macro": [macro.call for macro in MACROS],
    }


def _schema(names: list[str]) -> None:
    for table in schema():
        if not names or table.name in names:
            told = ",\n".join(f"    {column.name} {column.type}" for column in table.columns)
            print(f"CREATE TABLE {table.name} (\n{told}\n);")
    for view in views():
        if view.name in names:
            print(f"CREATE VIEW {view.name} AS\n{view.query};")
    for macro in MACROS:
        if macro.name in names:
            print(f"{macro.sql};")
    known = {told.name for kind in (schema(), views(), MACROS) for told in kind}
    for name in sorted({*names} - known):
        warn(f"{name}: no such table; .tables lists them")


@contextmanager
def _remembered() -> Iterator[None]:
    """What was typed before is there again, where this Python can edit lines."""
    try:
        import readline
    except ImportError:
        yield
        return
    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "redrive"
    file = folder / "sql_history"
    with suppress(OSError):
        readline.read_history_file(file)
    readline.set_history_length(HISTORY_LINES_MAX)
    try:
        yield
    finally:
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            file.touch(mode=0o600)
            readline.write_history_file(file)
