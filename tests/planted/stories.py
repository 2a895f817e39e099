"""Runs to plant faults in, and how a fault joins the corpus."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec

from redrive_engine import Program
from redrive_engine.models import reply, use
from redrive_engine.policy import RulesPolicy
from redrive_engine.verifiers import Verifier
from redrive_events import (
    Event,
    Input,
    Record,
    Terms,
    ToolUse,
)
from redrive_replays import Cause
from tests.shop import recorded, seen, shop

ALLOW = '[[rule]]\nname = "all"\nwhen = {}\nthen = "allow"\n'
NO_POKE = '[[rule]]\nname = "no poking"\nwhen = { tool = "poke" }\nthen = "deny"\ntext = "Do not poke."\n'


class Planted(NamedTuple):
    """A recording, the program it is driven with, and the first place where the two part, with the cause.

    Without a fault they part nowhere: then the position is 0, and there is no cause.
    """

    records: list[Record]
    program: Program
    position: int
    cause: Cause | None


def without_fault(records: Sequence[Record], program: Program) -> Planted:
    """A recording and a program that part nowhere."""
    return Planted(list(records), program, 0, None)


Generator: TypeAlias = Callable[[random.Random], Planted]
GENERATORS: dict[str, Generator] = {}


def planted(generator: Generator) -> Generator:
    """Join the corpus."""
    GENERATORS[generator.__name__] = generator
    return generator


def program(terms: Terms | None = None, *, rules: str = ALLOW, prompt: str = "Serve.") -> Program:
    """The shop under some contract and rules."""
    return shop(terms or Terms(), policy=RulesPolicy.from_toml(rules), prompt=prompt)


def story(chance: random.Random, *, rules: str = ALLOW, terms: Terms | None = None) -> list[Record]:
    """A recorded run of some turns: reads one by one or side by side, writes, and what is denied if anything is."""
    inputs: list[Input] = []
    call, price = 0, chance.randint(1, 9)
    for turn in range(chance.randint(2, 5)):
        uses, answers = list[ToolUse](), list[Input]()
        for _ in range(chance.choice((1, 1, 2, 3))):
            call += 1
            tool = "price_of" if call == 1 else chance.choice(("price_of", "count", "pay", "pay"))
            value: Any = {"item": "tea", "cents": price} if tool != "count" else chance.randint(1, 9)
            uses.append(use(tool, item="tea", cents=price) if tool == "pay" else use(tool, item="tea"))
            answers.append(seen(call, value))
        if "poking" in rules and turn == 1:
            call += 1
            uses.append(use("poke"))
        chance.shuffle(answers)
        inputs += [reply(chance.choice(("", "Let me see.", "我看一下。")), *uses), *answers]
    return recorded(program(terms, rules=rules), *inputs, reply("Done."))


def first(records: Sequence[Record], kind: type, holds: Callable[[Any], bool] = lambda _: True) -> Record:
    """The first record of a kind."""
    return next(one for one in records if type(one.event) is kind and holds(one.event))


def some(chance: random.Random, records: Sequence[Record], kind: type) -> Record:
    """One of the records of a kind."""
    return chance.choice([one for one in records if type(one.event) is kind])


def following(records: Sequence[Record], after: Record, *kinds: type) -> Record:
    """The first record of one of these kinds behind another one."""
    return next(one for one in records[after.position :] if type(one.event) in kinds)


def with_event(records: Sequence[Record], position: int, event: Event) -> list[Record]:
    """The records with another event at a position."""
    return [msgspec.structs.replace(one, event=event) if one.position == position else one for one in records]


def changed(record: Record, **fields: Any) -> Any:
    """The event of a record with other fields."""
    return msgspec.structs.replace(record.event, **fields)


def cut(records: Sequence[Record], count: int) -> list[Record]:
    """The first so many records, of which the last append is whole as it stands."""
    kept = list(records[:count])
    index = len(kept) - 1
    while kept[index].left and index >= 0:
        kept[index] = msgspec.structs.replace(kept[index], left=len(kept) - 1 - index)
        index -= 1
    return kept


def with_tool(name: str, **changes: Any) -> Program:
    """The shop with one tool declared otherwise."""
    whole = program()
    tools = dict(whole.tools or {})
    tools[name] = dataclasses.replace(tools[name], **changes)
    return dataclasses.replace(whole, tools=tools)


def with_verifier(other: Verifier) -> Program:
    """The shop with another verifier in the place of the one of its name."""
    whole = program()
    verifiers = tuple(other if one.name == other.name else one for one in whole.verifiers)
    return dataclasses.replace(whole, verifiers=verifiers)
