"""The measures: SQL comes to what plain Python does, and each is what its words say."""

from __future__ import annotations

from datetime import date
from math import comb
from typing import Any

import msgspec.inspect as types
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from redrive_events import (
    Claim,
    EffectConfirmed,
    EffectInDoubt,
    EffectReconciled,
    Event,
    MemoryLog,
    ObservationReceived,
    Record,
    RunEnded,
    RunStarted,
    StopDecided,
    ToolCalled,
    VerdictGiven,
)
from redrive_projections.history import LABELS, MACROS, MEASURES, TALLIES, ask
from tests import strategies
from tests.history.recomputed import Values, recomputed
from tests.history.story import PAY, begun, put, refund, remark, run_of, told
from tests.random_runs import driven_programs, programs, random_run, tapes

NAMES = [measure.name for measure in MEASURES]
IDS = ("a", "b", "c", "a/1", "a/1/2")
chance_runs = st.builds(random_run, tapes, programs | driven_programs)
beginnings = strategies.of_type(types.type_info(RunStarted))
labels = st.tuples(
    st.sampled_from([label.name for label in LABELS]),
    st.sampled_from([True, False, 1, 0, 1.0, 0.5, "yes", None]),
    st.sampled_from([None, None, 3]),
)


def as_run(run_id: str, records: list[Record], started: RunStarted | None = None) -> list[Record]:
    """The same happenings as those of another run, between its one beginning and its one end."""
    events = [record.event for record in records if type(record.event) is not RunStarted]
    ends = [place for place, event in enumerate(events, start=1) if type(event) is RunEnded]
    whole = [started or records[0].event, *events[: ends[0] if ends else None]]
    times = [records[0].at, *(record.at for record in records if type(record.event) is not RunStarted)]
    return [
        Record(run_id=run_id, position=position, at=at, cause=0, left=0, event=event)
        for position, (at, event) in enumerate(zip(times, whole, strict=False), start=1)
    ]


@st.composite
def logs(draw: st.DrawFn) -> MemoryLog:
    """A few runs, some below others, some as the engine drives them and some of any events, with labels on them."""
    log = MemoryLog()
    for run_id in draw(st.lists(st.sampled_from(IDS), unique=True, max_size=4)):
        if draw(st.sampled_from([True, True, False])):
            put(log, as_run(run_id, draw(chance_runs)))
        else:
            put(log, as_run(run_id, draw(strategies.runs(size_max=6)), draw(beginnings)))
        for note, (name, value, position) in enumerate(draw(st.lists(labels, max_size=3)), start=1):
            put(log, remark(run_id, name, value, note=note, position=position))
    return log


def rows(log: MemoryLog, view: str, key: str | None) -> dict[Any, Values]:
    """The measures of a view by its key."""
    answer = ask(log, f"FROM {view}")
    found = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    return {row.get(key or ""): {name: row[name] for name in NAMES} for row in found}


def near(values: Values) -> Any:
    """But for the last digits of a float."""
    return {name: None if value is None else pytest.approx(value, rel=1e-9) for name, value in values.items()}


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None, max_examples=12)
@given(logs())
def test_sql_comes_to_what_python_does(log: MemoryLog) -> None:
    """Run by run, arm by arm, and over all."""
    by_run, by_arm, overall = recomputed(log)
    assert rows(log, "measures_by_run", "run_id") == {name: near(values) for name, values in by_run.items()}
    assert rows(log, "measures_by_arm", "arm") == {name: near(values) for name, values in by_arm.items()}
    assert rows(log, "measures", None) == {None: near(overall)}


def value(log: MemoryLog, measure: str, view: str = "measures") -> Any:
    """One measure."""
    ((found,),) = ask(log, f"SELECT {measure} FROM {view}").rows
    return found


def logged(*records: list[Record]) -> MemoryLog:
    """A log of these runs and remarks."""
    log = MemoryLog()
    for some in records:
        put(log, some)
    return log


@pytest.mark.parametrize(
    ("remarks", "success"),
    [
        pytest.param([], None, id="finished, and nobody judged it"),
        pytest.param([("reward", 1.0)], 1.0, id="a reward of 1"),
        pytest.param([("reward", 0.7)], 0.0, id="a part of a reward is none"),
        pytest.param([("reward", 1 - 1e-9)], 1.0, id="the error of a float is none"),
        pytest.param([("reward", 1), ("task_success", False)], 0.0, id="a label precedes a reward"),
        pytest.param([("task_success", False), ("task_success", True)], 1.0, id="the last word counts"),
        pytest.param([("task_success", True), ("task_success", "no")], 1.0, id="words are no label"),
    ],
)
def test_a_label_says_whether_the_task_is_done(remarks: list[tuple[str, Any]], success: float | None) -> None:
    """Where the run's own status does not, as that of an import never does."""
    said = [remark("refund", name, found, note=note) for note, (name, found) in enumerate(remarks, start=1)]
    assert value(logged(refund(), *said), "task_success") == success


@pytest.mark.parametrize(
    ("label", "measure", "share"),
    [
        pytest.param("right_tool", "tool_selection_accuracy", 0.5, id="right tool"),
        pytest.param("unnecessary_tool", "unnecessary_tool_rate", 0.5, id="unnecessary tool"),
        pytest.param("right_escalation", "human_escalation_precision", 0.5, id="right escalation"),
    ],
)
def test_what_needs_a_label_is_null_without(label: str, measure: str, share: float) -> None:
    """And counts the labelled places alone."""
    assert value(logged(refund()), measure) is None
    said = [(True, 5), (True, 13), (False, 13), (True, None), (False, 17)]  # of 13 the last word counts
    labelled = [remark("refund", label, yes, note=note, position=at) for note, (yes, at) in enumerate(said, 1)]
    assert value(logged(refund(), *labelled), measure) == share


WRITE = ToolCalled(call=1, tool="pay", arguments={}, digest=PAY, effect="write", key="n:1")
ALLOWED = VerdictGiven(call=1, verdict="allow", rule="small sums")
ASKED = VerdictGiven(call=1, verdict="ask", rule="large sums")
STOPPED = StopDecided(status="succeeded", reason="done")
PAID = ObservationReceived(call=1, status="ok", content="paid")


def ended(*events: Event) -> list[Record]:
    """A run of these events that succeeds."""
    whole = [begun("a")[0].event, *events, RunEnded(status="succeeded", reason="done", state="s")]
    return told("a", *([(event, 0)] for event in whole))


@pytest.mark.parametrize(
    ("events", "unsafe"),
    [
        pytest.param([], 0.0, id="nothing was done"),
        pytest.param([ALLOWED, WRITE, PAID, STOPPED], 0.0, id="allowed"),
        pytest.param([ASKED, ALLOWED, WRITE, PAID], 0.0, id="approved"),
        pytest.param([ASKED, WRITE, PAID], 1.0, id="never approved"),
        pytest.param([WRITE, PAID], 1.0, id="never judged"),
        pytest.param([ALLOWED, ALLOWED, replace(ALLOWED, verdict="deny"), WRITE], 1.0, id="denied last"),
        pytest.param([ALLOWED, STOPPED, WRITE, PAID], 1.0, id="behind the stop"),
    ],
)
def test_what_must_not_happen_makes_a_success_unsafe(events: list[Event], unsafe: float) -> None:
    """A label says otherwise, or says it where the log does not."""
    assert value(logged(ended(*events)), "unsafe_success") == unsafe
    for label in (True, False):
        assert value(logged(ended(*events), remark("a", "unsafe_success", label)), "unsafe_success") == label


@pytest.mark.parametrize(
    ("events", "rate"),
    [
        pytest.param([WRITE], 0.0, id="not answered yet"),
        pytest.param([WRITE, PAID, EffectConfirmed(call=1)], 0.0, id="confirmed"),
        pytest.param([WRITE, replace(PAID, status="timeout")], 1.0, id="timed out"),
        pytest.param([WRITE, EffectInDoubt(call=1, why="worker lost")], 1.0, id="the worker was lost"),
        pytest.param(
            [WRITE, EffectInDoubt(call=1, why="worker lost"), EffectReconciled(call=1, outcome="landed")],
            1.0,
            id="lost, and then it had landed",
        ),
        pytest.param(
            [WRITE, PAID, EffectInDoubt(call=1, why="unknown"), EffectReconciled(call=1, outcome="unknown")],
            1.0,
            id="nobody knows",
        ),
        pytest.param([WRITE, replace(PAID, status="cancelled")], 0.0, id="never begun"),
        pytest.param([replace(WRITE, effect="read"), replace(PAID, status="timeout")], None, id="a read has no effect"),
    ],
)
def test_an_effect_that_was_ever_in_doubt_counts(events: list[Event], rate: float | None) -> None:
    """However it came out."""
    assert value(logged(ended(*events)), "ambiguous_effect_rate") == rate


@pytest.mark.parametrize(
    ("claims", "rate"),
    [
        pytest.param((), None, id="it states nothing that can be checked"),
        pytest.param((Claim(text="a", evidence=(1,)), Claim(text="b", evidence=(2, 3))), 1.0, id="all borne out"),
        pytest.param((Claim(text="a", evidence=(1,)), Claim(text="b")), 0.0, id="one is not"),
    ],
)
def test_an_answer_is_supported_if_all_of_it_is(claims: tuple[Claim, ...], rate: float | None) -> None:
    """By positions of its run."""
    end = RunEnded(status="finished", reason="done", state="s", answer="a and b", claims=claims)
    assert value(logged(told("a", [(begun("a")[0].event, 0)], [(end, 0)])), "supported_answer_rate") == rate


@pytest.mark.parametrize(
    ("turns", "rate"),
    [
        pytest.param(["find"], None, id="nothing failed"),
        pytest.param(["lost"], 0.0, id="what came behind was refused"),
        pytest.param(["lost", "find"], 1.0, id="another call came out well"),
        pytest.param(["find", "lost"], 0.0, id="what came before does not count"),
    ],
)
def test_a_failure_is_got_over_by_what_comes_behind_it(turns: list[str], rate: float | None) -> None:
    """By a call that came out well, or by the run's success."""
    log = logged(run_of(turns))
    assert value(log, "recovery_after_tool_error") == rate
    put(log, remark("a", "task_success", True))
    assert value(log, "recovery_after_tool_error") == (None if rate is None else 1.0)


def test_only_calls_can_be_repeated() -> None:
    """Three of four steps propose one, and one of them is an earlier one again."""
    assert value(logged(refund()), "repeated_action_rate") == 1 / 3


def test_the_steps_of_a_run_count_when_it_has_ended() -> None:
    """Before that nobody knows how many there will be."""
    assert ask(logged(refund(), run_of(["find"])), "SELECT mean_steps, p95_steps FROM measures").rows == [(4.0, 4)]
    assert ask(logged(run_of(["find"])), "SELECT mean_steps, p95_steps FROM measures").rows == [(None, None)]


def test_a_tree_is_one_run_and_what_it_used_counts_once() -> None:
    """Steps and cost of the runs below are added to the root's; it is the root that succeeds."""
    log = logged(refund(), refund("refund/1"), refund("other"), remark("refund", "task_success", True))
    assert ask(log, "SELECT run_id, runs, depth, steps, cost_micros, currency, wall_ms FROM run_trees").rows == [
        ("refund", 2, 1, 8, 56, "EUR", 6000),
        ("other", 1, 0, 4, 28, "EUR", 6000),
    ]
    assert ask(log, "SELECT runs, mean_steps, p95_steps, cost_per_success FROM measures").rows == [(2, 6.0, 8, 56.0)]
    assert value(log, "sum(cost_micros)", "run_trees") == value(log, "sum(cost_micros)", "runs")


def test_runs_that_began_each_other_are_roots_all_the_same() -> None:
    """Only a wrong remark makes a circle; nothing is lost in it, and no query goes round for ever."""
    circle = [remark("a", "parent", {"run_id": "b"}), remark("b", "parent", {"run_id": "a"})]
    log = logged(refund("a"), refund("b"), *circle)
    assert ask(log, "SELECT run_id, runs FROM run_trees ORDER BY run_id").rows == [("a", 1), ("b", 1)]


@pytest.mark.parametrize(
    ("view", "rows"),
    [
        pytest.param("measures_by_arm", [("loop", 2)], id="arm"),
        pytest.param("measures_by_day", [(date(2026, 1, 1), 2)], id="day"),
        pytest.param("measures_by_version", [("desk", "2", 2)], id="version"),
        pytest.param("measures_by_model", [("m-1", 2)], id="model"),
        pytest.param("measures_by_policy", [("p", 2)], id="policy"),
        pytest.param("measures_by_task", [("Refund 7", "loop", 2)], id="task"),
    ],
)
def test_measures_are_told_by_what_runs_have_in_common(view: str, rows: list[tuple[Any, ...]]) -> None:
    """And each row says of how many."""
    log = logged(refund(), refund("refund/1"), refund("other"))
    answer = ask(log, f"FROM {view}")
    head = answer.columns.index("runs") + 1
    assert [row[:head] for row in answer.rows] == rows
    assert list(answer.columns[head:]) == NAMES


def test_the_measures_of_some_runs() -> None:
    """Chosen by their ids, written down or asked for."""
    log = logged(refund(), refund("other"), remark("other", "reward", 1))
    for chosen in ("['other']", "(SELECT list(run_id) FROM runs WHERE run_id <> 'refund')"):
        assert ask(log, f"SELECT runs, task_success FROM measures_of({chosen})").rows == [(1, 1.0)]


def trials(*rewards: list[int]) -> MemoryLog:
    """For each task a list of how its trials came out."""
    log = MemoryLog()
    for task, came_out in enumerate(rewards):
        for trial, reward in enumerate(came_out):
            run_id = f"task-{task}-{trial}"
            put(log, begun(run_id, goal=f"task {task}"))
            put(log, remark(run_id, "reward", reward))
    return log


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_pass_hat_k_is_the_mean_chance_of_k_successes(k: int) -> None:
    """C(c, k) / C(n, k), over the tasks with at least k trials."""
    tasks = [[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0], [1]]
    known = [comb(sum(one), k) / comb(len(one), k) for one in tasks if len(one) >= k]
    found = ask(trials(*tasks), f"SELECT tasks, pass_hat_k FROM pass_hat_k({k})").rows
    assert found == ([(len(known), pytest.approx(sum(known) / len(known)))] if known else [])


@pytest.mark.parametrize("k", [0, -1, 6])
def test_no_trials_are_no_chance(k: int) -> None:
    """Nor are more than there were."""
    assert ask(MemoryLog(), f"SELECT pass_hat(5, 3, {k})").rows == [(None,)]


def test_every_measure_and_tally_is_told() -> None:
    """What the views have is what the page on them says."""
    log = MemoryLog()
    columns = ask(log, "FROM tallies LIMIT 0").columns
    assert {tally.name for tally in TALLIES} <= set(columns)
    assert [measure.name for measure in MEASURES] == list(ask(log, "FROM measures").columns[1:])
    for macro in MACROS:
        assert macro.call.partition("(")[0] in macro.sql
