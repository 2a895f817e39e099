"""What is printed: lines and columns, cut to the width of a terminal and never in a pipe, and progress."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from rich.console import Console
from rich.text import Text

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


def say(*lines: Cell, whole: bool = False) -> None:
    """Print lines on stdout; colours, and a cut at the right edge unless they are to stay ``whole``, on a terminal.

    Nothing that comes from a log or a file can command the terminal, or make two lines of one.
    """
    console = _Screen(highlight=False)
    for line in lines:
        text = Text(line) if isinstance(line, str) else line.copy()
        text.plain = harmless(text.plain)
        if console.is_terminal and not whole:
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
    texts = [[Text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    if not texts:
        return
    widths = [max(row[index].cell_len for row in texts) for index in range(len(texts[0]))]
    for row in texts:
        line = Text()
        for index, (cell, width) in enumerate(zip(row, widths, strict=True)):
            gap = " " * (width - cell.cell_len)
            line.append("  " if index else "")
            line.append_text(Text.assemble(gap, cell) if index in right else Text.assemble(cell, gap))
        line.rstrip()
        yield line


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
