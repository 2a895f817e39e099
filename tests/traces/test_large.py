"""Files that are read bit by bit: the same runs, reports and notes as when they are read whole."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from redrive_events import MemoryLog, StoredLine
from redrive_replays.traces import FileReport, import_file
from redrive_replays.traces.building import content
from redrive_replays.traces.lines import Lines
from redrive_replays.traces.reading import read
from tests.traces import otel_story as story
from tests.traces.test_inspect import chunked

FIXTURES = Path(__file__).parent.parent / "fixtures" / "traces"


def _chat() -> bytes:
    return (FIXTURES / "chat-lines.jsonl").read_bytes()


def _otlp() -> bytes:
    return story.CONTAINERS["otlp_lines"](story.spans(story.CONVENTIONS["native"]))


def _tau2() -> bytes:
    one = json.loads((FIXTURES / "tau2-bench" / "split-simulation.json").read_bytes())
    return b"\n".join(json.dumps({**one, "id": f"{one['id']}-{number}"}).encode() for number in range(3))


def _rows(*more: str) -> bytes:
    said = json.loads((FIXTURES / "chat-list.json").read_bytes())
    rows = [json.dumps({"messages": said[: 2 + number], "n": number}, ensure_ascii=False) for number in range(4)]
    return (" [\n " + " ,\n".join([*rows[:2], *more, *rows[2:]]) + "\n]\n").lstrip().encode()


FILES: dict[str, Callable[[], bytes]] = {
    "chat": _chat,
    "chat, crlf": lambda: _chat().replace(b"\n", b"\r\n"),
    "chat, without a mark": lambda: _chat().removeprefix(b"\xef\xbb\xbf"),
    "chat, odd numbers and characters": lambda: b"\n".join(
        b'{"messages": [{"role": "user", "content": "hi%s", "size": %s}]}' % odd
        for odd in ((b"\\ud800", b"1"), (b"\xff", b"NaN"), (b"\x00", b"7" * 5000), ("\u2028".encode(), b"1e999"))
    ),
    "chat, cut off": lambda: _chat().rstrip()[:-20],
    "chat, compressed": lambda: gzip.compress(_chat()),
    "one document": (FIXTURES / "chat-batch.json").read_bytes,
    "a list of rows": _rows,
    "a list of rows, some of which are none": lambda: _rows("7", '{"messages": 3}', "null"),
    "a list of rows, as others write JSON": lambda: _rows('{"messages": [{"role": "user", "content": "x"}], "n": NaN}'),
    "a list of messages": (FIXTURES / "chat-list.json").read_bytes,
    "attempts": (FIXTURES / "tau-bench.json").read_bytes,
    "simulations": (FIXTURES / "tau2-bench" / "bare-list.json").read_bytes,
    "otlp": _otlp,
    "otlp, protobuf": lambda: story.CONTAINERS["protobuf"](story.spans(story.CONVENTIONS["native"])),
    "tau2": _tau2,
    "claude-code": (FIXTURES / "claude-code" / "session.jsonl").read_bytes,
    "codex": (FIXTURES / "codex" / "session.jsonl").read_bytes,
    "anthropic": (FIXTURES / "anthropic" / "log.jsonl").read_bytes,
    "openai-responses": (FIXTURES / "openai-responses" / "chain.jsonl").read_bytes,
    "inspect": lambda: chunked(8),
}


def imported(path: Path, large_bytes: int) -> tuple[FileReport, list[list[StoredLine]]]:
    """The report, and the lines of all runs."""
    log = MemoryLog()
    report = import_file(path, log, large_bytes=large_bytes)
    return report, [list(log.lines(head.run_id)) for head in log.runs()]


@pytest.mark.parametrize("name", FILES)
def test_it_is_the_same_bit_by_bit(name: str, tmp_path: Path) -> None:
    """Byte for byte, and with the same notes."""
    path = tmp_path / "file"
    path.write_bytes(FILES[name]())
    assert imported(path, 0) == imported(path, 1 << 30)


@pytest.mark.parametrize("name", ["chat", "chat, without a mark", "otlp", "tau2", "attempts", "a list of rows"])
def test_lines_are_not_kept(name: str, tmp_path: Path) -> None:
    """Only where they are; so are the rows of a list."""
    path = tmp_path / "file"
    path.write_bytes(FILES[name]())
    with content(path, large_bytes=0) as data:
        assert isinstance(read(data, "file", large_bytes=0).entries, Lines)
