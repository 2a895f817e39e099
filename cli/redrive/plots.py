"""Plots as inline SVG: bars and columns that are labelled in words, so that nothing is told by colour alone."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from redrive_projections import harmless

LABEL_WIDTH, BAR_WIDTH, VALUE_WIDTH = 180, 400, 120
ROW, BAR = 26, 18
HEIGHT, COLUMNS_MAX = 160, 60
LABEL_CHARS_MAX = 24


class Mark(NamedTuple):
    """What is drawn for one thing: its name, how much of it there is, how that is said, and how much of it is bad."""

    name: str
    amount: float
    said: str
    bad: float = 0


def mark(name: str, amount: float, said: str, bad: float = 0) -> Mark:
    """A mark whose name commands nothing, whatever it is that has it."""
    return Mark(harmless(name), amount, said, bad)


def bars(marks: Sequence[Mark], title: str) -> str:
    """One bar below the other."""
    most = max((one.amount for one in marks), default=0) or 1
    width, height = LABEL_WIDTH + BAR_WIDTH + VALUE_WIDTH, ROW * len(marks)
    drawn = "".join(_bar(one, ROW * row, most) for row, one in enumerate(marks))
    return _svg(width, height, title, marks, drawn)


def columns(marks: Sequence[Mark], title: str) -> str:
    """One column beside the other, as time goes by; only the last ones, where there are too many."""
    shown = marks[-COLUMNS_MAX:]
    most = max((one.amount for one in shown), default=0) or 1
    width = LABEL_WIDTH + BAR_WIDTH + VALUE_WIDTH
    step = width / max(len(shown), 8)
    drawn = "".join(_column(one, step * place, step, most) for place, one in enumerate(shown))
    if shown:
        ends = [(0.0, "start", shown[0].name)]
        ends += [(step * len(shown), "end", shown[-1].name)] if len(shown) > 1 else []
        drawn += "".join(
            f'<text x="{x:.1f}" y="{HEIGHT + 34}" text-anchor="{anchor}">{_short(name)}</text>'
            for x, anchor, name in ends
        )
    drawn += f'<line class="axis" x1="0" y1="{HEIGHT + 16}" x2="{width}" y2="{HEIGHT + 16}"/>'
    return _svg(width, HEIGHT + 40, title, shown, drawn)


def _bar(drawn: Mark, y: int, most: float) -> str:
    long, bad = BAR_WIDTH * drawn.amount / most, BAR_WIDTH * drawn.bad / most
    middle = y + ROW / 2 + 5
    return (
        f'<text x="{LABEL_WIDTH - 8}" y="{middle:.1f}" text-anchor="end">{_short(drawn.name)}</text>'
        f'<rect class="mark" x="{LABEL_WIDTH}" y="{y + 4}" width="{max(long, 1):.1f}" height="{BAR}" rx="2"/>'
        + (f'<rect class="bad" x="{LABEL_WIDTH}" y="{y + 4}" width="{bad:.1f}" height="{BAR}" rx="2"/>' if bad else "")
        + f'<text class="value" x="{LABEL_WIDTH + max(long, 1) + 8:.1f}" y="{middle:.1f}">{escape(drawn.said)}</text>'
    )


def _column(drawn: Mark, x: float, step: float, most: float) -> str:
    high = HEIGHT * drawn.amount / most
    said = (
        f'<text class="value" x="{x + step / 2:.1f}" y="{HEIGHT + 10 - high:.1f}" text-anchor="middle">'
        f"{escape(drawn.said)}</text>"
        if step >= 58
        else ""
    )
    return (
        f'<rect class="mark" x="{x + 1:.1f}" y="{HEIGHT + 16 - high:.1f}" width="{max(step - 2, 1):.1f}" '
        f'height="{max(high, 1):.1f}" rx="2"><title>{escape(f"{drawn.name}: {drawn.said}")}</title></rect>{said}'
    )


def _svg(width: float, height: float, title: str, marks: Sequence[Mark], drawn: str) -> str:
    """Scaled to where it stands; read aloud it is its title and its marks in words."""
    words = "; ".join(f"{one.name}: {one.said}" for one in marks) or "nothing"
    return (
        f'<svg role="img" viewBox="0 0 {width:g} {max(height, 1):g}" aria-label="{escape(f"{title}. {words}")}">'
        f"{drawn}</svg>"
    )


def _short(name: str) -> str:
    return escape(name if len(name) <= LABEL_CHARS_MAX else f"{name[: LABEL_CHARS_MAX - 1]}…")
