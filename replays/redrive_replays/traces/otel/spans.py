"""One span, whatever it was written down as, and the tree that spans form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from redrive_events import Json


class Noted(NamedTuple):
    """An event of a span, or a log record of it: its name, attributes, body, and when it was."""

    name: str
    attributes: Mapping[str, Json]
    body: Json = None
    at: datetime | None = None


@dataclass(slots=True, eq=False)
class Span:
    """What somebody did, from when to when; ``seq`` is its place in the file, ``error`` why it failed, if it did.

    ``kind`` is what it was found to be, once it was looked at.
    """

    seq: int
    name: str
    trace: str = ""
    id: str = ""
    parent: str = ""
    scope: str = ""
    start: datetime | None = None
    end: datetime | None = None
    zoned: bool = True
    attributes: dict[str, Json] = field(default_factory=dict)
    events: list[Noted] = field(default_factory=list)
    error: str | None = None
    dropped: int = 0
    resource: Mapping[str, Json] = field(default_factory=dict)
    kind: Literal["", "model", "agent", "tool", "vercel", "other"] = ""

    def text(self, *names: str) -> str:
        """The first of these attributes that is a text with something in it."""
        for name in names:
            value = self.attributes.get(name)
            if isinstance(value, str) and value:
                return value
        return ""

    def first(self, *names: str) -> Json:
        """The first of these attributes that is there."""
        return next((self.attributes[name] for name in names if self.attributes.get(name) is not None), None)


def in_time(spans: Iterable[Span]) -> list[Span]:
    """Spans by their start; one without a start has that of the span before it in the file."""
    found: list[tuple[datetime, int, Span]] = []
    ordered = sorted(spans, key=lambda one: one.seq)
    last = next((span.start for span in ordered if span.start), None) or datetime.min.replace(tzinfo=UTC)
    for span in ordered:
        last = span.start or last
        found.append((last, span.seq, span))
    return [span for _, _, span in sorted(found, key=lambda one: one[:2])]


class Tree:
    """Spans by their ids; of two with one id the last counts, and a ring of parents is no trouble."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._by_id: dict[tuple[str, str], Span] = {}
        self.repeated = 0
        for span in spans:
            key = (span.trace, span.id) if span.id else ("", f"no id {span.seq}")
            self.repeated += key in self._by_id
            self._by_id[key] = span
        self.spans = in_time(self._by_id.values())

    def parent(self, span: Span) -> Span | None:
        """The span in which this one was begun, if it is there."""
        return self._by_id.get((span.trace, span.parent)) if span.parent else None

    def above(self, span: Span) -> Iterator[Span]:
        """All that it stands in, the nearest first."""
        seen = {id(span)}
        up = self.parent(span)
        while up is not None and id(up) not in seen:
            seen.add(id(up))
            yield up
            up = self.parent(up)
