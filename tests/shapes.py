"""The shape of every event as a digest, kept beside the recordings, and what of it may still change."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from importlib.metadata import version

import msgspec

from redrive_events import EVENTS, Json, Record, digest

# The first version from which nothing that was ever stored changes its shape.
RELEASED = (0, 1)


def shapes(kinds: Iterable[type] = EVENTS) -> dict[str, str]:
    """For each tag, and for the record around them all, a digest of what may stand there; words do not count."""
    found = {_tag(kind): _digest(msgspec.json.schema(kind)) for kind in kinds}
    record = msgspec.json.schema(Record)
    record["$defs"]["Record"]["properties"]["event"] = {}
    return {"record": _digest(record), **found}


def renewed(
    before: Mapping[str, str], now: Mapping[str, str], *, upcasters: Collection[str], released: bool
) -> dict[str, str]:
    """What is to be kept of shapes that were kept ``before``.

    Raises:
        ValueError: a stored event would not be read, or as what it was not: its shape needs a tag of its own.
    """
    if not released:
        return dict(now)
    for tag in before:
        if tag not in now and tag not in upcasters:
            raise ValueError(f"{tag}: nothing reads it any more; give it an upcaster, see docs/changing-events.md")
        if tag in now and now[tag] != before[tag]:
            raise ValueError(f"{tag}: another shape under the same tag; give it a version, see docs/changing-events.md")
    return {**before, **now}


def is_released() -> bool:
    """Whether logs of today must be read for ever."""
    return tuple(map(int, version("redrive").split(".")[:2])) >= RELEASED


def spelled(kept: Mapping[str, str]) -> str:
    """Shapes as they are kept: one a line, by name."""
    return "".join(f"{kept[tag]}  {tag}\n" for tag in sorted(kept))


def read(text: str) -> dict[str, str]:
    """What `spelled` wrote."""
    return {tag: told for told, _, tag in (line.partition("  ") for line in text.splitlines())}


def _tag(kind: type) -> str:
    return str(msgspec.inspect.type_info(kind).tag)  # type: ignore[attr-defined]


def _digest(schema: dict[str, Json]) -> str:
    parts = schema.pop("$defs")
    return digest(_shape(schema, parts))


def _shape(schema: Json, parts: dict[str, Json]) -> Json:
    """A schema without what only explains it, and with its parts in their place, whatever they are called."""
    if isinstance(schema, list):
        return [_shape(one, parts) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if isinstance(where := schema.get("$ref"), str):
        schema = parts[where.rpartition("/")[2]] | {key: one for key, one in schema.items() if key != "$ref"}
    explains = {key for key in ("title", "description") if isinstance(schema.get(key), str)} | {"discriminator"}
    return {key: _shape(one, parts) for key, one in schema.items() if key not in explains}
