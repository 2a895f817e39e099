"""The scenario's promises: what it tells of the notes, what ends it, and how it goes on where something fails."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest
from syrupy.assertion import SnapshotAssertion

import redrive as rd
from notes_analyst import GOAL, agent, make_agent, variants
from notes_analyst.world import FOLDER
from redrive_events import (
    FinishRefused,
    ModelAsked,
    ModelReplied,
    ObservationReceived,
    PersonAsked,
    PlanDrawn,
    RecoveryChosen,
    StopDecided,
    ToolCalled,
)
from redrive_projections.history import ask
from trajectories import Make, ends_alike_wherever_it_is_cut, found, replays_the_same, told

ANSWER = "3 notes: a.txt 812 characters, b.txt 1934 characters, 备忘.txt 455 characters. The longest is b.txt."
FACTS = {
    "notes": ["a.txt", "b.txt", "备忘.txt"],
    "counts": {"a.txt": 812, "b.txt": 1934, "备忘.txt": 455},
    "longest": "b.txt",
}
COUNTS = ["word_count"] * 3
CALLS = ["list_notes", *COUNTS, "read_note"]

# Each agent, and how its run ends: status, reason, steps, and the tools that were asked to act.
ENDS: list[tuple[Make, str, str, int, list[str]]] = [
    (make_agent, "succeeded", "done", 6, CALLS),
    (variants.planned, "succeeded", "done", 3, ["run", "run", "run"]),
    (variants.fixed, "succeeded", "done", 1, CALLS),
    (variants.direct, "finished", "done", 1, []),
    (variants.hasty, "succeeded", "done", 7, CALLS),
    (variants.straying, "succeeded", "done", 7, ["read_note", *CALLS]),
    (variants.stubborn, "failed", "2 tool failures in a row", 2, ["word_count"] * 2),
    (variants.circling, "failed", "stagnation", 5, ["word_count"] * 5),
    (variants.stripped, "exhausted", "steps", 8, []),
    (variants.offline, "failed", "model: unavailable", 0, []),
]
MAKES = [pytest.param(make, id=make.__name__) for make, *_ in ENDS]
QUICK = rd.Patience(pause_s=0.001)
BARREN = """
    WITH turns AS (SELECT run, step, min(position) AS at FROM steps GROUP BY ALL)
    SELECT step FROM turns
    WHERE step NOT IN (SELECT turns.step FROM facts ASOF JOIN turns ON facts.run = turns.run AND position > turns.at)
    ORDER BY step
"""


def run_of(asked: rd.Agent, *, log: rd.MemoryLog | rd.SqliteLog | None = None, run_id: str = "run") -> rd.Run:
    """A run of the scenario in surroundings that never differ."""
    log = log or rd.MemoryLog()
    return asked.run(GOAL, log=log, run_id=run_id, surroundings=rd.Surroundings.fixed(), patience=QUICK)


@pytest.mark.parametrize(
    ("make", "status", "reason", "steps", "calls"), [pytest.param(*end, id=end[0].__name__) for end in ENDS]
)
def test_the_run_ends(make: Make, status: str, reason: str, steps: int, calls: list[str]) -> None:
    """Each with its known reason, after these tools."""
    run = run_of(make())
    assert run.state.end is not None
    assert (run.status, run.state.end.reason, run.state.steps) == (status, reason, steps)
    assert [called.tool for called in found(run, ToolCalled)] == calls
    if status == "succeeded":
        assert {key: fact.value for key, fact in run.facts.items()} == FACTS


def test_the_notes_are_as_they_are_told() -> None:
    """So many characters each, counted as people count them, with Chinese text in each."""
    texts = {file.name: file.read_text(encoding="utf-8") for file in FOLDER.iterdir()}
    assert {name: len(text) for name, text in texts.items()} == FACTS["counts"]
    assert all(any("\u4e00" <= sign <= "\u9fff" for sign in text) for text in texts.values())
    assert run_of(agent).answer == ANSWER


def test_a_long_note_is_cut_and_says_so() -> None:
    """The first 1,500 characters, and how many are not shown."""
    run = run_of(agent)
    note = json.loads(str(found(run, ObservationReceived)[-1].content))
    assert (note["name"], len(note["text"]), note["cut"]) == ("b.txt", 1_500, 434)


def test_an_early_answer_is_refused_with_what_is_missing() -> None:
    """And the run goes on to its end."""
    run = run_of(variants.hasty())
    assert [one.missing for one in found(run, FinishRefused)] == [("counts", "longest", "notes")]
    assert run.answer == ANSWER


def test_an_empty_folder(tmp_path: Path) -> None:
    """Nothing is an answer too."""
    run = run_of(variants.empty(tmp_path))
    assert str(found(run, ObservationReceived)[0].content) == "(empty)"
    assert (run.status, run.answer) == ("succeeded", "The folder is empty: there are no notes.")


@pytest.mark.parametrize("name", ["../pyproject.toml", "/etc/passwd", "notes/a.txt", "c.txt", "备忘", ""])
def test_an_error_says_what_is_there_instead(name: str) -> None:
    """No path leads out of the folder, and the model is told which names there are."""
    told = str(found(run_of(variants.straying(name)), ObservationReceived)[0].content)
    assert told == f"No note {name!r} here. The notes are: a.txt, b.txt, 备忘.txt."


def test_a_plan_is_drawn_anew_where_a_step_runs_out() -> None:
    """The second child may reply only once; what it had counted by then is known, so only the rest is planned."""
    log = rd.MemoryLog()
    run = run_of(variants.planned(), log=log)
    plans = [([step.words for step in plan.steps], plan.revision) for plan in found(run, PlanDrawn)]
    assert plans == [
        (["List the notes.", "Count the characters of each note.", "Read the longest note."], 1),
        (["Read the longest note."], 2),
    ]
    assert found(run, PlanDrawn)[1].reason == "step 2 (Count the characters of each note.) ended exhausted: steps"
    ends = ask(log, "SELECT run_id, parent, parent_call, status, steps FROM runs ORDER BY run_id").rows
    assert ends == [
        ("run", None, None, "succeeded", 3),
        ("run/1", "run", 1, "finished", 2),
        ("run/2", "run", 2, "exhausted", 1),
        ("run/3", "run", 3, "finished", 2),
    ]


def test_a_child_is_told_the_goal_what_is_done_and_its_step() -> None:
    """And knows what its parent knew, so that its own verifiers can hold new evidence against it."""
    log = rd.MemoryLog()
    run_of(variants.planned(), log=log)
    child = rd.Run("run/3", log, rd.Run("run", log, run_of(agent).state).state)
    started = child.records()[0].event
    goal = getattr(started, "goal", "")
    assert goal.splitlines()[0] == f"Overall goal: {GOAL}"
    assert "- List the notes. → The notes are listed." in goal
    assert goal.splitlines()[-1] == "Do only this step: Read the longest note."
    assert getattr(started, "known", {}) == {"notes": FACTS["notes"], "counts": FACTS["counts"]}


@pytest.mark.parametrize("make", MAKES)
def test_a_recorded_run_replays_the_same(make: Make, tmp_path: Path) -> None:
    """Children too, each as a run of its own."""
    replays_the_same(run_of, make, tmp_path)


@pytest.mark.parametrize("make", MAKES)
def test_a_run_cut_at_any_append_ends_as_it_would_have(make: Make) -> None:
    """Whoever takes it up goes on, in the run itself and in its children."""
    ends_alike_wherever_it_is_cut(run_of, make)


@pytest.mark.parametrize("make", MAKES)
def test_the_trajectory(make: Make, snapshot: SnapshotAssertion) -> None:
    """As people read it, run by run."""
    log = rd.MemoryLog()
    run_of(make(), log=log)
    assert told(log) == snapshot


def test_every_layer_is_tried_before_a_person_is_asked() -> None:
    """Two errors are corrected, two more taken another way, two by a stronger model; then a person knows the names."""
    log = rd.MemoryLog()
    run = anyio.run(with_a_person, log, variants.climbing())
    rungs = [(one.rung, one.model) for one in found(run, RecoveryChosen)]
    assert rungs == [("another_way", ""), ("stronger_model", "analyst-large"), ("escalate", "")]
    assert [one.model for one in found(run, ModelAsked)] == [""] * 4 + ["analyst-large"] * 8
    (asked,) = found(run, PersonAsked)
    assert asked.handover is not None
    assert (asked.handover.asked, asked.handover.open) == (GOAL, ("counts", "longest", "notes"))
    assert [one.outcome for one in asked.handover.tried] == ["error"] * 6
    assert (run.status, run.answer) == ("succeeded", ANSWER)
    assert rd.replay(run, agent=variants.climbing()).same


def test_nobody_answers() -> None:
    """The run ends with what a person needs to take over."""
    run = variants.climbing(person_waits="10ms").run(GOAL, log=rd.MemoryLog(), patience=QUICK)
    stop = found(run, StopDecided)[0]
    assert (run.status, stop.reason) == ("escalated", "no word from the operator in time")
    assert stop.handover is not None
    assert len(stop.handover.tried) == 6


async def with_a_person(log: rd.MemoryLog, asked: rd.Agent) -> rd.Run:
    """A run, and a person who answers once they are asked."""

    async def answer() -> None:
        while not any(isinstance(record.event, PersonAsked) for record in log.read("run")):
            await anyio.sleep(0.01)
        at = list(log.read("run"))[-1].at
        rd.say(log, "run", "The notes are a.txt, b.txt and 备忘.txt.", at=at, actor="operator")

    async with anyio.create_task_group() as group:
        group.start_soon(answer)
        with anyio.fail_after(30):
            run = await asked.arun(GOAL, log=log, run_id="run", patience=QUICK)
    return run


@pytest.mark.parametrize(
    ("make", "barren"),
    [
        (make_agent, [6]),
        (variants.hasty, [1, 7]),
        (variants.straying, [1, 7]),
        (variants.circling, [2, 3, 4, 5]),
        (variants.stripped, [1, 2, 3, 4, 5, 6, 7, 8]),
    ],
)
def test_turns_that_brought_no_new_fact_are_listed(make: Make, barren: list[int]) -> None:
    """Of any run, whether a guard watched it or not."""
    log = rd.MemoryLog()
    run_of(make(), log=log)
    assert [step for (step,) in ask(log, BARREN).rows] == barren


def test_too_many_of_them_in_a_row_are_stagnation() -> None:
    """The stop says which they were."""
    run = run_of(variants.circling())
    (stop,) = found(run, StopDecided)
    asked = [record.position for record in run.records() if isinstance(record.event, ModelReplied)]
    assert (stop.reason, stop.window) == ("stagnation", tuple(asked[1:]))


@pytest.mark.parametrize("make", [variants.stripped, variants.offline], ids=lambda make: make.__name__)
def test_without_tools_or_network_a_run_ends_with_a_known_reason(make: Make) -> None:
    """In bounded time, since each of its limits counts."""
    run = run_of(make())
    assert run.status in {"exhausted", "failed"}
    assert run.state.end is not None
    assert run.state.end.reason in {"steps", "model: unavailable"}
