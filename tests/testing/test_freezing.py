"""A frozen run: a sound recording without personal data, whose test passes at once and fails when behaviour changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import notes_analyst
import redrive as rd
from notes_analyst import variants
from redrive.command import main
from redrive.testing import frozen, mask_for
from redrive_events import ApprovalGiven, BadInput, Input, LeaseGranted, Terms, ToolCalled, shown_digest
from redrive_replays import Recording, program_for, recording_of, replay_records
from redrive_replays.testing import Frozen
from tests.engine.masking.secrets_of_tests import AWS_KEY
from tests.shop import Asking, recorded, seen, shop
from tests.testing.conftest import Pytest, forget
from tests.testing.courses import IBAN

pytest_plugins = ("pytester",)

# Each of them, in the goal, in what a tool says, and in what the model says.
PERSONAL = {
    "an address": "mira.sand@example.com",
    "a number abroad": "+44 20 7946 0958",
    "a mobile number of China": "138 0013 8000",
    "one without blanks": "13800138000",
    "one of a Chinese city": "010-8888 6666",
    "a card": "4111 1111 1111 1111",
    "an account": "AT61 1904 3002 3457 3201",
    "a key": AWS_KEY,
    "a name": "Mira Sand",
    "a Chinese name": "王芳",
}
NAMES = ("mira sand", "王芳")


def frozen_of(value: str, *, policy: Asking | None = None) -> Frozen:
    """A run of the shop in which a value is everywhere, frozen."""
    program = shop(Terms(), policy=policy)
    item = f"tea for {value}"
    shown = shown_digest("pay", {"item": item, "cents": 5}, item)
    allowed = ApprovalGiven(call=1, digest=shown, by=value, answer="grant"), LeaseGranted(worker="node-7", epoch=2)
    inputs: list[Input] = [
        rd.reply(f"I pay for {value}.", rd.use("pay", item=item, cents=5)),
        *(allowed if policy else ()),
        seen(1, {"item": item, "cents": 5}),
        rd.reply(f"Paid for {value}."),
    ]
    records = recorded(program, *inputs)
    return frozen({"run": Recording("run", records)}, "run", "kept", lambda _: program, mask_for(NAMES))


@pytest.mark.parametrize("value", PERSONAL.values(), ids=PERSONAL)
def test_what_is_personal_is_in_no_byte(value: str) -> None:
    """Wherever it was; the run is a sound one, and takes the same course."""
    made = frozen_of(value)
    lines = b"".join(stored.line for stored in made.log.lines("kept")).decode()
    assert value.replace(" ", "") not in lines.replace(" ", "")
    assert made.parts == ""
    assert [(one.value, one.times > 2) for one in made.hidden] == [(value, True)]
    assert replay_records("kept", made.trajectory.records, shop(Terms())).outcome == "same"
    assert made.trajectory.report is not None
    assert made.trajectory.report.same


def test_a_placeholder_is_the_same_each_time() -> None:
    """In each run, on each machine, however a number is written."""
    tokens = {one.placeholder for text in ("138 0013 8000", "13800138000") for one in frozen_of(text).hidden}
    assert len(tokens) == 1


def test_an_approval_stays_one() -> None:
    """It binds to what was shown, and that is masked as well; who gave it, and where, is not told."""
    made = frozen_of("Mira Sand", policy=Asking())
    assert [type(one.event) for one in made.trajectory.records].count(ToolCalled) == 1
    lines = b"".join(stored.line for stored in made.log.lines("kept"))
    assert b"node-7" not in lines
    assert b"Mira" not in lines


@pytest.mark.parametrize("name", ["", " ", "M"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    """It would be masked everywhere."""
    with pytest.raises(BadInput, match="at least two characters"):
        mask_for([name])


INCIDENT = Path(__file__).parents[2] / "cli" / "redrive" / "demo" / "incident.json"


@pytest.fixture
def imported(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with an incident in its log."""
    monkeypatch.chdir(project)
    (project / "test_desk.py").unlink()
    assert main(["import", str(INCIDENT)]) == 0
    return project


def test_a_preview_writes_nothing(imported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It shows what would be masked, of each value only its beginning, and what would be written."""
    before = sorted(imported.rglob("*"))
    capsys.readouterr()
    assert main(["freeze", "openai-chat", "--name", "late-refund", "--mask", "Mira Sand"]) == 0
    out = capsys.readouterr().out
    assert "masked-person-" in out
    assert "Mir…" in out
    assert "Mira" not in out
    assert "would write  tests/incidents/late-refund.jsonl" in out
    assert sorted(imported.rglob("*")) == before
    assert "stands nowhere" not in out


@pytest.mark.usefixtures("imported")
def test_a_name_that_stands_nowhere_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """It may be spelt otherwise, and would be in the recording then."""
    arguments = ["freeze", "openai-chat", "--mask", "mira  sand", "--mask", "Myra Sand"]
    capsys.readouterr()
    assert main(arguments) == 0
    told = capsys.readouterr().out
    assert "--mask 'Myra Sand' stands nowhere in it by itself; perhaps it is spelt otherwise" in told
    assert told.count("stands nowhere") == 1
    assert main([*arguments, "--json"]) == 0
    assert '"not_found":["Myra Sand"]' in capsys.readouterr().out.replace('": [', '":[')


def test_a_frozen_incident_is_a_test_that_passes_at_once(imported: Path, run_pytest: Pytest) -> None:
    """And fails where its course is another; a second one of the name is refused, and nothing of it written."""
    assert main(["freeze", "openai-chat", "--name", "late-refund", "--mask", "Mira Sand", "--yes"]) == 0
    written = sorted(one for one in (imported / "tests").rglob("*") if one.is_file())
    assert len(written) == 3
    assert not any("Mira" in one.read_text(encoding="utf-8") for one in written)
    run_pytest().assert_outcomes(passed=1)
    assert main(["freeze", "openai-chat", "--name", "late-refund", "--yes"]) == 2
    assert sorted(one for one in (imported / "tests").rglob("*.*") if one.is_file() and one.suffix != ".pyc") == written
    test = imported / "tests" / "incidents" / "test_late_refund.py"
    text = test.read_text(encoding="utf-8")
    test.write_text(text.replace('.jsonl")', '.jsonl", policy="stricter.toml")'), encoding="utf-8")
    (imported / "stricter.toml").write_text(
        '[[rule]]\nname = "looking is free"\nwhen = { tool = "find_order" }\nthen = "allow"\n', encoding="utf-8"
    )
    result = run_pytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["first difference at verdict#2, cause: policy*"])


def test_a_live_run_is_frozen_with_its_agent(imported: Path, run_pytest: Pytest) -> None:
    """The test names the agent, whose change it finds; a recording file does as well as a run of the log."""
    assert main(["run", "little_desk:agent", "--goal", "Refund ord_123", "--principal", "ana", "--run-id", "r-1"]) == 0
    assert main(["freeze", "r-1", "--agent", "little_desk:agent", "--mask", "ana", "--yes", "--json"]) == 0
    run_pytest().assert_outcomes(passed=1)
    policy = imported / "little_desk" / "policy.toml"
    policy.write_text(policy.read_text(encoding="utf-8").replace("5_000", "1_000"), encoding="utf-8")
    run_pytest().assert_outcomes(failed=1)
    recording = "tests/incidents/r-1.jsonl"
    forget()
    again = ["freeze", recording, "--agent", "little_desk:agent", "--name", "again", "--yes"]
    assert main(again) == 0
    run_pytest("tests/incidents/test_again.py").assert_outcomes(passed=1)


def test_where_a_mask_decides_how_it_goes_nothing_is_written(
    imported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A policy with the account in it judges a placeholder otherwise: that would be another run."""
    assert main(["run", "little_desk:agent", "--goal", "Refund ord_123", "--run-id", "r-1"]) == 0
    policy = imported / "little_desk" / "policy.toml"
    text = policy.read_text(encoding="utf-8")
    policy.write_text(
        text.replace("arguments.cents = { at_most = 5_000 }", f'arguments.iban = "{IBAN}"'), encoding="utf-8"
    )
    forget()
    capsys.readouterr()
    code = main(["freeze", "r-1", "--agent", "little_desk:agent", "--yes", "--json"])
    said = json.loads(capsys.readouterr().out)
    assert (code, said["written"], said["parts_at"]) == (1, False, "verdict#2")
    assert not (imported / "tests").exists()


def test_what_cannot_be_written_leaves_nothing(imported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not one of the three files; one line says where it was."""
    folder = imported / "tests" / "incidents"
    folder.mkdir(parents=True)
    (folder / "__snapshots__").write_text("in the way", encoding="utf-8")
    capsys.readouterr()
    assert main(["freeze", "openai-chat", "--name", "late-refund", "--yes"]) == 2
    assert "__snapshots__" in capsys.readouterr().err
    assert [one.name for one in folder.iterdir()] == ["__snapshots__"]


def test_runs_that_a_run_began_are_frozen_with_it() -> None:
    """Under its new name, each driven anew; what was asked of them is masked alike."""
    run = variants.planned().run(
        f"{notes_analyst.GOAL} Tell it to Mira Sand.",
        log=rd.MemoryLog(),
        run_id="plan",
        surroundings=rd.Surroundings.fixed(),
    )
    runs = {head.run_id: recording_of(run.log, head.run_id) for head in run.log.runs()}
    agent = variants.planned()
    made = frozen(runs, "plan", "kept", lambda started: program_for(started, agent=agent), mask_for(NAMES))
    ids = [head.run_id for head in made.log.runs()]
    assert ids == [one.replace("plan", "kept") for one in runs]
    assert len(made.trajectory.children) == len(ids) - 1 > 1
    assert made.parts == ""
    assert all(b"Mira" not in stored.line for one in ids for stored in made.log.lines(one))
    assert all(child.report is not None and child.report.same for child in made.trajectory.children)


@pytest.mark.parametrize("arguments", [["--name", "a/b"], ["--name", ""], ["--name", "x@notes"]])
def test_a_name_that_no_run_may_have_is_refused(arguments: list[str], imported: Path) -> None:
    """With exit code 2."""
    assert main(["freeze", "openai-chat", *arguments, "--yes"]) == 2
    assert not (imported / "tests").exists()


INCIDENTS = 'import redrive\n\ntest_incident = redrive.incidents("kept")\n'


def test_each_recording_of_a_folder_is_a_test(recorded: Path, run_pytest: Pytest) -> None:
    """With a snapshot of its own, by the agent that is registered; a failure is explained like any other."""
    (recorded / "pyproject.toml").write_text(
        '[tool.redrive.agents]\nrefund-desk = "little_desk:agent"\n', encoding="utf-8"
    )
    recording = (recorded / "__recordings__" / "test_desk" / "test_refund.jsonl").read_bytes()
    for name in ("one", "deep/other", "订单"):
        path = recorded / "kept" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(recording)
    (recorded / "test_desk.py").write_text(INCIDENTS, encoding="utf-8")
    run_pytest("--snapshot-update").assert_outcomes(passed=3)
    run_pytest("-n", "2").assert_outcomes(passed=3)
    policy = recorded / "little_desk" / "policy.toml"
    policy.write_text(policy.read_text(encoding="utf-8").replace("5_000", "1_000"), encoding="utf-8")
    result = run_pytest("-k", "one")
    result.assert_outcomes(failed=1, deselected=2)
    result.stdout.fnmatch_lines(["*first difference at verdict#2, cause: policy*"])


@pytest.mark.parametrize(("made", "words"), [(False, "there is no such folder"), (True, "there is no recording in it")])
def test_a_folder_without_recordings_is_told(made: bool, words: str, project: Path, run_pytest: Pytest) -> None:
    """Else nobody would notice that nothing is tested."""
    if made:
        (project / "kept").mkdir()
    (project / "test_desk.py").write_text(INCIDENTS, encoding="utf-8")
    result = run_pytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*BadInput: kept: {words}"])
