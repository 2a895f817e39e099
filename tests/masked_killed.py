"""A masked desk whose write may be killed before it acts: what it was given is a line in a file."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import redrive as rd
from redrive_engine.models import reply, use
from redrive_events import Json

ADDRESS = "ana@example.com"
KEY = b"a key of the tests, and no other"


def desk(given: Path, dies: str = "") -> rd.Agent:
    """An agent that looks an address up and sends something there.

    A process ``dies`` while it asks for that, or while it sends.
    """

    @rd.tool(effect="read")
    def look() -> dict[str, Json]:
        """Look."""
        return {"to": ADDRESS}

    @rd.tool(effect="write", destination="to", fenced=True)
    def send(to: str) -> str:
        """Send."""
        if dies == "sending":
            os._exit(9)
        with given.open("a") as lines:
            lines.write(f"{to}\n")
        return f"sent to {to}"

    @send.reconcile
    def was_sent(call: rd.Call) -> rd.NotLanded:
        with given.open("a") as lines:
            lines.write(f"asked about {call.arguments['to']}\n")
        return rd.NotLanded()

    def say(turn: int, request: rd.ModelRequest) -> rd.ModelReplied:
        if turn == 2 and dies == "asking":
            os._exit(9)
        masked = str(request.messages[-1].content)
        to = masked.partition('"to":"')[2].partition('"')[0]
        return [reply("", use("look")), reply("", use("send", to=to)), reply("Done.")][turn - 1]

    return rd.Agent("desk", "1", rd.Contract(), tools=[look, send], model=rd.ScriptedModel(say))


def run(agent: rd.Agent, log: Path, vault: Path) -> rd.Run:
    """The run, begun or gone on with."""
    mask = rd.Mask(KEY, classes=["email"], vault=rd.FileVault(vault))
    patience = rd.Patience(lease_s=0.3, look_s=0.01, grace_s=0.5)
    return agent.run("Send it", log=log, run_id="run", mask=mask, patience=patience)


if __name__ == "__main__":
    run(desk(Path(sys.argv[3]), sys.argv[4]), Path(sys.argv[1]), Path(sys.argv[2]))
