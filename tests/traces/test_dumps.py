"""Files as people come to have them: dumped by hand, copied out of other logs, with optional parts left out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from redrive_events import BadInput, MemoryLog
from redrive_replays import recording_of, replay
from redrive_replays.traces import FileReport, import_bytes
from tests.traces import otel_story as story

HERE = Path(__file__).parent.parent / "fixtures" / "traces"
COMMA = "a comma behind the last of a list or an object: left out"


def _document(name: str) -> Any:
    return json.loads((HERE / name).read_bytes())


def _lines(name: str) -> list[bytes]:
    return [line for line in (HERE / name).read_bytes().split(b"\n") if line.strip()]


def _console() -> bytes:
    return story.CONTAINERS["console"](story.spans(story.CONVENTIONS["native"]))


def _spans() -> list[dict[str, Any]]:
    value = json.loads(story.CONTAINERS["otlp"](story.spans(story.CONVENTIONS["native"])))
    return [span for one in value["resourceSpans"] for scope in one["scopeSpans"] for span in scope["spans"]]


def _without(value: Any, *names: str) -> Any:
    """``value`` without some fields, wherever they stand in it."""
    if isinstance(value, dict):
        return {key: _without(one, *names) for key, one in value.items() if key not in names}
    return [_without(one, *names) for one in value] if isinstance(value, list) else value


def _bytes(value: Any, **how: Any) -> bytes:
    return json.dumps(value, **how).encode()


# How a file came to be, its bytes, and what it is: format, runs, calls, results.
DUMPS: dict[str, tuple[Callable[[], bytes], tuple[str, int, int, int]]] = {
    "a comma too many": (
        lambda: (HERE / "chat-list.json").read_bytes().rstrip()[:-1] + b",\n]",
        ("openai-chat", 1, 2, 2),
    ),
    "printed spans made a list by hand": (
        lambda: b"[" + _console().strip().replace(b"}\n{", b"},\n{") + b",]",
        ("otel-console", 1, 2, 2),
    ),
    "spans without what stands around them": (lambda: _bytes(_spans()), ("otel-console", 1, 2, 2)),
    "the same without kinds and states": (
        lambda: _bytes(_without(_spans(), "kind", "status", "flags")),
        ("otel-console", 1, 2, 2),
    ),
    "documents one behind the other, indented": (
        lambda: _bytes({"messages": _document("chat-list.json")}, indent=2) * 2,
        ("openai-chat", 2, 4, 4),
    ),
    "a text sequence of records": (
        lambda: b"".join(b"\x1e" + _bytes({"messages": _document("chat-list.json")}) + b"\n" for _ in range(2)),
        ("openai-chat", 2, 4, 4),
    ),
    "paths of Windows, and its line ends": (
        lambda: b"\r\n".join(_lines("claude-code/session.jsonl")).replace(b'"/', b'"C:\\\\Users\\\\ana\\\\'),
        ("claude-code", 3, 4, 4),
    ),
    "what a container's log has of it": (
        lambda: b"\n".join(
            _bytes({"log": line.decode() + "\n", "stream": "stdout", "time": "2026-01-01T00:00:00Z"})
            for line in _lines("codex/exec.jsonl")
        ),
        ("codex", 1, 2, 2),
    ),
    "what a terminal has of it": (
        lambda: b"Reading prompt from stdin...\n" + (HERE / "codex" / "exec.jsonl").read_bytes(),
        ("codex", 1, 2, 2),
    ),
    "an archive of a browser's requests": (
        lambda: _bytes({"log": {"version": "1.2", "entries": [_entry()]}}),
        ("anthropic", 1, 4, 4),
    ),
    "simulations without rewards and ends": (
        lambda: _bytes(_without(_document("tau2-bench/monolith.json"), "reward_info", "termination_reason", "seed")),
        ("tau2-bench", 4, 6, 5),
    ),
    "a trajectory that does not say its version": (
        lambda: _bytes(
            {**_document("mini-swe-agent/calls.traj.json"), "info": {"exit_status": "x", "submission": ""}}
            | {"trajectory_format": None}
        ),
        ("mini-swe-agent", 1, 4, 3),
    ),
    "a log of Inspect's first year": (
        lambda: _bytes(
            {
                **_document("inspect/log.json"),
                "samples": [
                    {**_without(one, "events"), "transcript": {"events": one.get("events", []), "content": {}}}
                    for one in _document("inspect/log.json")["samples"]
                ],
            }
        ),
        ("inspect", 6, 5, 5),
    ),
}


def _entry() -> dict[str, Any]:
    pair = _document("anthropic/request-response.json")
    asked = {"method": "POST", "url": "https://example.test", "postData": {"text": json.dumps(pair["request"])}}
    return {"request": asked, "response": {"status": 200, "content": {"text": json.dumps(pair["response"])}}}


def imported(data: bytes) -> FileReport:
    """The report of a file, of which each run replays."""
    log = MemoryLog()
    report = import_bytes(data, "dump", log)
    assert all(replay(recording_of(log, run)).same for run in report.runs)
    return report


@pytest.mark.parametrize("how", DUMPS)
def test_it_is_read_however_it_came_to_be(how: str) -> None:
    """The same runs, calls and results as the file that it was made of."""
    write, expected = DUMPS[how]
    report = imported(write())
    assert (report.format, len(report.runs), report.calls, report.results) == expected


def test_a_comma_too_many_is_told() -> None:
    """One in a text is none."""
    said = [{"role": "user", "content": "a,]b,}"}, {"role": "assistant", "content": 'c",]'}]
    report = imported(json.dumps(said)[:-1].encode() + b" , ]")
    assert [str(one) for one in report.diagnostics] == [COMMA]
    assert imported(json.dumps(said).encode()).diagnostics == []


@pytest.mark.parametrize("end", ['"', "\\", '\\"', ",", ",,]", "]]"])
def test_what_is_torn_stays_torn(end: str) -> None:
    """No comma is the reason; many escapes in the text that breaks off take no time."""
    data = b'[{"role": "user", "content": "' + b'\\"' * 500_000 + end.encode()
    with pytest.raises(BadInput, match=r"a torn JSON document|a JSON document that is cut off"):
        imported(data)
