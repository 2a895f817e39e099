"""Records to bytes and back: one record, one line, one spelling."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from redrive_events.content import Json
from redrive_events.errors import BadInput, UnknownEvent
from redrive_events.record import Record

_encoder = msgspec.json.Encoder(order="sorted")
_decoder = msgspec.json.Decoder(Record)
# A null that is a value; inside a text it may stand anywhere else too.
_NULL = re.compile(rb"(?:^|[:,\[])null")
_json = msgspec.json.Decoder()
# What msgspec raises on bytes that are not what they should be.
UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

# `{"at":"2026-01-01T00:00:00` is the beginning of every line: the keys are sorted, and `at` is the first.
_SECONDS_END = len('{"at":"2026-01-01T00:00:00')
_TIME = slice(len('{"at":"'), len('{"at":"2026-01-01T00:00:00.000000'))


def canonical(value: object) -> bytes:
    """The canonical JSON of ``value``: UTF-8, keys sorted at every level, no spaces, shortest floats.

    Raises:
        BadInput: a number that JSON does not have (NaN, Infinity), or a text that UTF-8 does not have.
    """
    try:
        line = _encoder.encode(value)
        # msgspec writes NaN and Infinity as null without a word, so where a null stands the value is looked at again.
        finite = b"null" not in line or not _NULL.search(line) or _finite(msgspec.to_builtins(value))
    except UnicodeEncodeError as error:
        raise BadInput("a lone surrogate is no text") from error
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise BadInput("not plain JSON data") from error
    if not finite:
        raise BadInput("NaN and Infinity are no JSON numbers")
    return line


def digest(value: object) -> str:
    """SHA-256 over the canonical JSON of ``value``, in hex."""
    return hashlib.sha256(canonical(value)).hexdigest()


def encode(record: Record) -> bytes:
    """The canonical line of ``record``; ``at`` always has six digits of a second.

    Raises:
        BadInput: the record holds what canonical JSON has no spelling for.
    """
    line = canonical(record)
    if line[_SECONDS_END] != 0x2E:  # "."
        line = line[:_SECONDS_END] + b".000000" + line[_SECONDS_END:]
    return line


def decode(line: bytes, *, run_id: str = "", position: int = 0) -> Record:
    """Read one line; ``run_id`` and ``position`` are where the caller found it.

    Raises:
        UnknownEvent: the line is not a record of this vocabulary.
    """
    try:
        return _decoder.decode(line)
    except UNREADABLE as error:
        raise UnknownEvent(str(error), run_id=run_id, position=position) from error


def decode_all(run_id: str, lines: Iterable[tuple[int, bytes]]) -> Iterator[Record]:
    """Read lines of a run as they come, each given with its position.

    Raises:
        UnknownEvent: a line is not a record of this vocabulary.
    """
    for position, line in lines:
        yield decode(line, run_id=run_id, position=position)


def decode_page(run_id: str, lines: Sequence[bytes], *, after: int) -> Iterable[Record]:
    """Read lines of a run that follow each other, the first of them behind position ``after``: the fast way for many.

    Raises:
        UnknownEvent: a line is not a record of this vocabulary; those before it are given first.
    """
    read = _decoder.decode
    try:
        return [read(line) for line in lines]
    except UNREADABLE:
        return decode_all(run_id, enumerate(lines, start=after + 1))


def time_of(line: bytes) -> str:
    """The time of a canonical line, as it is spelled: 26 characters, which compare as the times do."""
    return line[_TIME].decode("ascii")


def mended(value: Json) -> Json:
    """Plain data without lone surrogates, which no UTF-8 can carry: each becomes the sign for a broken character."""
    if type(value) is str:
        return value if value.isascii() else value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if type(value) is dict:
        return {mended(key): mended(one) for key, one in value.items()}
    if type(value) is list or type(value) is tuple:
        return [mended(one) for one in value]
    return value


def parse_json(text: str | bytes) -> Json:
    """Plain data from JSON text.

    Raises:
        BadInput: the text is not JSON, or nested too deeply.
    """
    try:
        return _json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BadInput("not JSON") from error


def arguments_of(raw: str) -> Json:
    """The arguments of a call as data; no text means none, and text that is no JSON object stays the text it is."""
    if not raw.strip():
        return {}
    try:
        value = parse_json(raw)
    except BadInput:
        return raw
    return value if isinstance(value, dict) else raw


def _finite(plain: object) -> bool:
    """Whether all numbers are finite; by a list and not by recursion, so that it goes as deep as JSON is read."""
    waiting = [plain]
    while waiting:
        one = waiting.pop()
        if isinstance(one, float) and not math.isfinite(one):
            return False
        if isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list | tuple):
            waiting += one
    return True
