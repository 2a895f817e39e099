"""All that an event holds, on one line: positions, ids and moments by name, digests and long content in short."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Final

import msgspec

from redrive_events import FactCommitted, Json, Record, ToolCalled, canonical
from redrive_replays.testing.matching import Matching
from redrive_replays.testing.references import References
from redrive_replays.testing.shortening import DIGEST_CHARS, short

PLACES: Final = frozenset({"evidence", "window", "supersedes", "position"})
IDS: Final = frozenset({"id", "response_id", "key", "nonce", "worker", "mask_key", "state"})
# That of a state is of the time it took as well, so it is named like an id.
DIGESTS: Final = frozenset({"request", "digest", "policy", "sha256"})
MOMENTS: Final = frozenset({"as_of", "started", "expires"})
# What is data of the program is told by its digest, and what machine it was says nothing of the run.
PROGRAM: Final = frozenset({"contract", "data", "handover"})
UNTOLD: Final = frozenset({"event", "environment"})


def whole(record: Record, names: References, matching: Matching) -> str:
    """When, from what, and each field."""
    data: dict[str, Json] = msgspec.to_builtins(record.event)
    fields = {name: _told(name, value, names) for name, value in data.items() if name not in UNTOLD}
    if isinstance(record.event, ToolCalled) and isinstance(record.event.arguments, dict):
        fields["arguments"] = {
            **record.event.arguments,
            **matching.arguments(record.event.tool, record.event.arguments),
        }
    if isinstance(record.event, FactCommitted):
        fields["key"] = record.event.key
    after = f" after {names.at(record.cause)}" if record.cause else ""
    return f"{names.since(record.at)}{after} {canonical(fields).decode()}"


def _told(name: str, value: Json, names: References) -> Json:
    if name in PLACES and value is not None:
        return [names.at(one) for one in value] if isinstance(value, list | tuple) else names.at(value)
    if name == "new":
        return [names.at(one) if isinstance(one, int) else _plain(one, names) for one in value]
    if name == "call" and isinstance(value, int):
        return f"call#{value}"
    if isinstance(value, str) and name in IDS | DIGESTS | MOMENTS:
        return _word(name, value, names)
    if name in PROGRAM and value is not None:
        return f"sha256 {short_digest(value)}"
    return _plain(value, names)


def _word(name: str, value: str, names: References) -> str:
    if name in IDS:
        return names.id(value)
    if name in DIGESTS:
        return value[:DIGEST_CHARS]
    return names.since(datetime.fromisoformat(value))


def _plain(value: Json, names: References) -> Json:
    if isinstance(value, Mapping):
        return {key: _told(str(key), one, names) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one, names) for one in value]
    return short(names.plain(value)) if isinstance(value, str) else value


def short_digest(value: Json) -> str:
    """The beginning of the digest of plain data."""
    return sha256(canonical(value)).hexdigest()[:DIGEST_CHARS]
