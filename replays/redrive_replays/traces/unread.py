"""Files of other kinds, called by their name when they are refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from redrive_events import Json

_BYTES: Final = (
    (b"PAR1", "a Parquet table"),
    (b"ARROW1", "an Arrow table"),
    (b"SQLite format 3\x00", "a SQLite database"),
    (b"%PDF-", "a PDF page"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"BZh", "a file compressed with bzip2"),
    (b"\xfd7zXZ", "a file compressed with xz"),
    (b"interactions:", "a cassette of recorded requests in YAML"),
    (b"version: 1\ninteractions:", "a cassette of recorded requests in YAML"),
    (b"<!DOCTYPE html", "a page of HTML"),
    (b"<html", "a page of HTML"),
)
_REACT: Final = (b"Thought:", b"Thought 1:")
_Row = Mapping[str, Json]


def _first(value: Json, *names: str) -> _Row:
    """The first object of what a field holds; nothing if it holds none."""
    for name in names:
        held = value.get(name) if isinstance(value, dict) else None
        held = held[0] if isinstance(held, list) and held else held
        if isinstance(held, dict):
            return held
    return {}


_ROWS: Final[tuple[tuple[str, Callable[[_Row], bool]], ...]] = (
    ("ShareGPT rows", lambda row: {"from", "value"} <= _first(row, "conversations", "conversation").keys()),
    ("an ATIF trajectory", lambda row: str(row.get("schema_version")).startswith("ATIF")),
    ("runs of LangSmith", lambda row: "run_type" in row and bool({"dotted_order", "trace_id"} & row.keys())),
    ("a trace of Langfuse", lambda row: {"trace", "observations"} <= row.keys() or "parentObservationId" in row),
    ("a trace of the OpenAI Agents SDK", lambda row: row.get("object") in {"trace", "trace.span"}),
    ("a state of the OpenAI Agents SDK", lambda row: "$schemaVersion" in row),
    ("messages of pydantic-ai", lambda row: row.get("kind") in {"request", "response"} and "parts" in row),
    ("messages of LangChain", lambda row: row.get("lc") == 1 or ("data" in row and "type" in row and len(row) == 2)),
    ("an event of OpenHands", lambda row: "source" in row and str(row.get("kind")).endswith("Event")),
    ("events of OpenHands", lambda row: "source" in row and bool({"action", "observation"} & row.keys())),
    ("a notebook", lambda row: {"cells", "nbformat"} <= row.keys()),
)


def told_by_bytes(data: bytes) -> str:
    """What a file is that is no JSON; nothing if it is not known."""
    for begin, what in _BYTES:
        if data.startswith(begin):
            return what
    return "ReAct text" if any(mark in data[:65_536] for mark in _REACT) else ""


def told_by_value(value: Json) -> str:
    """What a document, or a line, is; nothing if it is not known."""
    row = value[0] if isinstance(value, list) and value else value
    if isinstance(row, dict) and isinstance(row.get("data"), list):
        row = _first(row, "data") or row
    return next((what for what, test in _ROWS if test(row)), "") if isinstance(row, dict) else ""
