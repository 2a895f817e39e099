"""Which fields of an event somebody from outside has written, and so are masked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from redrive_engine.masking.blocks import masked_content
from redrive_engine.masking.door import Door
from redrive_events import (
    AnnotationMade,
    ApprovalGiven,
    CancelRequested,
    LeaseRevoked,
    MessageReceived,
    ModelReplied,
    OutcomeStated,
    RunForked,
    RunStarted,
)
from redrive_projections import LATE_OUTCOME

E = TypeVar("E", bound=msgspec.Struct)

# Who says what Redrive itself remarks, of a replay for one.
OWN: Final = "redrive"
# Whatever else an event holds is the engine's own or a name: of the agent, the principal, the tenant, a person, a tool.
# An observation is masked before it is cut, where the tool is put to work.
CONTENT: Final[Mapping[type, tuple[str, ...]]] = {
    MessageReceived: ("content",),
    OutcomeStated: ("content",),
    ModelReplied: ("content",),
}
DATA: Final[Mapping[type, tuple[str, ...]]] = {
    RunForked: ("labels",),
    RunStarted: ("goal", "environment", "labels", "lessons", "known"),
    ApprovalGiven: ("arguments", "reason"),
    OutcomeStated: ("reason",),
    CancelRequested: ("reason",),
    LeaseRevoked: ("reason",),
    AnnotationMade: ("value",),
}


def says_something(event: object) -> bool:
    """Whether there is anything in the event that may have to be masked."""
    if isinstance(event, AnnotationMade):
        if event.source == OWN:  # made of what is recorded, and so of what was masked
            return False
        if event.name == LATE_OUTCOME and isinstance(event.value, dict):
            return bool(event.value.get("reason"))
    return any(getattr(event, name) for fields in (CONTENT, DATA) for name in fields.get(type(event), ()))


def masked_event(door: Door, event: E) -> E:
    """The event as it may be written."""
    if not door.is_masking:
        return event
    changes: dict[str, object] = {}
    for name in CONTENT.get(type(event), ()):
        if (content := getattr(event, name)) is not None:
            changes[name] = masked_content(door, content)
    for name in DATA.get(type(event), ()):
        value = getattr(event, name)
        if value is None:
            continue
        changes[name] = tuple(door.json(value)) if isinstance(value, tuple) else door.json(value)
    return msgspec.structs.replace(event, **changes)
