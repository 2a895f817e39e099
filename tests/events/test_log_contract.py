"""What every log promises; a store that joins MAKERS is held to all of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from msgspec import structs

from redrive_events import (
    START,
    BadInput,
    Batch,
    EventLog,
    FactCommitted,
    Head,
    LeaseHeld,
    MemoryLog,
    MessageReceived,
    Record,
    RunForked,
    SqliteLog,
    StaleAppend,
    StoredLine,
    checked,
    damage_of,
    encode,
    link,
)
from tests.records import append, record
from tests.strategies import runs as some_runs

MAKERS: dict[str, Callable[[Path], EventLog]] = {
    "MemoryLog": lambda _: MemoryLog(),
    "SqliteLog": lambda folder: SqliteLog(folder / "log.db"),
}


@pytest.fixture(params=MAKERS)
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EventLog]:
    """An empty log of each kind."""
    log = MAKERS[request.param](tmp_path)
    yield log
    log.close()


def everything(log: EventLog) -> tuple[object, ...]:
    """All that a log tells."""
    heads = list(log.runs())
    return heads, list(log.read_all()), [list(log.lines(head.run_id)) for head in heads]


def chained(records: list[Record]) -> list[StoredLine]:
    """What a log is to have stored of the records of one run."""
    digest, stored = START, []
    for one in records:
        digest = link(digest, encode(one))
        stored.append(StoredLine(one.position, digest, encode(one)))
    return stored


# Append


def test_what_was_appended_is_read_back(log: EventLog) -> None:
    """Records, bytes, digests and head are one story."""
    first, second = append("run", 1, 3), append("run", 4, 2, after_s=1)
    log.append("run", first, expected=0)
    log.append("run", second, expected=3)
    stored = chained(first + second)
    assert list(log.read("run")) == first + second
    assert list(log.lines("run")) == list(checked("run", log.lines("run"))) == stored
    assert log.head("run") == Head("run", 5, stored[-1].digest)


def test_a_run_that_nobody_began_is_empty(log: EventLog) -> None:
    """Nobody needs to ask first whether there is one, whatever the name is."""
    for name in ("run", "no such name", "\ud800", ""):
        assert (log.head(name), list(log.read(name)), list(log.lines(name))) == (Head(name, 0, START), [], [])
    assert everything(log) == ([], [], [])


@pytest.mark.parametrize("expected", [0, 2, 5], ids=["before", "inside", "beyond"])
def test_refuses_a_stale_writer_and_keeps_nothing_of_it(log: EventLog, expected: int) -> None:
    """Two workers that both believe they drive the run are told apart here, and nowhere else."""
    log.append("run", append("run", 1, 3), expected=0)
    before = everything(log)
    with pytest.raises(StaleAppend) as caught:
        log.append("run", append("run", expected + 1, 4, after_s=1), expected=expected)
    assert (caught.value.run_id, caught.value.expected, caught.value.actual) == ("run", expected, 3)
    assert everything(log) == before


def test_the_same_append_again_is_success_and_no_second_append(log: EventLog) -> None:
    """A writer that did not hear the answer asks again, also when others have gone on behind it."""
    log.append("run", append("run", 1, 2), expected=0)
    log.append("run", append("run", 3), expected=2)
    before = everything(log)
    log.append("run", append("run", 1, 2), expected=0)
    log.append("run", append("run", 3), expected=2)
    log.append("run", [*append("run", 1, 2), *append("run", 3)], expected=0)
    assert everything(log) == before


def test_long_content_comes_back_to_the_byte_and_is_known_again(log: EventLog) -> None:
    """However a store keeps it: once for several records, packed, or in its line."""
    words = MessageReceived(actor="user", content="退款 🤖 \\n" * 1_000)
    said = [record("run", position, event=words) for position in (1, 2)]
    log.append("run", said, expected=0)
    log.append("other", [record("other", 1, event=words)], expected=0)
    before = everything(log)
    log.append("run", said, expected=0)
    with pytest.raises(StaleAppend):
        log.append("other", [record("other", 1, event=MessageReceived(actor="user", content="x" * 9_000))], expected=0)
    assert everything(log) == before
    assert list(log.read("run")) == said
    assert [stored.line for stored in log.lines("run")] == [encode(one) for one in said]


def test_appends_that_are_there_are_skipped_and_those_behind_them_are_written(log: EventLog) -> None:
    """A file that has grown since it was imported can be imported again."""
    log.append("run", append("run", 1, 2), expected=0)
    whole = [*append("run", 1, 2), *append("run", 3, 2)]
    log.append("run", whole, expected=0)
    assert list(log.lines("run")) == chained(whole)


def test_the_same_append_with_one_byte_changed_is_stale(log: EventLog) -> None:
    """Only what is the same to the byte counts as the same."""
    log.append("run", append("run", 1, 2), expected=0)
    other = [
        record("run", 1, left=1),
        record("run", 2, event=FactCommitted(key="k", value=1, verifier="v", evidence=())),
    ]
    with pytest.raises(StaleAppend):
        log.append("run", other, expected=0)
    with pytest.raises(StaleAppend):
        log.append("run", [*other, *append("run", 3)], expected=0)
    assert list(log.lines("run")) == chained(append("run", 1, 2))


MISTAKES = {
    "nothing": [],
    "another run's record": [record("other", 1)],
    "a position left out": [record("run", 2)],
    "a position twice": [record("run", 1, left=1), record("run", 1)],
    "the end of the append missing": [record("run", 1, left=1)],
    "a record of the append missing": [record("run", 1, left=2), record("run", 2, left=0)],
    "a time that falls": [record("run", 1, left=1, after_s=1), record("run", 2)],
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_refuses_records_that_do_not_follow_each_other(log: EventLog, mistake: str) -> None:
    """A log holds whole appends only, so no reader has to wonder."""
    with pytest.raises(ValueError, match=r"append|position|time"):
        log.append("run", MISTAKES[mistake], expected=0)
    assert everything(log) == ([], [], [])


@pytest.mark.parametrize("at", [datetime(2026, 1, 1), datetime.fromisoformat("2026-01-01T00:00:00+02:00")])  # noqa: DTZ001
def test_refuses_times_that_are_not_utc(log: EventLog, at: datetime) -> None:
    """One moment has one spelling, or equal records have other bytes."""
    wrong = Record(run_id="run", position=1, at=at, cause=0, left=0, event=record("run", 1).event)
    with pytest.raises(ValueError, match="not UTC"):
        log.append("run", [wrong], expected=0)


def test_refuses_a_time_before_the_runs_last(log: EventLog) -> None:
    """A clock that was set back cannot make a run that ends before it began; the same moment is no fall."""
    log.append("run", append("run", 1, after_s=1), expected=0)
    with pytest.raises(ValueError, match="position 2: the time falls"):
        log.append("run", append("run", 2, after_s=0.999999), expected=1)
    log.append("run", append("run", 2, after_s=1), expected=1)
    log.append("other", append("other", 1), expected=0)
    assert [head.position for head in log.runs()] == [2, 1]


@pytest.mark.parametrize("name", ["", "a b", "a/b", "@notes", "r" * 81, "run\n", "é"])
def test_refuses_a_name_that_no_run_may_have(log: EventLog, name: str) -> None:
    """A run's name is used in files, URLs and commands."""
    with pytest.raises(BadInput, match="run id"):
        log.append(name, [record(name, 1)], expected=0)
    with pytest.raises(BadInput, match="run id"):
        log.hold(name, "worker", ttl_s=1)


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {"a": ("\ud800",)}, {"\udfff": None}])
def test_refuses_what_has_no_canonical_bytes_and_keeps_nothing_of_the_append(log: EventLog, value: object) -> None:
    """It could be written, but never read back the same."""
    fact = FactCommitted(key="k", value=value, verifier="v", evidence=())
    with pytest.raises(BadInput):
        log.append("run", [record("run", 1, left=1), record("run", 2, event=fact)], expected=0)
    assert everything(log) == ([], [], [])


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(run=some_runs("any"))
@pytest.mark.parametrize("make", MAKERS)
def test_any_run_comes_back_the_same(make: str, tmp_path_factory: pytest.TempPathFactory, run: list[Record]) -> None:
    """Whatever can happen can be kept, in appends of any size."""
    log = MAKERS[make](tmp_path_factory.mktemp("log"))
    log.append_all([Batch("any", run, 0)])
    assert (list(log.read("any")), list(log.lines("any"))) == (run, chained(run))
    log.close()


# Forks


def forked(log: EventLog, parent: str, position: int, run_id: str, /, **changes: Any) -> list[Record]:
    """The first append of a run that goes on from ``position`` of another."""
    digest = next(one.digest for one in log.lines(parent) if one.position == position).hex()
    told: dict[str, Any] = {"parent": parent, "position": position, "digest": digest, "nonce": "n", "rules": 0}
    return [record(run_id, position + 1, event=RunForked(**told | changes), after_s=10)]


def test_a_fork_is_read_behind_what_it_inherits(log: EventLog) -> None:
    """Byte for byte, from another run's stream; all that is told of the run itself is of its own records."""
    first, second = append("run", 1, 2), append("run", 3, 2, after_s=1)
    log.append_all([Batch("run", first, 0), Batch("run", second, 2)])
    fork, own = forked(log, "run", 2, "fork"), append("fork", 4, 2, after_s=10)
    log.append("fork", fork, expected=2)
    log.append("fork", own, expected=3)
    assert list(log.read("fork")) == [*first, *fork, *own]
    lines = list(log.lines("fork"))
    assert [(one.position, one.owner) for one in lines] == [(1, "run"), (2, "run"), (3, ""), (4, ""), (5, "")]
    assert [one.line for one in lines[:2]] == [one.line for one in log.lines("run")][:2]
    assert list(checked("fork", lines, head=log.head("fork"))) == lines
    for after in range(7):
        assert list(log.read("fork", after=after)) == [*first, *fork, *own][after:]
        assert list(log.lines("fork", after=after)) == lines[after:]
    assert [(head.run_id, head.position) for head in log.runs()] == [("run", 4), ("fork", 5)]
    assert [one.run_id for _, one in log.read_all()] == ["run"] * 4 + ["fork"] * 3
    assert [(one.run_id, one.position) for one in log.order()][-1] == ("fork", 5)
    assert sum(span.records for span in log.order()) == 7
    assert [damage_of(log, head) for head in log.runs()] == [None, None]
    assert list(log.flaws()) == []


def test_a_fork_of_a_fork_has_all_in_front(log: EventLog) -> None:
    """Each stretch from the run that owns it."""
    log.append("a", append("a", 1, 2), expected=0)
    log.append("b", forked(log, "a", 2, "b"), expected=2)
    log.append("b", append("b", 4, 2, after_s=10), expected=3)
    log.append("c", forked(log, "b", 5, "c", nonce="m"), expected=5)
    assert [(one.position, one.owner or "c") for one in log.lines("c")] == [
        *((1, "a"), (2, "a"), (3, "b"), (4, "b"), (5, "b"), (6, "c"))
    ]
    assert [one.run_id for one in log.read("c", after=1)] == ["a", "b", "b", "b", "c"]
    assert damage_of(log, log.head("c")) is None


def test_a_fork_is_begun_once(log: EventLog) -> None:
    """The same again is no second append; another one under the id is refused, and so is a run that is there."""
    log.append("run", append("run", 1, 2), expected=0)
    fork = forked(log, "run", 2, "fork")
    log.append("fork", fork, expected=2)
    log.append("fork", fork, expected=2)
    assert log.head("fork").position == 3
    with pytest.raises(StaleAppend):
        log.append("fork", forked(log, "run", 2, "fork", nonce="m"), expected=2)
    log.append("taken", append("taken", 1, 2), expected=0)
    before = everything(log)
    with pytest.raises(BadInput, match="the id is taken by another run"):
        log.append("taken", forked(log, "run", 2, "taken"), expected=2)
    assert everything(log) == before


@pytest.mark.parametrize(
    ("position", "changes", "problem"),
    [
        pytest.param(1, {}, "event 1 of run run is not the last of an append", id="within an append"),
        pytest.param(2, {"digest": "0" * 64}, "event 2 of run run is not the one to go on from", id="another event"),
        pytest.param(2, {"parent": "nobody"}, "run nobody has no event 2 of its own to go on from", id="no run"),
    ],
)
def test_a_fork_of_what_is_not_there_is_refused(
    log: EventLog, position: int, changes: dict[str, Any], problem: str
) -> None:
    """Looked at in the transaction that would write it, which leaves nothing."""
    log.append("run", append("run", 1, 2), expected=0)
    before = everything(log)
    with pytest.raises(BadInput, match=f"^run fork: {problem}$"):
        log.append("fork", forked(log, "run", position, "fork", **changes), expected=position)
    assert everything(log) == before


def test_a_fork_stands_alone_behind_the_event_it_goes_on_from(log: EventLog) -> None:
    """Anywhere else it is the caller's mistake."""
    log.append("run", append("run", 1, 2), expected=0)
    (fork,) = forked(log, "run", 2, "fork")
    with pytest.raises(ValueError, match="a fork is the first record of a run"):
        log.append("fork", [structs.replace(fork, left=1), record("fork", 4, after_s=10)], expected=2)
    with pytest.raises(ValueError, match="a fork is the first record of a run"):
        log.append("fork", [structs.replace(fork, position=1)], expected=0)


def test_forks_and_their_parents_are_imported_in_one_transaction(log: EventLog) -> None:
    """The parent may come with the fork."""
    other = MemoryLog()
    other.append("run", append("run", 1, 2), expected=0)
    fork = forked(other, "run", 2, "fork")
    log.append_all([Batch("run", list(other.read("run")), 0), Batch("fork", fork, 2)])
    assert [one.position for one in log.read("fork")] == [1, 2, 3]


# Import


def test_an_import_writes_all_batches_in_their_order(log: EventLog) -> None:
    """As if each had been appended, in one transaction."""
    log.append("a", append("a", 1), expected=0)
    log.append_all(
        [
            Batch("b", append("b", 1, 2), 0),
            Batch("a", append("a", 2), 1),
            Batch("b", [*append("b", 3), *append("b", 4)], 2),
            Batch("b", append("b", 5), 4),
            Batch("a", append("a", 1), 0),
        ]
    )
    order = [(offset, one.run_id, one.position) for offset, one in log.read_all()]
    places = [("a", 1), ("b", 1), ("b", 2), ("a", 2), ("b", 3), ("b", 4), ("b", 5)]
    assert order == [(offset, *place) for (offset, *_), place in zip(order, places, strict=True)]
    for head in log.runs():
        assert list(checked(head.run_id, log.lines(head.run_id)))[-1].digest == head.digest


def test_an_import_that_raises_leaves_nothing(log: EventLog) -> None:
    """The batches before it were right, and are gone all the same: a file is imported or it is not."""
    log.append("a", append("a", 1), expected=0)
    before = everything(log)

    def batches() -> Iterator[Batch]:
        yield Batch("a", append("a", 2), 1)
        for number in range(3_000):
            yield Batch(f"b{number}", append(f"b{number}", 1), 0)
        raise KeyError("the source")

    with pytest.raises(KeyError, match="the source"):
        log.append_all(batches())
    with pytest.raises(StaleAppend):
        log.append_all([Batch("a", append("a", 2), 1), Batch("a", append("a", 2, 2), 1)])
    with pytest.raises(ValueError, match="the time falls"):
        log.append_all([Batch("a", append("a", 2, after_s=1), 1), Batch("a", append("a", 3), 2)])
    assert everything(log) == before
    log.append_all([Batch("a", append("a", 2), 1)])
    assert log.head("a").position == 2


def test_an_import_may_read_the_log_it_writes_to_which_still_looks_as_before(log: EventLog) -> None:
    """A run can be copied under another name without being held in memory."""
    log.append("a", append("a", 1, 2), expected=0)
    seen = []

    def batches() -> Iterator[Batch]:
        for one in log.read("a"):
            yield Batch("b", append("b", one.position), one.position - 1)
            seen.append(log.head("b").position)

    log.append_all(batches())
    assert (seen, log.head("b").position) == ([0, 0], 2)


def test_an_empty_import_is_none(log: EventLog) -> None:
    """Nothing to import is no mistake."""
    log.append_all([])
    assert everything(log) == ([], [], [])


# Read


def test_reading_begins_behind_a_position(log: EventLog) -> None:
    """A follower remembers one number; below the first and beyond the last are places too."""
    log.append("a", append("a", 1, 5), expected=0)
    log.append("b", append("b", 1, 5), expected=0)
    for after, rest in [(-1, 5), (0, 5), (2, 3), (5, 0), (6, 0), (2**33, 0)]:
        places = list(range(5 - rest + 1, 6))
        assert [one.position for one in log.read("a", after=after)] == places
        assert [one.position for one in log.lines("a", after=after)] == places


def test_long_runs_are_read_whole(log: EventLog) -> None:
    """Longer than any page, and with runs on both sides."""
    for run_id, size in [("a", 2), ("b", 1_536), ("c", 2)]:
        log.append(run_id, append(run_id, 1, size), expected=0)
    assert list(log.read("b")) == append("b", 1, 1_536)
    assert [one.position for one in log.lines("b", after=500)] == list(range(501, 1_537))
    assert len({offset for offset, _ in log.read_all()}) == 1_540


def test_the_log_can_be_written_while_it_is_read(log: EventLog) -> None:
    """A reader that was left half-way holds up nobody."""
    log.append("a", append("a", 1, 1_000), expected=0)
    reading, all_of_it = log.read("a"), log.read_all()
    assert [one.position for one in islice(reading, 3)] == [1, 2, 3]
    assert [one.position for _, one in islice(all_of_it, 3)] == [1, 2, 3]
    log.append("a", append("a", 1_001), expected=1_000)
    assert [one.position for one in reading][:2] == [4, 5]
    assert [one.position for _, one in all_of_it][:2] == [4, 5]


@pytest.mark.parametrize("after", [-1, 0, 1, 3, 4, 11, 12, 2**40])
def test_the_order_can_be_read_without_the_records(log: EventLog, after: int) -> None:
    """It says the same, from whatever offset on: also from one inside of what was written together."""
    log.append_all([Batch("a", append("a", 1, 2), 0), Batch("a", append("a", 3, 3), 2), Batch("b", append("b", 1), 0)])
    log.append("a", append("a", 6), expected=5)
    log.append("b", append("b", 2, 5), expected=1)
    order = [
        (span.offset - back, span.run_id, span.position - back)
        for span in log.order(after=after)
        for back in reversed(range(span.records))
    ]
    assert order == [(offset, one.run_id, one.position) for offset, one in log.read_all(after=after)]


def test_a_sound_log_has_no_flaws(log: EventLog) -> None:
    """Neither in its streams nor around them."""
    assert list(log.flaws()) == []
    log.append_all([Batch("a", append("a", 1, 3), 0), Batch("b", append("b", 1), 0), Batch("a", append("a", 4), 3)])
    assert [damage_of(log, head) for head in log.runs()] == [None, None]
    assert list(log.flaws()) == []


def test_lines_that_are_spelled_already_are_kept_as_they_are(log: EventLog) -> None:
    """Another time may have spelled them otherwise; what was stored once is never spelled anew."""
    spelled = encode(record("a", 1)).replace(b'"cause":0', b'"cause":00')
    log.append_all([Batch("a", append("a", 1), 0, [spelled])])
    assert [one.line for one in log.lines("a")] == [spelled]


def test_all_records_have_one_order_that_never_changes(log: EventLog) -> None:
    """Offsets rise, and what was read stays where it was: a follower misses nothing that comes later."""
    seen: list[tuple[int, Record]] = []
    for position in range(1, 5):
        for run_id in ("a", "b"):
            log.append(run_id, append(run_id, 2 * position - 1, 2), expected=2 * position - 2)
            seen += log.read_all(after=seen[-1][0] if seen else 0)
    assert seen == list(log.read_all())
    assert [offset for offset, _ in seen] == sorted({offset for offset, _ in seen})
    for offset, _ in seen:
        assert list(log.read_all(after=offset)) == [one for one in seen if one[0] > offset]


def test_streams_come_in_the_order_of_their_beginning(log: EventLog) -> None:
    """What is said beside a run is a stream of its own."""
    for run_id in ("z", "a", "z@notes", "m/1"):
        log.append(run_id, append(run_id, 1), expected=0)
    log.append("z", append("z", 2), expected=1)
    assert [(head.run_id, head.position) for head in log.runs()] == [("z", 2), ("a", 1), ("z@notes", 1), ("m/1", 1)]
    assert list(log.runs()) == [log.head(head.run_id) for head in log.runs()]


# Many at once


def test_of_many_threads_that_append_at_one_place_one_wins(log: EventLog) -> None:
    """The others are told, and nothing of theirs is kept."""
    gate = threading.Barrier(8)

    def attempt(worker: int) -> int:
        gate.wait()
        try:
            log.append("run", append("run", 1, worker + 1), expected=0)
        except StaleAppend:
            return 0
        return worker + 1

    with ThreadPoolExecutor(8) as pool:
        won = [size for size in pool.map(attempt, range(8)) if size]
    assert won == [log.head("run").position]


def test_each_of_many_threads_hears_of_its_own_append(log: EventLog) -> None:
    """However the log brings them together: a mistake is its maker's, and spoils nothing for those beside it."""
    log.append("run", append("run", 1, after_s=1), expected=0)
    log.hold("run", "ana", ttl_s=60)
    nan = FactCommitted(key="k", value=float("nan"), verifier="v", evidence=())
    cases: list[tuple[type[Exception] | None, Callable[[], object]]] = [
        *((None, partial(log.append, f"run-{n}", append(f"run-{n}", 1, 3), expected=0)) for n in range(10)),
        (StaleAppend, partial(log.append, "run", append("run", 5, after_s=1), expected=4)),
        (StaleAppend, partial(log.append, "new", append("new", 2), expected=1)),
        (ValueError, partial(log.append, "run", append("run", 2), expected=1)),
        (ValueError, partial(log.append, "run", append("run", 7), expected=1)),
        (BadInput, partial(log.append, "new", [record("new", 1, event=nan)], expected=0)),
        (LeaseHeld, partial(log.hold, "run", "ben", ttl_s=60)),
    ]
    gate = threading.Barrier(len(cases))

    def attempt(work: Callable[[], object]) -> type[Exception] | None:
        gate.wait()
        try:
            work()
        except Exception as refused:  # noqa: BLE001 - whatever it is, it is compared
            return type(refused)
        return None

    with ThreadPoolExecutor(len(cases)) as pool:
        heard = list(pool.map(attempt, [work for _, work in cases]))
    assert heard == [kind for kind, _ in cases]
    assert sorted(head.run_id for head in log.runs()) == ["run", *(f"run-{n}" for n in range(10))]
    assert [offset for offset, _ in log.read_all()] == list(range(1, 32))
    for head in log.runs():
        assert list(checked(head.run_id, log.lines(head.run_id), head=head))[-1].position == head.position


def test_threads_that_read_never_see_half_an_append(log: EventLog) -> None:
    """Every moment that can be seen is the end of an append."""
    done = threading.Event()

    def write() -> None:
        for number in range(40):
            log.append("run", append("run", 3 * number + 1, 3), expected=3 * number)
        done.set()

    def read() -> set[int]:
        ends = set()
        while not done.is_set():
            lefts = [one.left for one in log.read("run")] or [0]
            ends |= {lefts[-1], ([one.left for _, one in log.read_all()] or [0])[-1], log.head("run").position % 3}
        return ends

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        pool.submit(write).result()
        assert set().union(*(reader.result() for reader in readers)) <= {0}


# Leases


def test_a_lease_keeps_others_away_until_it_is_given_back(log: EventLog) -> None:
    """Whoever is refused hears who drives the run, and until when."""
    lease = log.hold("run", "ana", ttl_s=60)
    assert (lease.run_id, lease.worker) == ("run", "ana")
    assert lease.until > datetime.now(UTC)
    with pytest.raises(LeaseHeld, match="run run is driven by another worker") as caught:
        log.hold("run", "ben", ttl_s=60)
    assert (caught.value.run_id, caught.value.worker, caught.value.until) == lease
    log.hold("other", "ben", ttl_s=60)
    log.release("run", "ana")
    assert log.hold("run", "ben", ttl_s=60).worker == "ben"


def test_anybody_may_ask_who_holds_a_run(log: EventLog) -> None:
    """A lease that has run out or was given back is nobody's."""
    assert log.holder("run") is None
    assert log.holder("other") is None
    lease = log.hold("run", "ana", ttl_s=60)
    assert log.holder("run") == lease
    log.release("run", "ana")
    log.hold("other", "ben", ttl_s=0)
    assert (log.holder("run"), log.holder("other")) == (None, None)


def test_an_own_lease_is_renewed(log: EventLog) -> None:
    """A worker that holds on says so again and again."""
    first = log.hold("run", "ana", ttl_s=60)
    second = log.hold("run", "ana", ttl_s=120)
    assert second.until > first.until
    with pytest.raises(LeaseHeld) as caught:
        log.hold("run", "ben", ttl_s=1)
    assert caught.value.until == second.until


def test_a_lapsed_lease_is_free(log: EventLog) -> None:
    """A worker that died holds nothing for ever."""
    log.hold("run", "ana", ttl_s=-1)
    assert log.hold("run", "ben", ttl_s=60).worker == "ben"


def test_giving_back_what_is_not_held_is_no_error_and_takes_nothing_away(log: EventLog) -> None:
    """A worker that lost its lease gives it back all the same."""
    log.release("run", "ana")
    log.hold("run", "ben", ttl_s=60)
    log.release("run", "ana")
    with pytest.raises(LeaseHeld):
        log.hold("run", "ana", ttl_s=60)


def test_of_many_threads_that_want_a_lease_one_gets_it(log: EventLog) -> None:
    """Looking and taking are one step."""
    gate = threading.Barrier(8)

    def attempt(worker: int) -> bool:
        gate.wait()
        try:
            log.hold("run", f"worker-{worker}", ttl_s=60)
        except LeaseHeld:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(8))) == 1


def test_a_lease_is_no_event(log: EventLog) -> None:
    """Heartbeats would drown the run."""
    log.hold("run", "ana", ttl_s=60)
    assert everything(log) == ([], [], [])


def test_a_log_can_be_closed_twice(log: EventLog) -> None:
    """Whoever cleans up need not know who did already."""
    log.close()
    log.close()
