"""`replay`: the same, or where it parts, and what that does to the exit code."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import redrive as rd
from redrive_events import MemoryLog, RunStarted, Source, SqliteLog, Terms, write_portable
from refund_desk import agent
from tests.cli.conftest import DESK, Redrive
from tests.records import record

AGENT = ["--agent", "refund_desk:agent"]


def test_an_import_is_the_same(redrive: Redrive, incident: str) -> None:
    """Its program is the permissive one: nobody has to name any."""
    assert redrive("replay", incident) == (0, f"{incident}  same · 25 events\n", "")


def test_another_policy_is_explained(redrive: Redrive, incident: str, snapshot: SnapshotAssertion) -> None:
    """The changed parts, and the first other verdict with recorded and replayed values."""
    assert redrive("replay", incident, "--policy", "stricter.toml") == snapshot


def test_a_stricter_limit_is_explained(redrive: Redrive, refund: str, snapshot: SnapshotAssertion) -> None:
    """The verdict is the first thing that differs where the run had a policy before."""
    assert redrive("replay", refund, *AGENT, "--policy", DESK / "stricter.toml") == snapshot


def test_a_comment_in_a_policy_changes_no_outcome(redrive: Redrive, refund: str, folder: Path) -> None:
    """The part that reads otherwise is named all the same."""
    words = (DESK / "policy.toml").read_text(encoding="utf-8")
    (folder / "commented.toml").write_text(f"# looked at in May\n{words}", encoding="utf-8")
    said = redrive("replay", refund, *AGENT, "--policy", "commented.toml")
    assert said == (0, "changed parts  policy\nrefund-1  same · 24 events\n", "")


def test_a_run_without_a_program_cannot_be_replayed(redrive: Redrive, refund: str) -> None:
    """Never from a name in the log."""
    said = redrive("replay", refund)
    assert said.code == 3
    assert said.out == "refund-1  cannot replay · no program for agent 'refund-desk'; give --agent\n"


def test_all_runs_in_one_summary(redrive: Redrive, refund: str, incident: str, snapshot: SnapshotAssertion) -> None:
    """With --all, --agent is the program of its own runs, and the others have theirs."""
    assert redrive("replay", "--all", *AGENT) == snapshot
    data = json.loads(redrive("replay", "--all", *AGENT, "--json").out)
    assert data["outcomes"] == {"same": 2}
    assert [report["run_id"] for report in data["reports"]] == [refund, incident]


def test_what_is_not_there_in_full_is_counted_and_fails_nothing(redrive: Redrive, incident: str) -> None:
    """A view-only import cannot be driven, and nobody asked for it by name."""
    source = Source(format="lost", sha256="0" * 64, grade="view-only")
    log = SqliteLog("redrive.db")
    started = RunStarted(goal="", agent="lost", nonce="n", contract=Terms(), rules=0, source=source)
    log.append("lost-1", [record("lost-1", 1, event=started)], expected=0)
    log.close()
    said = redrive("replay", "--all")
    assert said.code == 0
    assert said.out.endswith("2 runs: 1 same · 1 not replayable (view-only)\n")


def test_of_several_each_that_parts_is_explained(redrive: Redrive, incident: str, folder: Path) -> None:
    """One line a run, then where each of them parts, then the summary, as JSON and Markdown have it too."""
    assert redrive("export", incident, "-o", "one.jsonl").code == 0
    said = redrive("replay", incident, "one.jsonl", "--policy", "stricter.toml")
    assert said.code == 1
    assert said.out.count("first at 12:") == 2
    assert said.out.endswith("2 runs: 2 diverged\n")


def test_of_very_many_it_is_said_how_many_more_there_are(
    redrive: Redrive, incident: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log may hold thousands that part alike."""
    monkeypatch.setattr("redrive.verbs.replay.EXPLAINED_MAX", 1)
    said = redrive("replay", incident, incident, incident, "--policy", "stricter.toml")
    assert said.out.count("first at 12:") == 1
    assert said.out.endswith("\n… and 2 runs more that part: name one to see where\n\n3 runs: 3 diverged\n")


def test_each_later_place_has_a_line(redrive: Redrive, incident: str, folder: Path) -> None:
    """The first place may be beside the point: what else parts, and in what, is seen at a glance."""
    (folder / "nothing.toml").write_text('[[rule]]\nname = "none"\nwhen = {}\nthen = "deny"\n', encoding="utf-8")
    said = redrive("replay", incident, "--policy", "nothing.toml")
    assert said.out.endswith(
        "and 2 later places, each seen from the recorded state before it\n"
        '12  policy  /verdict "allow" → "deny"\n'
        '18  policy  /verdict "allow" → "deny"\n'
    )


def test_a_report_for_a_program(redrive: Redrive, incident: str) -> None:
    """Recorded and replayed values under their pointers; a side without a value has no key."""
    data = json.loads(redrive("replay", incident, "--policy", "stricter.toml", "--json").out)
    (report,) = data["reports"]
    assert (report["outcome"], report["changed_parts"]) == ("diverged", ["policy"])
    flip = report["divergences"][0]["differences"]
    assert flip[0] == {"pointer": "/verdict", "recorded": "allow", "replayed": "deny"}
    assert [key for key in flip[3] if key != "pointer"] == ["replayed"]


def test_a_recording_that_was_cut_cannot_be_replayed(redrive: Redrive, incident: str, folder: Path) -> None:
    """The appends that are whole are shown, and what is missing is said."""
    lines = redrive("export", incident).out.splitlines(keepends=True)
    (folder / "cut.jsonl").write_text("".join(lines[:10]), encoding="utf-8")
    assert redrive("replay", "cut.jsonl").code == 3
    shown = redrive("show", "cut.jsonl")
    assert shown.code == 1
    assert f"{incident}: position 10: cut off, 25 records were written" in shown.err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "which runs? name some, or take --all"),
        (["x", "--all"], "name runs, or --all, but not both"),
        (["openai", "--policy", "no.toml"], "no.toml: no such file or directory"),
        (["openai", "--policy", "incident.json"], "incident.json:1: not TOML: "),
        (["openai", "--agent", "refund_desk"], "'refund_desk': an agent is named MODULE:ATTR"),
        (["openai", "--agent", "no_such:x"], "'no_such:x': no module 'no_such'"),
        (["openai", "--agent", "broken:x"], "broken:x: ZeroDivisionError: division by zero ("),
        (["nobody"], "run 'nobody': no run has this id, or begins with it"),
    ],
)
def test_a_bad_request_is_told_in_one_line(
    redrive: Redrive, incident: str, folder: Path, arguments: list[str], problem: str
) -> None:
    """Exit code 2, and nothing on stdout."""
    (folder / "broken.py").write_text("1 / 0\n", encoding="utf-8")
    said = redrive("replay", *arguments)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"redrive: {problem}")
    assert said.err.count("\n") == 1


def test_a_prefix_of_several_runs_names_some_of_them(redrive: Redrive, folder: Path) -> None:
    """At most a few: the line stays a line."""
    log = SqliteLog("redrive.db")
    for number in range(9):
        log.append(f"run-{number}", [record(f"run-{number}", 1)], expected=0)
    log.append("run-1@notes", [record("run-1@notes", 1)], expected=0)
    log.close()
    said = redrive("replay", "run-")
    assert said.err == ("redrive: run 'run-': more than one run begins with it: run-0, run-1, run-2, run-3, run-4, …\n")
    assert redrive("show", "run-1").code == 0, "a whole id is no prefix"


def test_an_id_that_is_a_file_too_is_the_run(redrive: Redrive, incident: str, folder: Path) -> None:
    """What the log holds comes first; a file is meant where there is no such run."""
    shutil.copyfile("incident.json", incident)
    assert redrive("replay", incident).code == 0
    assert redrive("replay", f"./{incident}").err == f"redrive: {incident}:1: not a Redrive recording\n"


def test_a_file_with_two_runs_is_two_runs_or_none(redrive: Redrive, folder: Path) -> None:
    """Where one is wanted, the runs that are in it are named."""
    log = MemoryLog()
    for run_id in ("a", "b"):
        log.append(run_id, [record(run_id, 1)], expected=0)
    with (folder / "two.jsonl").open("wb") as file:
        write_portable(log, ["a", "b"], file)
    assert redrive("show", "two.jsonl").err == "redrive: two.jsonl: one run is wanted, and it holds 2: a, b\n"
    assert redrive("verify", "two.jsonl").out == "2 events of 2 streams: each is as it was written\n"


def test_the_public_replay_agrees(refund: str) -> None:
    """What the command prints is what the library reports."""
    run = rd.Run(refund, log := SqliteLog("redrive.db"), state=None)  # type: ignore[arg-type]
    assert rd.replay(run, agent=agent).outcome == "same"
    log.close()


def test_a_recording_is_replayed_by_its_path(redrive: Redrive, refund: str, folder: Path) -> None:
    """As a test of the agent, without a log; a file of several runs, or cut off, is not taken for one that is whole."""
    redrive("export", refund, "-o", "refund.jsonl")
    assert rd.replay("refund.jsonl", agent=agent).same
    lines = (folder / "refund.jsonl").read_bytes().splitlines(keepends=True)
    cut = folder / "cut.jsonl"
    cut.write_bytes(b"".join(lines[:-3]))
    assert rd.replay(cut, agent=agent).outcome == "cannot replay"
    log = MemoryLog()
    for run_id in ("a", "b"):
        log.append(run_id, [record(run_id, 1)], expected=0)
    with (folder / "two.jsonl").open("wb") as file:
        write_portable(log, ["a", "b"], file)
    with pytest.raises(rd.BadInput, match=r"two\.jsonl: one run is wanted, and it holds 2"):
        rd.replay("two.jsonl", agent=agent)


def test_each_place_is_kept_once_beside_the_run(redrive: Redrive, incident: str) -> None:
    """As remarks, which SQL has with their causes; the run itself is as it was."""
    for _ in range(2):
        assert redrive("replay", incident, "--policy", "stricter.toml", "--keep").code == 1
    said = redrive("sql", "select run_id, position, cause from divergences", "--json")
    assert json.loads(said.out) == [{"run_id": incident, "position": 12, "cause": "policy"}]
    assert redrive("replay", incident).code == 0


def test_markdown_for_a_pull_request(redrive: Redrive, incident: str, snapshot: SnapshotAssertion) -> None:
    """A heading with the outcome, the causes, and the place as a terminal shows it."""
    assert redrive("replay", incident, "--policy", "stricter.toml", "--markdown") == snapshot


def test_markdown_has_the_reason_why_a_run_cannot_be_replayed(redrive: Redrive, refund: str) -> None:
    """As the text has it."""
    said = redrive("replay", refund, "--markdown")
    assert said.code == 3
    reason = "refund-1  cannot replay · no program for agent 'refund-desk'; give --agent"
    assert said.out == f"### ❌ `refund-1`: cannot replay\n\n````text\n{reason}\n````\n"


def test_json_has_what_leads_to_a_place(redrive: Redrive, refund: str) -> None:
    """Back to the start, the nearest first, with what came from outside marked."""
    said = redrive("replay", refund, *AGENT, "--policy", DESK / "stricter.toml", "--json")
    (place,) = json.loads(said.out)["reports"][0]["divergences"]
    inputs = [(one["position"], one["event"]) for one in place["chain"] if one["input"]]
    assert inputs == [(12, "model_replied"), (8, "observation_received"), (4, "model_replied"), (2, "lease_granted")]
    assert place["independent"]


PROMPTED = """
import redrive as rd


@rd.tool(effect="read", timeout=None)
def look() -> str:
    return "seen"


def prompted(words):
    replies = [rd.reply("", rd.use("look")), "Done."]
    contract = rd.Contract(tools={"look": {}})
    return lambda: rd.Agent("looks", "1", contract, tools=[look], prompt=words, model=rd.ScriptedModel(replies))


curt, polite = prompted("Look."), prompted("Please look.")
"""


def test_where_only_digests_differ_there_is_one_line(redrive: Redrive, folder: Path) -> None:
    """With the number of places; nothing that the run did is another thing."""
    (folder / "prompted_desk.py").write_text(PROMPTED, encoding="utf-8")
    assert redrive("run", "prompted_desk:curt", "--goal", "Look", "--run-id", "r").code == 0
    said = redrive("replay", "r", "--agent", "prompted_desk:polite")
    assert said.code == 1
    changed, headline, line = said.out.splitlines()
    assert changed == "changed parts  prompt"
    assert headline.startswith("r  diverged")
    assert line == "only digests differ, in 2 places, first at 3: /request; cause: prompt"


def test_markdown_is_no_json(redrive: Redrive, incident: str) -> None:
    """One document is printed, and not two on the same stdout."""
    said = redrive("replay", incident, "--markdown", "--json")
    assert said == (2, "", "redrive: give --json or --markdown, not both\n")


@pytest.mark.parametrize("held", [False, True])
def test_nothing_can_be_kept_of_a_run_that_the_log_has_not(
    redrive: Redrive, refund: str, folder: Path, held: bool
) -> None:
    """Nor beside another one of its name: that is said before anything is driven."""
    assert redrive("export", refund, "-o", "refund.jsonl").code == 0
    kept = ["replay", "refund.jsonl", *AGENT, "--policy", DESK / "stricter.toml", "--keep"]
    assert redrive(*kept).code == 1, "the log has it"
    log = SqliteLog("other.db")
    log.append(refund if held else "x", [record(refund if held else "x", 1)], expected=0)
    log.close()
    said = redrive(*kept, "--log", "other.db")
    assert said == (2, "", "redrive: --keep: run 'refund-1': the log has no such run to remark on\n")
    assert redrive("sql", "select count(*) as n from divergences", "--json").out == '[{"n":1}]\n'


def test_a_guarded_replay_of_a_pure_program_finds_nothing(redrive: Redrive, refund: str) -> None:
    """Nor do two processes that hash otherwise come to anything else."""
    assert redrive("replay", refund, *AGENT, "--guarded") == (0, "refund-1  same · 24 events\n", "")


LATE = """
import time

import redrive as rd
from redrive_engine.policy import Ruling
from refund_desk import agent


class Late:
    digest = wording = "late"
    data = None

    def judge(self, question):
        time.time()
        return agent.policy.judge(question)


class Hashed(Late):
    def judge(self, question):
        return Ruling("deny", "set", text=min(map(str, range(50)), key=hash))


def with_policy(policy):
    tools = list(agent.tools.values())
    own = {"verifiers": agent.verifiers, "model": agent.model}
    return rd.Agent(agent.name, agent.version, agent.contract, tools=tools, policy=policy, **own)


late, hashed = with_policy(Late()), with_policy(Hashed())
"""


def test_a_guarded_replay_names_the_part_that_looks_at_the_clock(
    redrive: Redrive, refund: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the function, and the input at which it did."""
    (folder / "late_desk.py").write_text(LATE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    said = redrive("replay", refund, "--agent", "late_desk:late", "--guarded", "--json")
    (report,) = json.loads(said.out)["reports"]
    assert said.code == 1
    assert {(one["part"], one["outside"], one["function"]) for one in report["reaches"]} == {
        ("policy", "clock", "time.time")
    }


def test_what_hangs_on_the_order_of_hashes_is_found(
    redrive: Redrive, refund: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes hash otherwise, and come to something else."""
    (folder / "late_desk.py").write_text(LATE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    said = redrive("replay", refund, "--agent", "late_desk:hashed", "--guarded", "--json")
    (report,) = json.loads(said.out)["reports"]
    assert "the order of hashes" in {one["function"] for one in report["reaches"]}
