"""What the model was told: messages, each traced to the event that holds its words, and the digest of a request."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from redrive_events import (
    Content,
    Json,
    MessageReceived,
    ObservationReceived,
    OwnWords,
    PlanDrawn,
    RunStarted,
    canonical,
)

ROLES = {"user": "user", "operator": "system", "agent": "assistant", "tool": "tool"}


class Message(msgspec.Struct, eq=False, gc=False, repr_omit_defaults=True):
    """One message of a request; ``of`` is the position of the event it comes from, 0 for the engine's own words.

    ``call_id`` is the provider's label of the call that a tool's message answers; ``before`` the call in front of
    whose response a trace has it.
    """

    role: str
    content: Content
    of: int
    call_id: str = ""
    before: int = 0
    _digest: bytes | None = None

    def __eq__(self, other: object) -> bool:
        """Before which response it stands does not count."""
        if not isinstance(other, Message):
            return NotImplemented
        return (self.of, self.role, self.call_id, self.content) == (other.of, other.role, other.call_id, other.content)

    __hash__ = None  # type: ignore[assignment]

    @property
    def digest(self) -> bytes:
        """SHA-256 over the canonical message; where it comes from does not count."""
        digest = self._digest
        if digest is None:
            digest = self._digest = hashlib.sha256(canonical(self.data())).digest()
        return digest

    def data(self) -> dict[str, Json]:
        """The message as plain data, as it is digested and handed to a model."""
        if self.call_id:
            return {"role": self.role, "content": self.content, "call_id": self.call_id}
        return {"role": self.role, "content": self.content}


class Told(list[Message]):
    """The messages of the last request, and as far as it was wanted one hash over their digests, to go on from."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        super().__init__(messages)
        self._forget()

    def __reduce__(self) -> tuple[type[Told], tuple[list[Message]]]:
        """Copied, it has its hash still before it."""
        return Told, (list(self),)

    def go_on(self, kept: int, new: Iterable[Message]) -> None:
        """The next request: ``kept`` messages stay, then ``new`` ones follow."""
        if kept < self._hashed:
            self._forget()
        del self[kept:]
        self += new

    def hashed(self, count: int) -> hashlib._Hash:
        """A hash that has taken in the digests of the first ``count`` messages: those of a chat are taken in once."""
        if count < self._hashed:
            self._forget()
        taken = self[self._hashed : count]
        for message in taken:
            self._hash.update(message.digest)
        self._hashed += len(taken)
        return self._hash.copy()

    def _forget(self) -> None:
        self._hash, self._hashed = hashlib.sha256(), 0


def opening(started: RunStarted) -> tuple[Message, ...]:
    """The messages every request of the run begins with: the agent's prompt, then the goal."""
    part = started.parts.get("prompt")
    messages = [
        Message(said["role"], _content(said["content"]), 1, said.get("call_id", ""))
        for said in (part.data if part else None) or ()
    ]
    if started.lessons:
        lessons = "".join(f"\n- {lesson}" for lesson in started.lessons)
        messages.append(Message("user", f"Lessons of earlier runs:{lessons}", 1))
    if started.goal:
        messages.append(Message("user", started.goal, 1))
    return tuple(messages)


def _content(data: Json) -> Content:
    return data if isinstance(data, str) else msgspec.convert(data, Content)


def planned(plan: PlanDrawn) -> str:
    """A plan as the model reads it."""
    steps = "".join(f"\n{number}. {step.words}" for number, step in enumerate(plan.steps, start=1))
    return f"The plan:{steps}"


def received(event: MessageReceived, position: int) -> Message:
    """What a person (or another party) said, as the model will read it."""
    return Message(event.role or ROLES[event.actor], event.content, position, before=event.before)


def observed(event: ObservationReceived) -> Content | None:
    """What came of a call, as the model will read it: where something was left out, that is said."""
    if not event.cut or not isinstance(event.content, str):
        return event.content
    return f"{event.content}\n[Cut: {event.cut} of {event.size_bytes} bytes are left out.]"


def kept_of(last: list[Message], now: list[Message]) -> int:
    """How many messages at the beginning of ``now`` are those of the last request."""
    if now[: len(last)] == last:  # the common case, at the speed of lists
        return len(last)
    kept = 0
    for before, after in zip(last, now, strict=False):
        if before is not after and before != after:
            break
        kept += 1
    return kept


def references(messages: Iterable[Message]) -> tuple[int | OwnWords, ...]:
    """How ``messages`` are recorded: by the position of their event, the engine's own words in full."""
    found: list[int | OwnWords] = []
    last = 0
    for message in messages:
        if not message.of:
            found.append(OwnWords(role=message.role, text=str(message.content)))
        elif last != message.of:
            found.append(message.of)
        last = message.of
    return tuple(found)


def request_digest(messages: Iterable[Message], rest: bytes, *, after: hashlib._Hash | None = None) -> str:
    """The digest of a whole request: SHA-256 over its messages' digests and ``rest`` (model, parameters, tools).

    ``after`` has taken in the messages in front of these, and is used up.
    """
    whole = hashlib.sha256() if after is None else after
    whole.update(b"".join([message.digest for message in messages]) + rest)
    return whole.hexdigest()
