"""Which requests to a model are one conversation: those that ask with all that was said before, and the reply."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from redrive_events import BadInput, Json, Opaque, blocks_of, calls_of, parse_json, text_of
from redrive_replays.traces.otel import names
from redrive_replays.traces.otel.asked import Asked
from redrive_replays.traces.otel.kinds import kind_of
from redrive_replays.traces.otel.spans import Span, Tree
from redrive_replays.traces.trace import ASSISTANT, SYSTEM, Said

# Of so many conversations that are word for word the same, a request may go on from one.
ALIKE_MAX: Final = 256


@dataclass(slots=True)
class Turn:
    """A request of a conversation: its messages from ``new`` on were not in the request before, nor the reply to it.

    ``replied`` are messages that this request has as the reply to the one before, ``before`` of which has none.
    """

    asked: Asked
    new: int = 0
    replied: Sequence[Said] = ()


@dataclass(slots=True, eq=False)
class Conversation:
    """Requests that go on from one another, by one agent; ``wordless`` says that no messages are there.

    ``after`` is the conversation of another agent, which handed its own over to this one.
    """

    turns: list[Turn]
    agent: Span | None = None
    wordless: bool = False
    after: Conversation | None = None
    failed: list[Asked] = field(default_factory=list)
    tools: list[Span] = field(default_factory=list)

    @property
    def first(self) -> Span:
        """The span with which it begins."""
        return self.turns[0].asked.span if self.turns else self.tools[0]

    def traces(self) -> set[str]:
        """The traces that its requests stand in."""
        return {turn.asked.span.trace for turn in self.turns}


def agent_of(tree: Tree, span: Span) -> Span | None:
    """The nearest agent that a span belongs to, not beyond a tool that it is inside of."""
    for up in tree.above(span):
        kind = kind_of(up)
        if kind in {"agent", "vercel"}:
            return up
        if kind == "tool":
            return None
    return None


def canonical(arguments: str) -> str:
    """Arguments in one spelling, so that equal ones are equal."""
    try:
        value = parse_json(arguments)
    except BadInput:
        return arguments.strip()
    return msgspec.json.encode(value, order="sorted").decode()


def _key(one: Said) -> tuple[Json, ...]:
    calls = tuple((call.name, canonical(call.arguments)) for _, call in calls_of(one.content))
    others = sum(type(block) is Opaque for block in blocks_of(one.content))
    role = "tool" if one.role == "function" else one.role
    return role, text_of(one.content).strip(), others, calls


def folded(said: Sequence[Said]) -> list[tuple[tuple[Json, ...], int]]:
    """What makes messages the same in two requests, each with the place behind it.

    A reply that stands in several messages is one; thoughts, ids and the system's words are left out.
    """
    found: list[tuple[tuple[Json, ...], int]] = []
    for index, one in enumerate(said, start=1):
        if one.role in SYSTEM:
            continue
        key = _key(one)
        if found and key[0] == found[-1][0][0] == ASSISTANT:
            before = found[-1][0]
            words = "\n".join(filter(None, (before[1], key[1])))
            key = (ASSISTANT, words, before[2] + key[2], before[3] + key[3])
            found[-1] = (key, index)
        else:
            found.append((key, index))
    return found


def _hashes(keys: Iterable[tuple[Json, ...]]) -> list[int]:
    found: list[int] = []
    for key in keys:
        found.append(hash((found[-1] if found else 0, key)))
    return found


class Linking:
    """Conversations as requests are added to them, in the order of time."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.found: list[Conversation] = []
        # Conversations by what was said in them so far: with the last reply, and where that is not known.
        self._replied: dict[int, list[Conversation]] = {}
        self._open: dict[int, list[Conversation]] = {}

    def add(self, asked: Asked) -> None:
        """Put a request where it goes on from, or begin a conversation with it."""
        keys = folded(asked.words.asked)
        hashes = _hashes(key for key, _ in keys)
        agent = asked.span if asked.outer else agent_of(self.tree, asked.span)
        for place in range(len(keys) - 1, -1, -1):
            if (going := self._take(self._replied, hashes[place], asked, agent)) is not None:
                going.turns.append(Turn(asked, keys[place][1]))
                break
            replies = place + 1 < len(keys) and keys[place + 1][0][0] == ASSISTANT
            if replies and (going := self._take(self._open, hashes[place], asked, agent)) is not None:
                reply = asked.words.asked[keys[place][1] : keys[place + 1][1]]
                going.turns.append(Turn(asked, keys[place + 1][1], reply))
                break
        else:
            going = Conversation([Turn(asked)], agent, after=self._handed_over(hashes, asked))
            self.found.append(going)
        self._keep(going, asked)

    def _handed_over(self, hashes: Sequence[int], asked: Asked) -> Conversation | None:
        """The conversation of another agent in this trace that the request goes on from."""
        for place in reversed(hashes):
            for one in reversed(self._replied.get(place, [])[-ALIKE_MAX:]):
                if asked.span.trace and one.turns[-1].asked.span.trace == asked.span.trace:
                    return one
        return None

    def _keep(self, going: Conversation, asked: Asked) -> None:
        said = [*asked.words.asked, *asked.words.replied]
        hashes = _hashes(key for key, _ in folded(said))
        where = self._replied if asked.words.replied else self._open
        where.setdefault(hashes[-1] if hashes else 0, []).append(going)

    def _take(
        self, where: dict[int, list[Conversation]], place: int, asked: Asked, agent: Span | None
    ) -> Conversation | None:
        fitting = [one for one in where.get(place, [])[-ALIKE_MAX:] if _may_follow(one, asked, agent)]
        if not fitting:
            return None
        trace = asked.span.trace
        best = max(reversed(fitting), key=lambda one: (one.agent is agent, one.turns[-1].asked.span.trace == trace))
        where[place].remove(best)
        return best


def _may_follow(going: Conversation, asked: Asked, agent: Span | None) -> bool:
    """Whether a request can be of this conversation: no other agent's, and no other session's."""
    before = going.turns[-1].asked.span
    sessions = {before.text(*names.CONVERSATION), asked.span.text(*names.CONVERSATION)} - {""}
    return len(sessions) < 2 and name_of(going.agent) == name_of(agent)


def name_of(agent: Span | None) -> str:
    """What an agent is called."""
    return agent.text(*names.AGENT) if agent is not None else ""


def wordless(tree: Tree, asked: Iterable[Asked]) -> list[Conversation]:
    """Requests without their messages: those of one agent are one conversation, else those of one trace."""
    groups: dict[tuple[str, int], Conversation] = {}
    for one in asked:
        agent = agent_of(tree, one.span)
        key = (one.span.trace, id(agent) if agent else 0)
        if key not in groups:
            groups[key] = Conversation([], agent, wordless=True)
        groups[key].turns.append(Turn(one))
    return list(groups.values())
