"""Trajectories as snapshots of syrupy: lines in a file of their own, in amber, or as JSON."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.amber import AmberSnapshotExtension
from syrupy.extensions.amber.serializer import AmberDataSerializer
from syrupy.extensions.json import JSONSnapshotExtension
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation
from syrupy.types import SnapshotIndex

from redrive_events import Json, canonical
from redrive_replays.testing.matching import Mode, fit
from redrive_replays.testing.recordings import plain_name
from redrive_replays.testing.telling import calls_in
from redrive_replays.testing.trajectory import Trajectory


class Told(str):
    """What a snapshot is compared with, and the mode by which that is done."""

    mode: Mode = "strict"


def _told(text: str, trajectory: Trajectory) -> Told:
    told = Told(text)
    told.mode = trajectory.match.mode
    return told


class _Comparing:
    """How what a test received is compared with a snapshot."""

    def matches(self, *, serialized_data: str | bytes, snapshot_data: str | bytes) -> bool:
        """Whether it is the same, as far as the mode looks."""
        mode: Mode = getattr(serialized_data, "mode", "strict")
        if mode == "strict":
            return serialized_data == snapshot_data
        return fit(mode, calls_of_snapshot(str(serialized_data)), calls_of_snapshot(str(snapshot_data)))


class _Named:
    """Files are named as recordings are: whatever parameters a test has, no other test has the same."""

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: SnapshotIndex = 0) -> str:
        """By the test, and which of its snapshots it is."""
        which = f"[{plain_name(index)}]" if isinstance(index, str) else f".{index}" if index else ""
        return f"{plain_name(test_location.snapshot_name)}{which}"

    @classmethod
    def matches_test_location(cls, *, test_location: PyTestLocation, snapshot_location: str) -> bool:
        """Whether a file is one of this test's."""
        # syrupy asks this for each test and each snapshot, so that what is quickly said comes first.
        path, name = os.path.basename(snapshot_location), plain_name(test_location.snapshot_name)  # noqa: PTH119 - a Path costs twenty times as much
        if not path.startswith((f"{name}.", f"{name}[")):
            return False
        folder = Path(snapshot_location).parent.name
        return folder == test_location.basename and test_location.matches_snapshot_site(snapshot_location)


class TrajectoryExtension(_Comparing, _Named, SingleFileSnapshotExtension):
    """A file for each snapshot, a line for each event: what ``trajectory == snapshot`` uses by itself."""

    file_extension = "txt"
    _write_mode = WriteMode.TEXT

    def serialize(self, data: Any, **options: Any) -> str:
        """The lines of a trajectory; anything else as syrupy has it."""
        if isinstance(data, Trajectory):
            return _told(data.text, data)
        return AmberDataSerializer.serialize(data, **options)


class AmberTrajectoryExtension(_Comparing, AmberSnapshotExtension):
    """The same lines, all snapshots of a test file in one."""

    def serialize(self, data: Any, **options: Any) -> str:
        """The lines of a trajectory; anything else as syrupy has it."""
        return _told(data.text, data) if isinstance(data, Trajectory) else super().serialize(data, **options)


class JSONTrajectoryExtension(_Comparing, _Named, JSONSnapshotExtension):
    """A file of JSON for each snapshot, an object for each event."""

    def serialize(self, data: Any, **options: Any) -> str:
        """A trajectory as plain data; anything else as syrupy has it."""
        if not isinstance(data, Trajectory):
            return str(super().serialize(data, **options))
        return _told(msgspec.json.format(canonical(data.data()), indent=2).decode() + "\n", data)


SNAPSHOTS: Final = "_redrive_finds_unused"


def is_as_in(trajectory: Trajectory, snapshot: SnapshotAssertion) -> bool:
    """Whether the snapshot is of this trajectory; the plain ``snapshot`` of syrupy keeps it in a file of its own."""
    if type(snapshot.extension) is not AmberSnapshotExtension:
        return bool(snapshot == trajectory)
    if not hasattr(snapshot, SNAPSHOTS):
        # This one compares nothing: by it syrupy looks for snapshots that nobody uses any more.
        setattr(snapshot, SNAPSHOTS, snapshot.use_extension(TrajectoryExtension))
    return bool(snapshot(extension_class=TrajectoryExtension) == trajectory)


def lines_of_snapshot(text: str) -> list[str]:
    """What a snapshot tells, line by line, whichever form it has."""
    return text.splitlines() if not text.startswith("{") else list(_lines(msgspec.json.decode(text)))


def calls_of_snapshot(text: str) -> list[str]:
    """The calls that a snapshot tells of."""
    return calls_in("\n".join(lines_of_snapshot(text)))


def _lines(data: Json) -> Iterator[str]:
    yield from (f"{one['is']}  {one['told']}" for one in data["trajectory"])
    for name, child in data.get("children", {}).items():
        yield from ("", f"run of {name}")
        yield from (f"  {line}" if line else "" for line in _lines(child))
