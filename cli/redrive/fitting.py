"""Lines and rows at the width of a terminal: whole where there is room, else folded between words, never cut."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final, TypeAlias

from rich.cells import cell_len, chop_cells
from rich.text import Text

from redrive_projections import harmless

GAP: Final = "  "
# A column gets no narrower than this only because its words are short.
CELLS_MIN: Final = 8
# Behind how many cells a word of a column without a head may be broken, the best first.
WORD_CELLS_MAX: Final = (1_000, 40, 24, 16)
# A word with the blanks before it. Where a script writes no blanks, a sign is a word, with the stops behind it.
_WITHOUT_BLANKS: Final = "\u2e80-\u2fff\u3040-\u9fff\uac00-\ud7af\uf900-\ufaff\uff01-\uffef"
_STOPS: Final = "\u3001\u3002\u300d\u300f\uff01\uff09\uff0c\uff1a\uff1b\uff1f"
_WORD: Final = re.compile(rf"\s*(?:[{_WITHOUT_BLANKS}][{_STOPS}]*|[^\s{_WITHOUT_BLANKS}]+)|\s+\Z")


@dataclass(frozen=True)
class Rows:
    """Rows whose cells stand one below the other; the columns in ``right`` end at the same place.

    Where there is no room for them, ``narrow`` is shown in their place, if it is given; else cells are folded. Where
    not even their words have room, the rows of a table that is ``headed`` stand one below the other, cell by cell.
    """

    rows: Sequence[Sequence[Text | str]]
    right: Collection[int] = ()
    headed: bool = False
    narrow: Sequence[Line] = ()

    def lines(self, width: int = 0) -> Iterator[Text]:
        """The rows as lines no wider than ``width``; with 0, as wide as they are."""
        texts = [[_shown(cell) for cell in row] for row in self.rows]
        if not texts:
            return
        natural = _widest(texts)
        if not width or _whole(natural) <= width:
            yield from (_joined(row, natural, self.right) for row in texts)
        elif self.narrow:
            yield from laid_out(self.narrow, width)
        else:
            yield from self._narrowed(texts, natural, width)

    def _narrowed(self, texts: Sequence[Sequence[Text]], natural: Sequence[int], width: int) -> Iterator[Text]:
        widths = self._widths(texts, natural, width)
        if widths is None and self.headed:
            yield from _one_below_the_other(texts, width)
        elif widths is None:
            for row in texts:
                yield from folded(Text(GAP).join(row), width, hanging=len(GAP))
        else:
            for row in texts:
                cells = [list(folded(cell, room)) for cell, room in zip(row, widths, strict=True)]
                for parts in zip_longest(*cells, fillvalue=Text()):
                    yield _joined(parts, widths, self.right)

    def _widths(self, texts: Sequence[Sequence[Text]], natural: Sequence[int], width: int) -> list[int] | None:
        """How wide each column is, so that all have room and as few words as can be are broken."""
        longest = [max(_longest(cell.plain) for cell in column) for column in zip(*texts, strict=True)]
        for most in WORD_CELLS_MAX[:1] if self.headed else WORD_CELLS_MAX:
            least = [min(high, max(CELLS_MIN, min(each, most))) for each, high in zip(longest, natural, strict=True)]
            if _whole(least) <= width:
                return _shared(least, natural, width)
        return None


Line: TypeAlias = Text | str | Rows


def laid_out(lines: Iterable[Line], width: int = 0) -> Iterator[Text]:
    """All lines no wider than ``width``: what is folded goes on set in. With 0, each is as wide as it is."""
    for line in lines:
        if isinstance(line, Rows):
            yield from line.lines(width)
        elif width:
            text = _shown(line)
            blanks = len(text.plain) - len(text.plain.lstrip())
            yield from folded(text, width, hanging=min(blanks + len(GAP), width // 2))
        else:
            yield _shown(line)


def folded(text: Text, width: int, *, hanging: int = 0) -> Iterator[Text]:
    """``text`` in lines no wider than ``width``, all but the first set in; a word is broken only if it has no room."""
    begin = end = used = indent = 0
    for word in _pieces(text.plain, width - hanging):
        cells, blanks = cell_len(word), len(word) - len(word.lstrip())
        if used and indent + used + cells > width:
            yield _set_in(text[begin:end], indent)
            begin, used, indent = end + blanks, cells - blanks, hanging
        else:
            used += cells
        end += len(word)
    yield _set_in(text[begin:end], indent)


def _pieces(plain: str, most: int) -> Iterator[str]:
    """The words of a text, each with the blanks before it; one that is wider than ``most`` in pieces."""
    for found in _WORD.finditer(plain):
        word = found[0]
        yield from chop_cells(word, most) if cell_len(word) > most else [word]


def _longest(plain: str) -> int:
    return max((cell_len(found[0].strip()) for found in _WORD.finditer(plain)), default=0)


def _set_in(line: Text, indent: int) -> Text:
    found = Text.assemble(" " * indent, line)
    found.rstrip()
    return found


def _shown(cell: Text | str) -> Text:
    """A cell in which nothing commands the terminal, or makes two lines of one."""
    text = Text(cell) if isinstance(cell, str) else cell.copy()
    text.plain = harmless(text.plain)
    return text


def _widest(texts: Sequence[Sequence[Text]]) -> list[int]:
    return [max(cell.cell_len for cell in column) for column in zip(*texts, strict=True)]


def _whole(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _shared(least: Sequence[int], natural: Sequence[int], width: int) -> list[int]:
    """The room there is: each column has its ``least``, and the narrow ones all they need before the wide ones."""
    for most in range(width, 0, -1):
        widths = [max(low, min(high, most)) for low, high in zip(least, natural, strict=True)]
        if _whole(widths) <= width:
            return widths
    return list(least)


def _joined(row: Sequence[Text], widths: Sequence[int], right: Collection[int]) -> Text:
    line = Text()
    for index, (cell, width) in enumerate(zip(row, widths, strict=True)):
        gap = " " * (width - cell.cell_len)
        line.append(GAP if index else "")
        line.append_text(Text.assemble(gap, cell) if index in right else Text.assemble(cell, gap))
    line.rstrip()
    return line


def _one_below_the_other(texts: Sequence[Sequence[Text]], width: int) -> Iterator[Text]:
    """Each row by itself: a head and a cell to a line, as far as there is something in it."""
    heads, *rows = texts
    for number, row in enumerate(rows):
        yield from [Text()] * bool(number)
        pairs = [(head, cell) for head, cell in zip(heads, row, strict=True) if cell.plain]
        yield from Rows(pairs).lines(width)
