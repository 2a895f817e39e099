"""What stands elsewhere in a sample: long texts among its attachments, messages in a pool that requests point into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from redrive_events import BadInput, Json

PROTOCOLS: Final = ("attachment://", "tc://")
REFERENCES_MAX: Final = 10_000_000


class Pools:
    """The attachments and the pool of one sample.

    A text that points to an attachment is that attachment; one that points to none stays as it is.
    """

    def __init__(self, sample: Mapping[str, Json]) -> None:
        self._attachments = {key: one for key, one in _dict(sample.get("attachments")).items() if isinstance(one, str)}
        pool = _dict(sample.get("events_data")).get("messages")
        self._messages: list[Json] = [self.resolved(one) for one in pool] if isinstance(pool, list) else []
        self._left = REFERENCES_MAX

    def resolved(self, value: Json) -> Json:
        """``value`` with the attachments that it points to."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return [self.resolved(one) for one in value]
        if isinstance(value, dict):
            return {key: self.resolved(one) for key, one in value.items()}
        return value

    def request(self, event: Mapping[str, Json]) -> list[Json]:
        """The messages with which a model was asked.

        Raises:
            BadInput: they are no list, or point out of the pool.
        """
        if given := event.get("input"):
            if not isinstance(given, list):
                raise BadInput("a request whose messages are no list")
            return [self.resolved(one) for one in given]
        return self.pooled(event.get("input_refs"))

    def pooled(self, references: Json) -> list[Json]:
        """The messages of the pool in some ranges, which do not hold their ends.

        Raises:
            BadInput: the ranges are none, or point out of the pool.
        """
        found: list[Json] = []
        for reference in references if isinstance(references, list) else ():
            start, end = _range(reference)
            if not 0 <= start <= end <= len(self._messages):
                raise BadInput("a request that points out of the pool of messages")
            self._left -= end - start
            if self._left < 0:
                raise BadInput(f"requests that point to more than {REFERENCES_MAX} messages")
            found += self._messages[start:end]
        return found

    def _text(self, text: str) -> str:
        for protocol in PROTOCOLS:
            if text.startswith(protocol):
                return self._attachments.get(text.removeprefix(protocol), text)
        return text


def _range(reference: Json) -> tuple[int, int]:
    if isinstance(reference, Sequence) and len(reference) == 2 and all(type(one) is int for one in reference):
        return reference[0], reference[1]
    raise BadInput("a reference to messages that is no range")


def _dict(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}
