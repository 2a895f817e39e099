"""The contract as people write it: what is granted, when it is done, what it may use."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from redrive_engine.contract.limits import Budget, FailureQuotas
from redrive_engine.contract.predicates import Scopes, criterion, plain
from redrive_engine.contract.units import Count, Duration, milliseconds
from redrive_engine.contract.watching import Guards, Plan, WorkflowStep, steps_of
from redrive_engine.contract.written import Written, listed, written_as
from redrive_engine.toml_file import Misfit, TomlFile
from redrive_events import BadInput, Json, Rung, Terms, WayOut
from redrive_projections import GOAL, VIEWS, slots, spoken_of


def _view(name: str) -> str:
    if name not in VIEWS:
        raise ValueError(f"no such view {name!r}; there are {', '.join(VIEWS)}")
    return name


class Contract(Written):
    """What a run may do, when it is done, and what happens when something is refused.

    ``tools`` maps each granted tool to how far its arguments may go (None grants every tool): a text is a pattern that
    must match as a whole, a list names what is allowed, a table holds operators, a number or truth must be equal.
    ``exclude`` is written alike, and denied all the same. ``done`` maps facts to the value they are to have, `ANY`, or
    a table of operators; with none, the agent's own word ends the run. ``answer`` is a template over facts
    (``{name}``); empty means the model's own words, and ``partial`` is one for a run that is stopped.

    ``on_denied`` says whether a denied call ends the run, and ``on_unknown`` the same of a tool that does not exist; if
    that is not said, it is a denied call like any other. ``attempts`` bounds those of a write that did not happen,
    ``read_attempts`` those of a read that timed out or whose source was unavailable. ``approval_waits`` is how long an
    approval is waited for; then the call is denied. With ``on_doubt`` a run waits for a person to state what became of
    an effect of which no authority knows, ends as escalated, or goes on.

    When failures of a kind have reached their quota, ``recovery`` names what is tried, in this order, before the run is
    given up: another way, the next of the stronger ``models``, a person. ``ways_out`` are the engine's own tools by
    which the model may leave the loop; ``person_waits`` is how long a person is waited for, and ``escalation`` whether
    at all. With ``claims`` supported, an answer says nothing that no observation bears out. ``arm`` is how the run is
    driven: by the loop, by a plan, by a fixed workflow, or by one direct answer.
    """

    tools: Scopes | None = None
    exclude: Scopes = Field(default_factory=dict)
    done: dict[str, Annotated[Json, AfterValidator(criterion)]] = Field(default_factory=dict)
    answer: str = ""
    budget: Annotated[Budget, BeforeValidator(written_as(Budget))] = Budget()
    quotas: Annotated[FailureQuotas, BeforeValidator(written_as(FailureQuotas))] = FailureQuotas()
    attempts: Count = 2
    read_attempts: Count = 1
    on_denied: Literal["block", "tell"] = "tell"
    on_unknown: Literal["block", "tell"] | None = None
    on_refused: Literal["fail", "tell"] = "tell"
    on_doubt: Literal["escalate", "wait", "tell"] = "escalate"
    dialect: str = "native"
    view: Annotated[str, AfterValidator(_view)] = "chat"
    dialogue: bool = False
    model: str = ""
    parameters: Annotated[dict[str, Json], AfterValidator(plain)] = Field(default_factory=dict)
    guards: Annotated[Guards, BeforeValidator(written_as(Guards))] = Guards()
    recovery: Annotated[tuple[Rung, ...], BeforeValidator(listed)] = ()
    models: Annotated[tuple[str, ...], BeforeValidator(listed)] = ()
    escalation: Literal["wait", "end"] = "wait"
    person_waits: Duration | None = None
    approval_waits: Duration | None = None
    ways_out: Annotated[tuple[WayOut, ...], BeforeValidator(listed)] = ()
    claims: Literal["free", "supported"] = "free"
    partial: str = ""
    arm: Literal["loop", "plan", "workflow", "direct"] = "loop"
    plan: Annotated[Plan | None, BeforeValidator(written_as(Plan))] = None
    workflow: Annotated[tuple[WorkflowStep, ...], BeforeValidator(steps_of)] = ()
    reflection: Literal["none", "rule", "model"] = "none"

    @classmethod
    def from_file(cls, path: Path | str) -> Contract:
        """The contract in a TOML file, with the same names; ``{ known = true }`` stands for `ANY`.

        Raises:
            BadInput: it cannot be read, or is not allowed; the place is the line.
        """
        file = TomlFile.of(Path(path), name="contract")
        try:
            return cls(**file.data)
        except Misfit as misfit:
            raise file.refusal(misfit, named=True) from None

    def terms(self) -> Terms:
        """The recorded form: units resolved, predicates in one form, names in the order in which they are stored."""
        return Terms(
            tools=None if self.tools is None else _in_order(self.tools),
            exclude=_in_order(self.exclude),
            done={name: self.done[name] for name in sorted(self.done)},
            answer=self.answer,
            budget=self.budget.limits(),
            quotas=self.quotas.quotas(),
            attempts=self.attempts,
            read_attempts=self.read_attempts,
            on_denied=self.on_denied,
            on_unknown=self.on_unknown or self.on_denied,
            on_refused=self.on_refused,
            on_doubt=self.on_doubt,
            dialect=self.dialect,
            view=self.view,
            dialogue=self.dialogue,
            model=self.model,
            parameters=self.parameters,
            guards=Terms().guards if self.guards == Guards() else self.guards.terms(),
            recovery=self.recovery,
            models=self.models,
            escalation=self.escalation,
            person_ms=None if self.person_waits is None else milliseconds(self.person_waits),
            approval_ms=None if self.approval_waits is None else milliseconds(self.approval_waits),
            ways_out=tuple(sorted(set(self.ways_out))),
            claims=self.claims,
            partial=self.partial,
            arm=self.arm,
            plan=(self.plan or Plan()).terms() if self.arm == "plan" else None,
            workflow=tuple(step.terms() for step in self.workflow) if self.arm == "workflow" else (),
            reflection=self.reflection,
        )


def check_contract(terms: Terms, *, tools: Collection[str], commits: Collection[str]) -> None:
    """Whether an agent with these tools, and verifiers that commit these facts, can keep the contract.

    Raises:
        BadInput: it grants or excludes a tool that does not exist, speaks of a fact that nothing commits, recovers by
            a stronger model that it does not name, or lets a run go on for ever.
    """
    _check_models(terms)
    if terms.arm == "workflow" and not terms.workflow:
        raise BadInput("a workflow has at least one step", place="contract.workflow")
    named_by = {
        "tools": sorted(terms.tools or {}),
        "exclude": sorted(terms.exclude),
        "guards.repeats.polling": terms.guards.repeats.polling if terms.guards.repeats else (),
        "workflow": [step.tool for step in terms.workflow],
    }
    for place, named in named_by.items():
        for name in named:
            if name not in tools:
                raise BadInput(f"no such tool {name!r}; {_there_are(tools)}", place=f"contract.{place}")
    wanted_by = {
        "done": sorted(terms.done),
        "answer": slots(terms.answer),
        "partial": slots(terms.partial),
        "workflow": sorted({name for step in terms.workflow for name in spoken_of(step)} - {GOAL}),
    }
    for place, wanted in wanted_by.items():
        for name in wanted:
            if name not in commits:
                problem = f"no verifier commits {name!r}; {_there_are(commits)}"
                raise BadInput(problem, place=f"contract.{place}")


def _check_models(terms: Terms) -> None:
    if "stronger_model" in terms.recovery and not terms.models:
        raise BadInput("recovery has a stronger model, and none is named", place="contract.models")
    if len(set(terms.models)) < len(terms.models):
        raise BadInput("a model is named twice", place="contract.models")
    if terms.quotas.model_failed is None and terms.budget.wall_time_ms is None:
        problem = "without this quota a model that never answers is asked for ever; set it, or a wall time"
        raise BadInput(problem, place="contract.quotas.model_failed")


def _in_order(scopes: Scopes) -> Scopes:
    return {tool: {path: scope[path] for path in sorted(scope)} for tool, scope in sorted(scopes.items())}


def _there_are(names: Collection[str]) -> str:
    return f"there are {', '.join(sorted(names))}" if names else "there are none"
