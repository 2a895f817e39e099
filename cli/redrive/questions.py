"""What a person is asked to allow, for people and for programs: all of it, since they answer for all of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import msgspec
from rich.text import Text

from redrive.masking import Shown
from redrive.terminal import Cell, columns
from redrive_events import EventLog, Json, canonical
from redrive_projections import Approval, approvals, one_line

VALUE_CHARS_MAX = 10_000
DIGEST_CHARS = 12


def waiting_in(log: EventLog, run_id: str, *, unmasked: bool = False) -> list[Approval]:
    """What is open in a run, without its credentials unless they are to be shown; the digest is of all of it."""
    records = list(log.read(run_id))
    shown = Shown(records, unmasked=unmasked)
    return [
        msgspec.structs.replace(
            one,
            arguments=shown.data(one.arguments),
            object=shown.data(one.object),
            destination=shown.data(one.destination),
            reason=shown.data(one.reason),
        )
        for one in approvals(records)
        if not one.answer
    ]


def approval_data(one: Approval, at: datetime) -> dict[str, Json]:
    """As plain data."""
    data: dict[str, Json] = msgspec.to_builtins(one)
    del data["answer"], data["by"]
    return data | {"expired": one.is_over(at)}


def approval_told(one: Approval, at: datetime) -> Iterator[Cell]:
    """In lines: the call, each of its arguments, and what else hangs on the answer."""
    yield Text.assemble((f"{one.run_id}  call {one.call}  {one_line(one.tool)}", "bold"), f"  ({one.effect})")
    rows = [*_arguments(one.arguments), ("on", _json(one.object)), ("to", _json(one.destination))]
    rows += [
        ("why", one_line(one.reason, VALUE_CHARS_MAX)),
        ("asked", f"{one.asked_at:%Y-%m-%d %H:%M:%S} UTC"),
        ("until", _until(one, at)),
        ("digest", one.digest[:DIGEST_CHARS]),
    ]
    for line in columns((Text(name, style="dim"), value) for name, value in rows if value):
        yield Text.assemble("  ", line)


def _arguments(arguments: Json) -> list[tuple[str, str]]:
    if not isinstance(arguments, dict):
        return [("with", _json(arguments))]
    return [(f"with {one_line(name)}", _json(value)) for name, value in arguments.items()]


def _until(one: Approval, at: datetime) -> str:
    if one.expires is None:
        return ""
    return f"{one.expires:%Y-%m-%d %H:%M:%S} UTC{', which is over' if one.is_over(at) else ''}"


def _json(value: Json) -> str:
    return "" if value is None else one_line(canonical(value).decode(), VALUE_CHARS_MAX)
