"""Why a call was judged as it was: for people, and for programs."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from rich.text import Text

from redrive.terminal import Cell, columns
from redrive_engine import Judging
from redrive_engine.policy import RuleLook, Ruling
from redrive_events import Json, Reading, VerdictGiven, canonical
from redrive_projections import called_as, one_line
from redrive_replays import Judged

VALUE_CHARS_MAX = 60
_FOUND = {True: "holds", False: "fails", None: "unknown"}
_COLOURS = {"decides": "bold", "holds": "green", "fails": "red", "unknown": "yellow"}
# Readings of what is no comparison.
_PLAIN = frozenset({"read", "set"})


def judged_told(judged: Judged) -> Iterator[Cell]:
    """Each verdict as it was recorded, then rule by rule what leads to one."""
    for number, one in enumerate(judged.judgings):
        if number:
            yield ""
        yield Text.assemble((f"event {one.position}  ", "dim"), called_as(one.tool, one.arguments))
        rows: list[tuple[Cell, Cell]] = [(Text("recorded", style="dim"), _verdict(one.recorded))]
        if one.ruling is None:
            yield from columns(rows)
            yield "It follows from what else happened, and no policy was asked."
            continue
        rows.append((Text("judged", style="dim"), _verdict(one.ruling)))
        yield from columns(rows)
        yield from _led_to(one)
        yield from _notes(judged, one)


def _led_to(one: Judging) -> Iterator[Cell]:
    if one.form is not None:
        yield ""
        yield Text.assemble(("contract  ", "dim"), _verdict(one.form))
        yield from columns((f"  {'':7}", *_compared(read)) for read in one.form.read)
    for look in one.looks:
        yield ""
        says = f": {look.then}" if look.then else ""
        yield Text.assemble((f"{look.outcome}  ", _COLOURS.get(look.outcome, "dim")), f"“{one_line(look.rule)}”{says}")
        yield from columns(_rows(look))


def _rows(look: RuleLook) -> Iterator[tuple[Cell, ...]]:
    for clause in look.clauses:
        word = "" if clause.read.operator in _PLAIN else _FOUND[clause.holds]
        yield Text(f"  {word:7}", style=_COLOURS.get(word, "")), *_compared(clause.read, clause.written)
    changed = look.ruling.read[len(look.clauses) :] if look.ruling else ()
    yield from ((f"  {'':7}", *_compared(read)) for read in changed)


def _compared(read: Reading, written: Json = None) -> tuple[Cell, Cell]:
    """What was compared, and what stood there: a reference is told with what it stands for."""
    limit = "" if read.operator == "read" else _value(read.limit)
    stands_for = isinstance(written, str) and written.startswith("$") and not written.startswith("$$")
    name = f"{written} =" if stands_for else ""
    words = " ".join(filter(None, (read.path, read.operator, name, limit)))
    return words, Text(_value(read.value), style="dim")


def _notes(judged: Judged, one: Judging) -> Iterator[Cell]:
    if one.recorded.policy and judged.policy and one.recorded.policy != judged.policy:
        yield ""
        yield f"It was judged by other rules then: {one.recorded.policy[:16]}, and these are {judged.policy[:16]}."
    if not judged.declared:
        yield ""
        yield "The log does not say what the tool declares, such as its object and destination; --agent does."


def _verdict(given: VerdictGiven | Ruling) -> str:
    because = f" ({one_line(given.reason)})" if given.reason else ""
    changed = f", as {_value(given.arguments)}" if given.verdict == "edit" else ""
    return f"{given.verdict} by rule “{one_line(given.rule)}”{because}{changed}"


def _value(value: Json) -> str:
    return "nothing" if value is None else one_line(canonical(value).decode(), VALUE_CHARS_MAX)


def judged_data(judged: Judged) -> dict[str, Json]:
    """The same as plain data."""
    return {
        "run_id": judged.run_id,
        "call": judged.call,
        "policy": judged.policy,
        "declared": judged.declared,
        "verdicts": [
            {
                "position": one.position,
                "tool": one.tool,
                "arguments": one.arguments,
                "recorded": msgspec.to_builtins(one.recorded),
                "contract": msgspec.to_builtins(one.form),
                "looks": [_look_data(look) for look in one.looks],
                "judged": msgspec.to_builtins(one.ruling),
            }
            for one in judged.judgings
        ],
    }


def _look_data(look: RuleLook) -> dict[str, Json]:
    clauses = [
        {**msgspec.to_builtins(one.read), "written": one.written, "found": _FOUND[one.holds]} for one in look.clauses
    ]
    return {"rule": look.rule, "then": look.then, "outcome": look.outcome, "clauses": clauses}
