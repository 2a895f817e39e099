"""The two incidents that were shrunk, and ``PYTHONPATH=examples python -m tests.renew_incidents``, which makes them.

Each is what ``redrive shrink`` leaves of a run of an example in which something went wrong.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import orders_sms.variants
import redrive as rd
import weather.variants
from redrive.command import main
from redrive_engine.live.surroundings import StillClock, Surroundings

FOLDER = Path(__file__).parents[1] / "examples" / "incidents"


class Incident(NamedTuple):
    """Who made the run, what was asked, what of it is kept, and the agent that it is driven again with."""

    make: Callable[[], rd.Agent]
    goal: str
    shows: str
    agent: str


INCIDENTS = {
    "message_sent_twice": Incident(
        orders_sms.variants.repeating,
        orders_sms.GOAL,
        "'repeated' in (select intercepted from steps where steps.run = runs.run)",
        "orders_sms:agent",
    ),
    "thoughts_that_stand_still": Incident(
        weather.variants.stagnating_in_chinese, weather.GOAL, "status = 'failed'", "weather:agent"
    ),
}


def renew(name: str, folder: Path) -> int:
    """Run it, and shrink the run to a recording with its test; the exit code."""
    incident = INCIDENTS[name]
    with tempfile.TemporaryDirectory() as here:
        log = Path(here) / "redrive.db"
        with closing(rd.SqliteLog(log)) as kept:
            around = Surroundings.fixed(StillClock())
            incident.make().run(incident.goal, log=kept, run_id=name, surroundings=around)
        test = folder / f"test_{name}.py"
        options = ["--while", incident.shows, "--agent", incident.agent, "--log", str(log), "--emit-test", str(test)]
        return main(["shrink", name, *options])


if __name__ == "__main__":
    for one in INCIDENTS:
        renew(one, FOLDER)
