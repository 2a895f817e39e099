"""What watches over the loop: calls that bring nothing, a budget that ends, turns that lead nowhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Final

from redrive_engine.loop.similarity import similarity_percent
from redrive_engine.program import Program
from redrive_events import (
    BudgetWarned,
    CallIntercepted,
    Dimension,
    Limits,
    Reading,
    RepeatTerms,
    StagnationTerms,
    StopDecided,
    call_digest,
)
from redrive_projections import Call, RunState, Turn, exhausted, left, used

STAGNATION: Final = "stagnation"


def intercepted(
    program: Program, s: RunState, calls: Sequence[Call], asking: Container[int]
) -> Iterator[CallIntercepted]:
    """The calls among the allowed ones of a reply that do not start, since nothing would come of them.

    A person is to be asked about those that are ``asking``.
    """
    guards = program.terms.guards
    over = exhausted(program.terms.budget, s) if guards.last_step else None
    if over:
        yield from (_too_late(s, call, over) for call in calls)
    elif guards.repeats:
        yield from _repeated(guards.repeats, s, calls, asking)


def _too_late(s: RunState, call: Call, over: Dimension) -> CallIntercepted:
    """Nobody would read what this call brings: the budget ended with the reply that asks for it."""
    told = s.watch.warned.get(over)
    window = (*((told,) if told else ()), s.watch.turns[-1].position)
    text = f"Not called: the last step is for the final answer, and what {call.tool} says could not be read any more."
    return CallIntercepted(call=call.number, guard="last_step", window=window, text=text)


def _repeated(
    terms: RepeatTerms, s: RunState, calls: Sequence[Call], asking: Container[int]
) -> Iterator[CallIntercepted]:
    """Calls that were made often enough, those before them in the same reply included.

    What a person is asked about is not made yet, and may never be: it moves no window on.
    """
    order = s.tool_calls
    planned = Counter[str]()
    for call in calls:
        known = call_digest(call.tool, call.arguments)
        since = 1 if terms.window is None else order - terms.window + 1
        since = max(since, s.watch.landed) if terms.write_resets else since
        window = [made.position for made in s.watch.calls.get(known, ()) if made.order >= since]
        times = len(window) + planned[known]
        if call.tool in terms.polling or times < terms.times:
            order, planned[known] = order + (call.number not in asking), planned[known] + 1
            continue
        window += [s.watch.turns[-1].position] if planned[known] and s.watch.turns else []
        yield CallIntercepted(call=call.number, guard="repeated", window=tuple(window), text=_again(call.tool, times))


def _again(tool: str, times: int) -> str:
    how_often = "once" if times == 1 else f"{times} times"
    return (
        f"Not called again: {tool} was called {how_often} with the same arguments, and that result stands. "
        "Take another way, or finish with what there is."
    )


def warned(program: Program, s: RunState) -> Iterator[BudgetWarned]:
    """What of the budget is enough for one more step, and no further: told once, before that step is asked for.

    A step takes as much as the last one did, and always one of the steps.
    """
    if not program.terms.guards.warn:
        return
    spent = used(s)
    for dimension, remaining in left(program.terms.budget, s).items():
        took = 1 if dimension == "steps" else spent[dimension] - s.watch.spent.get(dimension, 0)
        if remaining is not None and remaining <= took and took and dimension not in s.watch.warned:
            amount = _AMOUNTS[dimension](remaining, program.terms.budget)
            text = f"Important: {amount} left. Give the final answer now, from what you know, and begin nothing new."
            yield BudgetWarned(dimension=dimension, left=remaining, text=text)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what} is" if number == 1 else f"{number:,} {what}s are"


_AMOUNTS: Final[Mapping[Dimension, Callable[[int, Limits], str]]] = {
    "steps": lambda number, _: _count(number, "step"),
    "tokens": lambda number, _: _count(number, "token"),
    "wall_time": lambda number, _: f"{number / 1000:.1f} s of time are",
    "tool_calls": lambda number, _: _count(number, "tool call"),
    "cost": lambda number, budget: f"{number / 1_000_000:.6f} {budget.currency} are",
}


def stalled(program: Program, s: RunState) -> StopDecided | None:
    """The end of a run that leads nowhere, if it is one."""
    guards = program.terms.guards
    polling = guards.repeats.polling if guards.repeats else ()
    return (guards.stagnation and _stagnating(guards.stagnation, polling, s)) or _barren(guards.barren_turns, s)


def _stagnating(terms: StagnationTerms, polling: Sequence[str], s: RunState) -> StopDecided | None:
    """So many near-identical thoughts in a row, none of them with an action that is new, or may be taken again."""
    idle = takewhile(lambda turn: not (turn.acted or turn.excused or set(turn.tools) & set(polling)), _latest(s))
    turns = [turn for turn, _ in zip(idle, range(terms.thoughts), strict=False)]
    if len(turns) < terms.thoughts or not all(turn.thought.strip() for turn in turns):
        return None
    alike = min(similarity_percent(one.thought, other.thought) for one, other in pairwise(turns))
    if alike < terms.similarity_percent:
        return None
    read = Reading(
        path="thoughts.dice_of_bigrams_percent", operator="at_least", value=alike, limit=terms.similarity_percent
    )
    return _stop(turns, read)


def _barren(limit: int | None, s: RunState) -> StopDecided | None:
    """More turns in a row without a new fact than there may be."""
    if limit is None:
        return None
    turns = list(takewhile(lambda turn: not (turn.learnt or turn.excused), _latest(s)))
    if len(turns) <= limit:
        return None
    return _stop(turns, Reading(path="turns.without_new_fact", operator="at_most", value=len(turns), limit=limit))


def _latest(s: RunState) -> Iterator[Turn]:
    return reversed(s.watch.turns)


def _stop(turns: Sequence[Turn], read: Reading) -> StopDecided:
    window = tuple(turn.position for turn in reversed(turns))
    return StopDecided(status="failed", reason=STAGNATION, window=window, read=(read,))
