"""TOML that people write: read, and where in it a thing stands."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from redrive_events import BadInput, Json

# What people write is far from it; what is read is walked by functions that call themselves.
DEPTH_MAX = 64
_AT_LINE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


class Misfit(BadInput):
    """A value at ``path`` inside written data is not allowed; ``owner`` is what the data is called."""

    def __init__(self, problem: str, *path: str | int, owner: str = "") -> None:
        super().__init__(problem, place=".".join([*([owner] if owner else []), *map(str, path)]))
        self.path = path


@dataclass(frozen=True, slots=True)
class TomlFile:
    """A TOML text, its data, and the name people know it by."""

    name: str
    text: str
    data: dict[str, Json]

    @classmethod
    def of(cls, source: str | Path, *, name: str) -> TomlFile:
        """The file at a `Path`, or a text that is called ``name``.

        Raises:
            BadInput: the file cannot be read, or is not TOML.
        """
        if isinstance(source, Path):
            name = source.name
            try:
                source = source.read_text(encoding="utf-8")
            except UnicodeDecodeError as error:
                raise BadInput("not UTF-8", place=name) from error
            except OSError as error:
                raise BadInput((error.strerror or "cannot be read").lower(), place=str(error.filename)) from error
        try:
            data = tomllib.loads(source)
        except RecursionError as error:
            raise BadInput("nested too deeply", place=name) from error
        except tomllib.TOMLDecodeError as error:
            problem = str(error)
            found = _AT_LINE.search(problem)
            line = int(found[1]) if found and found[1] else len(_lines(source))
            raise BadInput(f"not TOML: {_AT_LINE.sub('', problem)}", place=f"{name}:{line}") from error
        except ValueError as error:  # Python reads no number of so many digits
            raise BadInput("a number has too many digits", place=name) from error
        if _is_deep(data):  # dotted keys nest without any brackets
            raise BadInput("nested too deeply", place=name)
        return cls(name, source, data)

    def refusal(self, misfit: Misfit, *, named: bool = False) -> BadInput:
        """The problem with the line of this file at which it stands, and by wish the name of what stands there."""
        place = f"{self.name}:{self.line_of(*misfit.path)}" if misfit.path else self.name
        return BadInput(misfit.problem, place=f"{place}: {'.'.join(map(str, misfit.path))}" if named else place)

    def line_of(self, *path: str | int) -> int:
        """The line on which the statement begins that brings what stands at ``path``.

        tomllib keeps no lines. But the beginning of a file is a file: the statement ends with the shortest one that
        has the path, and begins behind the next shorter one that is whole.
        """
        lines = _lines(self.text)
        low, high, found = 1, len(lines), len(lines)
        while low <= high:
            middle = probe = (low + high) // 2
            while probe <= high and (data := _parsed(lines, probe)) is None:
                probe += 1
            if probe > high:
                high = middle - 1
            elif _has(data, path):
                high, found = middle - 1, probe
            else:
                low = probe + 1
        while found > 1 and _parsed(lines, found - 1) is None:
            found -= 1
        return found

    def lines_of_tables(self, name: str) -> list[int]:
        """The lines on which the tables of ``[[name]]`` begin, as `line_of` finds them one by one."""
        head = re.compile(rf"\s*\[\[\s*{re.escape(name)}\s*\]\]")
        heads = [number for number, line in enumerate(_lines(self.text), start=1) if head.match(line)]
        tables = self.data.get(name)
        count = len(tables) if isinstance(tables, list) else 0
        # written otherwise, or a head stands in a text
        return heads if len(heads) == count else [self.line_of(name, number) for number in range(count)]


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n")


def _parsed(lines: list[str], count: int) -> dict[str, Json] | None:
    try:
        return tomllib.loads("\n".join(lines[:count]))
    except tomllib.TOMLDecodeError:
        return None


def _is_deep(data: Json) -> bool:
    """Whether tables and lists stand in each other beyond what is allowed; asked level by level, so at any depth."""
    level = [data]
    for _ in range(DEPTH_MAX + 1):
        inner = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        level = [value for values in inner for value in values]
        if not level:
            return False
    return True


def _has(data: Json, path: tuple[str | int, ...]) -> bool:
    for step in path:
        if isinstance(step, int):
            if not isinstance(data, list) or step >= len(data):
                return False
        elif not isinstance(data, dict) or step not in data:
            return False
        data = data[step]
    return True
