"""A timeline as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date

from rich.text import Text

from redrive_projections import Moment

WORD_CELLS = 9
COLOURS = {
    "run_started": "bold",
    "message_received": "bold",
    "model_replied": "bold",
    "model_failed": "red",
    "reply_refused": "red",
    "observation_refused": "red",
    "finish_refused": "red",
    "effect_in_doubt": "yellow",
    "fact_committed": "green",
    "effect_confirmed": "green",
    "run_ended": "bold",
    "lease_granted": "dim",
    "model_asked": "dim",
}


def spelled(moments: Iterable[Moment], last: int, *, clock: str = "utc") -> Iterator[Text]:
    """Each moment as one line: position, time of day, word and text. A new day, and what no clock gave, is seen."""
    day: date | None = None
    for moment in moments:
        if clock != "none" and moment.at.date() != day:
            day = moment.at.date()
            yield Text(f"{'':{len(str(last))}}  {day}{'' if clock == 'utc' else ' (of an unknown zone)'}", style="dim")
        yield line(moment, len(str(last)), timed=clock != "none")


def line(moment: Moment, width: int = 0, *, timed: bool = False) -> Text:
    """One moment; what followed from an input is set in."""
    text = Text(f"{moment.position:{width}}  ", style="dim")
    if timed:
        text.append(f"{moment.at:%H:%M:%S}  " if moment.level == 0 else " " * 10)
    text.append("  " * moment.level)
    rest = Text(f"{moment.word:{WORD_CELLS}} {moment.text}", style=_colour(moment))
    return Text.assemble(text, rest)


def _colour(moment: Moment) -> str:
    if moment.kind == "verdict_given":
        return "red" if ": deny by " in moment.text else ""
    return COLOURS.get(moment.kind, "")
