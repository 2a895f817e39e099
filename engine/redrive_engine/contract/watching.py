"""What watches over the loop, and how a run is driven: guards, plans and workflows as people write them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from redrive_engine.contract.predicates import plain
from redrive_engine.contract.units import Count
from redrive_engine.contract.written import Written, listed, written_as
from redrive_events import GuardTerms, Json, PlanTerms, RepeatTerms, StagnationTerms, StepTerms


class Repeats(Written):
    """A call with the same tool and arguments is made ``times`` times within the last ``window`` calls, then no more.

    None is all calls of the run. A write that landed forgets what was called before it where ``write_resets``; the
    tools in ``polling`` may be called again and again.
    """

    owner = ("guards", "repeats")

    times: Count = 1
    window: Count | None = None
    write_resets: bool = True
    polling: Annotated[tuple[str, ...], BeforeValidator(listed)] = ()

    def terms(self) -> RepeatTerms:
        """The recorded form."""
        return RepeatTerms(
            times=self.times, window=self.window, write_resets=self.write_resets, polling=tuple(sorted(self.polling))
        )


class Stagnation(Written):
    """So many near-identical ``thoughts`` in a row, without a new action, stop the run.

    Similarity is in hundredths: Dice's coefficient of the two texts' pairs of characters.
    """

    owner = ("guards", "stagnation")

    thoughts: Annotated[int, Field(ge=2, le=100)] = 2
    similarity_percent: Annotated[int, Field(gt=0, le=100)] = 90

    def terms(self) -> StagnationTerms:
        """The recorded form."""
        return StagnationTerms(thoughts=self.thoughts, similarity_percent=self.similarity_percent)


class Guards(Written):
    """What watches over the loop; nothing does unless it is turned on.

    ``barren_turns`` is how many turns in a row may bring no new fact. ``warn`` tells the model one step before the
    end, and ``last_step`` lets no call start on the last one.
    """

    owner = ("guards",)

    repeats: Annotated[Repeats | None, BeforeValidator(written_as(Repeats))] = None
    stagnation: Annotated[Stagnation | None, BeforeValidator(written_as(Stagnation))] = None
    barren_turns: Count | None = None
    warn: bool = False
    last_step: bool = False

    def terms(self) -> GuardTerms:
        """The recorded form."""
        return GuardTerms(
            repeats=None if self.repeats is None else self.repeats.terms(),
            stagnation=None if self.stagnation is None else self.stagnation.terms(),
            barren_turns=self.barren_turns,
            warn=self.warn,
            last_step=self.last_step,
        )


class Plan(Written):
    """A plan of at most ``steps`` steps, each a child run of at most ``step_budget`` steps, drawn anew so often."""

    owner = ("plan",)

    steps: Count = 5
    step_budget: Count = 5
    revisions: Count = 2

    def terms(self) -> PlanTerms:
        """The recorded form."""
        return PlanTerms(steps=self.steps, step_budget=self.step_budget, revisions=self.revisions)


class WorkflowStep(Written):
    """A call that a fixed workflow makes; a text argument may name facts and the goal: ``{order}``, ``{goal}``."""

    owner = ("workflow",)

    tool: str
    arguments: Annotated[dict[str, Json], AfterValidator(plain)] = Field(default_factory=dict)

    def terms(self) -> StepTerms:
        """The recorded form."""
        return StepTerms(tool=self.tool, arguments=self.arguments)


def steps_of(value: Any) -> Any:
    """Each step of a workflow, from the table that stands for it."""
    return tuple(map(written_as(WorkflowStep), value)) if isinstance(value, list | tuple) else value
