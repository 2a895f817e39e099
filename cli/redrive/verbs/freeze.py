"""Make a test of a run: a recording without personal data, its snapshot, and the test that holds them together."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from redrive.agents import agent_named
from redrive.chosen import Choice, Chosen
from redrive.files import replacing
from redrive.options import LOG, AgentOption, JsonOption, LogOption, RunArgument
from redrive.terminal import Cell, columns, counted, say, say_json
from redrive_events import NOTES, BadInput, check_run_id, write_portable
from redrive_replays import Recording, program_for
from redrive_replays.testing import Frozen, file_name, frozen, mask_for, plain_name, unmasked

SHOWN_CHARS = 3

TEST = '''"""What happened in a run that was frozen: `redrive freeze` made this, and it is yours."""

from __future__ import annotations


def {test}(trajectories, snapshot):
    """Driven again it takes the course of the snapshot: another one is a change of behaviour."""
    assert trajectories.replay("{recording}"{agent}) == snapshot
'''


def freeze(
    run: RunArgument,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="What the run and its test are called.")
    ] = None,
    folder: Annotated[Path, typer.Option("--dir", metavar="FOLDER", help="Where it is written.")] = Path(
        "tests/incidents"
    ),
    agent: AgentOption = None,
    mask: Annotated[
        list[str] | None, typer.Option("--mask", metavar="NAME", help="A name that is masked, too; may be repeated.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Write it; else only what would be written is shown.")] = False,
    log: LogOption = LOG,
    as_json: JsonOption = False,
) -> int:
    """Make a test of a run, imported ones included: its recording, a snapshot, and the test.

    Credentials, e-mail addresses, telephone numbers, cards, accounts, identity numbers and the given names are masked
    in what the run was told, and it is driven anew from that, so that the recording is a sound one without them. What
    is found is shown first. It needs redrive[mask], and the test redrive[test].
    """
    with Choice(log) as choice:
        chosen = choice.one(run)
        runs = _runs(chosen)
    called = check_run_id(chosen.run_id.replace("/", "-") if name is None else name)
    if {"/", "@"} & set(called):
        raise BadInput("a name is 1 to 80 letters, digits, '.', '_' or '-'", place=f"--name {called!r}")
    given = agent_named(agent) if agent else None
    made = frozen(runs, chosen.run_id, called, lambda started: program_for(started, agent=given), mask_for(mask or []))
    files = _files(folder, called)
    for file in files:
        if file.exists():
            raise BadInput("it is there already; --name gives this one another", place=str(file))
    missing = unmasked(mask or [], made.hidden)
    written = yes and not made.parts
    if written:
        _write(files, made, agent)
    if as_json:
        say_json({**_data(made, files, written=written), "not_found": missing})
    else:
        _tell(made, files, missing, written=written)
    return 1 if made.parts else 0


def _runs(chosen: Chosen) -> dict[str, Recording]:
    """The run and those it began."""
    heads = [head for head in chosen.log.runs() if not head.run_id.endswith(NOTES)]
    ids = [one.run_id for one in heads if one.run_id == chosen.run_id or one.run_id.startswith(f"{chosen.run_id}/")]
    return {one: Chosen(one, chosen.log, chosen.log.head(one)).recording() for one in ids}


def _files(folder: Path, name: str) -> tuple[Path, Path, Path]:
    """The recording, the snapshot and the test."""
    test = "test_" + "".join(one if one.isalnum() and one.isascii() else "_" for one in name)
    snapshot = folder / "__snapshots__" / test / f"{plain_name(test)}.txt"
    return folder / file_name(name), snapshot, folder / f"{test}.py"


def _write(files: tuple[Path, Path, Path], made: Frozen, agent: str | None) -> None:
    """All three or none of them."""
    recording, snapshot, test = files
    given = f', agent="{agent}"' if agent else ""
    try:
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(recording) as stream:
            write_portable(made.log, [head.run_id for head in made.log.runs()], stream)
        with replacing(snapshot) as stream:
            stream.write(made.trajectory.text.encode())
        with replacing(test) as stream:
            stream.write(TEST.format(test=test.stem, recording=recording.name, agent=given).encode())
    except (OSError, BadInput) as error:
        for file in files:  # none of them was there before
            with suppress(OSError):
                file.unlink()
        if isinstance(error, BadInput):
            raise
        raise BadInput((error.strerror or "cannot be written").lower(), place=str(error.filename)) from error


def _tell(made: Frozen, files: tuple[Path, Path, Path], missing: list[str], *, written: bool) -> None:
    events = counted(len(made.trajectory.records), "event")
    course = f"with its inputs masked it takes another course at {made.parts}" if made.parts else "the same course"
    say(f"{made.trajectory.run_id}  {events}, driven anew: {course}", "")
    rows: list[tuple[Cell, ...]] = [
        (Text(one.placeholder), counted(one.times, "time"), Text(f"{one.value[:SHOWN_CHARS]}…", style="dim"))
        for one in made.hidden
    ]
    say(*(columns([("masked", "", ""), *rows]) if rows else ["nothing to mask was found"]), "")
    if missing:
        say(*(f"--mask {name!r} stands nowhere in it by itself; perhaps it is spelt otherwise" for name in missing), "")
    say(*columns([("wrote" if written else "would write", str(file)) for file in files]))
    if not written:
        why = "nothing is written: what is masked decides how it goes" if made.parts else "--yes writes it"
        say("", why)


def _data(made: Frozen, files: tuple[Path, Path, Path], *, written: bool) -> dict[str, object]:
    masked = [{"class": one.name, "placeholder": one.placeholder, "times": one.times} for one in made.hidden]
    names = dict(zip(("recording", "snapshot", "test"), map(str, files), strict=True))
    return {"run_id": made.trajectory.run_id, "written": written, "parts_at": made.parts, "masked": masked, **names}
