"""A masked run leaves no byte of what it masks, on no way, in no file and in nothing that is said of it."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import anyio
import pytest

import redrive as rd
from redrive.masking import KEY_FILE
from redrive_events import SqliteLog
from redrive_projections import fold
from tests.cli.conftest import Redrive
from tests.masked_story import CANCELLED, PATIENT, RUN, WAYS, Story, address, credential, left_in, said, ways_in

KEY = b"a key of the tests, and no other"
LOG = "redrive.db"
VAULT = f"{LOG}.vault"
ASKED = (
    ("show", RUN),
    ("show", RUN, "--json", "--thoughts"),
    ("show", RUN, "--at", "20"),
    ("show", RUN, "--at", "20", "--json"),
    ("show", RUN, "--request", "3"),
    ("show", RUN, "--request", "3", "--json"),
    ("show", CANCELLED),
    ("runs",),
    ("runs", "--json"),
    ("stats",),
    ("verify",),
    ("approvals", "--json"),
    ("sql", "FROM steps"),
    ("sql", "FROM runs"),
    ("sql", "FROM payloads", "--format", "csv"),
    ("sql", "FROM payloads", "--format", "parquet", "-o", "payloads.parquet"),
    ("export", "--all"),
    ("export", "--all", "-o", "runs.jsonl"),
    ("export", "--all", "-o", "runs.jsonl.zst"),
    ("export", "--all", "--parquet", "tables"),
    ("rebuild",),
)


def lived(redrive: Redrive, mask: rd.Mask | None) -> tuple[Story, set[str]]:
    """The story, with all that can be said of it afterwards, and the ways of which that says something."""
    log = SqliteLog(Path(LOG))
    story = Story(log, mask)
    story.run()
    told: set[str] = set()
    for command in ASKED:
        answer = redrive(*command, *(("--unmasked",) if command[0] == "show" else ()))
        assert answer.code in {0, 1}, (command, answer.err)
        told |= ways_in((answer.out + answer.err).encode())
    return story, told


def test_what_is_masked_is_in_no_byte(redrive: Redrive, folder: Path) -> None:
    """Not in log, vault, history, recording or table, packed or not, nor on the terminal; tools are given all of it."""
    story, told = lived(redrive, rd.Mask(KEY, classes=["email"], vault=rd.FileVault(VAULT)))
    assert left_in(folder) == set()
    assert told == set()
    assert ways_in("".join(story.read).encode()) == set()
    assert story.given == [said("argument"), said("edit")]


def test_where_nothing_is_masked_it_is_everywhere(redrive: Redrive, folder: Path) -> None:
    """So the test above looks where there is something to be seen."""
    story, told = lived(redrive, None)
    assert left_in(folder) == set(WAYS)
    assert set(WAYS) - told == set()
    assert story.given == [said("argument"), said("edit")]
    for kind in ("*.db*", "*.history/*.duckdb", "*.jsonl", "*.zst", "tables/**/*.parquet"):
        others = [path.name for path in folder.rglob("*") if path.is_file() and path not in set(folder.glob(kind))]
        assert {"goal", "result", "words"} <= left_in(folder, *others), kind


def test_show_masks_credentials_of_a_run_that_was_recorded_without_a_mask(redrive: Redrive, folder: Path) -> None:
    """In lines, in JSON, and in what the model was asked; addresses are shown."""
    Story(SqliteLog(Path(LOG)), None).run()
    for command in (command for command in ASKED if command[0] == "show"):
        answer = redrive(*command)
        assert credential("goal")[:8] not in answer.out, command
        assert answer.out.count("[masked]") > 0
    assert address("goal") in redrive("show", RUN).out
    assert credential("goal") in redrive("show", RUN, "--unmasked").out


def test_a_masked_run_replays_without_its_key(folder: Path, redrive: Redrive) -> None:
    """A replay asks no tool, so it needs no value."""
    log = SqliteLog(Path(LOG))
    story = Story(log, rd.Mask(KEY, classes=["email"]))
    story.run()
    bare = Story(log, None).agent(rd.ScriptedModel([]))
    for run_id in (RUN, CANCELLED):
        assert rd.replay(rd.Run(run_id, log, fold(log.read(run_id))), agent=bare).same


AGENT = """
import redrive as rd
from redrive_engine.models import reply, use

given = []

@rd.tool(effect="write", destination="to")
def send(to: str) -> str:
    "Send."
    given.append(to)
    return f"sent to {to}"

@rd.policy
def asks(question):
    return rd.ask("It goes out.")

def script(turn, request):
    to = request.messages[0].content.split()[-1]
    return [reply("", use("send", to=to)), f"Sent to {to}."][turn - 1]

agent = rd.Agent("desk", "1", rd.Contract(), tools=[send], policy=asks, model=rd.ScriptedModel(script))
"""
GOAL = "Send it to ana@example.com"
BEGIN = ("run", "masked_desk:agent", "--goal", GOAL, "--no-talk")
NO_KEY = "redrive: run r: it is masked under key '{}', and here is no key\n"


@pytest.fixture
def waiting(folder: Path, monkeypatch: pytest.MonkeyPatch) -> rd.Mask:
    """A masked run in the log that waits for an approval while nobody drives it; its key is in a file."""
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delenv(KEY_FILE, raising=False)
    (folder / "masked_desk.py").write_text(AGENT)
    (folder / "key").write_bytes(KEY + b"\n")
    sys.modules.pop("masked_desk", None)
    mask = rd.Mask(KEY, classes=["email"], vault=rd.FileVault(VAULT))
    agent = importlib.import_module("masked_desk").agent
    log = SqliteLog(Path(LOG))

    async def begin() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: agent.arun(GOAL, log=log, run_id="r", mask=mask, patience=PATIENT))
            while not (log.head("r").position and rd.open_approvals(log, "r")):
                await anyio.sleep(0.02)
            group.cancel_scope.cancel()

    anyio.run(begin)
    return mask


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("say", "r", "No, to bo@example.com"), id="say"),
        pytest.param(("cancel", "r", "--reason", "not to her"), id="cancel with a reason"),
        pytest.param(("approve", "r", "1", "--edit", '{"to": "bo@example.com"}'), id="approve with an edit"),
        pytest.param(("deny", "r", "1", "--reason", "not to her"), id="deny with a reason"),
    ],
)
def test_who_speaks_into_a_masked_run_needs_its_key(
    command: tuple[str, ...], waiting: rd.Mask, redrive: Redrive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it nothing is written."""
    before = SqliteLog(Path(LOG)).head("r")
    assert redrive(*command) == (2, "", NO_KEY.format(waiting.key_id))
    assert SqliteLog(Path(LOG)).head("r") == before
    monkeypatch.setenv(KEY_FILE, "key")
    assert redrive(*command).code == 0
    assert SqliteLog(Path(LOG)).head("r").position == before.position + 1


@pytest.mark.parametrize(
    "command", [("cancel", "r"), ("approve", "r", "1"), ("deny", "r", "1"), ("say", "r", "--last")]
)
def test_what_has_no_words_needs_no_key(command: tuple[str, ...], waiting: rd.Mask, redrive: Redrive) -> None:
    """Above all, a masked run can be stopped by anybody."""
    assert redrive(*command).code == 0


def test_a_masked_run_is_gone_on_with_from_the_command_line(
    waiting: rd.Mask, redrive: Redrive, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By whoever has the key, and says that it is to be masked; the tool is given what a person has put there."""
    assert redrive(*BEGIN, "--run-id", "r") == (2, "", NO_KEY.format(waiting.key_id))
    monkeypatch.setenv(KEY_FILE, "key")
    assert redrive("approve", "r", "1", "--edit", '{"to": "bo@example.com"}').code == 0
    done = redrive(*BEGIN, "--run-id", "r", "--mask", "secret, email")
    assert done.code == 0
    assert importlib.import_module("masked_desk").given == ["bo@example.com"]
    assert "@example.com" in done.out
    assert not any(word in done.out + done.err for word in ("ana@", "bo@"))
    assert (folder / VAULT).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("mask", "key", "problem"),
    [
        ("email", None, "--mask: needs a key: name its file in REDRIVE_MASK_KEY_FILE"),
        ("email", "nowhere", "nowhere: the key cannot be read: no such file or directory"),
        ("email, name", "key", "mask: no class 'name'; there are card, cn_id, email, iban, phone"),
    ],
)
def test_a_mask_that_cannot_be_is_refused(
    mask: str,
    key: str | None,
    problem: str,
    waiting: rd.Mask,
    redrive: Redrive,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In one line, and nothing is begun."""
    if key is not None:
        monkeypatch.setenv(KEY_FILE, key)
    assert redrive(*BEGIN, "--run-id", "new", "--mask", mask) == (2, "", f"redrive: {problem}\n")
    assert SqliteLog(Path(LOG)).head("new").position == 0


def test_what_a_replay_found_is_kept_without_the_key(waiting: rd.Mask, redrive: Redrive, folder: Path) -> None:
    """It is made of what was recorded."""
    (folder / "stricter.toml").write_text('[[rule]]\nname = "no"\nwhen = { tool = "send" }\nthen = "deny"\n')
    kept = redrive("replay", "r", "--agent", "masked_desk:agent", "--policy", "stricter.toml", "--keep")
    assert (kept.code, kept.err) == (1, "")
    assert SqliteLog(Path(LOG)).head("r@notes").position == 1
    assert "ana@" not in kept.out
