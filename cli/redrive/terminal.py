"""What is printed: lines and columns, cut or folded to the width of a terminal and never in a pipe, and progress."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from rich.console import Console
from rich.text import Text

from redrive.fitting import Line, Rows, laid_out
from redrive_events import Json, canonical
from redrive_projections import harmless, one_line

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

T = TypeVar("T")
Cell: TypeAlias = Text | str

# Work that takes no longer than this shows no progress.
PATIENCE_S = 0.5


class _Screen(Console):
    """Stdout, which leaves it to the command what to do once nobody reads any more."""

    def on_broken_pipe(self) -> None:
        """Let the error be seen."""
        raise BrokenPipeError


def say(*lines: Line, whole: bool = False, fold: bool = False) -> None:
    """Print lines on stdout; on a terminal with colours, and cut at its right edge.

    With ``whole`` they are not cut, with ``fold`` what has no room goes on in the next line. Nothing that comes from a
    log or a file can command the terminal, or make two lines of one.
    """
    console = _Screen(highlight=False)
    for text in laid_out(lines, console.width if fold and console.is_terminal else 0):
        if console.is_terminal and not (whole or fold):
            text.truncate(console.width, overflow="ellipsis")
        console.print(text, soft_wrap=True, markup=False)


def say_json(data: Json) -> None:
    """Print one JSON document on one line."""
    say_data(f"{canonical(data).decode()}\n")


def say_data(text: str) -> None:
    """Print what a program reads: as it is in a pipe or a file; what would command a terminal is spelled out on one.

    As JSON spells it, so that JSON stays what it was.
    """
    if sys.stdout.isatty():
        commands = [sign for sign in {*text} - {"\n", "\t"} if harmless(sign) != sign]
        text = text.translate({ord(sign): f"\\u{ord(sign):04x}" for sign in commands})
    print(text, end="", flush=True)


def warn(problem: str) -> int:
    """Say on stderr, in one line, what was found; the exit code of a finding."""
    print(f"redrive: {one_line(problem, 1000)}", file=sys.stderr)
    return 1


def counted(number: int, what: str) -> str:
    """A number with its noun: ``1 event``, ``2 events``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def columns(rows: Iterable[Sequence[Cell]], *, right: Collection[int] = ()) -> Iterator[Text]:
    """Rows as lines with their cells one below the other; the columns in ``right`` end at the same place."""
    return Rows(list(rows), right).lines()


def watched(items: Iterable[T], what: str, *, total: int | None = None) -> Iterator[T]:
    """``items``, with the progress shown on a terminal if it takes a while."""
    with counting(what, total=total) as progress:
        for done, item in enumerate(items, start=1):
            yield item
            progress("", done)


def is_watched() -> bool:
    """Whether a person sees what is printed, as it is printed."""
    return sys.stdout.isatty() and sys.stderr.isatty()


@contextmanager
def counting(what: str, *, total: int | None = None) -> Iterator[Callable[[str, int], None]]:
    """A function that is told of what, and how much of it, is done; a terminal shows it, after a while."""
    if not is_watched():
        yield lambda _, __: None
        return
    begun = time.monotonic()
    with ExitStack() as stack:
        shown: list[tuple[Progress, TaskID]] = []

        def told(name: str, done: int) -> None:
            if not shown and time.monotonic() - begun > PATIENCE_S:
                shown.append(_bar(stack, what, total))
            for progress, task in shown:
                progress.update(task, completed=done, description=f"{what} {name}".strip())

        yield told


def _bar(stack: ExitStack, what: str, total: int | None) -> tuple[Progress, TaskID]:
    from rich.progress import Progress

    progress = stack.enter_context(Progress(console=Console(stderr=True), transient=True))
    return progress, progress.add_task(what, total=total)
