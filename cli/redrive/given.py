"""Texts that a command line gives by the file they stand in."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from redrive_events import BadInput, Content, ObservationReceived

# In front of the file of what a call failed with.
_FAILED = "error:"


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
        raise BadInput(f"no UTF-8 at byte {error.start}", place=str(path)) from error


def by_number(pairs: Iterable[str], option: str) -> dict[int, str]:
    """The texts of ``NUMBER=FILE`` pairs, by number; the newline with which a file ends is none of its text.

    Raises:
        BadInput: a pair is written otherwise, a number comes twice, or a file cannot be read.
    """
    return {number: _said_in(file) for number, file in _pairs(pairs, option).items()}


def observations_by_call(pairs: Iterable[str], option: str) -> dict[int, Content | ObservationReceived]:
    """What ``CALL=FILE`` pairs say, by call; ``CALL=error:FILE`` is a call that failed. Raises as `by_number` does."""
    found: dict[int, Content | ObservationReceived] = {}
    for call, file in _pairs(pairs, option).items():
        text = _said_in(file.removeprefix(_FAILED))
        failed = ObservationReceived(call=call, status="error", content=text)
        found[call] = failed if file.startswith(_FAILED) else text
    return found


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
