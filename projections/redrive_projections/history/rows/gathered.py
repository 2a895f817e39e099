"""The rows of one run in the making, and what is remembered while they are made."""

from __future__ import annotations

from datetime import datetime

from redrive_events import Json, Quarantined, Record, call_digest
from redrive_projections.history.tables import (
    AnnotationRow,
    BudgetRow,
    DecisionRow,
    DivergenceRow,
    EffectRow,
    EventRow,
    FactRow,
    LineageRow,
    MessageRow,
    ModelCallRow,
    ObservationRow,
    PayloadRow,
    PlanRow,
    ReflectionRow,
    Row,
    RunRow,
    StepRow,
    ToolCallRow,
    VerdictRow,
)
from redrive_projections.history.values import json_text
from redrive_projections.state import RunState


class RunRows:
    """All rows of one run, as far as its records were added; beside them its state, of which there is one fold."""

    def __init__(self, run: int, run_id: str) -> None:
        self.run, self.run_id = run, run_id
        self.state = RunState()
        self.of_run = RunRow(run=run, run_id=run_id)
        self.events: list[EventRow] = []
        self.payloads: list[PayloadRow] = []
        self.steps: list[StepRow] = []
        self.model_calls: list[ModelCallRow] = []
        self.decisions: list[DecisionRow] = []
        self.verdicts: list[VerdictRow] = []
        self.tool_calls: list[ToolCallRow] = []
        self.observations: list[ObservationRow] = []
        self.facts: list[FactRow] = []
        self.effects: list[EffectRow] = []
        self.budgets: list[BudgetRow] = []
        self.reflections: list[ReflectionRow] = []
        self.plans: list[PlanRow] = []
        self.messages: list[MessageRow] = []
        self.annotations: list[AnnotationRow] = []
        self.divergences: list[DivergenceRow] = []
        self.lineage: list[LineageRow] = []
        self.costed = False
        self.undecided: StepRow | None = None
        self.asked: dict[int, ModelCallRow] = {}
        self.step_of: dict[int, StepRow] = {}
        self.attempt_of: dict[int, ToolCallRow] = {}
        self.effect_of: dict[int, EffectRow] = {}
        self.seen_of: dict[int, ObservationRow] = {}
        self.plan: list[PlanRow] = []
        self._proposed: set[str] = set()

    def tables(self) -> dict[str, list[Row]]:
        """The rows by the names of their tables, those of the run as a whole left out."""
        return {
            "events": [*self.events],
            "payloads": [*self.payloads],
            "steps": [*self.steps],
            "model_calls": [*self.model_calls],
            "decisions": [*self.decisions],
            "verdicts": [*self.verdicts],
            "tool_calls": [*self.tool_calls],
            "observations": [*self.observations],
            "facts": [*self.facts],
            "effects": [*self.effects],
            "reflections": [*self.reflections],
            "plans": [*self.plans],
            "messages": [*self.messages],
            "annotations": [*self.annotations],
            "divergences": [*self.divergences],
        }

    def at(self, record: Record) -> datetime | None:
        """When a record was written, as far as that is known."""
        return None if type(record.event) is Quarantined else self.known(record.at)

    def known(self, at: datetime | None) -> datetime | None:
        """A time, unless no clock gave it: the trace of this run has none."""
        started = self.state.started
        return None if started is not None and started.clock == "none" else at

    def stepped(self, record: Record) -> StepRow:
        """A new row among the steps."""
        row = StepRow(
            run=self.run,
            run_id=self.run_id,
            step=self.state.steps,
            position=record.position,
            decided_at=self.at(record),
        )
        self.steps.append(row)
        return row

    def describe(self, row: StepRow, tool: str, arguments: Json) -> None:
        """Which call a step makes, and whether the run had wanted the same before."""
        row.tool, row.arguments = tool, json_text(arguments)
        row.digest = call_digest(tool, arguments)
        row.repeat = row.digest in self._proposed
        self._proposed.add(row.digest)
