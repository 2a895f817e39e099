"""The scenario's promises: what is taken of a reply, what is held back, and an end that is always friendly."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import redrive as rd
from redrive_engine import load_agent
from redrive_events import (
    BudgetWarned,
    CallIntercepted,
    DecisionMade,
    FinishRefused,
    ModelReplied,
    ReflectionNoted,
    ReplyRefused,
    StopDecided,
    ToolCalled,
)
from redrive_projections.history import ask
from redrive_replays import recording_of
from trajectories import Make, ends_alike_wherever_it_is_cut, found, replays_the_same, told
from weather import GOAL, agent, make_agent, variants
from weather.script import ANSWER, CHINESE
from weather.world import clothing_guide

CALLS = ["weather_forecast", "clothing_guide"]
OUTLOOK = "26 °C cloudy, 17 °C rain (a drop of 9 °C), 19 °C overcast"
ADVICE = "Wear a windproof jacket over a shirt. Take rain gear: an umbrella or a raincoat, and shoes that stay dry."
SO_FAR = f"The next three days: {OUTLOOK}.\nMore is not known."

# Each agent, and how its run ends: status, reason, steps, the tools that were asked to act, what it had when stopped.
ENDS: list[tuple[Make, str, str, int, list[str], str | None]] = [
    (make_agent, "succeeded", "done", 3, CALLS, None),
    (variants.chinese, "succeeded", "done", 3, CALLS, None),
    (variants.repeating, "succeeded", "done", 5, [CALLS[0], *CALLS], None),
    (variants.stagnating, "failed", "stagnation", 3, CALLS[:1], SO_FAR),
    (variants.stagnating_in_chinese, "failed", "stagnation", 3, CALLS[:1], SO_FAR),
    (variants.wavering, "succeeded", "done", 5, CALLS, None),
    (variants.endless, "exhausted", "steps", 6, CALLS[:1] * 5, SO_FAR),
    (variants.warned, "succeeded", "done", 6, [*CALLS[:1] * 4, CALLS[1]], None),
    (variants.rambling, "succeeded", "done", 3, CALLS, None),
    (variants.hasty, "succeeded", "done", 4, CALLS, None),
    (variants.mumbling, "succeeded", "done", 4, CALLS, None),
    (variants.learning, "succeeded", "done", 4, [CALLS[0], *CALLS], None),
]
MAKES = [pytest.param(make, id=make.__name__) for make, *_ in ENDS]


def run_of(asked: rd.Agent, *, log: rd.MemoryLog | rd.SqliteLog | None = None, run_id: str = "run") -> rd.Run:
    """A run of the scenario in surroundings that never differ."""
    return asked.run(GOAL, log=log or rd.MemoryLog(), run_id=run_id, surroundings=rd.Surroundings.fixed())


def replies(run: rd.Run) -> list[int]:
    """Where the model's replies stand."""
    return [one.position for one in run.records() if isinstance(one.event, ModelReplied)]


@pytest.mark.parametrize(
    ("make", "status", "reason", "steps", "calls", "partial"), [pytest.param(*end, id=end[0].__name__) for end in ENDS]
)
def test_the_run_ends(make: Make, status: str, reason: str, steps: int, calls: list[str], partial: str | None) -> None:
    """Each with its known reason, after these tools; one that was stopped says in words what it had by then."""
    run = run_of(make())
    assert run.state.end is not None
    assert (run.status, run.state.end.reason, run.state.steps) == (status, reason, steps)
    assert [called.tool for called in found(run, ToolCalled)] == calls
    assert run.partial == partial


@pytest.mark.parametrize(("make", "last"), [(make_agent, ANSWER), (variants.chinese, CHINESE[-1])])
def test_what_is_known_and_answered(make: Make, last: str) -> None:
    """The same facts in both languages; the answer stands behind its label."""
    run = run_of(make())
    assert {key: fact.value for key, fact in run.facts.items()} == {
        "forecast": [
            {"day": 1, "temperature_c": 26, "sky": "cloudy"},
            {"day": 2, "temperature_c": 17, "sky": "rain"},
            {"day": 3, "temperature_c": 19, "sky": "overcast"},
        ],
        "outlook": OUTLOOK,
        "advice": ADVICE,
    }
    assert run.answer
    assert last.endswith(run.answer)


@pytest.mark.parametrize(("low_c", "rain", "words"), [(26, False, "Wear a shirt."), (17, True, ADVICE)])
def test_the_clothing_follows_from_the_weather(low_c: int, rain: bool, words: str) -> None:
    """A windproof jacket for the drop, rain gear for the rain, neither without."""
    assert clothing_guide(low_c, rain) == words


def test_the_third_same_call_is_held_back() -> None:
    """Two are made; the guard tells where, and the order of the arguments makes no difference."""
    run = run_of(variants.repeating())
    (held,) = found(run, CallIntercepted)
    made = [one.position for one in run.records() if isinstance(one.event, ToolCalled)]
    assert (held.guard, held.call, list(held.window)) == ("repeated", 3, made[:2])
    assert "called 2 times with the same arguments" in held.text


@pytest.mark.parametrize("make", [variants.stagnating, variants.stagnating_in_chinese], ids=lambda make: make.__name__)
def test_the_same_thought_twice_is_stagnation(make: Make) -> None:
    """The measure, the threshold and the two replies are recorded; Chinese needs no spaces to be compared."""
    run = run_of(make())
    (stop,) = found(run, StopDecided)
    (read,) = stop.read
    assert list(stop.window) == replies(run)[1:]
    assert (read.path, read.operator, read.limit) == ("thoughts.dice_of_bigrams_percent", "at_least", 85)
    assert 85 <= read.value < 100


def test_another_thought_is_no_stagnation() -> None:
    """The model is only told how to reply."""
    assert [one.reason for one in found(run_of(variants.wavering()), ReplyRefused)] == [
        "neither an action nor a final answer"
    ] * 2


def test_one_step_before_the_limit_the_model_is_told() -> None:
    """It reads the notice last of all, and answers."""
    run = run_of(variants.warned())
    (warning,) = found(run, BudgetWarned)
    assert (warning.dimension, warning.left) == ("steps", 1)
    assert warning.text == (
        "Important: 1 step is left. Give the final answer now, from what you know, and begin nothing new."
    )
    assert run.state.asked[-1].content == warning.text
    assert run.status == "succeeded"


def test_a_call_on_the_last_step_is_held_back() -> None:
    """Nobody could read what it brings; the warning and the reply are the evidence."""
    run = run_of(variants.endless())
    (held,) = found(run, CallIntercepted)
    (warned,) = (one.position for one in run.records() if isinstance(one.event, BudgetWarned))
    assert (held.guard, held.call, held.window) == ("last_step", 6, (warned, replies(run)[-1]))


def test_what_stands_behind_the_decision_is_dropped_and_said_so() -> None:
    """A second action, an answer, and observations that the model made up: nobody acts on them, or believes them."""
    run = run_of(variants.rambling())
    assert found(run, DecisionMade)[0].dropped == ("observation", "action", "input", "answer")
    assert found(run, DecisionMade)[1].dropped == ()
    assert variants.MADE_UP not in str(run.facts["outlook"].value)


def test_whichever_comes_first_is_taken() -> None:
    """An answer in front of an action is an answer, and a premature one is refused."""
    run = run_of(variants.hasty())
    assert (found(run, DecisionMade)[0].kind, found(run, DecisionMade)[0].dropped) == ("finish", ("action", "input"))
    assert [one.missing for one in found(run, FinishRefused)] == [("advice", "forecast")]


def test_a_reply_that_is_neither_is_answered_with_a_hint() -> None:
    """How a reply is written."""
    (refused,) = found(run_of(variants.mumbling()), ReplyRefused)
    assert refused.text == (
        'No action and no final answer. Reply with "Thought:", then either "Action:" and "Action Input:" '
        'with a JSON object, or "Final Answer:".'
    )


def test_a_lesson_is_learnt_from_a_failure() -> None:
    """It names what was tried and what came of it, and the model has it before its next try."""
    run = run_of(variants.learning())
    (noted,) = found(run, ReflectionNoted)
    assert noted.lesson == (
        'Lesson: weather_forecast(city="Shenzen", days=3) failed '
        "(No forecast for 'Shenzen'. There is one for: Shenzhen, 深圳). Do not repeat it unchanged."
    )
    assert noted.lesson in [message.content for message in run.state.asked]


def test_a_later_run_may_begin_with_the_lesson() -> None:
    """It stands in the run's first event, so it is replayed; the model reads it before anything else is said."""
    (noted,) = found(run_of(variants.learning()), ReflectionNoted)
    log = rd.MemoryLog()
    later = agent.run(GOAL, log=log, run_id="later", lessons=[noted.lesson], surroundings=rd.Surroundings.fixed())
    assert noted.lesson in "".join(str(message.content) for message in later.state.asked[:3])
    assert rd.replay(recording_of(log, "later"), agent=agent).same


@pytest.mark.parametrize("make", MAKES)
def test_a_recorded_run_replays_the_same(make: Make, tmp_path: Path) -> None:
    """From the file alone, with an agent made anew, whatever the ending."""
    replays_the_same(run_of, make, tmp_path)


@pytest.mark.parametrize("make", MAKES)
def test_a_run_cut_at_any_append_ends_as_it_would_have(make: Make) -> None:
    """Whoever takes it up knows what was repeated, thought and warned of before."""
    ends_alike_wherever_it_is_cut(run_of, make)


@pytest.mark.parametrize("make", MAKES)
def test_the_trajectory(make: Make, snapshot: SnapshotAssertion) -> None:
    """As people read it."""
    log = rd.MemoryLog()
    run_of(make(), log=log)
    assert told(log) == snapshot


def test_every_run_is_rows_in_sql() -> None:
    """What was held back, and what a stopped run had."""
    log = rd.MemoryLog()
    for make in (make_agent, variants.repeating, variants.endless, variants.stagnating):
        run_of(make(), log=log, run_id=make.__name__)
    assert ask(log, "SELECT run_id, status, reason, dimension, partial FROM runs ORDER BY run").rows == [
        ("make_agent", "succeeded", "done", None, None),
        ("repeating", "succeeded", "done", None, None),
        ("endless", "exhausted", "steps", "steps", SO_FAR),
        ("stagnating", "failed", "stagnation", None, SO_FAR),
    ]
    held = "SELECT run_id, step, intercepted, repeat FROM steps WHERE intercepted IS NOT NULL ORDER BY run"
    assert ask(log, held).rows == [("repeating", 3, "repeated", True), ("endless", 6, "last_step", False)]


def test_the_agent_is_found_from_the_folder_of_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `redrive run weather:agent` finds it."""
    monkeypatch.chdir(Path(__file__).parents[1])
    assert load_agent("weather:agent") is agent
