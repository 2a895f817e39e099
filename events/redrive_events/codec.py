"""Records to bytes and back: one record, one line, one spelling."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import msgspec

from redrive_events.content import Json
from redrive_events.errors import BadInput
from redrive_events.kinds import EVENTS
from redrive_events.quarantine import Quarantined
from redrive_events.record import Record
from redrive_events.upcast import UPCASTERS, upcast

_encoder = msgspec.json.Encoder(order="sorted")
_decoder = msgspec.json.Decoder(Record)
# A null that is a value; inside a text it may stand anywhere else too.
_NULL = re.compile(rb"(?:^|[:,\[])null")
_json = msgspec.json.Decoder()
_TAGS = {kind.__struct_config__.tag for kind in EVENTS if issubclass(kind, msgspec.Struct)}
# The time of a record that has none that can be read.
NO_TIME = datetime.min.replace(tzinfo=UTC)


class _Place(msgspec.Struct, gc=False):
    """Where a record stands; of its event nothing is looked at."""

    run_id: str
    position: Annotated[int, msgspec.Meta(ge=1)]
    at: Annotated[datetime, msgspec.Meta(tz=True)]
    cause: Annotated[int, msgspec.Meta(ge=0)] = 0
    left: Annotated[int, msgspec.Meta(ge=0)] = 0


_read_place = msgspec.json.Decoder(_Place).decode

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
        # It is found by `find`, since `in` asks of bytes first whether they are a number, and formats an error.
        finite = line.find(b"null") < 0 or not _NULL.search(line) or _finite(msgspec.to_builtins(value))
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


def call_digest(tool: str, arguments: Json) -> str:
    """The digest of a call: the same tool with the same arguments, in whatever order, has the same."""
    return digest({"arguments": arguments, "tool": tool})


def spelled_call_digest(tool: str, arguments: bytes) -> str:
    """As `call_digest`, of arguments in their canonical spelling."""
    return hashlib.sha256(b'{"arguments":%b,"tool":%b}' % (arguments, canonical(tool))).hexdigest()


def shown_digest(tool: str, arguments: Json, object: Json = None, destination: Json = None) -> str:  # noqa: A002
    """The digest of what a person is shown of a call before they allow it: nothing of it may be changed behind them."""
    return digest({"tool": tool, "arguments": arguments, "object": object, "destination": destination})


def encode(record: Record) -> bytes:
    """The canonical line of ``record``; ``at`` always has six digits of a second.

    Raises:
        BadInput: the record holds what canonical JSON has no spelling for, or an event that cannot be read.
    """
    if type(record.event) is Quarantined:
        raise BadInput("an event that cannot be read is not written", place=f"position {record.position}")
    line = canonical(record)
    if line[_SECONDS_END] != 0x2E:  # "."
        line = line[:_SECONDS_END] + b".000000" + line[_SECONDS_END:]
    return line


def decode(line: bytes, *, run_id: str = "", position: int = 0) -> Record:
    """Read one line; ``run_id`` and ``position`` are where the caller found it.

    Events of earlier shapes come in today's; of what is no record of this vocabulary, the event is `Quarantined`.
    """
    try:
        return _decoder.decode(line)
    except UNREADABLE as error:
        return _otherwise(line, str(error), run_id, position)


def decode_page(run_id: str, lines: Sequence[bytes], *, after: int) -> list[Record]:
    """Read lines that follow each other in a run, the first behind position ``after``: the fast way for many."""
    read = _decoder.decode
    try:
        return [read(line) for line in lines]
    except UNREADABLE:
        return [decode(line, run_id=run_id, position=position) for position, line in enumerate(lines, start=after + 1)]


def decode_joined(lines: bytes) -> list[Record]:
    """Read lines with a line feed between them, all of which must be records of today's shape: the fastest way.

    Raises: what is in ``UNREADABLE``; then the lines are to be read one by one.
    """
    return _decoder.decode_lines(lines)


def is_canonical(record: Record, line: bytes) -> bool:
    """Whether ``line``, which was read as ``record``, is spelled as the codec spells.

    An event of an earlier shape is held to the spelling of JSON alone: which fields were left out then is not known.
    """
    if type(record.event) is Quarantined:
        return False
    if encode(record) == line:
        return True
    plain = _json.decode(line)
    return plain["event"]["event"] in UPCASTERS and _encoder.encode(plain) == line


def time_of(line: bytes) -> str:
    """The time of a canonical line, as it is spelled: 26 characters, which compare as the times do.

    Of a line that is none, whatever stands there.
    """
    return line[_TIME].decode("latin-1")


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


def _otherwise(line: bytes, problem: str, run_id: str, position: int) -> Record:
    """A line that is no record of today: brought into today's shape, or its event quarantined."""
    try:
        plain = _json.decode(line)
    except UNREADABLE:
        return _quarantined(line, f"not JSON: {problem}", run_id, position)
    match plain:
        case {"event": {"event": str(tag)} as event} if tag in UPCASTERS:
            try:
                return _decoder.decode(_encoder.encode({**plain, "event": upcast(event)}))
            except (*UNREADABLE, LookupError, TypeError, ValueError, AttributeError) as error:
                problem = f"event {tag!r} cannot be brought into today's shape: {error}"
        case {"event": {"event": str(tag)}} if tag not in _TAGS:
            problem = f"event {tag!r} is not known to this version"
    return _quarantined(line, problem, run_id, position)


def _quarantined(line: bytes, problem: str, run_id: str, position: int) -> Record:
    """A record as the line tells it, but for its event; one that tells nothing stands where its line was found."""
    event = Quarantined(line=line, reason=problem)
    try:
        place = _read_place(line)
    except UNREADABLE:
        return Record(run_id=run_id, position=position, at=NO_TIME, cause=0, left=0, event=event)
    return Record(event=event, **msgspec.structs.asdict(place))
