"""Whether a run shows something: by an expression in SQL over it, or by a test that fails on it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import IO
from xml.etree import ElementTree

from msgspec.structs import replace

from redrive_events import BadInput, MemoryLog, Record, write_portable
from redrive_replays import keep

# In this variable a test finds the recording that it is to look at.
RECORDING = "REDRIVE_RECORDING"
# What pytest says of tests that failed, and of tests that all passed.
FAILED, PASSED = 1, 0
# How pytest begins the message of a failure; that of an assertion begins with what was asserted.
_EXCEPTION = re.compile(r"([A-Za-z_][\w.]*)(?::|$)")


def showing(what: str, option: str = "") -> Callable[[Sequence[Record]], bool]:
    """A function that says whether a run shows ``what``: ``FILE::TEST`` fails, or an expression over ``runs`` holds.

    ``option`` is where it was given. Raises, as the function does:
        BadInput: the test cannot be run, or the expression is none.
    """
    return _fails(what) if "::" in what else _holds(what, option)


def _holds(expression: str, option: str) -> Callable[[Sequence[Record]], bool]:
    from redrive_projections.history import history

    log, numbers = MemoryLog(), count(1)
    notebook = history(log)  # one for all candidates: each joins it as one run more

    def holds(records: Sequence[Record]) -> bool:
        run_id = f"candidate-{next(numbers)}"
        own = records[-1].run_id  # what it inherits stands there under the names it has, for all candidates
        keep(log, (replace(one, run_id=run_id) if one.run_id == own else one for one in records))
        query = f"SELECT coalesce(({expression})::BOOLEAN, false) FROM runs WHERE run_id = $1"
        try:
            ((shows,),) = notebook.rows(query, [run_id])
        except BadInput as error:
            raise BadInput(error.problem, place=option or error.place) from error
        return bool(shows)

    return holds


def _fails(node: str) -> Callable[[Sequence[Record]], bool]:
    """A function that says whether a run makes the test fail as the first one did that was shown to it.

    What is left of a run may well fail a test otherwise, such as by an index that is none; that is another failure.
    """
    kinds: list[str] = []

    def fails(records: Sequence[Record]) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            file, report = Path(folder) / "candidate.jsonl", Path(folder) / "report.xml"
            with file.open("wb") as stream:
                written(records, stream)
            options = ["-q", "-x", "-p", "no:cacheprovider", f"--junitxml={report}"]
            command = [sys.executable, "-m", "pytest", *options, node]
            done = subprocess.run(command, env={**os.environ, RECORDING: str(file)}, capture_output=True, check=False)
            found = _outcomes(report) if done.returncode in {FAILED, PASSED} else {}
        if done.returncode not in {FAILED, PASSED} or "error" in found or "skipped" in found:
            lines = done.stdout.decode(errors="replace").strip().splitlines() or [""]
            raise BadInput(f"the test could not be run: {found.get('error') or lines[-1]}", place=node)
        if done.returncode == FAILED:
            kinds.append(found.get("failure", ""))
        return done.returncode == FAILED and kinds[-1] == kinds[0]

    return fails


def _outcomes(report: Path) -> dict[str, str]:
    """How tests came out that did not pass, each with the first of its kind: of a failure, which exception it was."""
    found: dict[str, str] = {}
    for one in ElementTree.parse(report).iter():
        if one.tag in {"failure", "error", "skipped"}:
            first, _, _ = one.get("message", "").partition("\n")
            raised = _EXCEPTION.match(first)
            found.setdefault(one.tag, first if one.tag == "error" else raised[1] if raised else "AssertionError")
    return found


def written(records: Sequence[Record], stream: IO[bytes]) -> None:
    """Write the records of one run, with what it inherits, as a portable recording."""
    log = MemoryLog()
    keep(log, records)
    write_portable(log, [records[-1].run_id], stream)
