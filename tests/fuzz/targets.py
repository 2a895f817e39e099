"""What is fuzzed: each takes any bytes, and raises what is no documented answer to them."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

from redrive_events import (
    START,
    BadInput,
    BrokenChain,
    Heads,
    MemoryLog,
    Portable,
    Quarantined,
    UnknownEvent,
    arguments_of,
    canonical,
    checked,
    decode,
    encode,
    heads_of,
    is_portable,
    link,
    load_portable,
    mended,
    parse_json,
    write_portable,
)
from redrive_events.codec import is_canonical
from redrive_events.stores.packing import deflated, inflated, packed, unpacked

_ZSTD = b"\x28\xb5\x2f\xfd"
_RUN_ID = re.compile(rb'"run_id":"([^"]*)"}}$')

Target = Callable[[bytes], None]

RECORDINGS = Path(__file__).parents[1] / "recordings"


def record(data: bytes) -> None:
    """`decode`: every line is a record, or one whose event is quarantined with its bytes."""
    read = decode(data, run_id="run", position=1)
    if isinstance(read.event, Quarantined):
        assert read.event.line == data
        assert not is_canonical(read, data)
        return
    try:
        line = encode(read)
    except BadInput:  # it is JSON, and has a number that its canonical form has not
        return
    assert encode(decode(line)) == line
    assert is_canonical(read, data) == (line == data)


def json(data: bytes) -> None:
    """`parse_json`, `canonical` and `mended`: plain data have one spelling."""
    try:
        value = parse_json(data)
        line = canonical(value)
    except BadInput:
        return
    assert canonical(parse_json(line)) == line
    assert canonical(mended(value)) == line


def arguments(data: bytes) -> None:
    """`arguments_of` and `mended`: whatever a model says can be written down."""
    for raw in (data.decode("utf-8", "surrogateescape"), data.decode("utf-8", "replace")):
        with suppress(BadInput):
            canonical(mended(arguments_of(raw)))


def portable(data: bytes) -> None:
    """`Portable` and `load_portable`: what is read of a file is sound, also where its digests fit all that is in it."""
    is_portable(data)
    for content in (data, _rechained(data)):
        file = _file(content)
        with suppress(BadInput, BrokenChain):
            log, told = load_portable(file)
            for head in log.runs():
                assert sum(1 for _ in checked(head.run_id, log.lines(head.run_id), head=head)) == head.position
            assert told.torn or set(told.runs) == set(log.runs())
        with suppress(BadInput, BrokenChain, UnknownEvent):
            again = MemoryLog()
            again.append_all(Portable(file).batches())


def heads(data: bytes) -> None:
    """`Heads`: a list is as it was written, or it is none, also where its seal fits."""
    *lines, _ = data.splitlines(keepends=True) or [b""]
    body = b"".join(lines)
    for content in (data, body + b'{"digest":"%b"}' % hashlib.sha256(body).hexdigest().encode()):
        with suppress(BadInput):
            assert all(head.position for head in Heads(_file(content)).runs)


def store(data: bytes) -> None:
    """What the SQLite store does to a line, and undoes to what somebody put there in its place."""
    kept: list[bytes] = []

    def keep(content: bytes) -> int:
        kept.append(content)
        return len(kept) - 1

    for lines in ([data], data.split(b"\n")):
        rows = [unpacked(count, row, kept.__getitem__) for count, row in packed(lines, keep)]
        assert [line for row in rows for line in row] == lines
    if not data.startswith(_ZSTD):  # as no JSON begins
        assert inflated(deflated(data)) == data
    assert all(len(unpacked(count, data, kept.__getitem__)) == count for count in (1, 2, 64))
    with suppress(ValueError):
        inflated(data)


TARGETS: dict[str, Target] = {
    "record": record,
    "json": json,
    "arguments": arguments,
    "portable": portable,
    "heads": heads,
    "store": store,
}


def seeds(name: str) -> list[bytes]:
    """Inputs that are as they should be, from which the others are made."""
    recordings = [file.read_bytes() for file in sorted(RECORDINGS.glob("*.jsonl"))]
    lines = sorted({line[77:-1] for recording in recordings for line in recording.splitlines()[1:]}, key=len)
    match name:
        case "portable":
            return [min(recordings, key=len), *_small_files()]
        case "heads":
            return [_heads_of(recording) for recording in recordings[:3]]
        case "arguments":
            return [b"", b"{}", '{"iban":"退款 🤖","cents":1e400}'.encode(), b"[1]", b'"\\ud800"', *lines[:20]]
        case _:
            return [
                *lines[:: max(1, len(lines) // 60)],
                b'{"a":[1,-0.0,1e16,null,"\\ud83e\\udd16"]}',
                b"[" * 40 + b"]" * 40,
            ]


def _small_files() -> Iterator[bytes]:
    from tests.records import append  # noqa: PLC0415 - only here

    log = MemoryLog()
    log.append("a", append("a", 1, 2), expected=0)
    log.append("b", append("b", 1), expected=0)
    for compressed in (False, True):
        file = _path("small")
        with file.open("wb") as out:
            write_portable(log, ["a", "b"], out, compressed=compressed)
        yield file.read_bytes()


def _heads_of(recording: bytes) -> bytes:
    log, _ = load_portable(_file(recording))
    with closing(log):
        return b"".join(heads_of(log, sign=lambda _: b"0" * 64))


def _rechained(data: bytes) -> bytes:
    """The records in ``data``, put together again as somebody does who wants to be believed."""
    runs: dict[bytes, tuple[int, bytes]] = {}
    framed = []
    for line in data.split(b"\n")[1:]:
        run_id = _RUN_ID.search(line)
        if run_id and len(line) > 78:
            position, digest = runs.get(run_id[1], (0, START))
            digest = link(digest, line[77:-1])
            runs[run_id[1]] = position + 1, digest
            framed.append(b'{"d":"%b","r":%b}\n' % (digest.hex().encode(), line[77:-1]))
    told = [
        b'{"digest":"%b","position":%d,"run_id":"%b"}' % (d.hex().encode(), n, name) for name, (n, d) in runs.items()
    ]
    return b'{"format":"redrive","version":0,"runs":[%b]}\n%b' % (b",".join(told), b"".join(framed))


def _file(data: bytes) -> Path:
    path = _path("input")
    path.write_bytes(data)
    return path


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="fuzz-")


def _path(name: str) -> Path:
    return Path(_folder().name) / name
