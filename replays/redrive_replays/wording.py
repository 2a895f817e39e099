"""Two texts side by side, word by word: what stays, what goes, what comes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Literal, NamedTuple, TypeAlias

Change: TypeAlias = Literal["same", "gone", "new"]

# A word, a run of blanks, or one sign: scripts without spaces are compared sign by sign.
_WORD = re.compile(r"[^\W一-鿿぀-ヿ가-힯]+|\s+|.", re.DOTALL)
# Texts with more words than this are compared line by line: words take time squared.
WORDS_MAX = 4_000


class Piece(NamedTuple):
    """A piece of text, and what becomes of it."""

    change: Change
    text: str


def word_diff(before: str, after: str) -> list[Piece]:
    """What ``after`` changes in ``before``: without what is new it is ``before``, without what is gone ``after``."""
    left, right = _WORD.findall(before), _WORD.findall(after)
    if len(left) + len(right) > WORDS_MAX:
        left, right = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return list(_pieces(left, right))


def _pieces(left: list[str], right: list[str]) -> Iterator[Piece]:
    """Pieces in order; blanks alone between two changes are changed with them, so that a phrase stays one."""
    gone, new = "", ""
    steps = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    for index, (change, from_, to, start, end) in enumerate(steps):
        same = "".join(left[from_:to])
        if change != "equal" or ((gone or new) and same.isspace() and index < len(steps) - 1):
            gone, new = gone + same, new + "".join(right[start:end])
            continue
        yield from _changed(gone, new)
        gone, new = "", ""
        yield Piece("same", same)
    yield from _changed(gone, new)


def _changed(gone: str, new: str) -> Iterator[Piece]:
    if gone:
        yield Piece("gone", gone)
    if new:
        yield Piece("new", new)
