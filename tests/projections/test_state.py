"""The state of a run, folded: what is open, what was said, what is known."""

from __future__ import annotations

import msgspec.inspect as types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive_engine.program import Program
from redrive_events import (
    EVENTS,
    CancelRequested,
    EffectInDoubt,
    EffectReconciled,
    Event,
    FactCommitted,
    FinishRefused,
    LeaseGranted,
    MessageReceived,
    ModelFailed,
    ModelReplied,
    ObservationRefused,
    OutcomeStated,
    PersonAsked,
    ReplyRefused,
    Request,
    RunEnded,
    SignalsHeard,
)
from redrive_projections import Fact, answered_by, evolve, fold
from tests.projections.story import (
    ASKED,
    LEASE,
    PERSON,
    RECONCILE,
    REPLY,
    STARTED,
    STOP,
    TURN,
    TWO_CALLS,
    Line,
    called,
    denied,
    folded,
    saw,
)
from tests.random_runs import programs, random_run, tapes
from tests.strategies import of_type

DRAWN = {kind: of_type(types.type_info(kind)) for kind in EVENTS}
WORDS = MessageReceived(actor="user", content="And milk.")
FAILED = ModelFailed(kind="timeout", retryable=True)
DOUBT = EffectInDoubt(call=1, why="worker lost")
LANDED = EffectReconciled(call=1, outcome="landed", content="paid")
ENDED = RunEnded(status="cancelled", reason="enough", state="")


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_every_kind_of_event_can_be_folded(kind: type[Event], data: st.DataObject) -> None:
    """Whatever is in it, and wherever it stands: a fold never judges, and no kind is forgotten."""
    event = data.draw(DRAWN[kind])
    state = folded(*TURN, called(1), called(2), (event, 5), (event, 0))
    assert state.position == 8


@pytest.mark.parametrize(
    ("given_", "open_"),
    [
        pytest.param([STARTED], {}, id="nobody asked anything"),
        pytest.param([STARTED, ASKED], {2: ASKED}, id="the model is asked"),
        pytest.param([STARTED, ASKED, (REPLY, 2)], {}, id="a reply closes"),
        pytest.param([STARTED, ASKED, (FAILED, 2)], {}, id="a failure closes"),
        pytest.param([STARTED, ASKED, (REPLY, 1)], {2: ASKED}, id="an answer to something else closes nothing"),
        pytest.param([*TURN, called(1), called(2), (saw(2), 6)], {5: called(1)}, id="each answer closes its own"),
        pytest.param([STARTED, PERSON, WORDS], {}, id="words close the wait for a person"),
        pytest.param([STARTED, PERSON, CancelRequested(by="ana")], {2: PERSON}, id="another signal does not"),
        pytest.param([STARTED, PERSON, STOP], {}, id="a stop closes the wait for a person"),
        pytest.param([*TURN, called(1), STOP], {5: called(1)}, id="and nothing else"),
        pytest.param([*TURN, called(1), called(2), LEASE], {5: called(1), 6: called(2)}, id="a takeover neither"),
        pytest.param(
            [*TURN, called(1, effect="write"), called(2), DOUBT, RECONCILE],
            {6: called(2), 8: RECONCILE},
            id="doubt closes the call, and its authority is asked",
        ),
        pytest.param([*TURN, called(1, effect="write"), DOUBT, RECONCILE, (LANDED, 7)], {}, id="who answers"),
    ],
)
def test_what_is_open(given_: list[Line], open_: dict[int, Event]) -> None:
    """By the position of the request, as an answer names it."""
    assert folded(*given_).requests == open_


@pytest.mark.parametrize(
    ("event", "position"),
    [
        pytest.param(REPLY, 2, id="a reply"),
        pytest.param(FAILED, 2, id="a failure"),
        pytest.param(saw(1), 5, id="an observation, the oldest of its call"),
        pytest.param(saw(2), 6, id="of another call"),
        pytest.param(saw(3), 0, id="of a call that is not open"),
        pytest.param(LANDED, 8, id="a reconciliation"),
        pytest.param(WORDS, 0, id="words answer no request"),
    ],
)
def test_which_request_an_event_answers(event: Event, position: int) -> None:
    """An importer has answers without places, and calls whose ids repeat."""
    requests: dict[int, Request] = {2: ASKED, 5: called(1), 6: called(2), 7: called(1), 8: RECONCILE}
    assert answered_by(requests, event) == position


def said(*lines: Line) -> list[tuple[str, str, str]]:
    """The transcript after the opening: role, words, and the call that is answered."""
    return [(one.role, str(one.content), one.call_id) for one in folded(*lines).transcript()[2:]]


@pytest.mark.parametrize(
    ("given_", "then"),
    [
        pytest.param([], [], id="nothing yet"),
        pytest.param([saw(2, "3"), saw(1, "5")], [("tool", "5", "a"), ("tool", "3", "b")], id="in reply order"),
        pytest.param([denied(1), saw(2, "3")], [("tool", "Not allowed.", "a"), ("tool", "3", "b")], id="a denial"),
        pytest.param([saw(1, None), saw(2, "3")], [("tool", "3", "b")], id="what says nothing"),
        pytest.param(
            [saw(1, "5"), ObservationRefused(call=1, verifier="v", reason="r", text="Left out.")],
            [("tool", "Left out.", "a")],
            id="a refusal in place of what was refused",
        ),
        pytest.param(
            [called(1, effect="write"), saw(1, "?"), EffectReconciled(call=1, outcome="unknown", content="Not known.")],
            [("tool", "Not known.", "a")],
            id="what the authority says in place of doubt",
        ),
        pytest.param(
            [saw(1, "?"), called(1, effect="write", attempt=2)], [], id="a new attempt takes the response back"
        ),
        pytest.param([saw(9, "5")], [], id="an answer to no call"),
        pytest.param(
            [saw(1, "5"), WORDS, saw(2, "3")],
            [("tool", "5", "a"), ("tool", "3", "b"), ("user", "And milk.", "")],
            id="words after the responses",
        ),
        pytest.param([MessageReceived(actor="user", content="")], [], id="go on says nothing"),
        pytest.param(
            [MessageReceived(actor="operator", content="Be quick.")], [("system", "Be quick.", "")], id="an operator"
        ),
        pytest.param(
            [MessageReceived(actor="user", role="developer", content="Psst.")],
            [("developer", "Psst.", "")],
            id="a role",
        ),
    ],
)
def test_what_was_said_in_a_turn(given_: list[Line], then: list[tuple[str, str, str]]) -> None:
    """Each call has one response, and they stand in reply order whenever they came."""
    assert said(*TURN, *given_) == then


def test_what_was_said_over_several_turns() -> None:
    """A request settles its turn: what is said later stands behind it."""
    lines: list[Line] = [*TURN, saw(1, "5"), saw(2, "3"), ASKED, WORDS, (ModelReplied(content="Five."), 7)]
    lines += [FinishRefused(missing=("paid",), text="Not done yet."), ASKED]
    assert said(*lines) == [
        ("tool", "5", "a"),
        ("tool", "3", "b"),
        ("assistant", "Five.", ""),
        ("user", "Not done yet.", ""),
        ("user", "And milk.", ""),
    ]


def test_the_arguments_of_a_call_are_those_of_its_block() -> None:
    """As data where the provider's text is JSON, else as the text it is."""
    calls = folded(*TURN).calls
    assert {number: (one.tool, one.arguments, one.id) for number, one in calls.items()} == {
        1: ("price_of", {"item": "tea"}, "a"),
        2: ("count", "{broken", "b"),
    }


def test_a_fact_committed_again_has_the_new_value() -> None:
    """With the place where it was committed, and the evidence it rests on."""
    first = FactCommitted(key="price", value=5, verifier="v", evidence=(2,))
    second = FactCommitted(key="price", value=6, verifier="v", evidence=(3,), supersedes=2)
    assert folded(STARTED, first, second).facts == {"price": Fact(6, 3, (3,), "v")}


@pytest.mark.parametrize(
    ("given_", "unheard", "hearing"),
    [
        pytest.param([WORDS], 1, 0, id="nobody heard yet"),
        pytest.param([WORDS, CancelRequested(by="ana"), SignalsHeard()], 0, 2, id="an idle driver hears"),
        pytest.param([WORDS, LEASE], 0, 1, id="a new worker hears"),
        pytest.param([ASKED, WORDS, (REPLY, 2)], 0, 1, id="an answer hears"),
        pytest.param([WORDS, SignalsHeard(), SignalsHeard()], 0, 0, id="heard once"),
        pytest.param([WORDS, DOUBT], 1, 0, id="what is derived hears nothing"),
    ],
)
def test_signals_are_heard_once_by_the_next_input(given_: list[Line], unheard: int, hearing: int) -> None:
    """A cancellation must neither be lost nor take effect twice."""
    state = folded(STARTED, *given_)
    assert (len(state.unheard), len(state.hearing)) == (unheard, hearing)


@pytest.mark.parametrize(
    ("given_", "unreadable", "model_failed"),
    [
        pytest.param([ReplyRefused(reason="r", text="t")] * 2, 2, 0, id="unreadable in a row"),
        pytest.param([ReplyRefused(reason="r", text="t"), TWO_CALLS], 0, 0, id="a decision between"),
        pytest.param([FAILED, FAILED], 0, 2, id="failures in a row"),
        pytest.param([FAILED, REPLY, FAILED], 0, 1, id="a reply between"),
    ],
)
def test_failures_are_counted_in_a_row(given_: list[Line], unreadable: int, model_failed: int) -> None:
    """Those that are not in a row do not add up."""
    state = folded(STARTED, *given_)
    assert (state.unreadable, state.model_failed) == (unreadable, model_failed)


def test_a_call_that_a_stop_came_before_was_not_run() -> None:
    """Its response says so; one that is under way has none yet."""
    state = folded(STARTED, REPLY, TWO_CALLS, called(1), STOP)
    assert [state.calls[number].outcome for number in (1, 2)] == ["", "not run"]
    assert state.calls[2].response is not None
    assert state.calls[2].response.content == "Not run: the run was stopped."


def test_a_word_on_an_effect_of_which_nobody_was_asked_counts_nothing() -> None:
    """A person was asked about another, and that question stays open."""
    asked = PersonAsked(actor="operator", why="doubt", effect=1)
    other, own = (OutcomeStated(call=number, by="bo", outcome="landed", content="paid") for number in (2, 1))
    state = folded(STARTED, REPLY, TWO_CALLS, called(1), called(2), asked, other)
    assert (state.unheard, state.calls[2].outcome) == ([], "")
    state = folded(STARTED, REPLY, TWO_CALLS, called(1), called(2), asked, other, own)
    assert (state.unheard, state.calls[1].outcome) == ([own], "ok")


def test_the_end_is_final() -> None:
    """Whatever a log holds behind it moves nothing but the place."""
    before, after = folded(STARTED, STOP, ENDED), folded(STARTED, STOP, ENDED, (REPLY, 2), WORDS, ASKED)
    assert (after.end, after.steps, after.requests, after.transcript()) == (ENDED, 0, {}, before.transcript())
    assert after.position == 6


def test_a_takeover_names_worker_epoch_and_parts() -> None:
    """The parts only where they are other than before."""
    state = folded(STARTED, LeaseGranted(worker="v", epoch=1, parts={"a": "1"}), LeaseGranted(worker="w", epoch=2))
    assert (state.worker, state.epoch, state.parts) == ("w", 2, {"a": "1"})


@settings(max_examples=40, deadline=None)
@given(tapes, programs, st.integers(0, 100))
def test_a_fold_in_two_halves_is_the_fold(tape: bytes, program: Program, cut: int) -> None:
    """So a state kept up to date is the state rebuilt from nothing."""
    records = random_run(tape, program)
    state = fold(records[:cut])
    for one in records[cut:]:
        evolve(state, one)
    assert state == fold(records)
