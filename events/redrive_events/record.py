"""An event with its place: which run, which position, when, and what it follows from."""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache
from typing import Annotated

import msgspec

from redrive_events.errors import BadInput
from redrive_events.kinds import Event

# A child of a run is RUN/CALL, what was said beside a run is RUN@notes.
RUN_ID = re.compile(r"[A-Za-z0-9._-]{1,80}(/[0-9]{1,9})*(@notes)?")
NOTES = "@notes"
# The remark on a run that says which run and call began it, where that came to light later.
PARENT = "parent"


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """One line of the log.

    ``position`` counts 1, 2, 3 … in the run. ``cause`` is the position this one follows from, 0 where nothing in the
    run caused it. ``left`` says how many records of the same append are still to come.
    """

    run_id: str
    position: Annotated[int, msgspec.Meta(ge=1)]
    at: Annotated[datetime, msgspec.Meta(tz=True)]
    cause: Annotated[int, msgspec.Meta(ge=0)]
    left: Annotated[int, msgspec.Meta(ge=0)]
    event: Event


def kind_of(event: Event) -> str:
    """What kind of event it is: its tag, without the version of its shape."""
    return str(event.__struct_config__.tag).partition(".")[0]


@lru_cache
def check_run_id(run_id: str) -> str:
    """``run_id`` itself, if a run may be called that.

    Raises:
        BadInput: it may not.
    """
    if not RUN_ID.fullmatch(run_id):
        raise BadInput("a run id is 1 to 80 letters, digits, '.', '_' or '-'", place=f"run id {run_id!r}")
    return run_id
