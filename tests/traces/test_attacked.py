"""Files read in company or taken apart: joined, wrapped, begun by another, row by row, among other lines; spoiled."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redrive_events import BadInput, MemoryLog, StoredLine
from redrive_replays import recording_of, replay
from redrive_replays.traces import Diagnostic, FileReport, import_file, import_files
from tests.traces import otel_story as story
from tests.traces.test_bad_input import ODD, WRONG, places, spoiled
from tests.traces.test_joining import BARE, logs
from tests.traces.test_joining import records as log_records
from tests.traces.test_lineage import CODEX, MILLER, OATS, RYE, SESSION
from tests.traces.test_opened import TRACES, WRAPPED

Files = Mapping[str, list[Any]]


def _documents(*values: Any) -> bytes:
    return b"\n".join(json.dumps(value, ensure_ascii=False).encode() for value in values)


def _printed() -> list[Any]:
    decoder, text = json.JSONDecoder(), story.CONTAINERS["console"](story.spans(story.CONVENTIONS["native"])).decode()
    found, at = [], text.find("{")
    while at >= 0:
        value, at = decoder.raw_decode(text, at)
        found.append(value)
        at = text.find("{", at)
    return found


# Files that belong together, by name, each as the values that stand in it one behind the other.
TOGETHER: dict[str, Callable[[], Files]] = {
    "spans and records": lambda: {"spans": [json.loads(BARE)], "records": [logs()]},
    "spans and single records": lambda: {"spans": [json.loads(BARE)], "records": log_records()},
    "a session and its agents": lambda: {"session": SESSION, "rye": RYE, "oats": OATS},
    "a session that another began": lambda: {"session": CODEX, "miller": MILLER},
    **{f"wrapped: {how}": (lambda how=how: {"rows": [WRAPPED[how](TRACES["tau-bench"]())]}) for how in WRAPPED},  # type: ignore[misc]
    "wrapped simulations": lambda: {"rows": [{"data": [TRACES["tau2-bench"]()]}]},
    "a wrapped session": lambda: {"rows": [{"trace": json.dumps(TRACES["claude-code"]())}]},
    "steps": lambda: {"steps": [{key: one for key, one in TRACES["swe-agent"]().items() if key != "history"}]},
    "rows": lambda: {"rows": [[{"messages": [{"role": "user", "content": "Rye?"}], "n": n} for n in range(4)]]},
    "printed among other lines": lambda: {"printed": ["bread {rye}", *_printed(), "[oats", "} rye {"]},
}


def brought(files: Mapping[str, bytes]) -> list[FileReport]:
    """Files imported together, twice: each is in with runs that replay, or told in one line; again adds nothing."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in files]
        for path in paths:
            path.write_bytes(files[path.name])
        log = MemoryLog()
        reports = import_files(paths, log)
        kept = {head.run_id for head in log.runs() if not head.run_id.endswith("@notes")}
        assert kept == {run for report in reports for run in report.runs if not report.refused}
        for report in reports:
            assert "\n" not in report.refused
            assert bool(report.refused) == (not report.runs)
        assert all(replay(recording_of(log, run)).same for run in kept)
        assert sum(report.added for report in import_files(paths, log)) == 0
    return reports


def row_by_row(data: bytes, large_bytes: int) -> tuple[FileReport, list[list[StoredLine]]] | str:
    """What becomes of a file, or why it is refused."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(data)
        log = MemoryLog()
        try:
            report = import_file(path, log, large_bytes=large_bytes)
        except BadInput as error:
            assert list(log.runs()) == []
            return str(error).replace(folder, "")
        report.path = ""
        report.diagnostics = [Diagnostic(str(one)) for one in report.diagnostics]  # a row's place is known or not
        return report, [list(log.lines(head.run_id)) for head in log.runs()]


@pytest.mark.parametrize("name", TOGETHER)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_wrong_value_anywhere_is_refused_or_survives(name: str, data: st.DataObject) -> None:
    """In either of the files, in the JSON inside of texts too; what is left of it is read row by row as it is whole."""
    files = {key: list(values) for key, values in TOGETHER[name]().items()}
    which = data.draw(st.sampled_from(sorted(files)))
    at = data.draw(st.integers(0, len(files[which]) - 1))
    path = data.draw(st.sampled_from(list(places(files[which][at]))))
    files[which][at] = spoiled(files[which][at], path, data.draw(WRONG))
    written = {key: _documents(*values) for key, values in files.items()}
    brought(written)
    assert row_by_row(written[which], 0) == row_by_row(written[which], 1 << 30)


@pytest.mark.parametrize("name", TOGETHER)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_torn_file_keeps_no_other_out(name: str, data: st.DataObject) -> None:
    """Wherever one is cut, the others are what they were, or say what they lack."""
    written = {key: _documents(*values) for key, values in TOGETHER[name]().items()}
    which = data.draw(st.sampled_from(sorted(written)))
    cut = written[which][: data.draw(st.integers(0, len(written[which]) - 1))]
    others = [report for report in brought({**written, which: cut}) if Path(report.path).name != which]
    assert not any(report.refused for report in others)


@pytest.mark.parametrize("name", TOGETHER)
def test_what_is_odd_is_read_or_refused(name: str) -> None:
    """Marks, line ends, half pairs, NaN, depth, repeated keys and ids, in each of the files."""
    values = TOGETHER[name]()
    written = {key: _documents(*one).replace(b"Rye?", b"Eggs and") for key, one in values.items()}
    for which, good in written.items():
        for change in ODD.values():
            odd = change(good)
            if odd != good:
                brought({**written, which: odd})
        deep = spoiled(values[which][0], list(places(values[which][0]))[-1], json.loads("[" * 100 + "]" * 100))
        brought({**written, which: _documents(deep, *values[which][1:])})


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress], ids=["gzip", "zstd"])
@pytest.mark.parametrize("which", ["spans", "records"])
def test_a_bomb_beside_a_file_is_refused_alone(which: str, pack: Callable[[bytes], bytes]) -> None:
    """What it would be joined with goes in."""
    names = b'{"resourceLogs": "gen_ai.", "body": "' + story.TRACE.encode() + b'", "x": "'
    files = {"spans": BARE, "records": json.dumps(logs()).encode(), which: pack(names + b" " * (80 << 20))}
    reports = {Path(report.path).name: report for report in brought(files)}
    bomb = reports.pop(which)
    assert "would unpack to more than 67108864 bytes" in bomb.refused
    assert [report.refused for report in reports.values()] == [""]
