"""One record, one line, one spelling; and the chain that holds the lines together."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive_events import (
    EVENTS,
    START,
    BadInput,
    BrokenChain,
    FactCommitted,
    Head,
    Json,
    Quarantined,
    Record,
    StoredLine,
    arguments_of,
    canonical,
    checked,
    decode,
    decode_page,
    digest,
    encode,
    link,
    parse_json,
)
from tests.records import record
from tests.strategies import TIMES, of_type, records
from tests.strategies import json as some_json
from tests.strategies import runs as some_runs

# Bytes


@given(records)
def test_decode_undoes_encode(one: Record) -> None:
    """For every event there is, in every script there is."""
    assert decode(encode(one)) == one
    assert encode(decode(encode(one))) == encode(one)


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_every_kind_of_event_survives_the_trip(kind: type[msgspec.Struct]) -> None:
    """Chance leaves none out."""

    @given(of_type(msgspec.inspect.type_info(kind)))
    def survives(event: Json) -> None:
        one = record("run", 1, event=event)
        assert decode(encode(one)) == one

    survives()


def told_otherwise(value: Json) -> Json:
    """The same data, built in another order."""
    if isinstance(value, dict):
        return {key: told_otherwise(value[key]) for key in reversed(value)}
    return [told_otherwise(item) for item in value] if isinstance(value, list) else value


@given(some_json)
def test_equal_records_have_equal_bytes(value: Json) -> None:
    """However their dicts were built, and whatever their time zone is called."""
    one = record("run", 1, event=FactCommitted(key="k", value=value, verifier="v", evidence=(1,)))
    event = FactCommitted(key="k", value=told_otherwise(value), verifier="v", evidence=(1,))
    other = msgspec.structs.replace(one, at=one.at.astimezone(timezone(timedelta(0), "GMT")), event=event)
    assert other == one
    assert encode(other) == encode(one)


@given(records)
def test_a_line_has_sorted_keys_and_no_spaces_and_six_digits(one: Record) -> None:
    """Told by another reader than ours."""
    line = encode(one)

    def is_sorted(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        keys = [key.encode() for key, _ in pairs]
        assert keys == sorted(set(keys))
        return dict(pairs)

    told = json.loads(line, object_pairs_hook=is_sorted)
    assert told["at"] == f"{one.at:%Y-%m-%dT%H:%M:%S.%fZ}".rjust(27, "0")
    assert not re.search(rb"\s", re.sub(rb'"(?:[^"\\]|\\.)*"', b"", line))
    assert b"\n" not in line


def test_text_is_written_as_it_is_said() -> None:
    """No escapes but those that JSON demands: a line can be searched for what people see."""
    event = FactCommitted(key="退款", value="استرداد 🧾 é\n", verifier="v", evidence=())
    assert encode(record("run", 1, event=event)).decode() == (
        '{"at":"2026-01-01T00:00:00.000000Z","cause":0,"event":{"event":"fact_committed","evidence":[],'
        '"key":"退款","value":"استرداد 🧾 é\\n","verifier":"v"},"left":0,"position":1,"run_id":"run"}'
    )


@given(TIMES, TIMES)
def test_times_are_spelled_in_their_order(one: datetime, other: datetime) -> None:
    """A log compares spellings."""
    first, second = (encode(msgspec.structs.replace(record("run", 1), at=at)) for at in (one, other))
    assert (first < second) == (one < other)


def with_field(value: msgspec.Struct, name: str, new: object) -> object:
    """``value`` with another field."""
    return msgspec.structs.replace(value, **{name: new})


def with_key(value: dict[str, object], key: str, new: object) -> object:
    """``value`` with something else under ``key``."""
    return {**value, key: new}


def with_item(value: Sequence[object], index: int, new: object) -> object:
    """``value`` with something else at ``index``."""
    return [*value[:index], new, *value[index + 1 :]]


def parts(value: Any) -> list[tuple[object, Callable[[object], object]]]:
    """What ``value`` is made of, and for each part how ``value`` is with something else in its place."""
    if isinstance(value, msgspec.Struct):
        return [(getattr(value, name), partial(with_field, value, name)) for name in value.__struct_fields__]
    if isinstance(value, dict):
        return [(part, partial(with_key, value, key)) for key, part in value.items()]
    if isinstance(value, list | tuple):
        return [(part, partial(with_item, value, index)) for index, part in enumerate(value)]
    return []


def replaced(value: object, bad: object) -> Iterator[object]:
    """``value`` with ``bad`` in one place, for each place in it."""
    if not isinstance(value, msgspec.Struct):
        yield bad
    for part, rebuilt in parts(value):
        yield from map(rebuilt, replaced(part, bad))


@given(records, st.sampled_from([float("nan"), float("inf"), float("-inf"), "\ud800", "a\udfff", {"\udc00": 1}]))
def test_what_has_no_spelling_is_refused_wherever_it_hides(one: Record, bad: object) -> None:
    """Msgspec writes NaN as null without a word, and then the record is another one."""
    for event in replaced(one.event, bad):
        with pytest.raises(BadInput):
            encode(msgspec.structs.replace(one, event=event))


class Odd(msgspec.Struct):
    """Something that a caller might hand over."""

    value: object


@pytest.mark.parametrize(
    "value",
    [
        {float("nan"): 1},
        {1: 2},
        {None: 1},
        {float("inf")},
        frozenset([float("nan")]),
        Odd(float("nan")),
        [None, {"a": (float("-inf"),)}],
        object(),
        10**5_000,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_plain_data_is_refused(value: object) -> None:
    """It would come back as something else."""
    with pytest.raises(BadInput):
        canonical(value)


def test_what_is_nested_without_end_is_refused() -> None:
    """And does not end the process."""
    ring: list[object] = []
    ring.append(ring)
    with pytest.raises(BadInput):
        canonical(ring)
    with pytest.raises(BadInput):
        parse_json("[" * 100_000)


def test_a_digest_is_over_the_canonical_bytes() -> None:
    """As anybody can check with a shell: printf '{"a":1,"b":[]}' | sha256sum."""
    assert digest({"b": [], "a": 1}) == "f87e4099e9be5e75094e0a4f46d3dc18a9c37429314a5a2490fb78d31e7e170c"


LINE = encode(record("run", 1))
UNREADABLE = {
    "nothing": b"",
    "cut": LINE[:-1],
    "two": LINE + LINE,
    "another event": LINE.replace(b"message_received", b"message_dreamt"),
    "a field more": LINE.replace(b'"cause"', b'"because":0,"cause"'),
    "a field less": LINE.replace(b'"cause":0,', b""),
    "position 0": LINE.replace(b'"position":1', b'"position":0'),
    "a time without a zone": LINE.replace(b"00Z", b"00"),
    "no text": LINE.replace(b"user", b"\xff\xfe"),
    "nested too deeply": LINE.replace(b'"run 1"', b"[" * 100_000),
}


@pytest.mark.parametrize("line", UNREADABLE.values(), ids=UNREADABLE)
def test_a_line_that_is_no_record_is_quarantined(line: bytes) -> None:
    """Unknown fields too: what this program does not know it must not leave out. Those around it are read."""
    for read in (decode(line, run_id="run", position=2), decode_page("run", [LINE, line, LINE], after=0)[1]):
        assert isinstance(read.event, Quarantined)
        assert read.event.line == line
        assert (read.run_id, read.position) in {("run", 1), ("run", 2)}
        with pytest.raises(BadInput, match="cannot be read is not written"):
            encode(read)
    assert decode_page("run", [LINE, line, LINE], after=0)[::2] == [record("run", 1)] * 2


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (LINE.replace(b"message_received", b"message_received.2"), "event 'message_received.2' is not known"),
        (LINE.replace(b"message_received", b"quarantined"), "event 'quarantined' is not known"),
        (LINE.replace(b'"actor"', b'"author"'), r"unknown field `author` - at `\$.event`"),
        (LINE[:-1], "not JSON: "),
        (b"[]", "Expected `object`"),
    ],
    ids=["a later version", "its own tag", "a later field", "cut", "no object"],
)
def test_the_reason_says_what_is_not_understood(line: bytes, reason: str) -> None:
    """So that one sees whether the line is damaged, or this program too old for it."""
    event = decode(line).event
    assert isinstance(event, Quarantined)
    assert re.search(reason, event.reason)


def test_what_can_be_read_of_a_quarantined_record_is_read() -> None:
    """Its place, time, cause and what is left of its append, so that the appends around it stay whole."""
    line = encode(msgspec.structs.replace(record("run", 3, left=2), cause=1)).replace(b"message_received", b"dreamt")
    read = decode(line, run_id="run", position=3)
    assert (read.run_id, read.position, read.at, read.cause, read.left) == ("run", 3, record("run", 3).at, 1, 2)


@pytest.mark.parametrize(
    ("raw", "data"),
    [
        ("", {}),
        (" \n", {}),
        ('{"a": 1.50}', {"a": 1.5}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ("[1]", "[1]"),
        ("null", "null"),
        ('{"a": ', '{"a": '),
        ('{"a": NaN}', '{"a": NaN}'),
    ],
)
def test_arguments_that_are_no_object_stay_the_text_they_are(raw: str, data: Json) -> None:
    """The provider's text stands beside it anyway."""
    assert arguments_of(raw) == data


# Chain


def chained(run: list[Record]) -> list[StoredLine]:
    """The lines of a run, sealed."""
    seal, stored = START, []
    for one in run:
        seal = link(seal, encode(one))
        stored.append(StoredLine(one.position, seal, encode(one)))
    return stored


@settings(max_examples=40)
@given(some_runs(), st.data())
def test_any_changed_byte_breaks_the_chain_at_its_place(run: list[Record], data: st.DataObject) -> None:
    """One bit of one byte of one line; where that makes it a line of another run or place, this is what is said."""
    lines = chained(run)
    index = data.draw(st.integers(0, len(lines) - 1))
    position, seal, line, _ = lines[index]
    at, bit = data.draw(st.integers(0, len(line) - 1)), data.draw(st.integers(0, 7))
    changed = line[:at] + bytes([line[at] ^ 1 << bit]) + line[at + 1 :]
    with pytest.raises(BrokenChain, match=r"the bytes are not those that were written|out of place") as caught:
        list(checked("run-1", [*lines[:index], StoredLine(position, seal, changed), *lines[index + 1 :]]))
    assert (caught.value.run_id, caught.value.position) == ("run-1", position)


@settings(max_examples=40)
@given(some_runs())
def test_lines_that_were_not_changed_pass(run: list[Record]) -> None:
    """All of them, and as they are; more than the head knows of may have come since."""
    lines = chained(run)
    for head in (None, *(Head("run-1", position, seal) for position, seal, *_ in lines), Head("run-1", 0, START)):
        assert list(checked("run-1", lines, head=head)) == lines


@settings(max_examples=40)
@given(some_runs())
def test_fewer_lines_than_the_head_says_are_too_few(run: list[Record]) -> None:
    """A cut tail leaves a chain that is right as far as it goes."""
    lines = chained(run)
    head = Head("run-1", len(lines), lines[-1].digest)
    for size in range(len(lines)):
        with pytest.raises(BrokenChain, match=f"cut off, {len(lines)} records were written") as caught:
            list(checked("run-1", lines[:size], head=head))
        assert caught.value.position == size + 1


def test_what_is_nested_deeply_is_spelled_or_refused() -> None:
    """As deep as JSON is read it is spelled, with a null in it or not; deeper it is bad input and no crash."""
    deep = parse_json("[" * 600 + "null" + "]" * 600)
    assert canonical(deep) == b"[" * 600 + b"null" + b"]" * 600
    for _ in range(5_000):
        deep = [deep]
    with pytest.raises(BadInput):
        canonical(deep)


@pytest.mark.parametrize(("name", "data"), [("prompt", 42), ("prompt", [{"say": "x"}]), ("contract", {"wage": 1})])
def test_a_part_that_a_state_is_made_of_has_its_shape(name: str, data: Json) -> None:
    """A run that begins with another is quarantined: nobody folds it."""
    start = {"agent": "a", "contract": {}, "event": "run_started", "goal": "", "nonce": "", "rules": 0}
    line = canonical(
        {"at": "2026-01-01T00:00:00.000000Z", "cause": 0, "event": start, "left": 0, "position": 1, "run_id": "a"}
    )
    assert not isinstance(decode(line).event, Quarantined)
    spoilt = start | {"parts": {name: {"data": data, "digest": ""}}}
    assert isinstance(decode(line.replace(canonical(start), canonical(spoilt))).event, Quarantined)
