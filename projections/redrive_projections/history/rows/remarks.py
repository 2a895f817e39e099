"""What was said beside a run, row by row; some remarks say more than their value."""

from __future__ import annotations

from typing import Final

from redrive_events import PARENT, AnnotationMade, Json, Record
from redrive_projections.effects import LATE_OUTCOME
from redrive_projections.history.rows.gathered import RunRows
from redrive_projections.history.tables import AnnotationRow, DivergenceRow, JsonText
from redrive_projections.history.values import json_text, moment, number_of, whole

# The remark that keeps where a replay parted from the run: {"position": 7, "cause": "policy", "kind": …, …}.
DIVERGENCE: Final = "divergence"


def annotated(rows: RunRows, record: Record, event: AnnotationMade) -> None:
    """A remark."""
    row = AnnotationRow(
        run=rows.run,
        run_id=rows.run_id,
        note=record.position,
        annotated_at=moment(record.at),
        position=None if event.position is None else whole(event.position),
        name=event.name,
        value=json_text(event.value),
        value_number=number_of(event.value),
        value_text=event.value if isinstance(event.value, str) else None,
        source=event.source,
    )
    rows.annotations.append(row)
    told = event.value if isinstance(event.value, dict) else {}
    if event.name == DIVERGENCE:
        _parted(rows, row, told)
    elif event.name == LATE_OUTCOME:
        rows.late_outcomes.append(event)
    elif event.name == PARENT:
        run, call = told.get("run_id"), told.get("call")
        if isinstance(run, str):
            rows.begun_by.append((run, call if isinstance(call, int) else None, "remark"))


def _parted(rows: RunRows, remark: AnnotationRow, told: dict[str, Json]) -> None:
    position = told.get("position")
    rows.divergences.append(
        DivergenceRow(
            run=rows.run,
            run_id=rows.run_id,
            note=remark.note,
            found_at=remark.annotated_at,
            position=whole(position) if type(position) is int else remark.position,
            cause=_text(told.get("cause")),
            kind=_text(told.get("kind")),
            pointer=_text(told.get("pointer")),
            recorded=_json(told, "recorded"),
            replayed=_json(told, "replayed"),
            detail=remark.value,
            source=remark.source,
        )
    )


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _json(told: dict[str, Json], name: str) -> JsonText | None:
    return json_text(told[name]) if name in told else None
