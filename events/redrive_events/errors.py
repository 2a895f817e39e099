"""What can go wrong, in one line each that a person can act on.

RedriveError
├── BadInput            what was given cannot be read or is not allowed
│   ├── NoSuchRun       no run has that id, or more than one begins with it
│   └── NewerFormat     written by a later version of the format
├── LogProblem          the log does not do what it should
│   ├── StaleAppend     the run had moved on
│   ├── LeaseHeld       another worker drives the run
│   ├── UnknownEvent    a stored line is not an event of this vocabulary
│   ├── BrokenChain     a stored line is not the one that was written
│   └── LogUnusable     the store cannot be opened, read or written
└── CannotReplay        the recording or its program is not enough
"""

from __future__ import annotations

from datetime import datetime


class RedriveError(Exception):
    """The root: its text is one line, its data are attributes."""


class BadInput(RedriveError):
    """What was given cannot be read or is not allowed; ``place`` is a file, a line or a field."""

    def __init__(self, problem: str, *, place: str = "") -> None:
        super().__init__(f"{place}: {problem}" if place else problem)
        self.problem, self.place = problem, place


class NoSuchRun(BadInput):
    """No run has that id, or more than one begins with it."""


class NewerFormat(BadInput):
    """A file or log of a later version than this one reads."""


class LogProblem(RedriveError):
    """The log does not do what it should."""


class StaleAppend(LogProblem):
    """The run had moved on before these records arrived."""

    def __init__(self, run_id: str, *, expected: int, actual: int) -> None:
        super().__init__(f"run {run_id}: expected position {expected}, log is at {actual}")
        self.run_id, self.expected, self.actual = run_id, expected, actual


class LeaseHeld(LogProblem):
    """Another worker drives the run and keeps its lease alive; without a ``worker``, the lease was revoked."""

    def __init__(self, run_id: str, *, worker: str, until: datetime) -> None:
        problem = f"is driven by another worker ({worker})" if worker else "had its lease revoked"
        super().__init__(f"run {run_id} {problem}")
        self.run_id, self.worker, self.until = run_id, worker, until


class UnknownEvent(LogProblem):
    """A stored line is not a record of this vocabulary."""

    def __init__(self, problem: str, *, run_id: str = "", position: int = 0) -> None:
        place = f"run {run_id}: " if run_id else ""
        super().__init__(f"{place}position {position}: not a known event: {problem}")
        self.problem, self.run_id, self.position = problem, run_id, position


class BrokenChain(LogProblem):
    """A stored line is not the one that was written; ``damage`` says in a word what kind that is."""

    def __init__(self, run_id: str, *, position: int, problem: str, damage: str = "changed") -> None:
        super().__init__(f"run {run_id}: position {position}: {problem}")
        self.run_id, self.position, self.problem, self.damage = run_id, position, problem, damage


class LogUnusable(LogProblem):
    """The store cannot be opened, read or written."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"log {path}: {problem}")
        self.path, self.problem = path, problem


class CannotReplay(RedriveError):
    """The recording or its program is not enough to drive the run again."""
