"""A branch of a run, explained: how far it surely goes, what flips first, which effects that touches, what goes on."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import msgspec
from rich.text import Text

from redrive.explained import values
from redrive.fitting import Line, Rows
from redrive.masking import Shown
from redrive.moments import line
from redrive.terminal import Cell, counted
from redrive.worded import pieces
from redrive_events import Json, ModelAsked, Record, kind_of, text_of
from redrive_projections import called_as, timeline
from redrive_replays import word_diff
from redrive_replays.whatif import EdgeReport, Effect, Flip

MESSAGES_MAX = 6
UNGROUNDED_MAX = 8


def concealed(report: EdgeReport, shown: Shown) -> EdgeReport:
    """The report as it may be shown."""
    flip = report.flip and Flip(*(one and shown.records([one])[0] for one in report.flip))
    before, prevented, after = (
        tuple(one._replace(arguments=shown.data(one.arguments)) for one in effects)
        for effects in (report.before, report.prevented, report.after)
    )
    return dataclasses.replace(
        report,
        flip=flip,
        before=before,
        prevented=prevented,
        after=after,
        asked=shown.messages(report.asked),
        would_ask=shown.messages(report.would_ask),
        ungrounded=tuple(one._replace(value=shown.data(one.value)) for one in report.ungrounded),
        live=tuple(shown.records(report.live)),
    )


def imagined(report: EdgeReport, branched: Sequence[Record], records: Sequence[Record]) -> Iterator[Line]:
    """A whole report: the headline, the first flip, the effects, the edge, and how to go on."""
    if report.changed_parts:
        yield Text.assemble(("changed parts  ", "bold"), ", ".join(report.changed_parts))
    yield _headline(report)
    yield from _flip(report, branched, records)
    yield from _effects(report)
    yield from _edge(report)
    if report.unheard:
        yield ""
        yield "it ends where the recording does: of what was said last nobody has taken note"
    if report.live:
        yield ""
        yield Text("answered now", style="bold")
        width = len(str(report.live[-1].position))
        yield from (_told(one, branched, width) for one in report.live)
    if report.assumptions:
        yield ""
        yield Text("assumed", style="bold")
        yield Rows([(f"{number}", what) for number, what in enumerate(report.assumptions, start=1)])
    if report.unused:
        yield ""
        yield Text.assemble(("not used", "bold yellow"), f"  {', '.join(report.unused)}: nothing asked for it here")


def _headline(report: EdgeReport) -> Text:
    text = Text.assemble(
        report.run_id,
        "  ",
        (sureness_of(report.sureness, report.turn, report.turns), "green" if report.sureness == "same" else "yellow"),
    )
    if report.sureness in {"exact", "under assumptions"}:
        text.append(f" · {_end(report)}", style="dim")
    return text


def _end(report: EdgeReport) -> str:
    """How the new run ended, against the recorded one; beyond the first edge it may have come to another."""
    recorded, ended = report.recorded_status or "not ended", report.status or "not ended"
    told = f"{ended}, as recorded" if ended == recorded else f"{recorded} → {ended}"
    return f"{told}, at a second edge in turn {report.edge.turn + 1}" if report.edge else told


def sureness_of(sureness: str, turn: int, turns: int) -> str:
    """How sure a branch is, in words."""
    return f"exact to turn {turn} of {turns}" if sureness == "exact to turn" else sureness


def _flip(report: EdgeReport, branched: Sequence[Record], records: Sequence[Record]) -> Iterator[Line]:
    if report.flip is None:
        return
    sides = (("recorded", report.flip.recorded, list(records)), ("here", report.flip.branched, list(branched)))
    yield ""
    yield Text("first flip", style="bold")
    told = [(Text(name, style="dim"), _told(record, whole)) for name, record, whole in sides]
    yield Rows(told)
    if str(told[0][1]) == str(told[1][1]):  # it reads alike, and is not
        yield from values(report.flip.differences, ("recorded", "here"))


def _told(record: Record | None, records: Sequence[Record], width: int = 0) -> Cell:
    if record is None:
        return "nothing"
    *_, last = timeline(records[: record.position])
    return line(last, width)


def _effects(report: EdgeReport) -> Iterator[Line]:
    rows: list[tuple[Cell, Cell, Cell, Cell]] = []
    for what, effects in (("stands", report.before), ("prevented", report.prevented), ("open", report.after)):
        rows += [
            (Text(what, style=_STYLES[what]), _place(one, report), _came(one), called_as(one.tool, one.arguments))
            for one in effects
        ]
    if rows:
        yield ""
        yield Text("recorded effects", style="bold")
        yield Rows(rows, right={1})


_STYLES = {"stands": "", "prevented": "green", "open": "yellow"}


def _place(effect: Effect, report: EdgeReport) -> str:
    """Where it stands in the recording; with the run, if that is a child."""
    return f"{effect.position}" if effect.run_id == report.run_id else f"{effect.run_id} {effect.position}"


def _came(effect: Effect) -> str:
    """What came of it in the recording, and in the branch if that is something else."""
    recorded = effect.outcome if effect.outcome in _CAME else "in_doubt"
    told = _CAME[recorded]
    return told if effect.here in {recorded, "not_asked", "waiting"} else f"{told} → {_CAME[effect.here]}"


_CAME = {"landed": "landed", "not_landed": "did not land", "in_doubt": "may have landed"}


def _edge(report: EdgeReport) -> Iterator[Line]:
    if report.edge is None:
        if report.ungrounded:
            yield from ("", *_ungrounded(report))
        return
    yield ""
    left = report.turns - report.turn
    what = kind_of(report.edge.request).replace("_", " ")
    sure = "no answer" if report.assumptions else "no sure answer"
    has = "is open there, too" if report.sureness == "same" else f"has {sure} to it"
    name = "second edge" if report.assumptions else "edge"
    yield Text.assemble((name, "bold"), f"  {what}: the recording {has}", _unsaid(left))
    if isinstance(report.edge.request, ModelAsked) and report.asked:
        yield from _request(report)
    yield from _ungrounded(report)
    if report.flags:
        yield Text.assemble(("goes on with  ", "dim"), ", ".join(report.flags))


def _ungrounded(report: EdgeReport) -> Iterator[Line]:
    """The recorded calls that nobody could have made here."""
    for one in report.ungrounded[:UNGROUNDED_MAX]:
        yield f"call {one.call} of {one.tool} uses {one.value!r}, which only observations show that are not here"
    if len(report.ungrounded) > UNGROUNDED_MAX:
        yield f"… and {len(report.ungrounded) - UNGROUNDED_MAX} more"


def _unsaid(turns: int) -> str:
    return f"; {counted(turns, 'recorded turn')} left unsaid" if turns > 0 else ""


def _request(report: EdgeReport) -> Iterator[Line]:
    """What the model would have read, against what it read: the messages that differ, as pieces of words."""
    recorded = [_said(one.role, text_of(one.content) or _blocks(one.content)) for one in report.asked]
    would = [_said(one.role, text_of(one.content) or _blocks(one.content)) for one in report.would_ask]
    changed = [pair for pair in _paired(recorded, would) if pair[0] != pair[1]]
    for before, after in changed[:MESSAGES_MAX]:
        yield Text("  ").append_text(pieces(word_diff(before, after)))
    if len(changed) > MESSAGES_MAX:
        yield f"… and {len(changed) - MESSAGES_MAX} more messages"


def _said(role: str, words: str) -> str:
    return f"{role}: {words}"


def _blocks(content: Json) -> str:
    return msgspec.json.encode(content).decode()


def _paired(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[str, str]]:
    for index in range(max(len(before), len(after))):
        yield before[index] if index < len(before) else "", after[index] if index < len(after) else ""
