"""Ask about all runs in SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from redrive.answers import Format, spelled, table
from redrive.chosen import Choice
from redrive.files import replacing
from redrive.options import LOG, JsonOption, LogOption
from redrive.prompt import Prompt
from redrive.statements import statements
from redrive.terminal import say, say_data
from redrive_events import BadInput, EventLog, Json, parse_json
from redrive_projections.history import Answer, Questions, write_answer

_PARAMETER = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)


def sql(
    query: Annotated[str | None, typer.Argument(metavar="[QUERY]", help="One statement that reads.")] = None,
    file: Annotated[
        Path | None, typer.Option("-f", "--file", metavar="FILE", help="Answer the statements of this file.")
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="How the answer is printed.")] = Format.TABLE,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to, in place of stdout.")
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option("--param", metavar="NAME=VALUE", help="What $NAME stands for: JSON, or else text."),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="SECONDS", min=0.001, help="How long an answer may take.")
    ] = None,
    unsafe: Annotated[
        bool, typer.Option("--unsafe", help="Let SQL reach files and the network, and do more than read.")
    ] = False,
    log: LogOption = LOG,
    as_json: JsonOption = False,
) -> None:
    """Ask about all runs in SQL; each answer knows all that the log held when it was asked.

    Without a query or a file, statements are read from stdin, at a terminal with a prompt. Tables, views and macros:
    .tables lists them there, DESCRIBE says what their columns are. SQL can only read, and nothing but these tables.
    """
    form = Format.JSON if as_json else form
    parameters = _parameters(param or ())
    if query is not None and file is not None:
        raise BadInput("give a query or a file, not both", place="sql")
    asked = [query] if query is not None else None if file is None else _statements(file)
    with Choice(log) as choice:
        if form is Format.PARQUET or output is not None:
            _write(choice.log, log, _only(asked), form, output, parameters, timeout=timeout, unsafe=unsafe)
            return
        with Questions(choice.log, log, unsafe=unsafe) as questions:

            def answer(statement: str) -> None:
                given = parameters if query is not None else _spoken_of(statement, parameters)
                _say(questions.ask(statement, given, timeout_s=timeout), form)

            if asked is None:
                Prompt(answer).run()
            else:
                _check_parameters(asked, parameters)
                for statement in asked:
                    answer(statement)


def _say(answer: Answer, form: Format) -> None:
    if form is Format.TABLE:
        say(*table(answer))
    else:
        say_data(spelled(answer, form))


def _write(
    log: EventLog,
    path: Path,
    query: str,
    form: Format,
    output: Path | None,
    parameters: Mapping[str, Json],
    *,
    timeout: float | None,
    unsafe: bool,
) -> None:
    if output is None:
        raise BadInput("Parquet goes into a file: give -o FILE", place="sql")
    if form is Format.PARQUET and unsafe:
        raise BadInput("with --unsafe, COPY (QUERY) TO 'FILE' writes Parquet", place="sql")
    with replacing(output) as file:
        if form is Format.PARQUET:
            write_answer(log, query, Path(file.name), path=path, parameters=parameters, timeout_s=timeout)
            return
        with Questions(log, path, unsafe=unsafe) as questions:
            answer = questions.ask(query, parameters, timeout_s=timeout)
        words = "".join(f"{line.plain}\n" for line in table(answer)) if form is Format.TABLE else spelled(answer, form)
        file.write(words.encode(errors="backslashreplace"))


def _only(asked: Sequence[str] | None) -> str:
    found = [one for text in asked or () for one in statements(text)]
    if len(found) != 1:
        raise BadInput("a file takes the answer to one query: give it, or -f FILE with one statement", place="sql")
    return found[0]


def _statements(file: Path) -> list[str]:
    try:
        found = list(statements(file.read_text(encoding="utf-8")))
    except UnicodeDecodeError as error:
        raise BadInput("not UTF-8", place=str(file)) from error
    except OSError as error:
        raise BadInput((error.strerror or "cannot be read").lower(), place=str(file)) from error
    if not found:
        raise BadInput("there is no statement in it", place=str(file))
    return found


def _parameters(given: Sequence[str]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for one in given:
        named = _PARAMETER.fullmatch(one)
        if named is None:
            raise BadInput(f"{one!r} is not NAME=VALUE, with a name of letters, digits and _", place="--param")
        if named[1] in found:
            raise BadInput(f"{named[1]} is given twice", place="--param")
        found[named[1]] = _value(named[2])
    return found


def _value(words: str) -> Json:
    try:
        return parse_json(words)
    except BadInput:
        return words


def _spoken_of(statement: str, parameters: Mapping[str, Json]) -> dict[str, Json]:
    """The parameters of one statement among several."""
    names = set(re.findall(r"\$(\w+)", statement))
    return {name: value for name, value in parameters.items() if name in names}


def _check_parameters(asked: Sequence[str], parameters: Mapping[str, Json]) -> None:
    for name in parameters:
        if not any(name in _spoken_of(statement, parameters) for statement in asked):
            raise BadInput(f"${name} stands in no statement", place="--param")
