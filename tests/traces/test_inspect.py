"""Inspect: a sample is a run, a sub-agent a run of its own; scores and approvals can be asked for in SQL."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import zstandard

from redrive_events import (
    AnnotationMade,
    BadInput,
    MemoryLog,
    MessageReceived,
    ModelReplied,
    ObservationReceived,
    RunStarted,
    Text,
    Thinking,
    Usage,
    text_of,
)
from redrive_projections.history import ask
from redrive_replays import recording_of, replay
from redrive_replays.traces import FileReport, archive, import_bytes, import_file
from redrive_replays.traces.inspect_logs import pools
from tests.traces.oracle import Line, turns
from tests.traces.shared import AT_HAND, SHARED, Row, imported, replays, rows

HERE = Path(__file__).parent.parent / "fixtures" / "traces" / "inspect"
LOG = json.loads((HERE / "log.json").read_bytes())
NO_SAMPLES = "an evaluation without samples: its summary only"
EMPTY = "no trace that is known here"
REFUSED = {"no-samples.json": NO_SAMPLES, "popularity_5EAmX6wjMFqea6WY7XHzZp.json": NO_SAMPLES, "empty.json": EMPTY}
ROWS = rows("inspect")
GENERATED = sorted(SHARED.glob("generated/inspect*/*"))
# The test data of Inspect's own timeline asks with several histories in one list of events: each is a run of its own.
SEVERAL = {
    "utility_billing_header": (3, 1),
    "utility_bridge_wrapped": (3, 1),
    "utility_header_only_prompt": (3, 1),
    "utility_subagent_no_loop": (2, 0),
    "utility_warmup": (2, 0),
    "utility_workflow_generate": (5, 0),
}
ACCURACY = """
    SELECT round(avg(score), 4), round(stddev_samp(score) / sqrt(count(*)), 4), count(*)
    FROM (SELECT CASE value_text WHEN 'C' THEN 1 WHEN 'P' THEN 0.5 ELSE 0 END AS score
          FROM annotations WHERE name = ?)
"""


def fixture(name: str) -> tuple[MemoryLog, FileReport]:
    """A fixture in a log of its own."""
    log = MemoryLog()
    return log, import_file(HERE / name, log)


def events(log: MemoryLog, run: str, kind: type) -> list[Any]:
    """The events of one kind."""
    return [record.event for record in log.read(run) if type(record.event) is kind]


def remarks(log: MemoryLog, run: str, name: str) -> list[Any]:
    """What stands beside a run under a name."""
    return [one.value for one in events(log, f"{run}@notes", AnnotationMade) if one.name == name]


def member(
    name: str, content: bytes, method: int, *, size: int | None = None, crc: int | None = None
) -> tuple[Any, ...]:
    """A member of an archive, packed by hand: no zip library here packs with zstd."""
    packed = {0: lambda: content, 8: lambda: zlib.compress(content, wbits=-15), 93: lambda: zstandard.compress(content)}
    return name, packed[method](), method, len(content) if size is None else size, crc or zlib.crc32(content)


def zipped(members: Iterable[tuple[Any, ...]]) -> bytes:
    """An archive of members as they are, true or not."""
    out, directory = io.BytesIO(), []
    for name, packed, method, size, crc in members:
        info = zipfile.ZipInfo(name)
        info.compress_type, info.compress_size, info.file_size, info.CRC = 0, len(packed), size, crc
        info.header_offset = out.tell()
        header = bytearray(info.FileHeader(zip64=False))
        header[8:10] = method.to_bytes(2, "little")
        out.write(bytes(header) + packed)
        directory.append((info, method))
    start = out.tell()
    for info, method in directory:
        raw = info.filename.encode()
        fixed = (20).to_bytes(2, "little") * 2 + (0x800).to_bytes(2, "little") + method.to_bytes(2, "little") + bytes(4)
        sizes = b"".join(one.to_bytes(4, "little") for one in (info.CRC, info.compress_size, info.file_size))
        tail = len(raw).to_bytes(2, "little") + bytes(12) + info.header_offset.to_bytes(4, "little")
        out.write(b"PK\x01\x02" + fixed + sizes + tail + raw)
    count, length = len(directory).to_bytes(2, "little"), out.tell() - start
    out.write(
        b"PK\x05\x06" + bytes(4) + count * 2 + length.to_bytes(4, "little") + start.to_bytes(4, "little") + bytes(2)
    )
    return out.getvalue()


def as_json(value: Any) -> bytes:
    """A value as a member holds it."""
    return json.dumps(value).encode()


def one_each(method: int) -> bytes:
    """The log as a member for each sample."""
    head = {key: one for key, one in LOG.items() if key != "samples"}
    samples = [(f"samples/{one['id']}_epoch_{one['epoch']}.json", as_json(one)) for one in LOG["samples"]]
    journal = ("_journal/start.json", as_json({"version": 2, "eval": LOG["eval"], "plan": LOG["plan"]}))
    return zipped(member(*one, method) for one in (journal, *samples, ("header.json", as_json(head))))


def chunked(method: int) -> bytes:
    """The log with its first sample in chunks of two, as the newest logs have them."""
    first, *others = LOG["samples"]
    known = list(first["attachments"])
    text = json.dumps(first)
    for index, label in enumerate(known):
        text = text.replace(f"attachment://{label}", f"attachment://{index}")
    first = json.loads(text)
    pool = [*first["events_data"]["messages"], first["messages"][2]]
    moved = {"messages", "events", "events_data", "attachments", "metadata"}
    shell = {**{key: one for key, one in first.items() if key not in moved}, "message_refs": [[0, 2], [12, 13]]}
    prefix = "samples/a/1_epoch_1"
    found = {"sample.json": shell, "metadata.json": first["metadata"], "events/stats.json": {}, "events/uuids.json": []}
    for name, items in (
        ("messages", pool),
        ("events", first["events"]),
        ("attachments", list(first["attachments"].values())),
    ):
        found |= {f"{name}/{start}.json": items[start : start + 2] for start in range(0, len(items), 2)}
    head = {key: one for key, one in LOG.items() if key != "samples"}
    members = [(f"{prefix}/{name}", as_json(one)) for name, one in found.items()]
    members += [(f"samples/{one['id']}_epoch_{one['epoch']}.json", as_json(one)) for one in others]
    return zipped(member(*one, method) for one in [*members, ("header.json", as_json(head))])


def told(log: MemoryLog, report: FileReport) -> list[Any]:
    """All that a log holds of some runs, whatever file they came from."""
    found = []
    for run in report.runs:
        for stream in (run, f"{run}@notes"):
            found += [record.event for record in log.read(stream) if not isinstance(record.event, RunStarted)]
    return found


def line_of(message: Mapping[str, Any]) -> Line:
    """One of Inspect's messages as the oracle has it."""
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    words = [part["text"] for part in parts if part.get("type") == "text"]
    others = sum(part.get("type") not in {"text", "reasoning"} for part in parts)
    calls = [
        (one["id"], one["function"], json.dumps(one["arguments"], separators=(",", ":"), ensure_ascii=False))
        for one in message.get("tool_calls") or ()
    ]
    text = content if isinstance(content, str) else "\n".join(words)
    return message["role"], text, others, calls, message.get("tool_call_id") or ""


def resolved(value: Any, attachments: Mapping[str, str]) -> Any:
    """A value with its attachments."""
    text = json.dumps(value)
    for label, one in attachments.items():
        for protocol in ("attachment://", "tc://"):
            text = text.replace(f'"{protocol}{label}"', json.dumps(one))
    return json.loads(text)


def requests_of(sample: Mapping[str, Any]) -> Iterator[tuple[list[Line], Line]]:
    """Every request of a sample with its reply, read without the importer; those of scorers are none of the run's."""
    found = sample.get("events") or sample.get("transcript", {}).get("events") or []
    pool = (sample.get("events_data") or {}).get("messages", [])
    scoring = False
    for event in found:
        begins = event["event"] == "span_begin" or event.get("action") == "begin"
        scoring = scoring or (begins and event.get("type") in {"scorer", "scorers"})
        if event["event"] == "tool" and event.get("events"):
            yield from requests_of({**sample, "events": event["events"]})
        if event["event"] != "model" or event.get("error") or scoring or not event["output"].get("choices"):
            continue
        asked = event["input"] or [one for start, end in event["input_refs"] for one in pool[start:end]]
        message = event["output"]["choices"][0]["message"]
        asked, message = resolved([asked, message], sample.get("attachments") or {})
        yield [line_of(one) for one in asked], line_of(message)


def hold(log: MemoryLog, report: FileReport, samples: Iterable[Mapping[str, Any]]) -> int:
    """Every request of the samples was asked, once, with its own messages; the number of them."""
    theirs = [turn for sample in samples for turn in requests_of(sample)]
    ours = [turn for run in report.runs for turn in turns(list(log.read(run)))]
    assert sorted(map(repr, ours)) == sorted(map(repr, theirs))
    return len(ours)


def samples_of(path: Path) -> list[Any]:
    """The samples of a recorded file."""
    data = path.read_bytes()
    if path.suffix == ".json":
        value = json.loads(data)
        return [value] if "eval" not in value else value["samples"]
    found = archive.Archive(data)
    return [json.loads(found.read(name)) for name in found.names if name.startswith("samples/")]


def test_samples_and_sub_agents_become_runs() -> None:
    """A history that was rewritten is a run of its own, since nobody was asked with both."""
    log, report = fixture("log.json")
    own, helper, after, second, failed, bare = report.runs
    assert helper == f"{own}/3"
    (child,) = events(log, helper, RunStarted)
    assert (child.agent, child.goal, child.parent.run_id, child.parent.call) == ("helper", "Check the lids.", own, 3)
    (rest,) = events(log, after, RunStarted)
    assert (rest.parent.run_id, rest.parent.call, rest.goal) == (own, 0, "So far: 12 tins and three lids.")
    assert (report.calls, report.results, report.unpaired) == (5, 5, 0)
    assert [replay(recording_of(log, run)).outcome for run in report.runs] == [
        "same, unfinished",
        "same",
        "same",
        "same",
        "same, unfinished",
        "same",
    ]
    for run, sample in ((own, 0), (second, 1), (failed, 2)):
        assert events(log, run, RunStarted)[0].labels["sample"] == str(LOG["samples"][sample]["id"])
    assert hold(log, FileReport("", runs=[own, helper, after, second]), LOG["samples"][:2]) == 6
    assert [one.content for one in events(log, bare, ModelReplied)][1:] == ["9 jars"]


def test_a_request_says_what_was_replied_and_what_it_cost() -> None:
    """Cached tokens once, times of the events, labels that repeat in one turn, the error of a result."""
    log, report = fixture("log.json")
    own = report.runs[0]
    first = events(log, own, ModelReplied)[0]
    assert (first.finish, first.model, first.response_id) == ("tool_calls", "shelf-1-0504", "resp-1")
    assert first.usage == Usage(input=40, cache_read=60, output=4)
    seen = [(record.at.second, record.event) for record in log.read(own) if type(record.event) is ObservationReceived]
    assert [(second, one.call, one.status, one.content) for second, one in seen] == [
        (3, 1, "ok", "12"),
        (5, 2, "error", ""),
        (8, 3, "ok", "Three."),
    ]
    assert {"type": "approval", "message": "rejected"} in [one.get("error") for one in remarks(log, own, "extras")]
    (started,) = events(log, own, RunStarted)
    assert (started.clock, started.labels) == ("utc", {"task": "pantry", "sample": "a/1", "epoch": "1"})
    assert (started.contract.model, started.contract.parameters) == ("maker/shelf-1", {"temperature": 0.5})
    assert started.parts["prompt"].data[0]["content"] == "You count tins, slowly and aloud."
    assert started.parts["tools"].data[0]["name"] == "look"


def test_a_reply_from_the_cache_used_no_tokens() -> None:
    """And what stood in the input before the last words is an example, which nobody said in this run."""
    log, report = fixture("log.json")
    second = report.runs[3]
    assert [(one.finish, one.usage) for one in events(log, second, ModelReplied)] == [("max_tokens", None)]
    (started,) = events(log, second, RunStarted)
    assert [one["content"] for one in started.parts["prompt"].data] == ["Count two.", "Two."]


def test_verdicts_and_markers_stand_at_their_place() -> None:
    """What the source approved or refused is its verdict, and none of ours."""
    log, report = fixture("log.json")
    notes = events(log, f"{report.runs[0]}@notes", AnnotationMade)
    placed = {one.name: one.position for one in notes if one.position and one.name != "extras"}
    kinds = {record.position: type(record.event) for record in log.read(report.runs[0])}
    assert set(placed) == {"approval", "info", "compaction"}
    assert {kinds[position] for position in placed.values()} == {ModelReplied}
    (approval,) = remarks(log, report.runs[0], "approval")
    assert (approval["decision"], approval["approver"], approval["explanation"]) == ("reject", "keeper", "too high")
    assert remarks(log, report.runs[4], "limit") == [{"type": "time", "limit": 30}]
    assert [one["error"] for one in remarks(log, report.runs[4], "model_error")] == ["connection lost"]


def test_scores_can_be_asked_for() -> None:
    """A value by its scorer's name, how it came about beside it; what a scorer asked is none of the run's tokens."""
    log, report = fixture("log.json")
    query = (
        "SELECT name, value_text, value_number FROM annotations WHERE name LIKE 'score.%' AND name NOT LIKE '%.told'"
    )
    assert sorted(ask(log, query).rows) == [
        ("score.effort", None, 0.25),
        ("score.effort", None, 0.75),
        ("score.match", "C", None),
        ("score.match", "I", None),
        ("score.score", "P", None),
    ]
    own = report.runs[0]
    assert remarks(log, own, "score.match.told") == [{"answer": "15", "explanation": "Fifteen it is."}]
    assert [one["scorer"] for one in remarks(log, own, "grading")] == ["match"]
    assert ask(log, ACCURACY, parameters=["score.match"]).rows == [(0.5, 0.5, 2)]
    assert ask(log, "SELECT sum(tokens) FROM runs").rows == [(160,)]


def test_what_another_agent_said_is_its_own() -> None:
    """A conversation handed over is words to the first agent, and a run of the second's that the call began."""
    log, report = fixture("handoff.json")
    own, shopper = report.runs
    assert shopper == f"{own}/1"
    said = [(one.actor, one.role, text_of(one.content)) for one in events(log, own, MessageReceived)]
    assert said[:4] == [
        ("agent", "", "[shopper] Buying."),
        ("tool", "", "one jar"),
        ("agent", "", "[shopper] Bought."),
        ("user", "", "The shopper is done."),
    ]
    (started,) = events(log, shopper, RunStarted)
    assert started.agent == "shopper"
    assert [one["content"] for one in started.parts["prompt"].data][:2] == ["Keep the pantry.", "Any jam?"]
    assert (report.calls, report.results, report.unpaired) == (2, 2, 0)
    assert ask(log, "SELECT sum(tokens) FROM runs").rows == [(10,)]


def test_words_that_were_edited_keep_what_was_replied() -> None:
    """The next request has the edited ones, so the run has them too."""
    log, report = fixture("handoff.json")
    assert [one.content for one in events(log, report.runs[0], ModelReplied)][1:] == ["Yes.", "Sure."]
    kept = [one["as_replied"]["content"] for one in remarks(log, report.runs[0], "extras") if "as_replied" in one]
    assert kept == ["yes."]


def test_old_logs_nest_a_calls_events() -> None:
    """Steps in place of spans, attachments by their old name, and the result of the last call from its event."""
    log, report = fixture("nested.json")
    own, inner = report.runs
    assert inner == f"{own}/1"
    assert [one.content for one in events(log, own, ObservationReceived)] == ["Yes, old."]
    assert [one.content for one in events(log, inner, ModelReplied)] == ["Yes, old."]
    assert len(remarks(log, own, "grading")) == 1
    assert hold(log, report, json.loads((HERE / "nested.json").read_bytes())["samples"]) == 2


def test_reasoning_beside_the_words_is_reasoning() -> None:
    """Logs of one season have it as a field of the message."""
    reply = {"role": "assistant", "content": "Four.", "reasoning": "Two and two."}
    messages = [{"role": "user", "content": "How many?"}, reply]
    sample = {"id": 1, "epoch": 1, "input": "How many?", "target": "Four.", "messages": messages}
    log = MemoryLog()
    (run,) = import_bytes(as_json(sample), "sample.json", log).runs
    (said,) = events(log, run, ModelReplied)
    assert said.content == (Thinking(text="Two and two."), Text(text="Four."))
    assert remarks(log, run, "extras") == []


@pytest.mark.parametrize("lines", [False, True], ids=["list", "lines"])
def test_samples_and_events_may_stand_in_a_list(lines: bool) -> None:
    """Each sample is a run; events are those of one sample, and another log's events are none."""

    def data(values: list[Any]) -> bytes:
        return b"\n".join(map(as_json, values)) if lines else as_json(values)

    reply = {"role": "assistant", "content": "Four."}
    asked = {"role": "user", "content": "How many?"}
    samples = [
        {"id": index, "epoch": 1, "input": "How many?", "target": "Four.", "messages": [asked, reply]}
        for index in range(2)
    ]
    report = import_bytes(data(samples), "samples", MemoryLog())
    assert (report.format, len(report.runs)) == ("inspect", 2)
    model = {"event": "model", "input": [asked], "output": {"choices": [{"message": reply, "stop_reason": "stop"}]}}
    events = [
        {"event": "info", "timestamp": "2026-02-02T02:40:00Z", "data": 1},
        {**model, "timestamp": "2026-02-02T02:40:01Z", "model": "m"},
    ]
    report = import_bytes(data(events), "events", MemoryLog())
    assert (report.format, len(report.runs)) == ("inspect", 1)
    with pytest.raises(BadInput, match="no trace that is known"):
        import_bytes(data([events[0], events[0]]), "another log", MemoryLog())


def test_texts_that_unfold_without_end_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """An attachment is short to point to, and may be pointed to often."""
    monkeypatch.setattr(pools, "UNFOLDED_MAX", 500_000)
    sample = {**LOG["samples"][1], "attachments": {"x": "x" * 1000}}
    sample["events"] = sample["events"] + [{"event": "info", "timestamp": "", "data": "attachment://x"}] * 1000
    with pytest.raises(BadInput, match="attachments that unfold to more than 500000 characters"):
        import_bytes(as_json({**LOG, "samples": [sample]}), "log.json", MemoryLog())


@pytest.mark.parametrize("method", [0, 8, 93], ids=["stored", "deflate", "zstd"])
@pytest.mark.parametrize("pack", [one_each, chunked])
def test_an_archive_holds_what_the_object_holds(pack: Callable[[int], bytes], method: int) -> None:
    """However it is packed."""
    plain, packed = MemoryLog(), MemoryLog()
    theirs = told(plain, import_file(HERE / "log.json", plain))
    report = import_bytes(pack(method), "log.eval", packed)
    assert report.diagnostics == []
    assert sorted(map(repr, told(packed, report))) == sorted(map(repr, theirs))


def test_a_crashed_evaluation_is_read_from_its_journal() -> None:
    """It has no header; its status says that it started."""
    sample = LOG["samples"][1]
    data = zipped(
        [
            member("_journal/start.json", as_json({"version": 2, "eval": LOG["eval"]}), 8),
            member("samples/a/1_epoch_2.json", as_json(sample), 8),
        ]
    )
    log = MemoryLog()
    report = import_bytes(data, "crashed.eval", log)
    assert [str(one) for one in report.diagnostics] == [
        "no header: the evaluation did not end; read from its journal",
    ]
    assert remarks(log, report.runs[0], "status") == ["started"]


def test_a_damaged_sample_is_left_out() -> None:
    """The others go in, with a note."""
    good = member("samples/a/1_epoch_2.json", as_json(LOG["samples"][1]), 8)
    bad = member("samples/b_epoch_1.json", as_json(LOG["samples"][2]), 8, crc=1)
    torn = member("samples/b_epoch_2.json", b'{"id": 1, ', 8)
    report = import_bytes(zipped([good, bad, torn, member("header.json", b"{}", 0)]), "log.eval", MemoryLog())
    assert (len(report.runs), [str(one) for one in report.diagnostics]) == (
        1,
        [
            "samples/b_epoch_1.json: damaged, it is not what was packed, left out",
            "samples/b_epoch_2.json: not JSON, left out",
        ],
    )


@pytest.mark.parametrize("method", [8, 93], ids=["deflate", "zstd"])
def test_a_zip_bomb_is_refused_before_it_is_unpacked(method: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what it says of itself; one that lies is read no further than it said."""
    monkeypatch.setattr(archive, "GROWTH_FREE_BYTES", 1000)
    zeros = bytes(3_000_000)
    honest = zipped([member("header.json", b"{}", 0), member("samples/1_epoch_1.json", zeros, method)])
    with pytest.raises(BadInput, match="that would unpack to 3000002"):
        import_bytes(honest, "bomb.eval", MemoryLog())
    lying = zipped([member("header.json", b"{}", 0), member("samples/1_epoch_1.json", zeros, method, size=100)])
    with pytest.raises(BadInput, match="damaged, it is not what was packed"):
        import_bytes(lying, "bomb.eval", MemoryLog())


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        pytest.param(one_each(8)[:-30], "a torn zip archive", id="torn"),
        pytest.param(zipped([]), "no trace that is known here", id="empty"),
        pytest.param(zipped([member("a.txt", b"a", 0)]), "no trace that is known here", id="of something else"),
        pytest.param(zipped([member("header.json", b"{}", 0)]), NO_SAMPLES, id="no samples"),
        pytest.param(
            zipped([member("header.json", b"[]", 0), ("samples/1_epoch_1.json", b"x", 12, 1, 1)]),
            "packed in a way that is not read",
            id="packed otherwise",
        ),
        pytest.param(
            zipped([member("samples/1_epoch_1.json", b"x" * 9, 0)] * 2)[:40], "a torn zip archive", id="cut in a member"
        ),
    ],
)
def test_an_archive_that_cannot_be_read_is_told_in_one_line(data: bytes, problem: str) -> None:
    """And nothing of it is kept."""
    log = MemoryLog()
    with pytest.raises(BadInput, match=problem):
        import_bytes(data, "log.eval", log)
    assert list(log.runs()) == []


@AT_HAND
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.path)
def test_recorded_files_count_as_their_index_does(row: Row) -> None:
    """Or the difference is known."""
    found = imported(row.path)
    refused = next((why for end, why in REFUSED.items() if row.path.endswith(end)), "")
    assert found.refused.startswith(refused)
    assert bool(found.refused) == bool(refused)
    if not refused:
        runs, calls = SEVERAL.get(Path(row.path).stem, (row.runs, row.calls or 0))
        assert (len(found.report.runs), found.report.calls) == (runs, calls)
        assert found.report.results == (row.results or calls)
        assert found.report.diagnostics == []


@AT_HAND
@pytest.mark.parametrize("path", [*(row.path for row in ROWS), *map(str, GENERATED)], ids=lambda path: Path(path).name)
def test_recorded_runs_are_asked_with_the_files_own_messages(path: str) -> None:
    """Every request, and each run replays."""
    found = imported(path)
    if not found.refused:
        hold(found.log, found.report, samples_of(SHARED / path))
        replays(found)


@AT_HAND
@pytest.mark.parametrize(
    ("path", "scorer", "figures"),
    [
        ("theory-of-mind_bbB4eRCx2rFJLyPH42Cj9r.eval", "model_graded_fact", (0.83, 0.0378, 100)),
        ("security-guide_LuxZJVwvymC3S3SyoJczxB.eval", "model_graded_fact", (0.6875, 0.1197, 16)),
        ("popularity_mj7khqpMM4GBCfVQozKgzB.eval", "match", (0.8, 0.1333, 10)),
        ("log_streaming.eval", "match", (0.75, 0.25, 4)),
    ],
)
def test_accuracies_are_those_of_the_logs(path: str, scorer: str, figures: tuple[float, ...]) -> None:
    """And their standard errors, from SQL."""
    found = imported(next(row.path for row in ROWS if row.path.endswith(path)))
    assert ask(found.log, ACCURACY, parameters=[f"score.{scorer}"]).rows == [figures]


@AT_HAND
@pytest.mark.parametrize("row", [row for row in ROWS if row.path.endswith(".eval")], ids=lambda row: row.path)
def test_tokens_are_counted_once(row: Row) -> None:
    """What a sample says it used is what its run used, and what its scorers did."""
    found = imported(row.path)
    tokens: dict[str, int] = dict(ask(found.log, "SELECT run_id, tokens FROM runs").rows)
    for run in found.report.runs:
        said = sum(one["total_tokens"] for used in remarks(found.log, run, "model_usage") for one in used.values())
        graded = sum(one["usage"]["total_tokens"] for one in remarks(found.log, run, "grading"))
        assert said in {0, tokens[run] + graded}
