"""What stands elsewhere in a sample: long texts among its attachments, messages in a pool that requests point into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from redrive_events import BadInput, Json

PROTOCOLS: Final = ("attachment://", "tc://")
REFERENCES_MAX: Final = 10_000_000
# A text may be pointed to many times; so many characters may come of that in one sample.
UNFOLDED_MAX: Final = 2**30


class Pools:
    """The attachments and the pool of one sample.

    A text that points to an attachment is that attachment; one that points to none stays as it is.
    """

    def __init__(self, sample: Mapping[str, Json]) -> None:
        self._attachments = {key: one for key, one in _dict(sample.get("attachments")).items() if isinstance(one, str)}
        self._room = UNFOLDED_MAX
        pool = _dict(sample.get("events_data")).get("messages")
        self._messages: list[Json] = [self.resolved(one) for one in pool] if isinstance(pool, list) else []
        self._left = REFERENCES_MAX

    def resolved(self, value: Json) -> Json:
        """``value`` with the attachments that it points to, for something that is kept.

        Raises:
            BadInput: all that is kept of the sample unfolds to more text than any log has.
        """
        found = self._unfolded(value)
        self.weigh(found)
        return found

    def weigh(self, value: Json) -> None:
        """Count the text of something that is kept. Raises as `resolved` does."""
        self._room -= size_of(value)
        if self._room < 0:
            raise BadInput(f"attachments that unfold to more than {UNFOLDED_MAX} characters")

    def _unfolded(self, value: Json) -> Json:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return [self._unfolded(one) for one in value]
        if isinstance(value, dict):
            return {key: self._unfolded(one) for key, one in value.items()}
        return value

    def request(self, event: Mapping[str, Json]) -> list[Json]:
        """The messages with which a model was asked.

        Raises:
            BadInput: they are no list, or point out of the pool.
        """
        if given := event.get("input"):
            if not isinstance(given, list):
                raise BadInput("a request whose messages are no list")
            return [self._unfolded(one) for one in given]  # most of it repeats the last request, and is not kept
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


def size_of(value: Json) -> int:
    """How many characters the texts in ``value`` have."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return sum(map(size_of, value))
    return sum(map(size_of, value.values())) if isinstance(value, dict) else 0


def _range(reference: Json) -> tuple[int, int]:
    if isinstance(reference, Sequence) and len(reference) == 2 and all(type(one) is int for one in reference):
        return reference[0], reference[1]
    raise BadInput("a reference to messages that is no range")


def _dict(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}
