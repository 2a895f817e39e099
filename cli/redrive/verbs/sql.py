"""Ask about all runs in SQL."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated

import typer
from rich.text import Text

from redrive.chosen import Choice
from redrive.options import LOG, JsonOption, LogOption
from redrive.terminal import columns, counted, say, say_json
from redrive_events import BadInput, Json, canonical, parse_json
from redrive_projections import one_line
from redrive_projections.history import Answer, ask

NUMBERS = ("BIGINT", "INT", "DOUBLE", "FLOAT", "DECIMAL", "HUGEINT", "UBIGINT", "UINT", "SMALLINT", "TINYINT", "REAL")
CELL_CHARS_MAX = 120


class Format(StrEnum):
    """How an answer is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def sql(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="One statement that reads.")],
    form: Annotated[Format, typer.Option("--format", help="How the answer is printed.")] = Format.TABLE,
    log: LogOption = LOG,
    as_json: JsonOption = False,
) -> None:
    """Ask about all runs in SQL; the answer knows all that the log held when it was asked.

    Tables: runs, steps, events, tool_calls, verdicts, facts, annotations; DESCRIBE says what their columns are.
    """
    with Choice(log) as choice:
        answer = ask(choice.log, query, path=log)
    if as_json or form is Format.JSON:
        say_json(list(_objects(answer)))
    elif form is Format.CSV:
        print(_csv(answer), end="")
    else:
        say(*_table(answer))


def _table(answer: Answer) -> Iterator[Text]:
    numbers = {index for index, kind in enumerate(answer.types) if kind.startswith(NUMBERS)}
    head = [Text(one_line(name), style="bold") for name in answer.columns]
    yield from columns([head, *([_cell(value) for value in row] for row in answer.rows)], right=numbers)
    yield Text(f"({counted(len(answer.rows), 'row')})", style="dim")


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
