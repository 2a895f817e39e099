"""The table of effects is the ledger: the same words for the same effects, of any run and what was said beside it."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from redrive_events import NOTES, AnnotationMade, MemoryLog, Record
from redrive_projections import LATE_OUTCOME, effects
from redrive_projections.history import History, ask
from tests import strategies
from tests.history.story import NOON, put
from tests.random_runs import doubtful_programs, driven_programs, random_run, tapes
from tests.renew_recordings import records_of

COLUMNS = {
    "run_id": "run_id",
    "call": "call",
    "tool": "tool",
    "effect": "effect",
    "digest": "digest",
    "key": "key",
    "stage": "stage",
    "outcome": "outcome",
    "attempts": "attempts",
    "why": "why",
    "by": "known_by",
    "reason": "reason",
    "compensates": "compensates",
    "compensated_by": "compensated_by",
    "doubted": "doubted_position",
    "authority_asked": "authority_asked",
    "settled": "settled_position",
    "settled_at": "settled_at",
    "position": "position",
    "at": "planned_at",
}

late = st.builds(
    AnnotationMade,
    name=st.sampled_from([LATE_OUTCOME, LATE_OUTCOME, "reward"]),
    value=st.fixed_dictionaries(
        {"call": st.integers(1, 3), "outcome": st.sampled_from(["landed", "not_landed", "perhaps"])},
        optional={"reason": st.sampled_from(["seen", ""])},
    )
    | st.just([1]),
    source=st.sampled_from(["worker", "bo"]),
)


@st.composite
def runs(draw: st.DrawFn) -> list[Record]:
    """A run as the engine drives it, or one of any events."""
    if draw(st.sampled_from([True, True, False])):
        return draw(st.builds(random_run, tapes, doubtful_programs | driven_programs))
    return draw(strategies.runs(size_max=12))


def noted(remarks: list[AnnotationMade], run_id: str = "a") -> list[Record]:
    """Remarks as they stand beside a run."""
    return [
        Record(run_id=run_id + NOTES, position=position, at=NOON, cause=0, left=0, event=remark)
        for position, remark in enumerate(remarks, start=1)
    ]


def cell(value: Any) -> Any:
    """A value of the ledger as the table has it: what is not known is NULL."""
    bound = 2**63 - 1
    return None if value == "" else max(-bound, min(bound, value)) if isinstance(value, int) else value


def ledger(records: list[Record], remarks: list[AnnotationMade]) -> list[tuple[Any, ...]]:
    """What the fold of a run says of its effects."""
    timed = not any(getattr(record.event, "clock", "") == "none" for record in records)
    times = {"at", "settled_at"}
    return [
        tuple(None if name in times and not timed else cell(getattr(one, name)) for name in COLUMNS)
        for one in effects(records, remarks)
    ]


QUERY = f"SELECT {', '.join(COLUMNS.values())} FROM effects ORDER BY position"


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=60)
@given(runs(), st.lists(late, max_size=3), st.integers(0, 20))
def test_sql_says_of_effects_what_the_ledger_says(
    records: list[Record], remarks: list[AnnotationMade], looked_after: int
) -> None:
    """Also where somebody asked in between, and had heard of the remarks by then."""
    log = MemoryLog()
    records = [replace(record, run_id="a") for record in records]
    ends = [place for place, record in enumerate(records, start=1) if not record.left]
    cut = max([end for end in ends if end <= looked_after], default=0)
    with History(log) as history:
        put(log, records[:cut])
        put(log, noted(remarks))
        history.refresh()
        put(log, records[cut:])
        history.refresh()
        found = history.db.execute(QUERY).fetchall()
    assert sorted(found, key=repr) == sorted(ledger(records, remarks), key=repr)


def test_an_effect_that_a_person_resolves_when_the_run_is_over() -> None:
    """The remark is read beside the run, and the effect stands where the list of effects has it."""
    log = MemoryLog()
    records = records_of("write-in-doubt-handed-to-a-person")
    put(log, records)
    put(
        log,
        noted(
            [AnnotationMade(name=LATE_OUTCOME, value={"call": 1, "outcome": "landed"}, source="bo")], records[0].run_id
        ),
    )
    answer = ask(log, "SELECT stage, outcome, known_by, settled_position FROM effects")
    assert answer.rows == [("reconciled", "landed", "bo", None)]
