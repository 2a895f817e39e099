"""What a file keeps of a line: less than the line, and every byte of it again."""

from __future__ import annotations

import hashlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive_events import Content, MessageReceived, Opaque, Part, Record, RunStarted, Terms, Text, encode
from redrive_events.stores.packing import (
    PACKED_BYTES_MIN,
    SHARED_BYTES_MIN,
    SIZE_BYTES_MAX,
    Find,
    Keep,
    Kept,
    deflated,
    inflated,
    packed,
    unpacked,
)
from tests.records import record
from tests.strategies import records

# Words of no pattern, which no packing makes much shorter, and a text that is nothing but pattern.
DENSE = "".join(chr(0x4E00 + n * n % 20_000) for n in range(SHARED_BYTES_MIN))
THIN = '退款 🤖 \\ " \n' * SHARED_BYTES_MIN


class Shelf:
    """Content that is kept once, in memory."""

    def __init__(self) -> None:
        self.contents: list[bytes] = []

    def keep(self, content: bytes) -> int:
        """Its number, from 1."""
        if content not in self.contents:
            self.contents.append(content)
        return self.contents.index(content) + 1

    def find(self, number: int) -> bytes:
        """The content with this number."""
        return self.contents[number - 1]


def nothing(content: bytes) -> None:
    """No content is taken."""


def said(content: Content, position: int = 3) -> bytes:
    """A line in which somebody said this."""
    return encode(record("run-1", position, event=MessageReceived(actor="user", content=content)))


def started(run_id: str, *parts: str) -> bytes:
    """A line in which a run begins, of an agent with these parts."""
    made = {
        f"part-{n}": Part(digest="0" * 64, data=[{"role": "system", "content": one}]) for n, one in enumerate(parts)
    }
    event = RunStarted(goal=run_id, agent="a", nonce=run_id, contract=Terms(), rules=1, parts=made)
    return encode(record(run_id, 1, event=event))


def kept_of(line: bytes, keep: Keep, *, run_id: str = "run-1", position: int = 3) -> Kept:
    """What is kept of one line."""
    (kept,) = packed(run_id.encode(), position, [line], keep)
    return kept


def back(kept: Kept, find: Find, *, run_id: str = "run-1", position: int = 3) -> bytes:
    """The line of which this is kept."""
    (line,) = unpacked(run_id, [(position, *kept)], find)
    return line


@given(one=records, words=st.sampled_from(["", "x", THIN, DENSE]))
def test_every_record_survives(one: Record, words: str) -> None:
    """Short or long, at its place or at another, whether or not its content is taken."""
    if words and isinstance(one.event, MessageReceived):
        one = msgspec.structs.replace(one, event=msgspec.structs.replace(one.event, content=words))
    line = encode(one)
    for run_id, position in ((one.run_id, one.position), ("another", 7)):
        shelf = Shelf()
        for keep in (shelf.keep, nothing):
            kept = kept_of(line, keep, run_id=run_id, position=position)
            assert back(kept, shelf.find, run_id=run_id, position=position) == line


LIKE_LINES = st.lists(
    st.sampled_from(
        [
            b'{"at":"',
            b"2026-01-01T00:00:00.000000",
            b"2026-01-01 00:00:00.00000",
            b"2026-W01-1T00:00:00.000000",
            b'Z",',
            b'"cause":0',
            b"\x28\xb5\x2f\xfd",
            b'{"$blob":1}',
            b',"event":{"content":"' + b"x" * SHARED_BYTES_MIN + b'"},"left":0',
            b',"position":3,"run_id":"run-1"}',
            b'"',
        ]
    ),
    max_size=8,
).map(b"".join)


@given(line=st.one_of(st.binary(max_size=200), LIKE_LINES))
def test_every_other_line_survives(line: bytes) -> None:
    """What no record is, too, however much it looks like one or like what is kept."""
    shelf = Shelf()
    assert back(kept_of(line, shelf.keep), shelf.find) == line


def test_what_its_place_says_is_not_kept() -> None:
    """The run's name, the position, the time as a text; what is left is JSON that people can read."""
    line = encode(record("run-1", 3, left=1, after_s=0.5))
    assert kept_of(line, nothing) == (
        1_767_225_600_500_000,
        b'{"cause":0,"event":{"actor":"user","content":"run-1 3","event":"message_received"},"left":1}',
    )


def test_nothing_that_somebody_said_is_taken_for_a_reference() -> None:
    """Neither alone nor beside content that is kept elsewhere: then that stays where it is."""
    like, shelf = Opaque(data={"$blob": 1}), Shelf()
    event = RunStarted(goal=DENSE, agent="a", nonce="", contract=Terms(parameters={"x": {"$blob": 1}}), rules=1)
    for line in (said((like,)), said((like, Text(text=DENSE))), encode(record("run-1", 3, event=event))):
        assert back(kept_of(line, shelf.keep), shelf.find) == line


def test_long_content_is_kept_once() -> None:
    """Two runs and two kinds of events refer to the same."""
    shelf = Shelf()
    first, second = (kept_of(said(DENSE, n), shelf.keep, position=n) for n in (1, 2))
    third = kept_of(said((Text(text=DENSE),)), shelf.keep)
    assert [content.count(DENSE.encode()) for content in shelf.contents] == [1, 1]
    assert shelf.contents[0] == f'"{DENSE}"'.encode()
    assert max(len(kept[1]) for kept in (first, second, third)) < 100


def test_the_parts_of_an_agent_are_kept_each_for_itself() -> None:
    """A thousand runs with one prompt, and in each another lesson."""
    shelf = Shelf()
    lines = {f"run-{n}": started(f"run-{n}", THIN, f"{n} {DENSE}", "short") for n in range(3)}
    kept = {run_id: kept_of(line, shelf.keep, run_id=run_id, position=1) for run_id, line in lines.items()}
    assert len(shelf.contents) == 1 + 3
    assert all(back(kept[name], shelf.find, run_id=name, position=1) == line for name, line in lines.items())
    assert max(len(one[1]) for one in kept.values()) < PACKED_BYTES_MIN


def test_content_that_is_not_taken_is_packed_in_its_line() -> None:
    """Where the file has no room for it elsewhere, it is not lost."""
    line = said(THIN)
    kept = kept_of(line, nothing)
    assert len(kept[1]) < len(line) / 50
    assert back(kept, Shelf().find) == line


def test_a_line_that_is_no_json_keeps_its_content() -> None:
    """Where it ends nobody can tell."""
    shelf, line = Shelf(), said(DENSE).replace(b'"event":', b'"event"', 1)
    assert back(kept_of(line, shelf.keep), shelf.find) == line
    assert shelf.contents == []


def test_content_is_packed_only_where_that_pays() -> None:
    """A tenth at least; what is read often is not unpacked for a few bytes."""
    dense, thin = b"".join(hashlib.sha256(bytes([n])).digest() for n in range(64)), THIN.encode()
    assert deflated(dense) == dense
    assert len(deflated(thin)) < len(thin) / 50
    assert inflated(deflated(thin)) == thin


CONTENT_LOST = {
    "no such content": lambda shelf: shelf.contents.clear(),
    "other content": lambda shelf: shelf.contents.__setitem__(0, b'"something else"'),
}


@pytest.mark.parametrize("case", CONTENT_LOST)
def test_a_line_whose_content_is_lost_is_no_line(case: str) -> None:
    """It is not what was written, and nothing fails on it but what decodes it or follows the chain."""
    shelf = Shelf()
    kept = kept_of(said(DENSE), shelf.keep)
    CONTENT_LOST[case](shelf)
    assert back(kept, shelf.find) != said(DENSE)


@pytest.mark.parametrize("line", [said("short"), said(THIN), said(DENSE), started("run-1", THIN)])
@pytest.mark.parametrize("take", [True, False])
def test_a_damaged_line_is_never_an_error_of_its_own(line: bytes, take: bool) -> None:
    """Every byte of what is kept, each changed, and every place at which it may be cut off."""
    shelf = Shelf()
    at_us, rest = kept_of(line, shelf.keep if take else nothing)
    for at in range(0, len(rest), 1 + len(rest) // 500):
        for broken in (rest[:at], rest[:at] + bytes([rest[at] ^ 0x15]) + rest[at + 1 :]):
            assert isinstance(back((at_us, broken), shelf.find), bytes)
    for time in (None, 2**62, -(2**62)):
        assert back((time, rest), shelf.find) == rest


def test_a_frame_that_claims_more_than_there_can_be_takes_no_memory() -> None:
    """Its size is looked at before room is made for it."""
    frame = b"\x28\xb5\x2f\xfd\xe0" + (SIZE_BYTES_MAX + 1).to_bytes(8, "little") + b"\x01\x00\x00"
    with pytest.raises(ValueError, match="longer than anything that is kept"):
        inflated(frame)
