"""What became of a file that was to be imported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from redrive_events import AnnotationMade, Event, ObservationReceived, RunStarted, ToolCalled
from redrive_replays.traces.material import Diagnostic
from redrive_replays.traces.trace import Trace

# The file, and how many of its runs are done.
Progress: TypeAlias = Callable[[str, int], None]


@dataclass(slots=True)
class FileReport:
    """What became of one file; ``refused`` says why nothing of it was taken, in one line.

    One that nobody named, but was come upon, is ``skipped`` where it is no trace, for the reason that stands there.
    ``added`` of its runs are new, the others were there. ``results`` are those in the file, of which ``unpaired``
    answer no call. ``grades`` counts the runs of each grade, ``missing`` what is not there or was inferred.
    One that was ``read_with`` another file tells of the same runs, which are counted there.
    """

    path: str
    format: str = ""
    runs: list[str] = field(default_factory=list)
    added: int = 0
    events: int = 0
    calls: int = 0
    results: int = 0
    unpaired: int = 0
    grades: dict[str, int] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    refused: str = ""
    skipped: str = ""
    read_with: str = ""

    def count_trace(self, trace: Trace, events: int) -> None:
        """One run of another tool more."""
        self.events += events
        self.calls += trace.calls
        self.results += trace.results
        self.unpaired += trace.unpaired
        self.grades[trace.grade] = self.grades.get(trace.grade, 0) + 1
        for what, times in trace.missing.items():
            self.missing[what] = self.missing.get(what, 0) + times

    def replace_missing(self, what: str, other: str) -> None:
        """One of what is missing was found, and ``other``, if it is anything, is missing in its place."""
        self.missing[what] -= 1
        self.missing[other] = self.missing.get(other, 0) + 1
        self.missing = {name: times for name, times in self.missing.items() if name and times}

    def follow(self, first: FileReport) -> None:
        """It went the way of the file that it was read with."""
        self.format, self.runs = first.format, first.runs
        if first.refused:
            self.refused = f"{self.path}: was read with a file that is refused"

    def refuse(self, problem: str) -> None:
        """Nothing of the file was taken after all."""
        self.__init__(self.path, refused=problem)  # type: ignore[misc]

    def count(self, event: Event) -> None:
        """One event of a recording more."""
        self.events += type(event) is not AnnotationMade
        if isinstance(event, RunStarted):
            grade = event.source.grade if event.source else "full"
            self.grades[grade] = self.grades.get(grade, 0) + 1
        elif isinstance(event, ToolCalled):
            self.calls += event.attempt == 1
        elif isinstance(event, ObservationReceived):
            self.results += 1
