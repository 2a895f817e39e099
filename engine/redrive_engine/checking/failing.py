"""Quotas that the budget never lets be reached, rungs that never come, and guards that have nothing to hold back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from redrive_engine.checking.subject import ONE_CALL, Flaw, Subject, listed
from redrive_events import Failure


def never_reached(subject: Subject) -> Iterator[Flaw]:
    """What is to happen once something has failed so often, and never can."""
    yield from _quotas(subject)
    yield from _rungs(subject)
    yield from _models(subject)
    yield from _attempts(subject)
    yield from _guards(subject)


def most(subject: Subject) -> Mapping[Failure, int]:
    """How many failures of a kind there can be in one run at most, where its budget says so.

    A plan has child runs with budgets of their own, and the calls of a workflow need no replies.
    """
    budget, terms = subject.terms.budget, subject.terms
    one_call = terms.dialect in ONE_CALL
    found: dict[Failure, int] = {}
    if terms.arm == "plan":
        return found
    if budget.steps is not None:
        found |= {"unreadable": budget.steps, "finish": budget.steps}
    if terms.arm == "loop" and budget.steps is not None and one_call:
        found |= {"arguments": budget.steps, "denied": budget.steps}
    calls = [limit for limit in (budget.tool_calls, budget.steps if one_call else None) if limit is not None]
    if terms.arm == "loop" and calls:
        made = min(calls)
        attempts = max(terms.attempts, terms.read_attempts)
        found |= {"tool_failed": made, "refused": made, "infrastructure": made * attempts}
    return found


def _quotas(subject: Subject) -> Iterator[Flaw]:
    """Only what somebody has written is told: a default need not fit."""
    bounds, terms = most(subject), subject.terms
    for name in type(subject.contract.quotas).model_fields:
        if name not in subject.contract.quotas.model_fields_set:
            continue
        quota, place = getattr(terms.quotas, name), f"contract.quotas.{name}"
        bound = bounds.get(name)  # type: ignore[call-overload]
        if quota is not None and bound is not None and quota > bound:
            yield Flaw(place, f"{quota} in a row can never be: the budget lets there be {bound} at most")
        elif quota is not None and (why := _idle(subject, name)):
            yield Flaw(place, f"it is never reached: {why}")


def _idle(subject: Subject, quota: str) -> str:
    terms = subject.terms
    if quota == "denied" and terms.on_denied == "block":
        return "on_denied ends the run with the first of them"
    if quota == "refused" and terms.on_refused == "fail":
        return "on_refused ends the run with the first of them"
    if quota == "finish" and not terms.done and (terms.claims == "free" or terms.answer):
        return "without criteria no finish is ever refused"
    return ""


def _rungs(subject: Subject) -> Iterator[Flaw]:
    terms = subject.terms
    place, last, stronger = "contract.recovery", "", 0
    leads = [name for name in type(subject.contract.quotas).model_fields if _leads(subject, name)]
    for rung in terms.recovery:
        if last:
            yield Flaw(place, f"{rung} never comes: the run ends with {last}")
            continue
        if rung == "another_way" and not leads:
            yield Flaw(
                place, "another_way never comes: it helps no model that does not answer, and nothing else has a quota"
            )
        if rung == "stronger_model":
            stronger += 1
            if stronger > len(terms.models):
                problem = f"stronger_model comes {len(terms.models)} times at most: there are no more models"
                yield Flaw(place, problem)
        if rung == "compensate" and not any(one.compensable for one in subject.usable.values()):
            yield Flaw(place, "compensate never undoes anything: no tool that may be called can undo what it did")
        if rung == "compensate" or (rung == "escalate" and terms.escalation == "end"):
            last = rung


def _leads(subject: Subject, quota: str) -> bool:
    """Whether a quota can lead to a rung that helps whoever takes a wrong way."""
    limit, bound = getattr(subject.terms.quotas, quota), most(subject).get(quota)  # type: ignore[call-overload]
    reached = limit is not None and (bound is None or limit <= bound)
    return reached and quota != "model_failed" and not _idle(subject, quota)


def _models(subject: Subject) -> Iterator[Flaw]:
    rungs = subject.terms.recovery.count("stronger_model")
    unasked = subject.terms.models[rungs:]
    if unasked:
        times = "never" if not rungs else f"{rungs} times"
        yield Flaw("contract.models", f"{listed(unasked)} is never asked: stronger_model is in recovery {times}")


def _attempts(subject: Subject) -> Iterator[Flaw]:
    """Attempts of calls that are never made."""
    effects = {one.effect for one in subject.usable.values()}
    for name, wanted in (("attempts", {"write", "unknown"}), ("read_attempts", {"read"})):
        written = name in subject.contract.model_fields_set
        if written and getattr(subject.terms, name) > 1 and not effects & wanted:
            yield Flaw(f"contract.{name}", f"no {'read' if 'read' in wanted else 'write'} can ever be called")


def _guards(subject: Subject) -> Iterator[Flaw]:
    """A guard looks before the next step is asked for, so behind the last one it has nothing to say."""
    guards, steps = subject.terms.guards, subject.terms.budget.steps
    repeats = guards.repeats
    if repeats and repeats.window is not None and repeats.times > repeats.window:
        problem = f"{repeats.times} times can never be among the last {repeats.window} calls"
        yield Flaw("contract.guards.repeats", problem)
    if steps is None:
        return
    if guards.barren_turns is not None and guards.barren_turns + 1 >= steps:
        yield Flaw("contract.guards.barren_turns", f"the run ends with its {steps} steps before there are more")
    if guards.stagnation is not None and guards.stagnation.thoughts >= steps:
        yield Flaw(
            "contract.guards.stagnation", f"the run ends with its {steps} steps before there are so many thoughts"
        )
