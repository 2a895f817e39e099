"""The tables of the history, column by column: what they are made from is what they are told by."""

from __future__ import annotations

from functools import cache
from types import MappingProxyType

from redrive_projections.history.tables.calls import ApprovalRow, EffectRow, ObservationRow, ToolCallRow
from redrive_projections.history.tables.columns import (
    Column,
    JsonText,
    Labels,
    Moment,
    Names,
    Positions,
    Row,
    Table,
    columns_of,
)
from redrive_projections.history.tables.records import AnnotationRow, DivergenceRow, EventRow, PayloadRow
from redrive_projections.history.tables.runs import BudgetRow, LineageRow, RunRow
from redrive_projections.history.tables.steps import (
    DecisionRow,
    FactRow,
    MessageRow,
    ModelCallRow,
    PlanRow,
    ReflectionRow,
    StepRow,
    VerdictRow,
)

__all__ = [
    "ROWS",
    "AnnotationRow",
    "ApprovalRow",
    "BudgetRow",
    "Column",
    "DecisionRow",
    "DivergenceRow",
    "EffectRow",
    "EventRow",
    "FactRow",
    "JsonText",
    "Labels",
    "LineageRow",
    "MessageRow",
    "ModelCallRow",
    "Moment",
    "Names",
    "ObservationRow",
    "PayloadRow",
    "PlanRow",
    "Positions",
    "ReflectionRow",
    "Row",
    "RunRow",
    "StepRow",
    "Table",
    "ToolCallRow",
    "VerdictRow",
    "schema",
]

ROWS: MappingProxyType[str, type[Row]] = MappingProxyType(
    {
        "runs": RunRow,
        "steps": StepRow,
        "events": EventRow,
        "payloads": PayloadRow,
        "model_calls": ModelCallRow,
        "decisions": DecisionRow,
        "verdicts": VerdictRow,
        "tool_calls": ToolCallRow,
        "observations": ObservationRow,
        "facts": FactRow,
        "effects": EffectRow,
        "approvals": ApprovalRow,
        "budgets": BudgetRow,
        "reflections": ReflectionRow,
        "plans": PlanRow,
        "messages": MessageRow,
        "annotations": AnnotationRow,
        "divergences": DivergenceRow,
        "lineage": LineageRow,
    }
)


@cache
def schema() -> tuple[Table, ...]:
    """The tables with their columns, and a sentence on each."""
    return tuple(Table(name, (row.__doc__ or "").strip(), columns_of(row)) for name, row in ROWS.items())
