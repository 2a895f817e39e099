"""Strict replay: the same to the byte, or the first place where recording and replay part, and why."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.inspect import StructType, type_info
from msgspec.structs import replace as changed

from redrive_engine.drive import drive, without_waiting
from redrive_engine.models import reply, use
from redrive_engine.policy import RulesPolicy
from redrive_engine.program import Program
from redrive_events import (
    ANSWERS,
    INPUTS,
    EffectInDoubt,
    EffectReconciled,
    Event,
    FactCommitted,
    LeaseGranted,
    MemoryLog,
    ModelAsked,
    ModelReplied,
    ObservationReceived,
    Quarantined,
    Record,
    StopDecided,
    Terms,
    VerdictGiven,
    canonical,
    decode,
    encode,
    load_portable,
)
from redrive_replays import (
    Difference,
    Divergence,
    Outcome,
    Recording,
    Report,
    Script,
    appends,
    replay,
    replay_records,
    worst,
)
from redrive_replays.difference import same
from tests.processes import surroundings
from tests.random_runs import driven_programs, programs, random_run, tapes
from tests.renew_recordings import RECIPES, file_of
from tests.shop import PURCHASE, recorded, seen, shop
from tests.strategies import events, of_type

POLICY = """\
# what the shop may do
[[rule]]
name = "small sums"
reason = "the till is small"
when = { tool = "pay", arguments.cents = { at_least = 6 } }
then = "deny"
[[rule]]
name = "all else"
when = { principal = "ana" }
then = "allow"
"""
TERMS = Terms(done={"paid": {"known": True}})
PROGRAM = shop(TERMS, policy=RulesPolicy.from_toml(POLICY))
RUN = recorded(PROGRAM, *PURCHASE)


def with_policy(text: str) -> Program:
    """The program under another policy."""
    return replace(PROGRAM, policy=RulesPolicy.from_toml(text))


def at(position: int, **fields: Any) -> list[Record]:
    """The run with other fields in the event at ``position``."""
    return [changed(one, event=changed(one.event, **fields)) if one.position == position else one for one in RUN]


def places(kind: type[Event], records: Iterable[Record] = RUN) -> list[int]:
    """Where events of one kind stand."""
    return [one.position for one in records if type(one.event) is kind]


def parted(report: Report) -> list[tuple[int, list[Difference]]]:
    """Where, and in what."""
    return [(one.position, list(one.differences)) for one in report.divergences]


def driven(records: Sequence[Record], program: Program) -> MemoryLog:
    """The log that `drive` writes with the script of a run."""
    log = MemoryLog()
    run_id = records[0].run_id
    log.append(run_id, records[:1], expected=0)
    without_waiting(drive(run_id, log=log, world=Script(records), program=program, worker="replay"))
    return log


def test_a_run_replays_the_same() -> None:
    """The promise of the whole project, one line."""
    assert replay_records("run", RUN, PROGRAM) == Report("run", "same", len(RUN))


@settings(max_examples=150, deadline=None)
@given(tapes, programs | driven_programs)
def test_every_run_replays_the_same(tape: bytes, program: Program) -> None:
    """Whatever happened: cancellations, doubt, lost workers and all."""
    records = random_run(tape, program)
    assert replay_records("run", records, program) == Report("run", "same", len(records))


@pytest.mark.parametrize("length", range(1, len(RUN)))
def test_a_cut_between_appends_is_unfinished_and_one_inside_cannot_be_replayed(length: int) -> None:
    """At every position: a torn append is never taken for a whole one, nor the other way round."""
    report = replay_records("run", RUN[:length], PROGRAM)
    left = RUN[length - 1].left
    assert report.outcome == ("cannot replay" if left else "same, unfinished")
    assert report.reason == (
        f"torn inside the append at position {begun(length)}: {left} records are missing" if left else ""
    )
    assert report.divergences == ()


def begun(length: int) -> int:
    """Where the append of the last of so many records begins."""
    return next(one[0].position for one in reversed(list(appends(RUN[:length]))))


@pytest.mark.parametrize(
    ("length", "open_"),
    [
        pytest.param(1, (), id="nobody has taken it up"),
        pytest.param(3, ((3, "model_asked"),), id="the model is asked"),
        pytest.param(9, ((8, "tool_called"), (9, "tool_called")), id="two tools are at work"),
        pytest.param(12, ((8, "tool_called"),), id="one has answered"),
        pytest.param(24, ((24, "tool_called"),), id="a write is open"),
    ],
)
def test_an_unfinished_replay_lists_what_is_open(length: int, open_: tuple[tuple[int, str], ...]) -> None:
    """Who resumes the run will ask exactly this."""
    assert replay_records("run", RUN[:length], PROGRAM).open == open_


@settings(max_examples=80, deadline=None)
@given(tapes, programs, st.integers(0, 10_000))
def test_any_run_cut_anywhere_is_unfinished_or_torn(tape: bytes, program: Program, where: int) -> None:
    """Also where a stranger's signal was the last that came."""
    records = random_run(tape, program)
    cut = records[: 1 + where % (len(records) - 1)]
    assert replay_records("run", cut, program).outcome == ("cannot replay" if cut[-1].left else "same, unfinished")


@settings(max_examples=80, deadline=None)
@given(tapes, programs, st.integers(0, 10_000))
def test_without_one_of_its_answers_a_run_diverges(tape: bytes, program: Program, which: int) -> None:
    """Whether the answer alone is missing, or all that followed from it as well."""
    whole = list(appends(random_run(tape, program)))
    answers = [index for index, one in enumerate(whole) if type(one[0].event) in ANSWERS]
    if not answers:
        return
    index = answers[which % len(answers)]
    before = [record for one in whole[:index] for record in one]
    after = [record for one in whole[index + 1 :] for record in one]
    assert replay_records("run", [*before, *whole[index][1:], *after], program).outcome == (
        "diverged" if whole[index][1:] or after else "same, unfinished"
    )
    assert replay_records("run", [*before, *after], program).outcome == ("diverged" if after else "same, unfinished")


@settings(max_examples=80, deadline=None)
@given(tapes, programs, st.integers(0, 10_000))
def test_an_answer_too_many_is_left_over(tape: bytes, program: Program, which: int) -> None:
    """An answer that nobody asked for changes nothing, but the recording is not what it should be."""
    records = random_run(tape, program)
    answers = [one for one in records if type(one.event) in ANSWERS]
    if not answers:
        return
    again = answers[which % len(answers)]
    added = changed(again, position=len(records) + 1, at=records[-1].at, left=0)
    report = replay_records("run", [*records, added], program)
    assert (report.outcome, report.exit_code) == ("left over", 1)
    place = added.position
    assert report.divergences == (Divergence(place, place, "the run had ended", again.event, None, cause="left over"),)


@settings(max_examples=150, deadline=None)
@given(tapes, programs, st.sets(st.integers(0, 60), min_size=1, max_size=5))
def test_whatever_is_missing_a_replay_comes_to_an_outcome(tape: bytes, program: Program, holes: set[int]) -> None:
    """A mutilated recording is a finding, never a crash: that is what replays are for."""
    records = random_run(tape, program)
    rest = [one for index, one in enumerate(records) if index not in holes]
    report = replay_records("run", rest, program)
    torn = bool(rest) and rest[-1].left > 0
    assert report.records == len(rest)
    assert (report.outcome == "cannot replay") == torn


def test_a_write_whose_answer_is_missing_is_in_doubt_when_the_next_worker_comes() -> None:
    """It stays open although the recording went on to the next turn, and its call is not forgotten."""
    run = recorded(PROGRAM, *PURCHASE[:-1], LeaseGranted(worker="v", epoch=2), PURCHASE[-1])
    (answer,) = (one for one in run if one.event == PURCHASE[5])
    report = replay_records("run", [one for one in run if one is not answer], PROGRAM)
    missed, doubt = report.divergences[0], report.divergences[1]
    assert (missed.position, missed.why) == (26, "no input: this does not follow from anything that happened")
    assert doubt.replayed == EffectInDoubt(call=3, why="worker lost")


def test_an_answer_about_a_call_that_nobody_decided_on_is_a_finding() -> None:
    """The reply is missing that wanted the call, so nothing can be concluded of what the authority says of it."""
    timeout = ObservationReceived(call=1, status="timeout", content="No answer.")
    landed = EffectReconciled(call=1, outcome="landed", content="{}")
    run = list(appends(recorded(PROGRAM, reply("", use("pay", item="tea", cents=5)), timeout, landed)))
    report = replay_records("run", [one for append in [*run[:2], *run[3:]] for one in append], PROGRAM)
    assert [one.why for one in report.divergences] == ["nothing asked for this answer", "nothing is known of this call"]


def test_a_second_answer_in_the_midst_of_a_run_is_left_over() -> None:
    """The request was closed by the first one."""
    middle = places(ModelReplied)[-1] - 1
    again = changed(RUN[24], position=middle + 1, at=RUN[middle].at, left=0)
    assert type(again.event) is ObservationReceived
    shifted = [changed(one, position=one.position + 1, cause=one.cause + (one.cause > middle)) for one in RUN[middle:]]
    report = replay_records("run", [*RUN[:middle], again, *shifted], PROGRAM)
    assert report.outcome == "left over"
    assert [(one.position, one.why) for one in report.divergences] == [(middle + 1, "nothing asked for this answer")]


def test_another_observation_diverges_where_it_is_first_seen() -> None:
    """First in the fact that came of it, then in the words of each request that has it, and nowhere else."""
    report = replay_records("run", at(13, content='{"item":"tea","cents":6}'), PROGRAM)
    fact, *requests = parted(report)
    assert report.outcome == "diverged"
    assert fact == (15, [Difference("/value", 5, 6)])
    # The first request after it stands in the same append, and is adopted with the rest of it.
    assert [(position, [one.pointer for one in found]) for position, found in requests] == [
        (position, ["/request"]) for position in places(ModelAsked)[2:]
    ]


def test_another_policy_diverges_at_the_verdict() -> None:
    """With the pointer and both values of all that is otherwise in it."""
    report = replay_records("run", RUN, with_policy(POLICY.replace("at_least = 6", "at_least = 5")))
    verdict = places(VerdictGiven)[-1]
    assert report.outcome == "diverged"
    assert report.changed_parts == ("policy",)
    assert report.divergences[0].position == verdict
    assert report.divergences[0].input == verdict - 2
    assert report.divergences[0].why == "differs"
    assert [one for one in report.divergences[0].differences if one.pointer in {"/verdict", "/rule"}] == [
        Difference("/verdict", "allow", "deny"),
        Difference("/rule", "all else", "small sums"),
    ]


@pytest.mark.parametrize(
    ("terms", "parts"),
    [
        pytest.param({"model": "bigger"}, ("model",), id="nothing else"),
        pytest.param({"model": "bigger", "dialogue": True}, ("contract", "model"), id="other terms too"),
    ],
)
def test_another_model_is_told_by_its_name(terms: dict[str, Any], parts: tuple[str, ...]) -> None:
    """It stands in the contract, which has changed only where something else of it has."""
    report = replay_records("run", RUN, replace(PROGRAM, terms=changed(TERMS, **terms)))
    assert report.changed_parts == parts
    assert (type(report.divergences[0].recorded), report.divergences[0].cause) == (ModelAsked, "model")


@pytest.mark.parametrize(
    ("text", "worded"),
    [
        pytest.param(POLICY.replace("# what", "# all that"), 0, id="a comment"),
        pytest.param(POLICY.replace("the till is small", "who knows"), 0, id="a reason nobody read"),
        pytest.param(POLICY.replace('name = "all else"', 'name = "all else"\nreason = "trust"'), 3, id="a reason read"),
    ],
)
def test_a_policy_in_other_words_is_the_same(text: str, worded: int) -> None:
    """A verdict's reason is for the record: no model, rule or state sees it. The report still names the part."""
    report = replay_records("run", RUN, with_policy(text))
    assert report == Report("run", "same", len(RUN), changed_parts=("policy",), explained_otherwise=worded)


def test_two_changes_are_two_divergences() -> None:
    """What follows after the first is computed from what was recorded, so the second has its own cause."""
    first, second = places(VerdictGiven)[0], places(StopDecided)[0]
    tampered = [
        changed(one, event=changed(one.event, rule="another"))
        if one.position == first
        else changed(one, event=changed(one.event, reason="another"))
        if one.position == second
        else one
        for one in RUN
    ]
    report = replay_records("run", tampered, PROGRAM)
    assert parted(report) == [
        (first, [Difference("/rule", "another", "all else")]),
        (second, [Difference("/reason", "another", "done")]),
    ]


def test_after_a_divergence_the_recorded_state_is_gone_on_from() -> None:
    """The recorded fact, not the recomputed one, is what a later answer is held against."""
    calls = (
        reply("", use("price_of", item="tea")),
        seen(1, {"item": "tea", "cents": 5}),
        reply("", use("price_of", item="tea")),
        seen(2, {"item": "tea", "cents": 5}),
        reply("Five."),
    )
    program = shop(Terms())
    run = recorded(program, *calls)
    (fact,) = places(FactCommitted, run)
    tampered = [changed(one, event=changed(one.event, value=6)) if one.position == fact else one for one in run]
    found = replay_records("run", tampered, program).divergences
    assert [(one.position, one.why) for one in found[:2]] == [(fact, "differs"), (17, "another event follows")]
    assert type(found[1].replayed).__name__ == "ObservationRefused", "the price was six, and never changes"


def test_another_prompt_is_found_in_every_request_of_a_fork() -> None:
    """What it inherits is not driven again, and is said to the model again, in the words of this program."""
    name = "forked-with-a-read-and-a-write-under-way"
    log, _ = load_portable(file_of(name))
    records = list(log.read(name))
    program = replace(RECIPES[name].program, prompt=({"role": "system", "content": "请有礼貌。"},))
    found = replay_records(name, records, program)
    asked = [one.position for one in records if one.run_id == name and type(one.event) is ModelAsked]
    assert asked == [one.position for one in found.divergences]
    assert {one.cause for one in found.divergences} == {"prompt"}


@pytest.mark.parametrize("position", [one.position for one in RUN if one.cause and one.position < len(RUN)])
def test_no_event_that_follows_can_be_missing(position: int) -> None:
    """Each derived event is compared, not only the first of an append, and an answer is missed as well.

    Without the very last the append is torn.
    """
    without = [one for one in RUN if one.position != position]
    assert replay_records("run", without, PROGRAM).outcome == "diverged"


@pytest.mark.parametrize("position", [one.position for one in RUN if one.position > 2])
def test_no_time_and_no_cause_can_be_another(position: int) -> None:
    """Both are computed, so both are compared; an input's own time is its own."""
    one = RUN[position - 1]
    if one.position not in {append[0].position for append in appends(RUN)}:
        moved = [*RUN[: position - 1], changed(one, at=RUN[-1].at.replace(year=2027)), *RUN[position:]]
        assert replay_records("run", moved, PROGRAM).divergences[0].position == position
    astray = [*RUN[: position - 1], changed(one, cause=1), *RUN[position:]]
    assert replay_records("run", astray, PROGRAM).divergences[0].position == position


def retyped(data: Any) -> Any:
    """The same to Python, and spelled otherwise: `1.0` for `1`, and `1` for `true`."""
    if isinstance(data, msgspec.Struct):
        return changed(data, **{name: retyped(getattr(data, name)) for name in data.__struct_fields__})
    if isinstance(data, dict):
        return {name: retyped(value) for name, value in reversed(data.items())}
    if isinstance(data, list | tuple):
        return type(data)(map(retyped, data))
    if isinstance(data, bool):
        return int(data)
    if isinstance(data, int):
        return float(data) if int(float(data)) == data else data
    return -data if isinstance(data, float) and data == 0 else data


@settings(max_examples=200, deadline=None)
@given(st.data(), tapes, programs | driven_programs)
def test_no_field_of_what_follows_can_be_another(data: st.DataObject, tape: bytes, program: Program) -> None:
    """Each is compared, to the type of a number: what is spoilt is found there, before anything else, and by name."""
    records = random_run(tape, program)
    which = data.draw(st.sampled_from([one for one in records if type(one.event) not in INPUTS]))
    told = type_info(type(which.event))
    assert isinstance(told, StructType)
    field = data.draw(st.sampled_from(told.fields))
    other = data.draw(of_type(field.type) | st.just(retyped(getattr(which.event, field.name))))
    spoilt = changed(which, event=changed(which.event, **{field.name: other}))
    assume(canonical(spoilt.event) != canonical(which.event))
    assume(type(decode(encode(spoilt)).event) is not Quarantined)
    first = replay_records("run", [spoilt if one is which else one for one in records], program).divergences[0]
    assert (first.position, first.recorded, first.replayed) == (which.position, spoilt.event, which.event)
    assert {one.pointer.split("/")[1] for one in first.differences} == {field.name}


@given(events)
def test_events_are_the_same_where_they_are_spelled_alike(event: Event) -> None:
    """Python takes `1`, `1.0` and `True` for one; a log does not, and does not mind the order of names."""
    other = retyped(event)
    assert event == other
    assert same(event, other) == (canonical(event) == canonical(other))
    assert same(event, msgspec.json.decode(canonical(event), type=type(event)))


@settings(max_examples=60, deadline=None)
@given(tapes, programs)
def test_a_drive_with_the_script_of_a_run_writes_the_same_log(tape: bytes, program: Program) -> None:
    """Byte for byte, times and all: there is one interpreter, and a live run and a script differ in nothing else."""
    records = random_run(tape, program)
    log = driven(records, program)
    assert [one.line for one in log.lines("run")] == [encode(one) for one in records]


def test_a_replay_of_a_replay_is_the_same() -> None:
    """What was driven again can be driven again."""
    once = list(driven(RUN, PROGRAM).read("run"))
    assert once == RUN
    assert list(driven(once, PROGRAM).read("run")) == once


def test_a_replay_does_not_depend_on_the_order_of_hashes() -> None:
    """The same report from two processes that hash in different ways, of a run recorded in each."""
    code = (
        "import json; from redrive_replays import replay_records; from redrive_events import encode;"
        "from tests.replays.test_strict import PROGRAM, RUN, POLICY, with_policy;"
        "other = with_policy(POLICY.replace('at_least = 6', 'at_least = 5'));"
        "print(json.dumps([encode(one).decode() for one in RUN] + [replay_records('run', RUN, other).data()]))"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", code], env=surroundings(PYTHONHASHSEED=seed), capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    ]
    assert said[0] == said[1]
    assert json.loads(said[0])[-1]["outcome"] == "diverged"


@pytest.mark.parametrize(
    ("recording", "reason"),
    [
        pytest.param(Recording("run", []), "the recording does not begin with the start of a run", id="empty"),
        pytest.param(Recording("run", RUN[3:]), "the recording does not begin with the start of a run", id="headless"),
        pytest.param(Recording("run", [], "line 1 is broken"), "line 1 is broken", id="unreadable"),
        pytest.param(Recording("run", RUN), "no program for agent 'shop'; give --agent", id="no program"),
    ],
)
def test_a_recording_that_is_not_enough_cannot_be_replayed(recording: Recording, reason: str) -> None:
    """Not the same and not diverged: nobody can know."""
    report = replay(recording)
    assert (report.outcome, report.reason, report.exit_code) == ("cannot replay", reason, 3)


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        pytest.param([], 0, id="none"),
        pytest.param(["same", "same, unfinished"], 0, id="all the same"),
        pytest.param(["same", "left over"], 1, id="a finding"),
        pytest.param(["diverged", "cannot replay", "same"], 3, id="the worst counts"),
    ],
)
def test_the_exit_code_of_several_is_the_worst(outcomes: list[Outcome], code: int) -> None:
    """A script that replays everything must not miss the one that could not be replayed."""
    assert worst([Report("run", outcome, 1) for outcome in outcomes]) == code
