"""Whether a run is done, and how it reads: from criteria in the contract and facts in the log, without user code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from redrive_events import Claim, Json, Predicate, StepTerms, canonical
from redrive_projections.predicates import MISSING, holds
from redrive_projections.state import Fact, RunState

GOAL: Final = "goal"  # a step of a workflow may name it like a fact
_SLOT = re.compile(r"\{([^{}]+)\}")


def missing(done: Mapping[str, Predicate], facts: Mapping[str, Fact]) -> tuple[str, ...]:
    """The criteria that do not hold yet, in the order of the contract."""
    return tuple(
        key for key, wanted in done.items() if not holds(wanted, facts[key].value if key in facts else MISSING)
    )


def worded(template: str, facts: Mapping[str, Fact]) -> str:
    """The answer a template gives over facts; a slot whose fact is not known stays as it is."""
    return _SLOT.sub(lambda slot: _text(facts[slot[1]].value) if slot[1] in facts else slot[0], template)


def partly_worded(template: str, facts: Mapping[str, Fact]) -> str | None:
    """What a template gives over the facts there are: a line that names one which is not known is left out."""
    lines = [line for line in template.splitlines() if all(key in facts for key in slots(line))]
    return worded("\n".join(lines), facts) if lines else None


def slots(template: str) -> tuple[str, ...]:
    """The facts a template speaks of."""
    return tuple(dict.fromkeys(_SLOT.findall(template)))


def spoken_of(step: StepTerms) -> tuple[str, ...]:
    """The facts a step of a workflow names, and the goal if it does."""
    return tuple(name for value in step.arguments.values() if isinstance(value, str) for name in slots(value))


def claims(template: str, facts: Mapping[str, Fact]) -> tuple[Claim, ...]:
    """What a worded answer claims, each with the positions that bear it out."""
    return tuple(
        Claim(text=f"{key}: {_text(facts[key].value)}", evidence=(facts[key].position, *facts[key].evidence))
        for key in slots(template)
        if key in facts
    )


def status(state: RunState, *, held: bool = False) -> str:
    """How the run reads: its end's status, else ``running`` while a worker holds it, else ``unfinished``.

    With an event that cannot be read it is ``degraded``, whatever the others say.
    """
    if state.quarantined:
        return "degraded"
    if state.end is not None:
        return state.end.status
    return "running" if held else "unfinished"


def _text(value: Json) -> str:
    return value if isinstance(value, str) else canonical(value).decode()
