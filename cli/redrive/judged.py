"""Why a call was judged as it was: for programs, and for people."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from rich.text import Text

from redrive.terminal import Cell, columns
from redrive_engine.policy import RuleLook
from redrive_events import Json, canonical
from redrive_projections import called_as, one_line
from redrive_replays import Judged

VALUE_CHARS_MAX = 60
_FOUND = {True: "holds", False: "fails", None: "unknown"}
_COLOURS = {"decides": "bold", "holds": "green", "fails": "red", "unknown": "yellow"}
# Readings of what is no comparison.
_PLAIN = frozenset({"read", "set"})


def judged_data(judged: Judged) -> dict[str, Json]:
    """All verdicts on a call as plain data, each with what led to it."""
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
    changes = [msgspec.to_builtins(one) for one in look.ruling.read[len(clauses) :]] if look.ruling else []
    return {"rule": look.rule, "then": look.then, "outcome": look.outcome, "clauses": clauses, "changes": changes}


def judged_told(data: dict[str, Json]) -> Iterator[Cell]:
    """The same in lines: each verdict as it was recorded, then rule by rule what leads to one."""
    for number, one in enumerate(data["verdicts"]):
        if number:
            yield ""
        yield Text.assemble((f"event {one['position']}  ", "dim"), called_as(one["tool"], one["arguments"]))
        rows: list[tuple[Cell, Cell]] = [(Text("recorded", style="dim"), _verdict(one["recorded"]))]
        if one["judged"] is None:
            yield from columns(rows)
            yield "It follows from what else happened, and no policy was asked."
            continue
        yield from columns([*rows, (Text("judged", style="dim"), _verdict(one["judged"]))])
        yield from _led_to(one)
        if data["policy"] not in {"", one["recorded"].get("policy", data["policy"])}:
            yield ""
            then = one["recorded"]["policy"]
            yield f"It was judged by other rules then: {then[:16]}, and these are {data['policy'][:16]}."
    if not data["declared"]:
        yield ""
        yield "The log does not say what the tool declares, such as its object and destination; --agent does."


def _led_to(one: dict[str, Json]) -> Iterator[Cell]:
    yield ""
    yield Text.assemble(("contract  ", "dim"), _verdict(one["contract"]))
    yield from columns((f"  {'':7}", *_compared(read)) for read in one["contract"]["read"])
    for look in one["looks"]:
        yield ""
        says = f": {look['then']}" if look["then"] else ""
        yield Text.assemble(
            (f"{look['outcome']}  ", _COLOURS.get(look["outcome"], "dim")), f"“{one_line(look['rule'])}”{says}"
        )
        yield from columns(_rows(look))


def _rows(look: dict[str, Json]) -> Iterator[tuple[Cell, ...]]:
    for clause in look["clauses"]:
        word = "" if clause["operator"] in _PLAIN else clause["found"]
        yield Text(f"  {word:7}", style=_COLOURS.get(word, "")), *_compared(clause)
    yield from ((f"  {'':7}", *_compared(read)) for read in look["changes"])


def _compared(read: dict[str, Json]) -> tuple[Cell, Cell]:
    """What was compared, and what stood there: a reference is told with what it stands for."""
    limit = "" if read["operator"] == "read" else _value(read.get("limit"))
    written = read.get("written")
    stands_for = isinstance(written, str) and written.startswith("$") and not written.startswith("$$")
    words = (read["path"], read["operator"], f"{written} =" if stands_for else "", limit)
    return " ".join(filter(None, words)), Text(_value(read.get("value")), style="dim")


def _verdict(given: dict[str, Json]) -> str:
    because = f" ({one_line(given['reason'])})" if given.get("reason") else ""
    changed = f", as {_value(given['arguments'])}" if given["verdict"] == "edit" else ""
    return f"{given['verdict']} by rule “{one_line(given['rule'])}”{because}{changed}"


def _value(value: Json) -> str:
    return "nothing" if value is None else one_line(canonical(value).decode(), VALUE_CHARS_MAX)
