"""A test for each recording in a folder, whose program must still take the course of its snapshot."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from redrive_events import BadInput
from redrive_replays.testing.recordings import SUFFIX
from redrive_replays.testing.telling import Level

if TYPE_CHECKING:
    from redrive_engine import Agent

PACKED: Final = f"{SUFFIX}.zst"


def incidents(folder: Path | str, *, agent: Agent | str | None = None, level: Level = "steps") -> Callable[..., None]:
    """A test of pytest, to be kept under a name that begins with ``test``, with each recording in ``folder`` in turn.

    ``folder`` is a path from where pytest runs, or from the file that asks. Each recording is driven again by
    ``agent``, or the one that is registered under the recorded name, and has a snapshot of its own.

    Raises:
        BadInput: there is no such folder, or no recording in it.
    """
    here = Path(sys._getframe(1).f_code.co_filename).parent
    place = next((one for one in (Path(folder).absolute(), here / folder) if one.is_dir()), None)
    if place is None:
        raise BadInput("there is no such folder", place=str(folder))
    files = sorted(one for one in place.rglob("*") if one.name.endswith((SUFFIX, PACKED)))
    if not files:
        raise BadInput("there is no recording in it", place=str(folder))
    names = [one.relative_to(place).as_posix().removesuffix(".zst").removesuffix(SUFFIX) for one in files]

    @pytest.mark.parametrize("incident", files, ids=names)
    def test_incident(incident: Path, trajectories: Any, snapshot: Any) -> None:
        """Driven again, the run takes the course of its snapshot."""
        assert trajectories.replay(incident, agent=agent).at(level) == snapshot

    test: Callable[..., None] = test_incident
    return test
