"""What a file keeps of lines: less than the lines, and every byte of them again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive_events import (
    AnnotationMade,
    Content,
    MessageReceived,
    Opaque,
    Part,
    Quarantined,
    Record,
    RunStarted,
    Terms,
    Text,
    decode,
    encode,
)
from redrive_events.stores.packing import (
    LINES_MAX,
    PACKED_BYTES_MIN,
    SHARED_BYTES_MIN,
    SIZE_BYTES_MAX,
    Find,
    Keep,
    deflated,
    inflated,
    packed,
    unpacked,
)
from tests.records import record
from tests.strategies import records

REMARK = AnnotationMade(name="n", value=list(range(SHARED_BYTES_MIN)), source="s")
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


def kept_of(keep: Keep, *lines: bytes) -> list[tuple[int, bytes]]:
    """What is kept of lines, row by row."""
    return list(packed(lines, keep))


def back(rows: Sequence[tuple[int, bytes]], find: Find) -> list[bytes]:
    """The lines of which this is kept."""
    return [line for count, kept in rows for line in unpacked(count, kept, find)]


@given(some=st.lists(records, min_size=1, max_size=4), words=st.sampled_from(["", "x", THIN, DENSE]))
def test_every_record_survives(some: list[Record], words: str) -> None:
    """Short or long, alone or with others, whether or not its content is taken."""
    lines = [*map(encode, some), said(words)]
    for take in (True, False):
        shelf = Shelf()
        assert back(kept_of(shelf.keep if take else nothing, *lines), shelf.find) == lines


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


@given(lines=st.lists(st.one_of(st.binary(max_size=200), LIKE_LINES), max_size=4))
def test_every_other_line_survives(lines: list[bytes]) -> None:
    """What no record is, too, however much it looks like one, like two, or like what is kept."""
    shelf = Shelf()
    assert back(kept_of(shelf.keep, *lines), shelf.find) == lines


def test_lines_that_are_written_together_are_kept_together() -> None:
    """A few as they are, which people can read; many as a frame, and never more than can be lost at once."""
    few = [said(f"{n}", n) for n in range(3)]
    assert kept_of(nothing, *few) == [(3, b"\n".join(few))]
    many = [said(f"{n}", n) for n in range(2 * LINES_MAX + 1)]
    rows = kept_of(nothing, *many)
    assert [count for count, _ in rows] == [LINES_MAX, LINES_MAX, 1]
    assert sum(len(kept) for _, kept in rows) < sum(map(len, many)) / 6


def test_nothing_that_somebody_said_is_taken_for_a_reference() -> None:
    """Neither alone nor beside content that is kept elsewhere: then that stays where it is."""
    like, shelf = Opaque(data={"$blob": 1}), Shelf()
    event = RunStarted(goal=DENSE, agent="a", nonce="", contract=Terms(parameters={"x": {"$blob": 1}}), rules=1)
    for line in (said((like,)), said((like, Text(text=DENSE))), encode(record("run-1", 3, event=event))):
        for lines in ([line], [said(DENSE), line], [line, said(DENSE)]):
            assert back(kept_of(shelf.keep, *lines), shelf.find) == lines


def test_long_content_is_kept_once() -> None:
    """Two runs and two kinds of events refer to the same."""
    shelf = Shelf()
    rows = [*kept_of(shelf.keep, said(DENSE, 1), said(DENSE, 2)), *kept_of(shelf.keep, said((Text(text=DENSE),)))]
    assert [content.count(DENSE.encode()) for content in shelf.contents] == [1, 1]
    assert shelf.contents[0] == f'"{DENSE}"'.encode()
    assert max(len(kept) / count for count, kept in rows) < 200


def test_the_parts_of_an_agent_are_kept_each_for_itself() -> None:
    """A thousand runs with one prompt, and in each another lesson."""
    shelf = Shelf()
    lines = [started(f"run-{n}", THIN, f"{n} {DENSE}", "short") for n in range(3)]
    rows = [kept_of(shelf.keep, line) for line in lines]
    assert len(shelf.contents) == 1 + 3
    assert [back(row, shelf.find) for row in rows] == [[line] for line in lines]
    assert max(len(kept) for ((_, kept),) in rows) < PACKED_BYTES_MIN


def test_content_that_is_not_taken_is_packed_in_its_line() -> None:
    """Where the file has no room for it elsewhere, it is not lost."""
    line = said(THIN)
    ((count, kept),) = kept_of(nothing, line)
    assert len(kept) < len(line) / 50
    assert back([(count, kept)], Shelf().find) == [line]


def test_a_line_that_is_no_json_keeps_its_content() -> None:
    """Where it ends nobody can tell."""
    shelf, line = Shelf(), said(DENSE).replace(b'"event":', b'"event"', 1)
    assert back(kept_of(shelf.keep, line), shelf.find) == [line]
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
    """It is not what was written, and nothing fails on it but what decodes it or follows the chain; others are well."""
    shelf = Shelf()
    rows = kept_of(shelf.keep, said("before"), said(DENSE), said("behind"))
    CONTENT_LOST[case](shelf)
    before, lost, behind = back(rows, shelf.find)
    assert (before, behind) == (said("before"), said("behind"))
    assert lost != said(DENSE)


def test_where_content_is_lost_there_is_no_json() -> None:
    """In whatever field it stood: no reader takes it for an event that says something else."""
    shelf = Shelf()
    rows = kept_of(shelf.keep, said(DENSE), started("run-1", THIN), encode(record("run-1", 5, event=REMARK)))
    assert len(shelf.contents) == 3
    shelf.contents.clear()
    assert [type(decode(line).event) for line in back(rows, shelf.find)] == [Quarantined] * 3


@pytest.mark.parametrize(
    "lines", [[said("short")], [said("a"), said("b")], [said(THIN)], [said("a"), said(DENSE)], [started("run-1", THIN)]]
)
@pytest.mark.parametrize("take", [True, False])
def test_a_damaged_line_is_never_an_error_of_its_own(lines: list[bytes], take: bool) -> None:
    """Every byte of what is kept, each changed, and every place at which it may be cut off."""
    shelf = Shelf()
    ((count, kept),) = kept_of(shelf.keep if take else nothing, *lines)
    for at in range(0, len(kept), 1 + len(kept) // 500):
        for broken in (kept[:at], kept[:at] + bytes([kept[at] ^ 0x15]) + kept[at + 1 :]):
            assert len(unpacked(count, broken, shelf.find)) == count


def test_a_line_that_falls_in_two_leaves_those_before_it_at_their_places() -> None:
    """And one that two have become, too: the chain names the first that is not what was written."""
    lines = [said("a"), said("b"), said("c")]
    ((_, kept),) = kept_of(nothing, *lines)
    torn = kept.replace(b'"content":"b"', b'"content"\n"b"')
    assert [line == written for line, written in zip(unpacked(3, torn, Shelf().find), lines, strict=True)] == [
        True,
        False,
        False,
    ]
    joined = b" ".join(kept.rsplit(b"\n", 1))
    assert unpacked(3, joined, Shelf().find) == [lines[0], lines[1] + b" " + lines[2], b""]


def test_a_frame_that_claims_more_than_there_can_be_takes_no_memory() -> None:
    """Its size is looked at before room is made for it."""
    frame = b"\x28\xb5\x2f\xfd\xe0" + (SIZE_BYTES_MAX + 1).to_bytes(8, "little") + b"\x01\x00\x00"
    with pytest.raises(ValueError, match="longer than anything that is kept"):
        inflated(frame)
