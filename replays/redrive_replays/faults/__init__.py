"""Faults, seeded, at the world's door: what goes wrong around an agent, and which promises hold all the same."""

from redrive_replays.faults.course import Course
from redrive_replays.faults.held import CHECKS, Breach, Held
from redrive_replays.faults.live import Approvals, Setting
from redrive_replays.faults.recorded import Recorded
from redrive_replays.faults.slices import SLICES, Slice, slices_named
from redrive_replays.faults.tampering import Hit
from redrive_replays.faults.trying import NO_FAULT, Cell, Round, Row, Table, faulted

__all__ = [
    "CHECKS",
    "NO_FAULT",
    "SLICES",
    "Approvals",
    "Breach",
    "Cell",
    "Course",
    "Held",
    "Hit",
    "Recorded",
    "Round",
    "Row",
    "Setting",
    "Slice",
    "Table",
    "faulted",
    "slices_named",
]
