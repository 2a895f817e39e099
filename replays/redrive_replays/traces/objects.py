"""Objects one behind another, as JSON or as JavaScript's console has them, also among what else was printed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from redrive_events import BadInput, Json, parse_json
from redrive_replays.traces.javascript import BEGINS, printed
from redrive_replays.traces.lenient import lenient, whole
from redrive_replays.traces.lines import Entry
from redrive_replays.traces.material import Diagnostic, Material
from redrive_replays.traces.otel import is_printed

# So many objects that cannot be read are tried, more only among as many that can.
TORN_MAX: Final = 100
# The next of several objects that follow one another; some put a comma between them.
_OBJECT: Final = re.compile(r"[\s,]*(\{)")
_SCRIPT: Final = re.compile(rf"[\s,]*({BEGINS})")
# A list is one document, and torn if it was not read as one; a line of another program may begin with a bracket.
_LIST: Final = re.compile(r"\s*\[\s*[\[{]")
_LINE: Final = re.compile(r"^(?:<ref \*\d+> )?(?:[A-Z]\w* )?\{", re.MULTILINE)
_decoder = json.JSONDecoder(strict=False, parse_int=str)


class _Found(NamedTuple):
    """An object, with a note of each liberty, and where it stands in the text."""

    value: Json
    notes: Sequence[str]
    begin: int
    end: int


class _Other(NamedTuple):
    """What is no object: one that cannot be read, or the lines of another."""

    begin: int
    end: int
    torn: bool


_Reader: TypeAlias = Callable[[str, int], _Found | None]


def objects_in(data: bytes, start: int, material: Material) -> list[Entry] | None:
    """The objects of a file that is made of them; None if it is not. Among other lines only spans are looked for."""
    text = data.decode(errors="replace")
    if _LIST.match(text):
        return None
    for begins, read in ((_OBJECT, _as_json), (_SCRIPT, _as_script)):
        found, others = _scanned(text, begins, read)
        if any(not one.torn for one in others):
            others += [_Other(one.begin, one.end, torn=False) for one in found if not is_printed(one.value)]
            found = [one for one in found if is_printed(one.value)]
        if found and (others or len(found) > 1 or read is _as_script):
            return _told(text, start, material, found, sorted(others))
    return None


def _scanned(text: str, begins: re.Pattern[str], read: _Reader) -> tuple[list[_Found], list[_Other]]:
    found: list[_Found] = []
    others: list[_Other] = []
    at, torn = 0, 0
    while text[at : at + 1]:
        begun = begins.match(text, at)
        one = read(text, begun.start(1)) if begun and torn <= TORN_MAX + len(found) else None
        if one is not None:
            found.append(one)
            at = one.end
            continue
        torn += begun is not None
        begin = begun.start(1) if begun else at
        following = _LINE.search(text, begin + 1)
        at = following.start() if following else len(text)
        if text[begin:at].strip(" \t\r\n,"):
            others.append(_Other(begin, at, torn=begun is not None and text[begin - 1 : begin] not in {" ", "\t"}))
    return found, others


def _as_json(text: str, begin: int) -> _Found | None:
    try:
        _, end = _decoder.raw_decode(text, begin)
    except (ValueError, RecursionError):
        return None
    chunk = text[begin:end].encode()
    try:
        return _Found(parse_json(chunk), (), begin, end)
    except BadInput:
        read = lenient(chunk)
    return None if read is None else _Found(*read, begin, end)


def _as_script(text: str, begin: int) -> _Found | None:
    one = printed(text, begin)
    if one is None:
        return None
    notes: dict[str, None] = {}
    value = whole(one.value, notes)
    if one.left_out:
        notes[f"{one.left_out} values that the console left out"] = None
    return _Found(value, list(notes), begin, one.end)


def _told(text: str, start: int, material: Material, found: Sequence[_Found], others: Sequence[_Other]) -> list[Entry]:
    """The objects as entries, and what was left out as diagnostics, each at its place."""
    entries: list[Entry] = []
    places = _places(text, start)
    plain = [one for one in others if not one.torn]
    lines = sum(bool(line.strip()) for one in plain for line in text[one.begin : one.end].split("\n"))
    both: list[_Found | _Other] = [*found, *others]
    for one in sorted(both, key=lambda one: one.begin):
        line, offset = places(one.begin)
        if isinstance(one, _Found):
            entries.append(Entry(len(entries), one.value, line, offset))
            material.diagnostics += (Diagnostic(note, line, offset) for note in one.notes)
        elif one.torn:
            material.lost += 1
            rest = " with what follows" if one.end == len(text) else ""
            material.diagnostics.append(Diagnostic(f"an object that cannot be read, left out{rest}", line, offset))
        elif one is plain[0]:
            material.diagnostics.append(Diagnostic(f"{lines} lines that are no span, left out", line, offset))
    return entries


def _places(text: str, start: int) -> Callable[[int], tuple[int, int]]:
    """The line and the byte of places in the text, which are asked for in order."""
    at, line, offset = 0, 1, start

    def place(begin: int) -> tuple[int, int]:
        nonlocal at, line, offset
        line += text.count("\n", at, begin)
        offset += len(text[at:begin].encode())
        at = begin
        return line, offset

    return place
