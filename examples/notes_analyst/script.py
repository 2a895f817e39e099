"""The language model's double: it decides from what the tools have answered, and remembers nothing itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

import redrive as rd

Reply: TypeAlias = str | rd.ModelReplied
Decide: TypeAlias = Callable[[rd.ModelRequest], Reply]

NONE: Final = "The folder is empty: there are no notes."
EARLY: Final = "There are some notes, and the longest one is surely the first."


def scripted(decide: Decide) -> rd.ScriptedModel:
    """A model that decides from the request alone."""
    return rd.ScriptedModel(lambda _, request: decide(request))


def said(request: rd.ModelRequest) -> Iterator[Any]:
    """What tools have answered, and people said, in order: data where it is JSON."""
    for message in request.messages:
        if message.role in {"tool", "user"}:
            try:
                yield json.loads(str(message.content))
            except ValueError:
                yield str(message.content)


def last(request: rd.ModelRequest) -> str:
    """The words that the request ends with."""
    return str(request.messages[-1].content)


def analyse(request: rd.ModelRequest) -> Reply:
    """List the notes, count each, read the longest, answer."""
    names: list[str] | None = None
    counts: dict[str, int] = {}
    read = ""
    for answer in said(request):
        match answer:
            case list():
                names = answer
            case "(empty)":
                return NONE
            case {"name": name, "characters": characters}:
                counts[name] = characters
            case {"name": name, "text": _}:
                read = name
            case _:
                pass  # an error, which the next call makes good
    return _next(names, counts, read)


def _next(names: list[str] | None, counts: dict[str, int], read: str) -> Reply:
    if names is None:
        return rd.reply("I do not know the notes yet, so I list them.", rd.use("list_notes"))
    for name in names:
        if name not in counts:
            return rd.reply(f"{name} is not counted yet, so I count it.", rd.use("word_count", name=name))
    if not counts:
        return NONE
    longest = max(counts, key=counts.__getitem__)
    if not read:
        return rd.reply(f"{longest} is the longest; I read it to be sure.", rd.use("read_note", name=longest))
    return answer_of(counts)


def answer_of(counts: dict[str, int]) -> str:
    """The answer in words."""
    longest = max(counts, key=counts.__getitem__)
    each = ", ".join(f"{name} {characters} characters" for name, characters in counts.items())
    return f"{len(counts)} notes: {each}. The longest is {longest}."


# One reply is too few to count and to say so, so the second step runs out; what it had counted by then is known.
STEPS: Final = (
    "List the notes.",
    {"step": "Count the characters of each note.", "budget": 1},
    "Read the longest note.",
)
REST: Final = ("Read the longest note.",)


def plan(request: rd.ModelRequest) -> Reply:
    """Draw a plan when asked for one, do a step when given one, and answer once all is done."""
    words = last(request)
    if "Draw a plan" in words:
        return json.dumps({"steps": REST if "anew" in words else STEPS})
    goal = next((str(m.content) for m in request.messages if "Do only this step: " in str(m.content)), "")
    if not goal:
        return "Three notes: a.txt 812, b.txt 1934, 备忘.txt 455 characters. The longest is b.txt."
    step, known = goal.rpartition("Do only this step: ")[2], last(request) != goal
    if step.startswith("List"):
        return "The notes are listed." if known else rd.reply("I list them.", rd.use("list_notes"))
    if step.startswith("Count"):
        calls = [rd.use("word_count", name=name) for name in _known(goal, "notes")]
        return "All are counted." if known or not calls else rd.reply("I count them all.", *calls)
    counts: dict[str, int] = _known(goal, "counts")
    longest = max(counts, key=counts.__getitem__, default="")
    return "It is read." if known or not longest else rd.reply("I read it.", rd.use("read_note", name=longest))


def _known(goal: str, fact: str) -> Any:
    """What the goal of a step says is known; where it says nothing, that is nothing."""
    return json.loads(goal.partition(f"- {fact}: ")[2].partition("\n")[0] or "{}")
