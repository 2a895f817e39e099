"""The answer to a question in SQL, as a table for people or in a form that a program reads."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from datetime import datetime
from enum import StrEnum

from rich.text import Text

from redrive.terminal import columns, counted
from redrive_events import BadInput, Json, canonical, parse_json
from redrive_projections import harmless, one_line
from redrive_projections.history import Answer

NUMBERS = ("BIGINT", "INT", "DOUBLE", "FLOAT", "DECIMAL", "HUGEINT", "UBIGINT", "UINT", "SMALLINT", "TINYINT", "REAL")
CELL_CHARS_MAX = 120


class Format(StrEnum):
    """How an answer is printed."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"
    MARKDOWN = "markdown"
    PARQUET = "parquet"


def table(answer: Answer) -> Iterator[Text]:
    """One line for each row, with the names of the columns above and how many rows there are below."""
    head = [Text(one_line(name), style="bold") for name in answer.columns]
    yield from columns([head, *([_cell(value) for value in row] for row in answer.rows)], right=_numbers(answer))
    yield Text(f"({counted(len(answer.rows), 'row')})", style="dim")


def spelled(answer: Answer, form: Format) -> str:
    """The answer in one of the forms that programs read."""
    if form is Format.JSON:
        return canonical(list(_objects(answer))).decode() + "\n"
    if form is Format.JSONL:
        return "".join(f"{canonical(row).decode()}\n" for row in _objects(answer))
    return _csv(answer) if form is Format.CSV else _markdown(answer)


def _numbers(answer: Answer) -> set[int]:
    return {index for index, kind in enumerate(answer.types) if kind.startswith(NUMBERS) and not kind.endswith("]")}


def _cell(value: object) -> Text:
    if value is None:
        return Text("NULL", style="dim")
    return Text(one_line(_text(value), CELL_CHARS_MAX))


def _csv(answer: Answer) -> str:
    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\n")
    writer.writerow(answer.columns)
    writer.writerows([["" if value is None else _text(value) for value in row] for row in answer.rows])
    return page.getvalue()


def _markdown(answer: Answer) -> str:
    numbers = _numbers(answer)
    rules = ["---:" if index in numbers else "---" for index in range(len(answer.columns))]
    rows = [["" if value is None else _escaped(_text(value)) for value in row] for row in answer.rows]
    lines = [list(map(_escaped, answer.columns)), rules, *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _escaped(words: str) -> str:
    """Words that begin no other cell, row or markup of their own, and turn no text wherever they are pasted."""
    plain = words.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\t", " ")
    return "<br>".join(map(harmless, plain.splitlines()))


def _text(value: object) -> str:
    """One cell as text: what is not text itself is written as in JSON."""
    if isinstance(value, str):
        return value
    spelled = canonical(_plain(value)).decode()
    return spelled.strip('"') if spelled.startswith('"') else spelled


def _objects(answer: Answer) -> Iterator[dict[str, Json]]:
    """Rows as objects; a name that stands twice gets a number, and JSON that came as text is JSON."""
    names = _unlike(answer.columns)
    for row in answer.rows:
        cells = zip(names, answer.types, row, strict=True)
        yield {name: _parsed(value) if kind == "JSON" else _plain(value) for name, kind, value in cells}


def _unlike(names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        unlike, number = name, 0
        while unlike in found:
            number += 1
            unlike = f"{name}_{number}"
        found.append(unlike)
    return found


def _parsed(value: object) -> Json:
    try:
        return parse_json(value) if isinstance(value, str) else _plain(value)
    except BadInput:
        return value


def _plain(value: object) -> Json:
    """A cell as the codec can spell it; numbers that JSON has no spelling for become text."""
    if value is None or isinstance(value, bool | int | str | datetime):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, bytes):
        return value.hex()
    return str(value)
