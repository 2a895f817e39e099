"""See it all at work on one recorded incident."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import chdir
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.text import Text

from redrive.options import LOG
from redrive.terminal import say
from redrive.verbs.bring import bring
from redrive.verbs.replay import replay
from redrive.verbs.show import show
from redrive.verbs.sql import sql

RUN = "openai-chat"  # the beginning of the one run's id
QUERY = "SELECT tool, arguments->>'account' AS account, rule, status FROM steps WHERE call IS NOT NULL"


def demo() -> None:
    """See it all at work on one recorded incident: import, show, replay, a stricter policy, SQL.

    It needs no network, works in a folder of its own, and leaves nothing behind.
    """
    with TemporaryDirectory(prefix="redrive-demo-") as folder, chdir(folder):
        _lay_out(Path(folder))
        _tell("A service desk's agent sent a refund to a stranger. All that is left is its chat transcript.")
        _step("redrive import incident.json", lambda: bring([Path("incident.json")], log=LOG))
        _tell("It is now a run: what the agent was told, decided and did, event by event.")
        _step(f"redrive show {RUN}", lambda: show(RUN, log=LOG))
        _tell("Everything but the inputs can be computed again, offline, and comes out the same.")
        _step(f"redrive replay {RUN}", lambda: replay([RUN], log=LOG))
        _tell("What if a stricter policy had been in force?")
        _step("cat stricter.toml", lambda: say(*Path("stricter.toml").read_text(encoding="utf-8").splitlines()))
        _step(
            f"redrive replay {RUN} --policy stricter.toml",
            lambda: replay([RUN], policy=Path("stricter.toml"), log=LOG),
        )
        _tell("And every run is in tables, for all the questions that come next.")
        _step(f'redrive sql "{QUERY}"', lambda: sql(QUERY, log=LOG))
        _tell("Now with your own: redrive import FILE, or write an agent (see README.md).")


def _lay_out(folder: Path) -> None:
    stories = files("redrive") / "demo"
    for name in ("incident.json", "stricter.toml"):
        (folder / name).write_bytes((stories / name).read_bytes())


def _tell(sentence: str) -> None:
    say(Text(sentence, style="italic"), "", whole=True)


def _step(command: str, does: Callable[[], object]) -> None:
    """Print a command, and do what it does."""
    say(Text(f"$ {command}", style="bold cyan"), whole=True)
    does()
    say("")
