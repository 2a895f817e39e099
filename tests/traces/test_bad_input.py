"""Files of every format with something wrong in them: imported or clearly refused, and never half of anything."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redrive_events import BadInput, MemoryLog
from redrive_replays import recording_of, replay
from redrive_replays.traces import FileReport, import_bytes
from tests.traces import otel_story as story
from tests.traces.test_inspect import chunked, one_each

FIXTURES = Path(__file__).parent.parent / "fixtures" / "traces"


def _told(container: str, convention: str) -> bytes:
    return story.CONTAINERS[container](story.spans(story.CONVENTIONS[convention]))


def _fixture(name: str, words: bytes) -> bytes:
    """A fixture, some words of which are those that are made odd below."""
    data = (FIXTURES / name).read_bytes()
    assert words in data
    return data.replace(words, b"Eggs and")


# A good file of each format, as one JSON document; a row here and a format is held to all of this.
DOCUMENTS: dict[str, Callable[[], bytes]] = {
    "otlp, native": lambda: _told("otlp", "native"),
    "otlp, events": lambda: _told("otlp", "span_events"),
    "otlp, oldest": lambda: _told("otlp_base64", "oldest"),
    "tempo, adk": lambda: _told("tempo", "adk"),
    "jaeger, traceloop": lambda: _told("jaeger", "traceloop"),
    "readable, vercel": lambda: _told("readable", "vercel"),
    "phoenix, nested": lambda: story.phoenix_nested(story.spans(story.open_inference)),
    "attributes": lambda: json.dumps(story.open_inference(1)["attributes"]).encode(),
    "tau2": lambda: _fixture("tau2-bench/monolith.json", b"My kettle"),
    "tau2, one": lambda: _fixture("tau2-bench/split-simulation.json", b"My kettle"),
    "tau2, list": lambda: _fixture("tau2-bench/bare-list.json", b"My kettle"),
    "tau2, speech": lambda: _fixture("tau2-bench/full-duplex.json", b"Good day"),
    "swe-agent": lambda: _fixture("swe-agent/calls.traj", b"Edited."),
    "swe-agent, text": lambda: _fixture("swe-agent/text.traj", b"Mend it"),
    "mini-swe-agent": lambda: _fixture("mini-swe-agent/calls.traj.json", b"Count the"),
    "mini-swe-agent, text": lambda: _fixture("mini-swe-agent/text.traj.json", b"Count the"),
    "mini-swe-agent, bare": lambda: _fixture("mini-swe-agent/bare-list.json", b"Count the"),
    "inspect": lambda: _fixture("inspect/log.json", b"Count the"),
    "inspect, nested": lambda: _fixture("inspect/nested.json", b"Old?"),
    "anthropic": lambda: _fixture("anthropic/request-response.json", b"Bread for"),
    "anthropic, messages": lambda: _fixture("anthropic/messages.json", b"Count."),
    "openai-responses": lambda: _fixture("openai-responses/request-response.json", b"Bread?"),
    "openai-responses, items": lambda: _fixture("openai-responses/items.json", b"Count."),
    "inspect, a sample": lambda: _fixture("inspect/handoff.json", b"Any jam"),
}
# Formats in which a session is made of lines: a torn line costs what is torn, and the session is only to look at.
SESSIONS: dict[str, Callable[[], bytes]] = {
    "claude-code": lambda: _fixture("claude-code/session.jsonl", b"Bake for"),
    "claude-code, old": lambda: _fixture("claude-code/old.jsonl", b"Two questions."),
    "claude-code, streamed": lambda: _fixture("claude-code/stream.jsonl", b"Milk?"),
    "codex": lambda: _fixture("codex/session.jsonl", b"Bake for"),
    "codex, old": lambda: _fixture("codex/old.jsonl", b"List."),
    "codex, exec": lambda: _fixture("codex/exec.jsonl", b"One file."),
    "codex, forked": lambda: _fixture("codex/forked.jsonl", b"Mill 2"),
    "codex, shown": lambda: _fixture("codex/shown.jsonl", b"Hello."),
}
# Formats in which a line is a run by itself, and the others stay whole.
LOGS: dict[str, Callable[[], bytes]] = {
    "anthropic, a log": lambda: _fixture("anthropic/log.jsonl", b"Is it open?"),
    "openai-responses, a chain": lambda: _fixture("openai-responses/chain.jsonl", b"Is it open?"),
}
STREAMS: dict[str, Callable[[], bytes]] = {
    "anthropic, a stream": lambda: _fixture("anthropic/stream.txt", b"Sure: "),
    "openai-responses, a stream": lambda: _fixture("openai-responses/stream.txt", b"Two "),
}
# Formats of lines, or of objects one behind another: a torn end costs what is torn.
LINES: dict[str, Callable[[], bytes]] = {
    **SESSIONS,
    "otlp lines, native": lambda: _told("otlp_lines", "native"),
    "console, openinference": lambda: _told("console", "open_inference"),
    "console of javascript, events": lambda: _told("console_js", "listed_events"),
}
BINARY: dict[str, Callable[[], bytes]] = {
    "protobuf": lambda: _told("protobuf", "native"),
    "framed protobuf": lambda: _told("protobuf_framed", "native"),
    "inspect, deflate": lambda: one_each(8),
    "inspect, zstd": lambda: one_each(93),
    "inspect, chunks": lambda: chunked(8),
}
TEXTS = {**DOCUMENTS, **LINES, **LOGS, **STREAMS}
ALL = {**TEXTS, **BINARY}


@cache
def good(name: str) -> bytes:
    """The good file, made once."""
    return ALL[name]()


PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
NAMES = st.sampled_from(["role", "id", "name", "parts", "content", "value", "type", "spans", "text"])
WRONG = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=5
)


def held(data: bytes, name: str = "bad") -> FileReport | None:
    """The report of an import that is whole, replays, and goes in once; None where it was clearly refused."""
    log = MemoryLog()
    try:
        report = import_bytes(data, name, log)
    except BadInput as error:
        assert (error.place.startswith(name), "\n" not in str(error), list(log.runs())) == (True, True, [])  # noqa: PT017
        return None
    for run in report.runs:
        assert replay(recording_of(log, run)).same
    assert import_bytes(data, name, log).added == 0
    return report


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a value, and in the JSON that its texts hold."""
    yield path
    inside = opened(value)
    for key, inner in (
        inside.items() if isinstance(inside, dict) else enumerate(inside) if isinstance(inside, list) else ()
    ):
        yield from places(inner, (*path, key))


def opened(value: Any) -> Any:
    """What a text of JSON holds."""
    if isinstance(value, str) and value[:1] in {"{", "["}:
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def spoiled(value: Any, path: tuple[Any, ...], wrong: Any) -> Any:
    """``value`` with something else in one place."""
    if not path:
        return wrong
    inside = opened(value)
    copy = dict(inside) if isinstance(inside, dict) else list(inside)
    copy[path[0]] = spoiled(copy[path[0]], path[1:], wrong)
    return json.dumps(copy) if isinstance(value, str) else copy


@pytest.mark.parametrize("name", DOCUMENTS)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_wrong_value_anywhere_is_refused_or_survives(name: str, data: st.DataObject) -> None:
    """Whatever stands where, in the JSON inside of texts too."""
    value = json.loads(good(name))
    for _ in range(data.draw(st.integers(1, 2))):
        value = spoiled(value, data.draw(st.sampled_from(list(places(value)))), data.draw(WRONG))
    held(json.dumps(value).encode())


@pytest.mark.parametrize("name", DOCUMENTS)
@settings(max_examples=25, deadline=None)
@given(at=st.integers(0, 100_000))
def test_a_torn_document_is_refused(name: str, at: int) -> None:
    """Wherever it is cut, and nothing of it is kept."""
    data = good(name).rstrip()
    log = MemoryLog()
    with pytest.raises(BadInput, match=r"^torn: (a torn JSON document|a JSON document that is cut|the file is empty)"):
        import_bytes(data[: at % len(data)], "torn", log)
    assert list(log.runs()) == []


@pytest.mark.parametrize("name", LINES)
@settings(max_examples=25, deadline=None)
@given(at=st.integers(0, 100_000))
def test_a_torn_end_costs_what_is_torn(name: str, at: int) -> None:
    """What reads is kept, with a note and a lower grade; where nothing does, the file is refused."""
    data = good(name)
    cut = data[: at % len(data)]
    report = held(cut)
    if report is not None and report.diagnostics:
        assert "full" not in report.grades


@pytest.mark.parametrize("name", [*SESSIONS, *LOGS, *STREAMS])
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_wrong_value_in_a_line_is_refused_or_survives(name: str, data: st.DataObject) -> None:
    """Whatever stands where; lines in another order, or twice, too."""
    lines = good(name).rstrip().split(b"\n")
    for _ in range(data.draw(st.integers(1, 2))):
        index = data.draw(st.integers(0, len(lines) - 1))
        head, _, rest = lines[index].partition(b"{")
        try:
            value = json.loads(b"{" + rest)
        except ValueError:
            continue
        value = spoiled(value, data.draw(st.sampled_from(list(places(value)))), data.draw(WRONG))
        lines[index] = head + json.dumps(value).encode()
    if data.draw(st.booleans()):
        lines = data.draw(st.permutations(lines + lines[:2]))
    held(b"\n".join(lines))


@pytest.mark.parametrize("name", [*LOGS, *STREAMS])
@settings(max_examples=25, deadline=None)
@given(at=st.integers(0, 100_000))
def test_a_log_or_a_stream_that_is_cut_goes_in_as_far_as_it_goes(name: str, at: int) -> None:
    """Runs that are whole stay so; a reply that is not whole is only to look at."""
    data = good(name)
    cut = data[: at % len(data)]
    report = held(cut)
    if report is not None and name in STREAMS and len(cut) < len(data) - 600:
        assert report.grades == {"view-only": 1}


@pytest.mark.parametrize("name", BINARY)
@settings(max_examples=30, deadline=None)
@given(at=st.integers(0, 100_000), byte=st.integers(0, 255))
def test_bytes_that_are_cut_or_changed_are_refused_or_survive(name: str, at: int, byte: int) -> None:
    """No byte of protobuf brings the reader down."""
    data = good(name)
    place = at % len(data)
    held(data[:place])
    held(data[:place] + bytes([byte]) + data[place + 1 :])


@pytest.mark.parametrize("data", [b"", b" \n\r\n\t", b"\xef\xbb\xbf"], ids=["empty", "blank", "only a mark"])
def test_an_empty_file_is_refused(data: bytes) -> None:
    """Whatever it was to be: a format is told by the content."""
    with pytest.raises(BadInput, match="the file is empty"):
        import_bytes(data, "empty", MemoryLog())


def _replaced(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda data: data.replace(old, new)


def _reversed_times(data: bytes) -> bytes:
    """Ends before starts."""
    for begin, end in ((b"start", b"end"), (b"Start", b"End")):
        data = data.replace(begin, b"@@").replace(end, begin).replace(b"@@", end)
    return data


ODD: dict[str, Callable[[bytes], bytes]] = {
    "a mark": lambda data: b"\xef\xbb\xbf" + data,
    "crlf": _replaced(b"\n", b"\r\n"),
    "utf-16": lambda data: data.decode().encode("utf-16"),
    "u+2028": _replaced(b"Eggs and", "Eggs\u2028\u0085and".encode()),
    "nul": _replaced(b"Eggs and", b"Eggs\x00and"),
    "nul, escaped": _replaced(b"Eggs and", b"Eggs\\u0000and"),
    "half a pair": _replaced(b"Eggs and", b"Eggs\\ud800and"),
    "half a pair, escaped twice": _replaced(b"Eggs and", b"Eggs\\\\ud800and"),
    "no utf-8": _replaced(b"Eggs and", b"Eggs\xff\xfeand"),
    "nan": _replaced(b'"links": []', b'"links": NaN'),
    "deep": _replaced(b"Eggs and", b'"' + b"[" * 100 + b"]" * 100 + b'"'),
    "a huge text": _replaced(b"Eggs and", b"Eggs " * 100_000),
    "one id for all": lambda data: data.replace(b"d0d0d0d0d0d0d0d0", b"b0b0b0b0b0b0b0b0").replace(b"b1" * 8, b"b0" * 8),
    "a ring of parents": lambda data: data.replace(b'"parent": ""', b'"parent": "' + b"b0" * 8 + b'"'),
    "ids of calls that repeat": _replaced(b"c2", b"c1"),
    "no results": _replaced(b"tool_call_response", b"something_else"),
    "times that run backwards": _reversed_times,
    "times without a zone": _replaced(b'000Z"', b'000"'),
    "times of another calendar": _replaced(b"179500000", b"9179500000"),
    "numbers without end": _replaced(b'"50"', b'"' + b"9" * 400 + b'"'),
    "numbers of thousands of digits, as texts": _replaced(b'"50"', b'"' + b"9" * 5000 + b'"'),
    "nan for a number": lambda data: re.sub(rb": \d+\.\d+", b": NaN", data),
    "infinity for a number": lambda data: re.sub(rb": \d+\b", b": -Infinity", data, count=3),
    "a number of many digits": lambda data: re.sub(rb": \d+\b", b": " + b"7" * 30, data),
    "a number of thousands of digits": lambda data: re.sub(rb": \d+\b", b": " + b"7" * 5000, data, count=20),
    "clock times that run backwards": lambda data: data.replace(b":00:0", b":00:5").replace(b":00:1", b":00:0"),
    "roles twice": _replaced(b'"role":', b'"role": "system", "role":'),
    "ids of calls left out": _replaced(b'"id":', b'"label":'),
    "a key twice": _replaced(b'"name":', b'"name": "first", "name":'),
}


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_odd_is_read_or_refused(name: str) -> None:
    """Never a traceback, and nothing half-imported; what is odd in one format may not be there in another."""
    held(good(name), name)
    for odd, change in ODD.items():
        data = change(good(name))
        if data != good(name):
            held(data, odd)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_hundred_levels_are_read_or_refused_in_one_line(name: str) -> None:
    """In the document itself, and inside of every text of JSON in it."""
    value = json.loads(good(name))
    deep: Any = "bottom"
    for _ in range(100):
        deep = {"content": [deep]}
    everywhere = list(places(value))
    for path in everywhere[:: max(1, len(everywhere) // 20)]:
        held(json.dumps(spoiled(value, path, deep)).encode())
