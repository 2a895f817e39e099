"""Texts that a command line gives by the file they stand in."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from redrive_engine.models import reply, use
from redrive_events import BadInput, Content, Json, ObservationReceived, ToolUse, parse_json

# In front of the file of what a call failed with.
_FAILED: Final = "error:"
_REPLY: Final = 'is written {"text": WORDS, "calls": [CALL, ...]}'
_CALL: Final = 'is written {"tool": NAME, "arguments": {NAME: VALUE, ...}}'


def text_in(path: Path) -> str:
    """The text of a file.

    Raises:
        BadInput: it cannot be read, or is no UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput((error.strerror or "cannot be read").lower(), place=str(path)) from error
    except UnicodeDecodeError as error:
        raise BadInput(f"not UTF-8 at byte {error.start}", place=str(path)) from error


def replies_by_step(pairs: Iterable[str], option: str) -> dict[int, Content]:
    """What ``STEP=FILE`` pairs say, by step; the newline with which a file ends is none of its text.

    A file is the model's words, unless it is JSON with ``calls``: then it holds words and calls. One that is called
    ``.json`` is meant to be JSON.

    Raises:
        BadInput: a pair is written otherwise, a number comes twice, or a file cannot be read.
    """
    return {step: _reply_in(file) for step, file in _pairs(pairs, option).items()}


def observations_by_call(pairs: Iterable[str], option: str) -> dict[int, Content | ObservationReceived]:
    """What ``CALL=FILE`` pairs say, by call; ``CALL=error:FILE`` is a call that failed. Raises as above."""
    found: dict[int, Content | ObservationReceived] = {}
    for call, file in _pairs(pairs, option).items():
        text = _said_in(file.removeprefix(_FAILED))
        size = len(text.encode())
        failed = ObservationReceived(call=call, status="error", error="refused", content=text, size_bytes=size)
        found[call] = failed if file.startswith(_FAILED) else text
    return found


def _reply_in(file: str) -> Content:
    text = _said_in(file)
    try:
        data = parse_json(text)
    except BadInput as error:
        if Path(file).suffix == ".json":  # a slip in it would be said to a person as the model's answer
            raise BadInput(error.problem, place=file) from error
        return text
    if not isinstance(data, dict) or "calls" not in data:
        return text  # a model may say JSON, too
    words, calls = data.get("text", ""), data["calls"]
    if data.keys() - {"text", "calls"} or not isinstance(words, str) or not isinstance(calls, list):
        raise BadInput(_REPLY, place=file)
    return reply(words, *(_use(call, f"{file}: call {at}") for at, call in enumerate(calls, start=1))).content


def _use(call: Json, place: str) -> ToolUse:
    if isinstance(call, dict) and not call.keys() - {"tool", "arguments"}:
        tool, arguments = call.get("tool"), call.get("arguments", {})
        if isinstance(tool, str) and isinstance(arguments, dict):
            return use(tool, **arguments)
    raise BadInput(_CALL, place=place)


def _said_in(file: str) -> str:
    return text_in(Path(file)).removesuffix("\n")


def _pairs(pairs: Iterable[str], option: str) -> dict[int, str]:
    found: dict[int, str] = {}
    for pair in pairs:
        number, sign, file = pair.partition("=")
        if not sign or not number.isascii() or not number.isdigit() or int(number) < 1 or not file:
            raise BadInput(f"is written NUMBER=FILE, not {pair!r}", place=option)
        if int(number) in found:
            raise BadInput(f"{number} comes twice", place=option)
        found[int(number)] = file
    return found
