"""What files are wrapped in: the rows of a list or a table, traces by their names, one in a field of another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, overload

from redrive_events import BadInput, Json, parse_json
from redrive_replays.traces.lines import Entry
from redrive_replays.traces.material import Material

# What a list of traces, or one trace, stands in; rows of a data set have the trace in one field among others.
_WRAPPERS: Final = (
    *(
        "data",
        "rows",
        "row",
        "results",
        "items",
        "records",
        "examples",
        "samples",
        "logs",
        "log",
        "runs",
        "traces",
        "trace",
    ),
    *("trajectories", "trajectory", "traj", "sessions", "conversations", "events", "entries", "lines", "messages"),
    *("train", "test", "validation", "content", "json", "output", "result", "body", "payload", "simulations"),
)
_DEEP_MAX: Final = 3
_LOOKED_AT: Final = 8


def opened(material: Material, *, by_name: bool = True) -> Iterator[Material]:
    """The same file with what is wrapped taken out, the least taken out first; nothing where nothing is wrapped.

    If not ``by_name``, an object of objects is none of traces by their names.
    """
    layer = [material]
    for _ in range(_DEEP_MAX):
        layer = [view for one in layer for view in _views(one, by_name)]
        yield from layer


def _views(material: Material, by_name: bool) -> Iterator[Material]:
    entries = material.entries
    if not material.lined:
        yield from _of_document(material, entries[0].value, by_name)
        return
    looked_at = [entry.value for entry in entries[:_LOOKED_AT]]
    for name in _WRAPPERS:
        held = [_held(value, name) for value in looked_at]
        if any(isinstance(one, dict) for one in held):
            yield replace(material, entries=_Fields(entries, name))
        elif isinstance(entries, list) and any(_is_rows(one) for one in held):
            rows = (one for entry in entries for one in _rows(_held(entry.value, name)))
            yield replace(material, entries=[Entry(index, one) for index, one in enumerate(rows)])


def _of_document(material: Material, value: Json, by_name: bool) -> Iterator[Material]:
    """A list is its items; an object that has traces by their names, and nothing else, is these."""
    if isinstance(value, list):
        flat = [one for item in value for one in (item if isinstance(item, list) else [item])]
        yield from _lined(material, flat)
        return
    if not isinstance(value, dict):
        return
    for name in _WRAPPERS:
        held = _held(value, name)
        if isinstance(held, dict):
            yield replace(material, entries=[Entry(0, held)])
        elif _is_rows(held):
            yield from _lined(material, held)
    if by_name and value and all(isinstance(one, dict) for one in value.values()):
        yield from _lined(material, list(value.values()))


def _lined(material: Material, values: Sequence[Json]) -> Iterator[Material]:
    if any(isinstance(one, dict) for one in values):
        entries = [Entry(index, one) for index, one in enumerate(values)]
        yield replace(material, entries=entries, lined=True)


def _is_rows(value: Json) -> bool:
    return any(isinstance(one, dict) for one in _rows(value))


def _rows(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _held(value: Json, name: str) -> Json:
    """What a field holds; it may be JSON text."""
    held = value.get(name) if isinstance(value, dict) else None
    if isinstance(held, str) and held.lstrip()[:1] in {"{", "["}:
        try:
            return parse_json(held)
        except BadInput:
            return None
    return held


class _Fields(Sequence[Entry]):
    """What one field of each entry holds, with the other fields beside it; looked at one by one."""

    def __init__(self, entries: Sequence[Entry], name: str) -> None:
        self._entries, self._name = entries, name

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, at: int) -> Entry: ...
    @overload
    def __getitem__(self, at: slice) -> list[Entry]: ...
    def __getitem__(self, at: int | slice) -> Entry | list[Entry]:
        if isinstance(at, slice):
            return [self._inner(entry) for entry in self._entries[at]]
        return self._inner(self._entries[at])

    def _inner(self, entry: Entry) -> Entry:
        held = _held(entry.value, self._name)
        around = entry.value if isinstance(entry.value, dict) else {}
        if not isinstance(held, dict):
            return replace(entry, value=held)
        return replace(entry, value={**held, **_beside(around, held, self._name)})


def _beside(around: Mapping[str, Json], held: Mapping[str, Json], name: str) -> dict[str, Json]:
    return {key: one for key, one in around.items() if key != name and key not in held}
