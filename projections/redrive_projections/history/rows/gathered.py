"""The rows of one run in the making, and what is remembered while they are made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from redrive_events import AnnotationMade, Json, Quarantined, Record, RunForked, canonical, spelled_call_digest
from redrive_projections.effects import Ledger
from redrive_projections.folding import evolve
from redrive_projections.history.tables import (
    AnnotationRow,
    ApprovalRow,
    DecisionRow,
    DivergenceRow,
    FactRow,
    JsonText,
    MessageRow,
    ModelCallRow,
    Moment,
    ObservationRow,
    PlanRow,
    ReflectionRow,
    Row,
    RunRow,
    StepRow,
    ToolCallRow,
    VerdictRow,
)
from redrive_projections.history.values import moment
from redrive_projections.state import RunState


class Inherited(NamedTuple):
    """What was used in front of a fork, which counts where it was used."""

    steps: int = 0
    tool_calls: int = 0
    tokens: int = 0
    cost_micros: int = 0
    wall_us: int = 0


class RunRows:
    """All rows of one run, as far as its records were added; beside them its state, and its ledger of effects.

    Of each there is one fold, which others use as well.
    """

    def __init__(self, run: int, run_id: str) -> None:
        self.run, self.run_id = run, run_id
        self.state = RunState()
        self.ledger, self.late_outcomes = Ledger(), list[AnnotationMade]()
        self.of_run = RunRow(run=run, run_id=run_id)
        self.events: list[tuple[Any, ...]] = []
        self.payloads: list[tuple[Any, ...]] = []
        self.payload_bytes = 0
        self.steps: list[StepRow] = []
        self.model_calls: list[ModelCallRow] = []
        self.decisions: list[DecisionRow] = []
        self.verdicts: list[VerdictRow] = []
        self.tool_calls: list[ToolCallRow] = []
        self.observations: list[ObservationRow] = []
        self.facts: list[FactRow] = []
        self.approvals: list[ApprovalRow] = []
        self.reflections: list[ReflectionRow] = []
        self.plans: list[PlanRow] = []
        self.messages: list[MessageRow] = []
        self.annotations: list[AnnotationRow] = []
        self.divergences: list[DivergenceRow] = []
        self.notes_quarantined = 0
        # Another run, the call in it, and what tells that this began the run; a remark counts if nothing else knows.
        self.begun_by: list[tuple[str, int | None, str]] = []
        # How the run was forked from another, and what that had used until then, which is in its rows.
        self.fork: RunForked | None = None
        self.inherited = Inherited()
        self.costed = False
        self.undecided: StepRow | None = None
        self.asked: dict[int, ModelCallRow] = {}
        self.step_of: dict[int, StepRow] = {}
        self.attempt_of: dict[int, ToolCallRow] = {}
        self.seen_of: dict[int, ObservationRow] = {}
        self.plan: list[PlanRow] = []
        self.unapproved: list[ApprovalRow] = []
        self.at: Moment | None = None
        self.last_at: Moment | None = None
        self._at, self._now = datetime.min.replace(tzinfo=UTC), Moment(0)
        self._proposed: set[str] = set()

    def settled(self) -> Iterator[tuple[str, Iterable[tuple[Any, ...]]]]:
        """Rows that no later record changes, by the names of their tables; what was handed out is forgotten."""
        yield "events", self.events
        yield "payloads", self.payloads
        for name, rows in (("verdicts", self.verdicts), ("facts", self.facts), ("messages", self.messages)):
            yield name, map(msgspec.structs.astuple, rows)
        for made in (self.events, self.payloads, self.verdicts, self.facts, self.messages):
            made.clear()
        self.payload_bytes = 0

    def unsettled(self) -> Iterator[tuple[str, Iterable[tuple[Any, ...]]]]:
        """The others, once the run's last record was added."""
        tables: dict[str, Sequence[Row]] = {
            "steps": self.steps,
            "model_calls": self.model_calls,
            "decisions": self.decisions,
            "tool_calls": self.tool_calls,
            "observations": self.observations,
            "approvals": self.approvals,
            "reflections": self.reflections,
            "plans": self.plans,
            "annotations": self.annotations,
            "divergences": self.divergences,
        }
        for name, rows in tables.items():
            yield name, map(msgspec.structs.astuple, rows)

    def inherit(self, record: Record) -> None:
        """One record further of what stands in front of a fork: it has its rows as those of the other run."""
        evolve(self.state, record)
        used = self.state
        self.inherited = Inherited(used.steps, used.tool_calls, used.tokens, used.cost_micros, used.wall_us)

    def add(self, record: Record) -> None:
        """One record further: only the state, the ledger of effects, and what time it is."""
        self.ledger.take(record, self.state)
        evolve(self.state, record)
        if type(record.event) is Quarantined:  # its time may be anything
            self.at = None
            return
        if record.at != self._at:
            self._at, self._now = record.at, moment(record.at)
        started = self.state.started
        # Where no clock gave it there is none: the trace of this run has no times.
        self.at = self.last_at = None if started is not None and started.clock == "none" else self._now

    def stepped(self, record: Record) -> StepRow:
        """A new row among the steps."""
        row = StepRow(
            run=self.run,
            run_id=self.run_id,
            step=self.state.steps,
            position=record.position,
            decided_at=self.at,
        )
        self.steps.append(row)
        return row

    def describe(self, row: StepRow, tool: str, arguments: Json) -> None:
        """Which call a step makes, and whether the run had wanted the same before."""
        spelled = canonical(arguments)
        row.tool, row.arguments = tool, JsonText(spelled.decode())
        row.digest = spelled_call_digest(tool, spelled)
        row.repeat = row.digest in self._proposed
        self._proposed.add(row.digest)
