"""Two texts side by side, word by word, as a terminal and a plain file can both show them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from redrive_projections import one_line
from redrive_replays import Piece

AROUND_CHARS = 60


def pieces(changed: Sequence[Piece]) -> Text:
    """The pieces on one line; long ones that stay are cut in their middle."""
    text = Text()
    for change, words in changed:
        told = one_line(words, 10 * AROUND_CHARS) if change != "same" else _shortened(words)
        marks = {"same": ("", "", "dim"), "gone": ("[-", "-]", "red"), "new": ("{+", "+}", "green")}[change]
        text.append(f"{marks[0]}{told}{marks[1]}", style=marks[2])
    return text


def _shortened(words: str) -> str:
    line = " ".join(words.split(" "))
    if len(line) <= 2 * AROUND_CHARS:
        return line.replace("\n", " ")
    return f"{line[:AROUND_CHARS]} … {line[-AROUND_CHARS:]}".replace("\n", " ")
