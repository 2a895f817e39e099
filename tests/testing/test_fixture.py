"""The fixture and its recordings: offline unless it is said, the same bytes each time, nothing secret in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.testing.conftest import TEST, Pytest

pytest_plugins = ("pytester",)

RECORDING = Path("__recordings__/test_desk/test_refund.jsonl")
ACCOUNT = "DE89 3704 0044 0532 0130 00"


def test_without_a_recording_nothing_goes_live(project: Path, run_pytest: Pytest) -> None:
    """It fails with the command that makes the recording, and no tool of the agent is ever called."""
    result = run_pytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(['to record it: pytest "test_desk.py::test_refund" --redrive-record=once'])
    assert not (project / "__recordings__").exists()


def test_once_recorded_it_passes_offline(recorded: Path, run_pytest: Pytest) -> None:
    """The agent's model and tools may be gone by then."""
    shop = recorded / "little_desk" / "shop.py"
    shop.write_text(shop.read_text(encoding="utf-8").replace("def pay(", "def lost("), encoding="utf-8")
    run_pytest().assert_outcomes(passed=1)


def test_a_recording_has_the_same_bytes_each_time(recorded: Path, run_pytest: Pytest) -> None:
    """Times, ids and workers are no chance; it is small, and anybody may read it."""
    before = (recorded / RECORDING).read_bytes()
    run_pytest("--redrive-record=all").assert_outcomes(passed=1)
    assert (recorded / RECORDING).read_bytes() == before
    assert len(before) < 12_000
    assert (recorded / RECORDING).stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    ("setting", "stands"), [("", False), ("redrive_mask = none", True), ("redrive_mask = email", True)]
)
def test_what_is_personal_is_masked(setting: str, stands: bool, project: Path, run_pytest: Pytest) -> None:
    """In recording and snapshot, unless the project says otherwise; the agent's tools were given the value itself."""
    (project / "pytest.ini").write_text(f"[pytest]\n{setting}\n", encoding="utf-8")
    run_pytest("--redrive-record=once", "--snapshot-update").assert_outcomes(passed=1)
    written = [path.read_text(encoding="utf-8") for path in project.glob("__*__/*/*")]
    assert len(written) == 2
    assert [ACCOUNT in text for text in written] == [stands, stands]


@pytest.mark.parametrize(("mode", "live"), [("none", False), ("once", False), ("new_episodes", False), ("all", True)])
def test_each_mode_with_a_recording_that_fits(mode: str, live: bool, recorded: Path, run_pytest: Pytest) -> None:
    """As users of vcrpy know it: what is recorded is not asked again, but in ``all``."""
    desk = recorded / "little_desk" / "shop.py"
    desk.write_text(desk.read_text(encoding="utf-8").replace("4_900", "4_800"), encoding="utf-8")
    before = (recorded / RECORDING).read_bytes()
    run_pytest(f"--redrive-record={mode}", "--snapshot-update").assert_outcomes(passed=1)
    assert ((recorded / RECORDING).read_bytes() != before) == live


def test_new_episodes_keep_what_still_follows(project: Path, run_pytest: Pytest) -> None:
    """Under another policy the run goes on live from where it parts; with ``once`` it stays as recorded."""
    (project / "pytest.ini").write_text("[pytest]\nredrive_mask = none\n", encoding="utf-8")
    run_pytest("--redrive-record=once", "--snapshot-update").assert_outcomes(passed=1)
    policy = project / "little_desk" / "policy.toml"
    policy.write_text(policy.read_text(encoding="utf-8").replace("5_000", "1_000"), encoding="utf-8")
    before = (project / RECORDING).read_bytes()
    run_pytest("--redrive-record=once").assert_outcomes(failed=1)
    assert (project / RECORDING).read_bytes() == before
    run_pytest("--redrive-record=new_episodes", "--snapshot-update").assert_outcomes(passed=1)
    after = (project / RECORDING).read_bytes()
    assert [line[:80] for line in after.splitlines()[1:9]] == [line[:80] for line in before.splitlines()[1:9]]
    assert b"no rule matches" in after
    run_pytest().assert_outcomes(passed=1)


def test_a_recording_answers_only_what_it_was_made_of(recorded: Path, run_pytest: Pytest) -> None:
    """Another goal or principal is another run."""
    for before, after, word in (("ord_123", "ord_124", "goal"), ("ana", "eve", "principal")):
        (recorded / "test_desk.py").write_text(TEST.replace(before, after), encoding="utf-8")
        result = run_pytest()
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines([f"test_refund.jsonl was recorded for another {word}; to record it anew: *=all"])


def test_a_broken_recording_is_told_in_one_line(recorded: Path, run_pytest: Pytest) -> None:
    """With what to do."""
    path = recorded / RECORDING
    path.write_bytes(path.read_bytes().replace(b"helmet", b"basket"))
    result = run_pytest()
    result.assert_outcomes(failed=1)
    told = f"{RECORDING}: run test_refund: position *: the bytes are not those that were written"
    result.stdout.fnmatch_lines([f"{told}; to record it anew: *"])
    assert "Traceback" not in result.stdout.str()
    (recorded / "test_desk.py").write_text(
        f"def test_it(trajectories):\n    trajectories.load({str(RECORDING)!r})\n", encoding="utf-8"
    )
    run_pytest().stdout.fnmatch_lines([told])  # which no run of this test makes anew


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("principel", "principel=: there is no such setting of a run"),
        ("run_id", "run_id=: a run that is recorded has it of its test"),
        ("log", "log=: a run that is recorded has it of its test"),
    ],
)
@pytest.mark.parametrize("mode", ["none", "all"])
def test_a_setting_that_a_run_cannot_have_is_told_in_one_line(
    setting: str, words: str, mode: str, recorded: Path, run_pytest: Pytest
) -> None:
    """Live or not."""
    test = TEST.replace('principal="ana"', f'principal="ana", {setting}="x"')
    (recorded / "test_desk.py").write_text(test, encoding="utf-8")
    result = run_pytest(f"--redrive-record={mode}")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([words])


def test_where_nothing_can_be_written_it_says_so(project: Path, run_pytest: Pytest) -> None:
    """And leaves nothing half-written."""
    (project / "__recordings__").write_text("in the way", encoding="utf-8")
    result = run_pytest("--redrive-record=once")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*test_refund.jsonl: the recording cannot be written: *"])


SEVERAL = """
import pytest
from little_desk import agent

def go(trajectories):
    return trajectories.run(agent, "Refund ord_123")

class TestOne:
    def test_refund(self, trajectories, snapshot):
        assert go(trajectories) == snapshot

class TestOther:
    def test_refund(self, trajectories, snapshot):
        assert go(trajectories) == snapshot

@pytest.mark.parametrize("what", ["a/b", "a_b", "A_B", "备忘", "x" * 300, "x" * 301])
def test_refund(what, trajectories, snapshot):
    assert go(trajectories) == snapshot
    assert go(trajectories) == snapshot
"""


@pytest.fixture
def several(project: Path, run_pytest: Pytest) -> Path:
    """Tests of one name in two classes and at the top, with parameters that make bad file names, twice in each."""
    (project / "test_desk.py").write_text(SEVERAL, encoding="utf-8")
    run_pytest("--redrive-record=once", "--snapshot-update").assert_outcomes(passed=8)
    return project


def test_tests_of_one_name_have_recordings_of_their_own(several: Path, run_pytest: Pytest) -> None:
    """Whatever their parameters, also where file names know no case."""
    names = [path.name.casefold() for path in several.glob("__recordings__/test_desk/*")]
    assert len(set(names)) == len(names) == 2 + 6 * 2
    run_pytest().assert_outcomes(passed=8)


def test_many_workers_and_any_order(several: Path, run_pytest: Pytest) -> None:
    """A test has its files for itself, so nobody waits for anybody; what is unused is told once."""
    (several / "__recordings__" / "test_desk" / "test_gone.jsonl").write_text("", encoding="utf-8")
    result = run_pytest("-n", "2")
    result.assert_outcomes(passed=8)
    result.stdout.fnmatch_lines(["1 used by no test:", "  __recordings__/test_desk/test_gone.jsonl"])
    (several / "conftest.py").write_text(
        "def pytest_collection_modifyitems(items):\n    items.reverse()\n", encoding="utf-8"
    )
    run_pytest().assert_outcomes(passed=8)
    for path in several.glob("__recordings__/test_desk/*"):
        path.unlink()
    run_pytest("-n", "2", "--redrive-record=once").assert_outcomes(passed=8)


def test_a_renamed_test_is_told_which_recording_may_be_its_own(recorded: Path, run_pytest: Pytest) -> None:
    """And once the file has its name, it passes."""
    (recorded / "test_desk.py").write_text(TEST.replace("test_refund", "test_money_back"), encoding="utf-8")
    result = run_pytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["if the test was renamed*: to test_money_back.jsonl, from one of test_refund.jsonl"])
    (recorded / RECORDING).rename(recorded / RECORDING.with_name("test_money_back.jsonl"))
    run_pytest("--snapshot-update").assert_outcomes(passed=1)
    (recorded / "test_desk.py").write_text(
        TEST.replace("test_refund", "test_money_back") + TEST.replace("test_refund", "test_new"), encoding="utf-8"
    )
    result = run_pytest()
    result.assert_outcomes(passed=1, failed=1)
    assert "if the test was renamed" not in result.stdout.str()  # the only recording is that of the other test


UNUSED = [
    pytest.param([], "", True, id="all tests of the file"),
    pytest.param(["test_desk.py::test_refund"], "", False, id="one test"),
    pytest.param(["-k", "refund"], "\ndef test_other(): pass\n", False, id="some tests"),
    pytest.param([], "\ndef test_other(): assert False\n", False, id="a test that fails"),
    pytest.param([], "\nimport nothing_like_it\n", False, id="a file that cannot be collected"),
]


@pytest.mark.parametrize(("arguments", "more", "is_told"), UNUSED)
def test_unused_recordings_are_told_where_it_is_sure(
    arguments: list[str], more: str, is_told: bool, recorded: Path, run_pytest: Pytest
) -> None:
    """They are never removed: a recording may have cost money."""
    gone = recorded / RECORDING.with_name("test_gone.jsonl")
    gone.write_bytes((recorded / RECORDING).read_bytes())
    (recorded / "test_desk.py").write_text(TEST + more, encoding="utf-8")
    result = run_pytest(*arguments)
    assert ("used by no test" in result.stdout.str()) == is_told
    assert gone.exists()


def test_the_recordings_of_a_file_that_is_gone_are_told(recorded: Path, run_pytest: Pytest) -> None:
    """Once other tests beside it were all run."""
    (recorded / "test_desk.py").rename(recorded / "test_till.py")
    (recorded / "__recordings__" / "test_desk").rename(recorded / "__recordings__" / "test_till")
    old = recorded / "__recordings__" / "test_old" / "test_refund.jsonl"
    old.parent.mkdir()
    old.write_bytes(b"")
    result = run_pytest("--snapshot-update")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["  __recordings__/test_old/test_refund.jsonl"])


def test_a_recording_is_driven_again_by_name_and_path(recorded: Path, run_pytest: Pytest) -> None:
    """Beside the test, or from where pytest runs; under the agent, its name, or another policy."""
    (recorded / "test_more.py").write_text(
        """
from pathlib import Path
from little_desk import agent
from redrive.testing import replay_is_same

def test_more(trajectories):
    path = "__recordings__/test_desk/test_refund.jsonl"
    assert trajectories.replay(path, agent=agent) == trajectories.load(Path(path).resolve())
    trajectories.replay(path, agent="little_desk:agent").check(replay_is_same)
    assert trajectories.replay(path, agent=agent, policy="little_desk/stricter.toml").status == "unfinished"

def test_no_agent(trajectories):
    trajectories.replay("__recordings__/test_desk/test_refund.jsonl")

def test_a_module(trajectories):
    import little_desk
    trajectories.replay("__recordings__/test_desk/test_refund.jsonl", agent=little_desk)

def test_no_recording(trajectories):
    trajectories.load("nothing")
""",
        encoding="utf-8",
    )
    result = run_pytest("test_more.py")
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(
        [
            "no program for agent 'refund-desk'; give agent=",
            "agent: an agent is an Agent or MODULE:ATTR, not module",
            "no recording 'nothing': not in __recordings__/test_more, __recordings__, .",
        ]
    )


def test_a_test_may_have_an_event_loop_of_its_own(project: Path, run_pytest: Pytest) -> None:
    """An agent that goes live then has one in a thread."""
    (project / "test_desk.py").write_text(
        """
import asyncio
from little_desk import agent

def test_refund(trajectories):
    async def course():
        return trajectories.run(agent, "Refund ord_123")
    assert asyncio.run(course()).status == "succeeded"
""",
        encoding="utf-8",
    )
    run_pytest("--redrive-record=once").assert_outcomes(passed=1)
    run_pytest().assert_outcomes(passed=1)


def test_a_class_that_there_is_not_is_told_in_one_line(project: Path, run_pytest: Pytest) -> None:
    """With those that there are."""
    (project / "pytest.ini").write_text("[pytest]\nredrive_mask = emails\n", encoding="utf-8")
    result = run_pytest("--redrive-record=once")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["mask: no class 'emails'; there are card, cn_id, email, iban, phone"])
    assert not (project / "__recordings__").exists()
