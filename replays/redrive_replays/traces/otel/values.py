"""OpenTelemetry's values as plain ones: typed values, ids in hex or base64, times in every unit that is met."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from redrive_events import BadInput, Json, parse_json
from redrive_replays.traces.lenient import lenient

_HEX: Final = re.compile(r"(?:[0-9a-f]{16}|[0-9a-f]{32})\Z")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_IDS_BELOW: Final = 1 << 128
_NUMBERS: Final = {"intValue", "int_value"}
_LISTS: Final = {"arrayValue", "array_value"}
_MAPS: Final = {"kvlistValue", "kvlist_value"}
_PLAIN: Final = {
    *("stringValue", "string_value", "boolValue", "bool_value", "doubleValue", "double_value"),
    *("bytesValue", "bytes_value"),
}
_TAG_NUMBERS: Final = {"int64": int, "float64": float}
# A time is in these units, by its size: nanoseconds, microseconds, milliseconds, else seconds.
_UNITS: Final = ((1e17, 1_000_000_000), (1e14, 1_000_000), (1e11, 1000))


class Time(NamedTuple):
    """A moment; ``known`` says whether its zone is."""

    at: datetime
    known: bool = True


def plain(value: Json) -> Json:
    """An ``AnyValue`` as what it holds; what is none stays as it is."""
    if not isinstance(value, dict):
        return value
    if not value:
        return None
    kind, inner = next(iter(value.items()))
    if len(value) > 1 or kind not in _PLAIN | _NUMBERS | _LISTS | _MAPS:
        return value
    if kind in _LISTS:
        return [plain(one) for one in _listed(inner)]
    if kind in _MAPS:
        return attributes_of(_listed(inner))
    return _number(inner, int) if kind in _NUMBERS else inner


def _listed(inner: Json) -> list[Json]:
    values = inner.get("values") if isinstance(inner, dict) else inner
    return values if isinstance(values, list) else []


def _number(text: Json, kind: type[int] | type[float]) -> Json:
    if not isinstance(text, str) or len(text) > 30:
        return text
    try:
        number = kind(text)
    except ValueError:
        return text
    return number if number == number and abs(number) < 1e300 else text  # noqa: PLR0124 - NaN is not itself


def attributes_of(given: Json) -> dict[str, Json]:
    """Attributes by name, from a mapping, a list of key and typed value, or Jaeger's tags."""
    if isinstance(given, dict):
        return {key: plain(value) for key, value in given.items()}
    found: dict[str, Json] = {}
    for one in given if isinstance(given, list) else ():
        if isinstance(one, dict) and isinstance(key := one.get("key"), str):
            kind = one.get("type")
            number = _TAG_NUMBERS.get(kind) if isinstance(kind, str) else None
            value = one.get("value")
            found[key] = _number(value, number) if number else plain(value)
    return found


def id_of(value: Json) -> str:
    """A span's or trace's id in lower hex, empty for none, or for one of zeros; one of another kind stays."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < _IDS_BELOW:
        return f"{value:016x}"
    if not isinstance(value, str):
        return ""
    text = value.removeprefix("0x")
    if not _HEX.match(text.lower()):
        return _from_base64(text)
    return text.lower() if text.strip("0") else ""


def _from_base64(text: str) -> str:
    if len(text) not in {12, 24} or not text.endswith("="):
        return text
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return text
    return data.hex() if any(data) else ""


def time_of(value: Json, per_second: int = 0) -> Time | None:
    """A moment from ISO 8601, a number or its text in units ``per_second``, or seconds with nanoseconds.

    Without a unit the number's size tells it. None where it is no time that a calendar has.
    """
    try:
        if isinstance(value, dict):
            value = [value.get("secs", value.get("seconds", 0)), value.get("nanos", 0)]
        if isinstance(value, list) and len(value) == 2:
            whole, nanos = (int(part) for part in value)
            return Time(_EPOCH + timedelta(seconds=whole, microseconds=nanos // 1000))
        if isinstance(value, str) and not value.lstrip("-").isdigit():
            moment = datetime.fromisoformat(_six_digits(value))
            return Time(moment.astimezone(UTC)) if moment.tzinfo else Time(moment.replace(tzinfo=UTC), known=False)
        return _from_number(value, per_second)
    except (ValueError, OverflowError, TypeError):
        return None


def _from_number(value: Json, per_second: int) -> Time | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str) or not value or len(str(value)) > 40:
        return None
    number = float(value) if isinstance(value, float) else int(value)
    unit = per_second or next((unit for least, unit in _UNITS if number >= least), 1)
    micros = round(number * 1_000_000 / unit) if unit < 1_000_000 else int(number * 1_000_000 // unit)
    return Time(_EPOCH + timedelta(microseconds=micros))


def _six_digits(text: str) -> str:
    """Nanoseconds are more than Python reads."""
    return re.sub(r"(\.\d{6})\d+", r"\1", text.strip())


def parsed(value: Json) -> Json:
    """What JSON text holds; None where it is no JSON. What is no text stays as it is."""
    if not isinstance(value, str):
        return value
    if value.lstrip()[:1] not in {"{", "["}:
        return None
    try:
        return parse_json(value)
    except BadInput:
        read = lenient(value.encode(errors="replace"))
        return read[0] if read else None


def flattened(attributes: Mapping[str, Json]) -> dict[str, Json]:
    """Nested attributes, as Phoenix exports them, under their dotted names."""
    flat: dict[str, Json] = {}
    for key, value in attributes.items():
        _flatten(key.removeprefix("attributes."), value, flat)
    return flat


def _flatten(path: str, value: Json, flat: dict[str, Json]) -> None:
    if isinstance(value, dict) and value and _is_open(path):
        for key, inner in value.items():
            _flatten(f"{path}.{key}", inner, flat)
    elif isinstance(value, list) and path.startswith("llm.") and any(isinstance(one, dict) for one in value):
        for index, inner in enumerate(value):
            _flatten(f"{path}.{index}", inner, flat)
    else:
        flat[path] = value


def _is_open(path: str) -> bool:
    """Whether a mapping here is a level of names, and not a value of its own."""
    return path.partition(".")[0] in {
        "llm",
        "input",
        "output",
        "openinference",
        "gen_ai",
        "tool",
        "session",
        "user",
    } | {*("agent", "graph", "tag", "exception", "traceloop", "ai", "service", "gcp", "error")}
