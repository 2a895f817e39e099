"""Tools that nothing can come of, and criteria that nothing can fulfil."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from redrive_engine.checking.subject import Flaw, Subject, listed
from redrive_events import Predicate
from redrive_projections import GOAL, MISSING, holds, slots, spoken_of

# A call, and the reply that ends the run.
STEPS_TO_SUCCEED = 2


def out_of_reach(subject: Subject) -> Iterator[Flaw]:
    """What of tools, facts and criteria can never be used, known or fulfilled."""
    yield from _of_tools(subject)
    yield from _of_scopes(subject)
    yield from _of_facts(subject)
    yield from _of_workflow(subject)
    yield from _of_steps(subject)


def _of_tools(subject: Subject) -> Iterator[Flaw]:
    for name, why in subject.barred.items():
        yield Flaw(f"tool {name}", f"no call of it is ever made: {why}")
    for verifier in subject.program.verifiers:
        if verifier.tool in subject.barred:
            yield Flaw(f"verifier {verifier.name}", f"it never has anything to look at: it is one of {verifier.tool}")
    for name, one in subject.usable.items():
        acts = one.effect not in {"read", "run"}
        if acts and name not in subject.reconcilable and subject.terms.on_doubt == "tell":
            problem = "whether it took effect is never learnt where that is in doubt: it has no reconcile"
            yield Flaw(f"tool {name}", f"{problem}, and on_doubt asks nobody")
        verified = any(verifier.tool in subject.usable for verifier in subject.program.verifiers)
        if one.grounded and not verified:
            problem = "no tool's results are verified, so nothing but what people say bears its values out"
            yield Flaw(f"tool {name}", f"{listed(_named(place) for place in one.grounded)} is grounded: {problem}")


def _named(place: str) -> str:
    """An argument, from where it stands in the schema."""
    return ".".join(step for step in place.split("/") if step not in {"", "properties", "items"})


def _of_scopes(subject: Subject) -> Iterator[Flaw]:
    """Scopes over arguments that there are not, and exclusions of what is not granted."""
    for tool, scope in (subject.terms.tools or {}).items():
        for name in _unknown(subject, tool, scope):
            denied = ", so every call is denied" if not _holds_without(name, scope) else ""
            problem = f"no argument {name!r}{denied}; there are {listed(subject.known.tools[tool].arguments)}"
            yield Flaw(f"contract.tools.{tool}", problem)
    for tool, scope in subject.terms.exclude.items():
        for name in _unknown(subject, tool, scope):
            problem = f"no argument {name!r}; there are {listed(subject.known.tools[tool].arguments)}"
            yield Flaw(f"contract.exclude.{tool}", problem)
        if tool not in subject.granted:
            yield Flaw(f"contract.exclude.{tool}", "it is not granted, so there is nothing to exclude")
    repeats = subject.terms.guards.repeats
    for tool in repeats.polling if repeats else ():
        if tool in subject.barred:
            yield Flaw("contract.guards.repeats.polling", f"{tool} is never called: {subject.barred[tool]}")


def _unknown(subject: Subject, tool: str, scope: Mapping[str, Predicate]) -> list[str]:
    known = subject.known.tools[tool].arguments
    return [name for path in scope if (name := path.partition(".")[0]) not in known]


def _holds_without(name: str, scope: Mapping[str, Predicate]) -> bool:
    """Whether a scope wants just that: that an argument is not there."""
    return all(holds(wanted, MISSING) for path, wanted in scope.items() if path.partition(".")[0] == name)


def _of_facts(subject: Subject) -> Iterator[Flaw]:
    """What the contract wants to know, and only calls that are never made could tell."""
    wanted_by = {
        "done": list(subject.terms.done),
        "answer": list(slots(subject.terms.answer)),
        "partial": list(slots(subject.terms.partial)),
    }
    for place, wanted in wanted_by.items():
        for fact in wanted:
            by = [verifier for verifier in subject.program.verifiers if fact in verifier.commits]
            if by and all(verifier.tool in subject.barred for verifier in by):
                sources = listed({f"{verifier.tool} ({subject.barred[verifier.tool]})" for verifier in by})
                yield Flaw(f"contract.{place}", f"{fact!r} can never be known: only {sources} could tell")


def _of_workflow(subject: Subject) -> Iterator[Flaw]:
    """A step that names a fact which only later steps could tell is never begun."""
    told: set[str] = {GOAL}
    for number, step in enumerate(subject.terms.workflow, start=1):
        for fact in spoken_of(step):
            if fact not in told:
                yield Flaw("contract.workflow", f"step {number} names {fact!r}, which no step before it can tell")
        told |= {fact for one in subject.program.verifiers_of(step.tool) for fact in one.commits}


def _of_steps(subject: Subject) -> Iterator[Flaw]:
    terms = subject.terms
    few = terms.budget.steps is not None and terms.budget.steps < STEPS_TO_SUCCEED
    if few and terms.done and terms.arm == "loop" and not terms.dialogue:
        yield Flaw(
            "contract.budget.steps", "one step is for a call, and then there is none to finish: nothing succeeds"
        )
    if terms.guards.last_step and terms.budget.steps == 1 and terms.arm == "loop":
        yield Flaw("contract.guards.last_step", "the only step is the last one, so no call ever starts")
