"""Runs as one file: the same bytes again, and never a guess about a damaged one."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redrive_events import (
    NOTES,
    RUN_ID,
    AnnotationMade,
    BadInput,
    Batch,
    BrokenChain,
    EventLog,
    Head,
    MemoryLog,
    MessageReceived,
    NewerFormat,
    NoSuchRun,
    Portable,
    Quarantined,
    Record,
    RedriveError,
    RunForked,
    SqliteLog,
    StaleAppend,
    StoredLine,
    UnknownEvent,
    canonical,
    damage_of,
    encode,
    is_portable,
    link,
    load_portable,
    write_portable,
    write_runs,
)
from tests.records import append, record
from tests.strategies import runs as some_runs


@pytest.fixture
def log() -> MemoryLog:
    """Two runs, one with a remark beside it, that came in between each other; and a third."""
    log = MemoryLog()
    log.append("one", append("one", 1, 2), expected=0)
    log.append("two", append("two", 1), expected=0)
    log.append("one", append("one", 3, 3, after_s=1), expected=2)
    note = AnnotationMade(name="reward", value=0.5, source="评审", position=3)
    log.append("one@notes", [record("one@notes", 1, event=note)], expected=0)
    log.append("two", append("two", 2, 2), expected=1)
    log.append("three", append("three", 1), expected=0)
    return log


def written(log: EventLog, *run_ids: str, compressed: bool = False) -> bytes:
    """The runs in the portable form."""
    file = io.BytesIO()
    write_portable(log, run_ids, file, compressed=compressed)
    return file.getvalue()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the file is."""
    return tmp_path / "recording.jsonl"


def kept(log: EventLog) -> dict[str, list[object]]:
    """All lines of all runs."""
    return {head.run_id: list(log.lines(head.run_id)) for head in log.runs()}


def hexed(stored: StoredLine) -> bytes:
    """The digest as people see it."""
    return stored.digest.hex().encode()


def test_a_file_is_a_header_and_a_line_a_record() -> None:
    """Byte for byte, so that any program can read it."""
    log = MemoryLog()
    log.append("run", append("run", 1, 2), expected=0)
    first, second = log.lines("run")
    assert written(log, "run").splitlines() == [
        b'{"format":"redrive","version":0,"runs":[{"digest":"%b","position":2,"run_id":"run"}]}' % hexed(second),
        b'{"d":"%b","r":%b}' % (hexed(first), first.line),
        b'{"d":"%b","r":%b}' % (hexed(second), second.line),
    ]


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("make", [lambda _: MemoryLog(), lambda path: SqliteLog(path.with_suffix(".db"))])
def test_what_was_exported_and_loaded_exports_the_same(
    log: MemoryLog, path: Path, make: Callable[[Path], EventLog], compressed: bool
) -> None:
    """Through memory as through a file; a run brings along what was said beside it, and leaves the others."""
    path.write_bytes(written(log, "two", "one", compressed=compressed))
    loaded, portable = load_portable(path)
    imported = make(path)
    imported.append_all(portable.batches())
    imported.append_all(portable.batches())
    assert portable.torn == ""
    assert list(portable.runs) == list(loaded.runs()) == list(imported.runs())
    assert list(portable.runs) == [log.head(run_id) for run_id in ("two", "one", "one@notes")]
    assert kept(loaded) == kept(imported) == {head.run_id: list(log.lines(head.run_id)) for head in portable.runs}
    for again in (log, loaded, imported):
        assert written(again, "two", "one", "one@notes", "two", compressed=compressed) == path.read_bytes()
    imported.close()


def test_a_loaded_log_is_a_log_like_any_other(log: MemoryLog, path: Path) -> None:
    """A run goes on where the file left it."""
    path.write_bytes(written(log, "two"))
    loaded, _ = load_portable(path)
    assert [(offset, one) for offset, one in loaded.read_all()] == list(enumerate(log.read("two"), start=1))
    with pytest.raises(ValueError, match="the time falls"):
        loaded.append("two", append("two", 4, after_s=-1), expected=3)
    loaded.append("two", append("two", 4), expected=3)
    log.append("two", append("two", 4), expected=3)
    assert loaded.head("two") == log.head("two")


def test_every_batch_is_one_append(log: MemoryLog, path: Path) -> None:
    """So that a longer copy of a run continues a shorter one."""
    path.write_bytes(written(log, "one"))
    portable = Portable(path)
    batches = [
        Batch("one", append("one", 1, 2), 0),
        Batch("one", append("one", 3, 3, after_s=1), 2),
        Batch("one@notes", list(log.read("one@notes")), 0),
    ]
    assert list(portable.batches()) == [one._replace(lines=[*map(encode, one.records)]) for one in batches]
    shorter = MemoryLog()
    shorter.append("one", append("one", 1, 2), expected=0)
    shorter.append_all(portable.batches())
    assert kept(shorter) == {run_id: list(log.lines(run_id)) for run_id in ("one", "one@notes")}


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data(), compressed=st.booleans())
def test_what_was_exported_and_imported_exports_the_same(path: Path, data: st.DataObject, compressed: bool) -> None:
    """All runs there are, with what was said beside them, over a log in a file: the same bytes."""
    names = data.draw(st.lists(st.from_regex(RUN_ID, fullmatch=True).map(of_what), unique=True, max_size=4))
    log = MemoryLog()
    for name in names:
        for stream in (name, name + NOTES)[: data.draw(st.integers(1, 2))]:
            log.append_all([Batch(stream, data.draw(some_runs(stream)), 0)])
    path.write_bytes(written(log, *names, compressed=compressed))
    portable = Portable(path)
    with TemporaryDirectory() as folder:
        imported = SqliteLog(Path(folder) / "log.db")
        imported.append_all(portable.batches())
        again = [head.run_id for head in imported.runs() if not head.run_id.endswith(NOTES)]
        assert again == names
        assert written(imported, *again, compressed=compressed) == path.read_bytes()
        imported.close()


def of_what(run_id: str) -> str:
    """The run beside which something was said, or the run."""
    return run_id.removesuffix(NOTES)


def test_runs_of_several_logs_go_into_one_file(log: MemoryLog, path: Path) -> None:
    """One that is in both is there once, as it is the same."""
    path.write_bytes(written(log, "two", "one"))
    sent, _ = load_portable(path)
    file = io.BytesIO()
    write_runs([(sent, "one"), (log, "three"), (log, "one")], file)
    assert file.getvalue() == written(log, "one", "three")


def test_two_runs_of_the_same_name_are_not_taken_for_one(log: MemoryLog, path: Path) -> None:
    """Nor is a run and a longer copy of it: which of the two is meant is not for the file to say."""
    path.write_bytes(written(log, "two", "one"))
    sent, _ = load_portable(path)
    log.append("two", append("two", 4), expected=3)
    with pytest.raises(BadInput, match="run two: two runs are called this, and they differ"):
        write_runs([(sent, "one"), (sent, "two"), (log, "two")], io.BytesIO())


def test_a_run_that_goes_on_meanwhile_is_written_as_far_as_it_had_come(log: MemoryLog, path: Path) -> None:
    """The header was told first."""

    class GoingOn(io.BytesIO):
        def flush(self) -> None:
            log.append("two", append("two", 4, 2), expected=3)

    file = GoingOn()
    write_portable(log, ["two"], file)
    path.write_bytes(file.getvalue())
    loaded, portable = load_portable(path)
    assert (loaded.head("two").position, portable.torn, log.head("two").position) == (3, "", 5)


def test_a_run_that_nobody_began_is_not_written(log: MemoryLog) -> None:
    """An empty recording would say that nothing happened."""
    file = io.BytesIO()
    with pytest.raises(NoSuchRun, match="run four: nobody began this run"):
        write_portable(log, ["one", "four"], file)
    assert file.getvalue() == b""


def test_a_log_that_was_changed_is_not_written_as_if_it_were_right() -> None:
    """A recording says of itself that it is what happened."""

    class Changed(MemoryLog):
        def head(self, run_id: str) -> Head:
            return super().head(run_id)._replace(digest=bytes(32))

    changed = Changed()
    changed.append("run", append("run", 1, 2), expected=0)
    with pytest.raises(BrokenChain, match="run run: position 2"):
        written(changed, "run")


@pytest.mark.parametrize("compressed", [False, True])
def test_a_file_cut_at_any_byte_reads_as_the_appends_before_the_cut_or_not_at_all(
    log: MemoryLog, path: Path, compressed: bool
) -> None:
    """Never a guess: whole appends that were written, and a word about what is missing."""
    run_ids = ["one", "two"]
    whole = written(log, *run_ids, compressed=compressed)
    header = written(log, *run_ids).index(b"\n")
    outcomes = set()
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        try:
            loaded, portable = load_portable(path)
        except BadInput as problem:
            outcomes.add(str(problem))
            assert compressed or cut < header
            continue
        for head in loaded.runs():
            stored = list(loaded.lines(head.run_id))
            assert stored == list(log.lines(head.run_id))[: len(stored)]
            assert next(iter(reversed(list(loaded.read(head.run_id))))).left == 0
        complete = list(loaded.runs()) == list(portable.runs)
        assert complete == (portable.torn == "")
        outcomes.add("complete" if complete else portable.torn)
    cuts = {
        f"{path}:1: not a Redrive recording",
        f"{path}:1: cut off in the header, before any event",
        "run one is cut off at position 0 of 5, and 2 more are missing",
        "run one is cut off at position 2 of 5, and 2 more are missing",
        "run one@notes is cut off at position 0 of 1, and 1 more is missing",
        "run two is cut off at position 0 of 3",
        "run two is cut off at position 1 of 3",
        "complete",
    }
    assert outcomes <= cuts if compressed else outcomes == cuts


def test_any_changed_byte_is_found(log: MemoryLog, path: Path) -> None:
    """In the header, the frame, the digest or the record; in a line it is found with its run and position."""
    whole = written(log, "two")
    starts = [number for number in range(len(whole)) if number and whole[number - 1] == ord("\n")]
    for at in range(len(whole) - 1):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises((BadInput, BrokenChain)) as caught:
            load_portable(path)
        if at >= starts[0] and isinstance(caught.value, BrokenChain):
            changed = sum(start <= at for start in starts)
            assert (caught.value.run_id, caught.value.position) == ("two", changed)


def swapped(lines: list[bytes]) -> list[bytes]:
    """Two records have changed places."""
    return [lines[0], lines[2], lines[1], *lines[3:]]


CHANGES: dict[str, tuple[Callable[[list[bytes]], list[bytes]], str]] = {
    "a line left out": (
        lambda lines: [*lines[:2], *lines[3:]],
        "run one: position 2: missing, run one position 3 stands here",
    ),
    "a line twice": (
        lambda lines: [*lines[:2], *lines[1:]],
        "run one: position 2: missing, run one position 1 stands here",
    ),
    "lines that changed places": (swapped, "run one: position 1: missing, run one position 2 stands here"),
    "the end of a run left out": (
        lambda lines: [*lines[:3], *lines[6:]],
        "run one: position 3: missing, run one@notes position 1 stands here",
    ),
    "an empty line": (lambda lines: [*lines[:3], b"", *lines[3:]], "run one: position 3: the bytes are not those"),
    "a line more": (lambda lines: [*lines, lines[-1]], "FILE:11: more than the header tells"),
    "another head": (
        lambda lines: [lines[0].replace(b'"digest":"', b'"digest":"' + b"0" * 64 + b'","was":"'), *lines[1:]],
        "FILE:1: the header cannot be read",
    ),
    "a shorter head": (
        lambda lines: [lines[0].replace(b'"position":5', b'"position":2'), *lines[1:]],
        "run one: position 2: the header has another digest",
    ),
    "a head inside an append": (
        lambda lines: [lines[0].replace(b'"position":5', b'"position":3'), *lines[1:]],
        "FILE:4: an append that is not whole",
    ),
    "a run twice": (
        lambda lines: [lines[0].replace(b"one@notes", b"one"), *lines[1:]],
        "FILE:1: the header names a run twice",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_was_put_together_anew_is_refused(log: MemoryLog, path: Path, change: str) -> None:
    """It is not cut but changed, and says something that nobody wrote."""
    make, problem = CHANGES[change]
    lines = written(log, "one", "two").splitlines()
    path.write_bytes(b"".join(line + b"\n" for line in make(lines)))
    with pytest.raises((BadInput, BrokenChain)) as caught:
        load_portable(path)
    assert str(caught.value).startswith(problem.replace("FILE", str(path)))


def sealed(*lines: bytes) -> bytes:
    """A file with these lines as the records of a run, and the right digests."""
    digest, body = bytes(32), b""
    for line in lines:
        digest = link(digest, line)
        body += b'{"d":"%b","r":%b}\n' % (digest.hex().encode(), line)
    runs = [{"digest": digest.hex(), "position": len(lines), "run_id": "run"}]
    return b'{"format":"redrive","version":0,"runs":%b}\n%b' % (canonical(runs), body)


def test_an_event_that_is_not_known_is_loaded_and_told_when_it_is_read(path: Path) -> None:
    """Its bytes are what was written, and are written again; a log that takes records does not take it."""
    known, unknown = encode(record("run", 1)), encode(record("run", 2)).replace(b"message_received", b"dreamt")
    path.write_bytes(sealed(known, unknown))
    loaded, portable = load_portable(path)
    assert [stored.line for stored in loaded.lines("run")] == [known, unknown]
    assert [type(one.event) for one in loaded.read("run")] == [MessageReceived, Quarantined]
    assert written(loaded, "run") == path.read_bytes()
    with pytest.raises(UnknownEvent, match="run run: position 2"):
        list(portable.batches())


def test_a_record_without_a_time_is_loaded_as_one_that_cannot_be_read(path: Path) -> None:
    """Also where something else stands in its place, which is no text."""
    path.write_bytes(sealed('{"İİİİ":0,"left":0,"position":1,"run_id":"run"}'.encode()))
    log, _ = load_portable(path)
    (read,) = log.read("run")
    assert isinstance(read.event, Quarantined)
    with pytest.raises(UnknownEvent, match="run run: position 1"):
        list(Portable(path).batches())


def test_a_run_whose_time_falls_is_not_imported(path: Path) -> None:
    """Digests that fit say who wrote a file, not that it is one that a log could have held."""
    path.write_bytes(sealed(encode(record("run", 1, after_s=5)), encode(record("run", 2, after_s=1))))
    with pytest.raises(BadInput) as caught:
        list(Portable(path).batches())
    assert (caught.value.place, caught.value.problem) == (f"{path}:3", "the time falls")


def test_a_record_spelled_otherwise_is_not_imported(path: Path) -> None:
    """It would be spelled anew, and its digest would be another."""
    path.write_bytes(sealed(encode(record("run", 1)), encode(record("run", 2)).replace(b'":', b'": ')))
    with pytest.raises(BadInput) as caught:
        list(Portable(path).batches())
    assert (caught.value.place, caught.value.problem) == (f"{path}:3", "the record is not in its canonical spelling")


def test_a_file_from_later_is_not_read(log: MemoryLog, path: Path) -> None:
    """Whatever else may be new in it."""
    path.write_bytes(written(log, "one").replace(b'"version":0,"runs"', b'"version":7,"streams"'))
    with pytest.raises(NewerFormat) as caught:
        load_portable(path)
    assert str(caught.value) == f"{path}: format version 7, and this program reads up to 0"


OTHERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "nothing there": (lambda _: None, "PATH: no such file or directory"),
    "a directory": (lambda path: path.mkdir(), "PATH: is a directory"),
    "empty": (lambda path: path.touch(), "PATH:1: not a Redrive recording"),
    "other lines": (lambda path: path.write_text('{"role":"user"}\n'), "PATH:1: not a Redrive recording"),
    "other bytes": (lambda path: path.write_bytes(bytes(range(256)) * 9), "PATH:1: not a Redrive recording"),
    "a broken header": (lambda path: path.write_text('{"format":"redrive",\n'), "PATH:1: the header cannot be read"),
    "a header that is no text": (
        lambda path: path.write_bytes(b'{"format":"redrive","version":0,"runs":"\xff"}\n'),
        "PATH:1: the header cannot be read",
    ),
    "other lines, packed": (
        lambda path: path.write_bytes(zstandard.compress(b"{}\n")),
        "PATH:1: not a Redrive recording",
    ),
    "damaged while packed": (
        lambda path: path.write_bytes(zstandard.compress(b"{}\n" * 99) + b"more"),
        "PATH: its packed data are damaged",
    ),
}


@pytest.mark.parametrize("other", OTHERS)
def test_what_is_no_recording_is_told_with_its_place(path: Path, other: str) -> None:
    """One line, naming the file."""
    make, problem = OTHERS[other]
    make(path)
    with pytest.raises(BadInput) as caught:
        load_portable(path)
    assert str(caught.value) == problem.replace("PATH", str(path))


def test_a_line_without_end_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A packed file of a few bytes may unpack to more than there is memory."""
    monkeypatch.setattr("redrive_events.portable.LINE_BYTES_MAX", 1000)
    path.write_bytes(zstandard.compress(b'{"format":"redrive",' + b" " * 100_000_000))
    with pytest.raises(BadInput) as caught:
        load_portable(path)
    assert str(caught.value) == f"{path}:1: a line that is longer than any record"


def test_packed_bytes_that_were_changed_are_never_read_as_something_else(log: MemoryLog, path: Path) -> None:
    """The packing finds it, or the chain does, or it makes no difference to what is read."""
    whole = written(log, "one", "two", compressed=True)
    expected = kept(log)
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        try:
            loaded, portable = load_portable(path)
        except RedriveError:
            continue
        for run_id, lines in kept(loaded).items():
            assert lines == expected[run_id][: len(lines)]
        assert portable.torn or list(loaded.runs()) == list(portable.runs)


@pytest.mark.parametrize("compressed", [False, True])
def test_a_few_bytes_tell_that_a_file_is_portable(log: MemoryLog, compressed: bool) -> None:
    """Whoever chooses a reader looks at the beginning alone."""
    whole = written(log, "one", compressed=compressed)
    assert is_portable(whole)
    assert is_portable(whole[:64])
    assert not is_portable(whole[:4])


@pytest.mark.parametrize(
    "first_bytes", [b"", b"{}", b'{"format":"other",', b"SQLite format 3\0", zstandard.compress(b"x" * 99)]
)
def test_other_files_are_not_portable(first_bytes: bytes) -> None:
    """Packed files of another kind, too."""
    assert not is_portable(first_bytes)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(run=some_runs("any"))
def test_any_run_survives_the_trip(path: Path, run: list[Record]) -> None:
    """Whatever can happen can be sent."""
    log = MemoryLog()
    log.append_all([Batch("any", run, 0)])
    path.write_bytes(written(log, "any", compressed=True))
    loaded, portable = load_portable(path)
    assert (list(loaded.read("any")), kept(loaded), portable.torn) == (run, kept(log), "")


def test_the_header_is_plain_json(log: MemoryLog) -> None:
    """Anybody's reader can tell which runs are in a file."""
    header = json.loads(written(log, "one").splitlines()[0])
    assert [run["run_id"] for run in header["runs"]] == ["one", "one@notes"]


# Forks


@pytest.fixture
def forked() -> MemoryLog:
    """A run of two appends, one that goes on from its first, and one that goes on from that."""
    log = MemoryLog()
    log.append("run", append("run", 1, 2), expected=0)
    log.append("run", append("run", 3, 2), expected=2)
    for parent, position, run_id in (("run", 2, "fork"), ("fork", 3, "fork-of-it")):
        digest = list(log.lines(parent))[position - 1].digest.hex()
        event = RunForked(parent=parent, position=position, digest=digest, nonce=run_id, rules=0)
        log.append(run_id, [record(run_id, position + 1, event=event)], expected=position)
    return log


@pytest.mark.parametrize("make", [lambda _: MemoryLog(), lambda path: SqliteLog(path.with_suffix(".db"))])
def test_a_fork_brings_along_what_it_inherits(forked: MemoryLog, path: Path, make: Callable[[Path], EventLog]) -> None:
    """Under the name of the run it is from, as far as it is inherited, and once; the file says that nobody asked."""
    path.write_bytes(written(forked, "fork-of-it", "fork"))
    loaded, portable = load_portable(path)
    imported = make(path)
    imported.append_all(portable.batches())
    imported.append_all(portable.batches())
    assert [(head.run_id, head.position) for head in portable.runs] == [("run", 2), ("fork", 3), ("fork-of-it", 4)]
    assert (set(portable.inherited), portable.torn) == ({"run"}, "")
    for log in (loaded, imported):
        assert list(log.lines("fork-of-it")) == list(forked.lines("fork-of-it"))
        assert [damage_of(log, head) for head in log.runs()] == [None] * 3
        assert written(log, "fork-of-it", "fork") == path.read_bytes()
    imported.close()


def test_a_fork_finds_its_parent_there(forked: MemoryLog, path: Path) -> None:
    """Further than it is inherited, or not so far; a run of another kind under the name is refused."""
    path.write_bytes(written(forked, "fork"))
    whole, other = MemoryLog(), MemoryLog()
    whole.append("run", list(forked.read("run")), expected=0)
    whole.append_all(Portable(path).batches())
    assert [(head.run_id, head.position) for head in whole.runs()] == [("run", 4), ("fork", 3)]
    other.append("run", append("run", 1, 4), expected=0)
    with pytest.raises(StaleAppend):
        other.append_all(Portable(path).batches())
    assert [head.run_id for head in other.runs()] == ["run"]


def test_a_whole_run_is_written_once_beside_its_fork(forked: MemoryLog, path: Path) -> None:
    """In whichever order they are asked for."""
    for asked in (("run", "fork"), ("fork", "run")):
        path.write_bytes(written(forked, *asked))
        portable = Portable(path)
        assert [(head.run_id, head.position) for head in portable.runs] == [("run", 4), ("fork", 3)]
        assert portable.inherited == frozenset()
        assert [batch.run_id for batch in portable.batches()] == ["run", "run", "fork"]


def test_a_fork_that_is_none_is_refused(forked: MemoryLog, path: Path) -> None:
    """A header may not let a run begin anywhere."""
    header, *lines = written(forked, "run").splitlines(keepends=True)
    path.write_bytes(header.replace(b'{"digest"', b'{"behind":2,"digest"') + b"".join(lines[2:]))
    with pytest.raises(BadInput, match="a run that begins behind a position, and was not forked from another"):
        list(Portable(path).batches())


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"position": 1}, "a fork is the first record of a run"),
        ({"position": 10**30}, "a fork is the first record of a run"),
        ({"digest": "z" * 64}, "was not forked from another"),
        ({"parts": {"contract": {"digest": "", "data": {"wage": 1}}}}, "unknown field `wage`"),
        ({"parts": {"prompt": {"digest": "", "data": 42}}}, "got `int`"),
        ({"parts": {"tools": {"digest": "", "data": "pay"}}}, "got `str`"),
    ],
)
def test_a_fork_that_somebody_made_up_is_refused(
    forked: MemoryLog, path: Path, change: dict[str, object], problem: str
) -> None:
    """Whatever it says, and although its chain is right: one line names its place."""
    header, *lines, last = written(forked, "fork").splitlines()
    told, written_last = json.loads(header), json.loads(last)["r"]
    written_last["event"] |= change
    line = json.dumps(written_last, separators=(",", ":"), sort_keys=True).encode()
    before = bytes.fromhex(json.loads(lines[-1])["d"])
    told["runs"][-1]["digest"] = link(before, line).hex()
    made_up = b'{"d":"%b","r":%b}' % (link(before, line).hex().encode(), line)
    path.write_bytes(b"\n".join([json.dumps(told, separators=(",", ":")).encode(), *lines, made_up, b""]))
    with pytest.raises(BadInput, match=problem) as refused:
        list(Portable(path).batches())
    assert refused.value.place == f"{path}:4"
