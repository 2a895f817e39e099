"""A worker that is killed right behind an append; the messages of the service desk outlive it in a file."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import redrive as rd
from orders_sms import GOAL, make_agent
from orders_sms.world import Sms, World
from redrive_engine import load_agent
from redrive_events import Record


class KillingLog(rd.SqliteLog):
    """A log whose process is killed once so many appends are written; 0 means never."""

    kill_after = 0

    def append(self, run_id: str, records: Sequence[Record], *, expected: int) -> None:
        """Write, and be killed."""
        super().append(run_id, records, expected=expected)
        self.kill_after -= 1
        if self.kill_after == 0:
            os.kill(os.getpid(), signal.SIGKILL)


class OutlivingWorld(World):
    """A message service that keeps what it sent in a file, a line each."""

    def __init__(self, file: Path) -> None:
        lines = file.read_text().splitlines() if file.exists() else ()
        super().__init__(sent={sms.key: sms for sms in map(Sms.model_validate_json, lines)})
        self._file = file

    def send_sms(self, phone: str, text: str, key: str) -> Sms:
        """Send once for each key."""
        known = key in self.sent
        sms = super().send_sms(phone, text, key)
        if not known:
            with self._file.open("a") as file:
                file.write(sms.model_dump_json() + "\n")
        return sms


def main(agent: str, kill_after: str) -> None:
    """Run an agent, or go on with its run."""
    opened = KillingLog(Path("runs.db"))
    opened.kill_after = int(kill_after)
    desk = agent == "orders_sms:agent"
    asked = make_agent(world=OutlivingWorld(Path("sent.jsonl"))) if desk else load_agent(agent)
    run = asked.run(GOAL, log=opened, run_id="run", patience=rd.Patience(lease_s=0.3, look_s=0.01))
    print(f"{run.status}: {run.answer}")


if __name__ == "__main__":
    main(*sys.argv[1:])
