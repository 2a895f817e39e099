"""Invented traces, small and awkward: what becomes of each, and that every turn was asked with the file's own words."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from redrive_events import (
    AnnotationMade,
    EffectReconciled,
    MemoryLog,
    MessageReceived,
    ModelReplied,
    ObservationReceived,
    RunStarted,
    Thinking,
    ToolCalled,
    ToolUse,
    Usage,
    blocks_of,
)
from redrive_projections import fold, status
from redrive_replays import recording_of, replay
from redrive_replays.traces import FileReport, import_file
from tests.traces.oracle import check

HERE = Path(__file__).parent.parent / "fixtures" / "traces"
Messages = Sequence[Mapping[str, Any]]


class Expected(NamedTuple):
    """What a file holds: runs by how each reads, calls, results, and results that answer no call."""

    statuses: tuple[str, ...]
    calls: int
    results: int
    unpaired: int = 0


EXPECTED = {
    "chat-batch.json": Expected(("finished", "unfinished", "finished"), 0, 0),
    "chat-broken-arguments.json": Expected(("finished",), 7, 7),
    "chat-interleaved.json": Expected(("unfinished",), 3, 3),
    "chat-legacy-functions.json": Expected(("unfinished",), 2, 2),
    "chat-lines.jsonl": Expected(("finished", "unfinished", "finished"), 1, 1),
    "chat-list.json": Expected(("finished",), 2, 2),
    "chat-message-a-line.jsonl": Expected(("finished",), 1, 1),
    "chat-missing-results.json": Expected(("unfinished",), 6, 5, 2),
    "chat-odd-json.json": Expected(("finished",), 0, 0),
    "chat-parts.json": Expected(("finished",), 1, 1),
    "chat-repeated-ids.json": Expected(("finished",), 3, 3),
    "chat-request-log.jsonl": Expected(("unfinished", "finished"), 1, 1),
    "chat-request-only.json": Expected(("unfinished",), 0, 0),
    "chat-request-response.json": Expected(("finished",), 1, 1),
    "chat-roles.json": Expected(("unfinished",), 0, 0),
    "chat-split-reply.json": Expected(("finished",), 2, 2),
    "chat-streamed.json": Expected(("unfinished",), 2, 0),
    "chat-wrapped.json": Expected(("unfinished",), 0, 0),
    "tau-bench.json": Expected(("finished", "unfinished", "unfinished", "finished"), 2, 2),
}


class Imported(NamedTuple):
    """A fixture in a log."""

    log: MemoryLog
    report: FileReport

    def events(self, kind: type, run: int = 0) -> list[Any]:
        """The events of one kind."""
        return [record.event for record in self.log.read(self.report.runs[run]) if type(record.event) is kind]

    def remarks(self, name: str, run: int = 0) -> list[AnnotationMade]:
        """What stands beside a run under a name."""
        notes = (record.event for record in self.log.read(f"{self.report.runs[run]}@notes"))
        return [event for event in notes if isinstance(event, AnnotationMade) and event.name == name]


def imported(name: str) -> Imported:
    """A fixture, imported into a log of its own."""
    log = MemoryLog()
    return Imported(log, import_file(HERE / name, log))


def test_every_fixture_is_expected() -> None:
    """A file that nobody looks at tests nothing."""
    assert sorted(EXPECTED) == sorted(path.name for path in HERE.iterdir() if path.is_file())


@pytest.mark.parametrize(("name", "expected"), EXPECTED.items(), ids=EXPECTED)
def test_a_trace_becomes_runs_that_replay(name: str, expected: Expected) -> None:
    """Counts as written into the file by hand, the end as it was, and a program found from the log alone."""
    log, report = imported(name)
    statuses = tuple(status(fold(log.read(run))) for run in report.runs)
    assert Expected(statuses, report.calls, report.results, report.unpaired) == expected
    assert report.added == len(report.runs)
    for run, how in zip(report.runs, statuses, strict=True):
        found = replay(recording_of(log, run))
        assert found.outcome == ("same, unfinished" if how == "unfinished" else "same")
        assert found.changed_parts == ()


@pytest.mark.parametrize("name", EXPECTED)
def test_importing_again_adds_nothing(name: str) -> None:
    """The id of a run is made of the file's content, so the same file is the same runs."""
    log, report = imported(name)
    before = list(log.read_all())
    again = import_file(HERE / name, log)
    assert (again.added, again.runs) == (0, report.runs)
    assert list(log.read_all()) == before


def conversations(name: str) -> list[Messages]:
    """The messages of each run of a fixture, read without the importer."""
    text = (HERE / name).read_text(encoding="utf-8-sig")
    if name.endswith(".jsonl"):
        lines = [json.loads(line) for line in text.split("\n") if line.startswith('{"') and line.strip().endswith("}")]
        if name in WHERE:
            return WHERE[name](lines)
        return [one["messages"] for one in lines if "messages" in one] or [lines]
    value = json.loads(text, strict=False)
    found = WHERE[name](value) if name in WHERE else [value]
    return [one["messages"] if isinstance(one, dict) else one for one in found]


def _called(label: str, arguments: str) -> dict[str, Any]:
    return {"id": label, "function": {"name": "stock", "arguments": arguments}}


def _streamed(value: dict[str, Any]) -> list[Messages]:
    calls = [_called("s1", '{"item":"rye"}'), _called("s2", '{"item":"oat"}')]
    reply = {"role": "assistant", "content": "Looking 🥖", "tool_calls": calls}
    return [[*value["request"]["messages"], reply]]


def _split(value: list[dict[str, Any]]) -> list[Messages]:
    both = [*value[1]["tool_calls"], *value[2]["tool_calls"]]
    return [[value[0], {**value[1], "tool_calls": both}, *value[3:]]]


def _odd(value: dict[str, Any]) -> list[Messages]:
    first, *others = value["messages"]
    return [[{**first, "content": "half \ufffd pair, nul \x00 and\ttab"}, *others]]


def _log(lines: list[dict[str, Any]]) -> list[Messages]:
    """The last request of each conversation says all that was said before it."""
    return [[*one["messages"], one["response"]["choices"][0]["message"]] for one in (lines[3], lines[1])]


# Where the conversations of a fixture stand, if not in the file's one list of messages.
WHERE: Mapping[str, Callable[[Any], list[Any]]] = {
    "tau-bench.json": lambda value: [attempt["traj"] for attempt in value[:4]],
    "chat-batch.json": lambda value: [value[0], value[1], value[3]],
    "chat-wrapped.json": lambda value: [value["trace"]["trace"]],
    "chat-request-response.json": lambda value: [
        [*value["request"]["messages"], value["response"]["choices"][0]["message"]]
    ],
    "chat-streamed.json": _streamed,
    "chat-split-reply.json": _split,
    "chat-odd-json.json": _odd,
    "chat-request-log.jsonl": _log,
}


@pytest.mark.parametrize("name", EXPECTED)
def test_every_turn_is_asked_with_the_files_own_messages(name: str) -> None:
    """Role by role and text by text, whatever stood between a call and its result."""
    log, report = imported(name)
    theirs = conversations(name)
    assert len(theirs) == len(report.runs)
    for run, messages in zip(report.runs, theirs, strict=True):
        turns = check(list(log.read(run)), messages)
        assert turns or not any(one["role"] == "assistant" for one in messages)


def test_repeated_ids_are_paired_by_place() -> None:
    """A result closes the oldest open call with its id."""
    seen = [(one.call, one.content) for one in imported("chat-repeated-ids.json").events(ObservationReceived)]
    assert seen == [(1, "oven 1: six"), (2, "oven 2: six"), (3, "oven 1: six again")]


def test_results_that_come_in_another_order_stay_with_their_calls() -> None:
    """The second call is answered first, with a person's words in front."""
    found = imported("chat-interleaved.json")
    assert [(one.call, one.content) for one in found.events(ObservationReceived)] == [
        (2, "eggs: 24"),
        (1, "free from 9"),
        (3, "booked"),
    ]
    assert [one.before for one in found.events(MessageReceived)] == [2, 1, 0, 0, 0]


def test_what_came_of_an_unanswered_call_is_unknown() -> None:
    """Nobody guesses: the run went on, so the effect is in doubt and stays unknown; the last calls stay open."""
    found = imported("chat-missing-results.json")
    assert [one.call for one in found.events(EffectReconciled)] == [2, 3]
    state = fold(found.log.read(found.report.runs[0]))
    assert [one.call for one in state.requests.values() if isinstance(one, ToolCalled)] == [5]
    assert {one.value["tool_call_id"] for one in found.remarks("extras")} == {"c", "zz"}


def test_arguments_are_kept_as_text_beside_what_they_mean() -> None:
    """What is no JSON object stays the text it is, and no call is lost for it."""
    found = imported("chat-broken-arguments.json")
    assert [one.arguments for one in found.events(ToolCalled)] == [
        '{"kg": 20, "mill": "north',
        {},
        "[1,2]",
        {"kg": 5, "from": ["a", None]},
        '{"kg":1e999}',
        {"kg": 2},
        "plain words, no JSON",
    ]
    (reply, _) = found.events(ModelReplied)
    assert [block.arguments for block in reply.content if isinstance(block, ToolUse)][5] == '{"kg":1,"kg":2}'


def test_what_a_response_says_of_itself_is_kept() -> None:
    """Cached tokens are counted once; settings and tools belong to the request, the rest stands beside the run."""
    found = imported("chat-request-response.json")
    (started,), replies = found.events(RunStarted), found.events(ModelReplied)
    assert replies[0] == ModelReplied(content=(ToolUse(name="stock", arguments='{"item":"rye"}', id="q"),))
    assert replies[1] == ModelReplied(
        content="Four.",
        finish="stop",
        model="oven-1-0613",
        response_id="resp-9",
        usage=Usage(input=20, cache_read=100, output=30, reasoning=12),
        cost_micros=420,
    )
    assert (started.contract.model, started.contract.parameters) == ("oven-1", {"temperature": 0.5})
    assert started.parts["tools"].data[0]["function"]["name"] == "stock"
    assert [one.value for one in found.remarks("shop")] == ["north"]


def test_a_stream_is_put_together_again() -> None:
    """Arguments are joined by the call's index, and the tokens of the last chunk count."""
    (reply,) = imported("chat-streamed.json").events(ModelReplied)
    assert (reply.finish, reply.usage) == ("tool_calls", Usage(input=50, output=9))


def test_requests_that_repeat_a_conversation_are_one_run() -> None:
    """Each reply keeps the tokens of its own response, so that nothing is counted twice."""
    found = imported("chat-request-log.jsonl")
    assert [(one.response_id, one.usage) for one in found.events(ModelReplied)] == [
        ("resp-1", Usage(input=10, output=5)),
        ("resp-3", Usage(input=10, cache_read=10, output=2)),
        ("resp-4", Usage(input=10, cache_read=20, output=1)),
    ]
    assert [one.value for one in found.remarks("requests")] == [3]


def test_unknown_parts_and_fields_survive() -> None:
    """Pictures stay in their place; marks on text and fields that nobody knows stand beside the run."""
    found = imported("chat-parts.json")
    assert [one.value for one in found.remarks("extras")] == [
        {"part 0": {"cache_control": {"type": "ephemeral"}}},
        {"name": "ana"},
        {"provider_specific_fields": {"note": "kept"}},
    ]
    assert blocks_of(found.events(ModelReplied)[0].content)[0] == Thinking(text="A cake, I think.")


def test_lost_lines_are_told_with_their_place() -> None:
    """Everything that reads is kept, before and after."""
    report = imported("chat-lines.jsonl").report
    assert [(one.line, one.problem) for one in report.diagnostics] == [
        (3, "not a JSON object, left out"),
        (4, "not a JSON object, left out"),
        (8, "not a JSON object, left out"),
        (6, "no chat messages, left out"),
    ]
    data = (HERE / "chat-lines.jsonl").read_bytes()
    assert data[report.diagnostics[0].offset :].startswith(b'{"messages": [{"role": "us\r\n')


def test_a_message_lost_from_a_conversation_lowers_its_grade(tmp_path: Path) -> None:
    """It still reads, but nobody can promise that it is what the model saw."""
    lines = (HERE / "chat-message-a-line.jsonl").read_bytes().split(b"\n")
    file = tmp_path / "torn.jsonl"
    file.write_bytes(b"\n".join([*lines[:3], lines[3][:20], *lines[4:]]))
    assert import_file(file, MemoryLog()).grades == {"view-only": 1}


def test_liberties_with_json_are_noted() -> None:
    """Half a surrogate pair and NaN have no place in a log, and are not dropped without a word."""
    found = imported("chat-odd-json.json")
    assert [one.problem for one in found.report.diagnostics] == [
        "NaN, Infinity or a number out of range: kept as text",
        "half of a surrogate pair: replaced by U+FFFD",
    ]
    assert [one.value for one in found.remarks("big")] == ["1e999"]


def test_what_tau_bench_knows_of_an_attempt_can_be_asked_for() -> None:
    """Rewards and the task stand beside the run, what tells attempts apart on it."""
    found = imported("tau-bench.json")
    assert [found.remarks("reward", run)[0].value for run in range(4)] == [0.75, 0.0, 0.0, 1.0]
    assert [found.events(RunStarted, run)[0].labels for run in (0, 1)] == [
        {"task_id": "0", "trial": "0", "user_id": "mia_7"},
        {"task_id": "0", "trial": "1", "user_id": "mia_7"},
    ]
    assert found.remarks("error", 2)[0].value == "rate limit"
    assert found.report.grades == {"full": 3, "view-only": 1}
    assert [str(one) for one in found.report.diagnostics] == ["entry 4: not an attempt at a task, left out"]
