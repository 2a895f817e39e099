"""A failure says what changed first, in what, why, and what that follows from, and then shows syrupy's difference."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.testing.conftest import TEST, Pytest

pytest_plugins = ("pytester",)


def changed(project: Path, file: str, before: str, after: str) -> None:
    """Write something else in a file of the project."""
    path = project / file
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")


def test_another_policy_is_told_by_the_first_verdict_that_differs(recorded: Path, run_pytest: Pytest) -> None:
    """The fields, the cause, the inputs behind it; then the lines that are others."""
    changed(recorded, "little_desk/policy.toml", "at_most = 5_000", "at_most = 4_000")
    result = run_pytest("-vv")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E * first difference at verdict#2, cause: policy (changed parts: policy)",
            "E * changed  policy/rule/2/when/arguments/cents/at_most  5000 → 4000",
            "E * recorded  verdict#2  allow by “small sums”",
            "E * replayed  verdict#2  deny refund(*) by “no rule” (no rule matches)",
            'E * /verdict  "allow" → "deny"',
            "E * follows from  reply#2  It was paid, *",
            "E * and that from  result#1  ok {*",
            "E * and that from  reply#1  I look the order up first. [[]1 call]",
            "E * [[]+ received] == [[]- snapshot]",
            "E * - verdict#2  allow by “small sums”",
            "E * + verdict#2  deny refund(*",
        ]
    )


def test_all_of_it_is_shown_where_pytest_cuts_it(recorded: Path, run_pytest: Pytest) -> None:
    """Without ``-vv`` pytest shows eight lines; the rest stands below."""
    changed(recorded, "little_desk/policy.toml", "at_most = 5_000", "at_most = 4_000")
    result = run_pytest()
    result.stdout.fnmatch_lines(
        [
            "E * first difference at verdict#2, cause: policy (changed parts: policy)",
            "* Captured redrive call *",
            "first difference at verdict#2, cause: policy (changed parts: policy)",
            "and that from  reply#1  *",
            "+ verdict#2  deny refund(*",
        ]
    )


CHANGES = [
    pytest.param(
        "little_desk/desk.py", 'return {"iban": seen.iban}', 'return {"iban": 1}', "fact:iban, cause: verifier"
    ),
    pytest.param("little_desk/desk.py", '"refund": {}}', '"refund": {"cents": r"1"}}', "verdict#2, cause: contract"),
    pytest.param("little_desk/desk.py", "cents: int, *", "euros: int, *", "verdict#2, cause: tool schema"),
]


@pytest.mark.parametrize(("file", "before", "after", "words"), CHANGES)
def test_each_kind_of_change_has_its_cause(
    file: str, before: str, after: str, words: str, recorded: Path, run_pytest: Pytest
) -> None:
    """At the first line that differs, although the requests to the model may have done so before."""
    changed(recorded, file, before, after)
    result = run_pytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*first difference at {words}*"])


def test_a_prompt_that_has_changed_is_shown(recorded: Path, run_pytest: Pytest) -> None:
    """Of the request there is but a digest."""
    changed(recorded, "test_desk.py", " == snapshot", '.at("full") == snapshot')
    changed(recorded, "little_desk/desk.py", "    verifiers=", '    prompt="Be kind. 你好",\n    verifiers=')
    run_pytest("--redrive-record=all", "--snapshot-update").assert_outcomes(passed=1)
    changed(recorded, "little_desk/desk.py", "Be kind.", "Be stern.")
    result = run_pytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "first difference at ask#1, cause: prompt (changed parts: prompt)",
            'changed  prompt/0/content  "Be kind. 你好" → "Be stern. 你好"',
        ]
    )


def test_what_no_line_tells_is_named_as_other_events_are(recorded: Path, run_pytest: Pytest) -> None:
    """A verifier that no longer agrees; and what it follows from is what came from outside."""
    changed(recorded, "little_desk/desk.py", 'if seen.id == call.arguments["order_id"]', "if seen.id == call")
    result = run_pytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "first difference at verified#1, cause: verifier (changed parts: verifier right_order)",
            "  recorded  verified#1",
            "  replayed  refused#1  *",
            "follows from  result#1  *",
            "and that from  reply#1  *",
        ]
    )
    assert "lease#" not in result.stdout.str()


def test_two_trajectories_are_told_apart(recorded: Path, run_pytest: Pytest) -> None:
    """Where there is no snapshot, none is spoken of."""
    compared = """
def test_two(trajectories):
    one = trajectories.replay("test_refund", agent=agent)
    other = trajectories.replay("test_refund", agent=agent, policy="little_desk/stricter.toml")
    assert one == other

def test_loosely(trajectories):
    one = trajectories.replay("test_refund", agent=agent)
    other = trajectories.replay("test_refund", agent=agent, policy="little_desk/stricter.toml")
    assert one.matching("any order") == other
"""
    (recorded / "test_desk.py").write_text(f"from little_desk import agent\n{compared}", encoding="utf-8")
    result = run_pytest()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["E *  other  verdict#2  *", "E *  received  verdict#2  *"])
    result.stdout.fnmatch_lines(["*does not have the calls of the other", "*not in the other: refund(*"])
    assert "snapshot  " not in result.stdout.str()


def test_what_was_accepted_is_not_told_again(recorded: Path, run_pytest: Pytest) -> None:
    """Once the snapshot has the denial, another difference is told by its own line, and the denial beside it."""
    changed(recorded, "little_desk/policy.toml", "at_most = 5_000", "at_most = 4_000")
    run_pytest("--snapshot-update").assert_outcomes(passed=1)
    run_pytest().assert_outcomes(passed=1)
    snapshot = recorded / "__snapshots__" / "test_desk" / "test_refund.txt"
    snapshot.write_text(snapshot.read_text(encoding="utf-8").replace("I look the", "I see the"), encoding="utf-8")
    result = run_pytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "first difference at reply#1, cause: model, it is another recording",
            "  snapshot  reply#1  I see the order up first. [[]1 call]",
            "  received  reply#1  I look the order up first. [[]1 call]",
            "before that it parts from its recording at verdict#2, cause: policy, as the snapshot has it",
        ]
    )


def test_a_mode_says_what_it_ignored(recorded: Path, run_pytest: Pytest) -> None:
    """And which calls are missing, or too many."""
    changed(recorded, "test_desk.py", " == snapshot", '.matching("superset", {"refund.cents": int}) == snapshot')
    result = run_pytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*does not have the calls of the snapshot",
            "*missing: refund(cents=4900, *",
            "*compared (superset): that the calls of the snapshot were made",
            "*ignored: further calls, the order of calls, *; refund.cents (<int>)",
        ]
    )


SNAPSHOTS = (
    TEST
    + """
from redrive.testing import AmberTrajectoryExtension, JSONTrajectoryExtension

def test_forms(trajectories, snapshot):
    run = trajectories.load("test_refund")
    assert run == snapshot
    assert "words" == snapshot
    assert run.at("decisions") == snapshot(name="short")
    assert run == snapshot.use_extension(AmberTrajectoryExtension)
    assert run == snapshot.use_extension(JSONTrajectoryExtension)
"""
)


def test_snapshots_are_kept_as_users_of_syrupy_expect(recorded: Path, run_pytest: Pytest) -> None:
    """Made, found again, renewed, told where nobody uses them, and removed when it is said."""
    (recorded / "test_desk.py").write_text(SNAPSHOTS, encoding="utf-8")
    run_pytest().assert_outcomes(passed=1, failed=1)
    run_pytest("--snapshot-update").assert_outcomes(passed=2)
    folder = recorded / "__snapshots__"
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.*") if path.suffix != ".lock") == [
        "test_desk.ambr",
        "test_desk/test_forms.json",
        "test_desk/test_forms.txt",
        "test_desk/test_forms[short].txt",
        "test_desk/test_refund.txt",
    ]
    result = run_pytest()
    result.assert_outcomes(passed=2)
    assert "unused" not in result.stdout.str()
    (recorded / "test_desk.py").write_text(TEST, encoding="utf-8")
    result = run_pytest()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*1 snapshot passed. 5 snapshots unused.*"])
    assert run_pytest("--snapshot-update").ret == 0
    assert not (folder / "test_desk" / "test_forms.txt").exists()


DESKS = """
import redrive as rd
from little_desk import agent
from little_desk.shop import script

ELSEWHERE = rd.use("refund", order_id="ord_123", iban="AT61 1904 3002 3457 3201", cents=4_900)

def test_refund(trajectories, snapshot):
    assert trajectories.run(agent, "Refund ord_123") == snapshot

def test_elsewhere(trajectories, snapshot):
    model = rd.ScriptedModel([script[0], rd.reply("To the account they name.", ELSEWHERE), "I could not."])
    assert trajectories.run(agent, "Refund ord_123", model=model) == snapshot

def test_look(trajectories, snapshot):
    assert trajectories.run(agent, "Look", model=rd.ScriptedModel([script[0], "A helmet."])) == snapshot
"""
LINES = [
    pytest.param("at_most = 5_000", "at_most = 1_000", {"test_refund": "verdict#2"}, id="a limit"),
    pytest.param('then = "deny"', 'then = "allow"', {"test_elsewhere": "verdict#2"}, id="a verdict"),
    pytest.param(
        'is_not = "$facts.iban"',
        'is = "$facts.iban"',
        {"test_refund": "verdict#2", "test_elsewhere": "verdict#2"},
        id="an operator",
    ),
    pytest.param(
        'when = { effect = "read" }',
        'when = { tool = "none" }',
        {"test_refund": "verdict#1", "test_elsewhere": "verdict#1", "test_look": "verdict#1"},
        id="what a rule is for",
    ),
    pytest.param("# First match wins", "# The first match wins", {}, id="a comment"),
]


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the recordings and snapshots of these tests are once they were made."""
    return tmp_path_factory.mktemp("desks")


@pytest.mark.parametrize(("before", "after", "fails"), LINES)
def test_a_line_of_a_policy_fails_the_tests_that_it_should(
    before: str, after: str, fails: dict[str, str], project: Path, desks: Path, run_pytest: Pytest
) -> None:
    """Those and no others, each at the verdict that the line has changed."""
    (project / "test_desk.py").write_text(DESKS, encoding="utf-8")
    if not any(desks.iterdir()):
        run_pytest("--redrive-record=once", "--snapshot-update").assert_outcomes(passed=3)
        for folder in project.glob("__[rs]*__"):
            shutil.copytree(folder, desks / folder.name)
    shutil.copytree(desks, project, dirs_exist_ok=True)
    changed(project, "little_desk/policy.toml", before, after)
    result = run_pytest()
    result.assert_outcomes(passed=3 - len(fails), failed=len(fails))
    out = result.stdout.str()
    names = re.findall(r"^FAILED test_desk.py::(\w+)", out, re.MULTILINE)
    places = re.findall(r"^E +assert first difference at (\S+), cause: policy", out, re.MULTILINE)
    assert dict(zip(names, places, strict=True)) == fails
