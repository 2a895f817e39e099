"""The list of guarantees holds of the sources of today; `make mutations` sweeps all of it, and these tests some."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.mutations.guarantee import ROOT, Guarantee
from tests.mutations.guarantees import AREAS, GUARANTEES
from tests.mutations.sweep import Copy, swept

EACH = pytest.mark.parametrize("guarantee", [pytest.param(one, id=one.name) for one in GUARANTEES])
# One that is quick of several areas.
SHORT = (
    "what no rule allows is denied",
    "an approval is bound to the digest of what was shown",
    "an observation of another tenant is refused",
)


def test_there_is_a_guarantee_of_each_kind() -> None:
    """By names that nobody could mix up."""
    assert len({one.name for one in GUARANTEES}) == len(GUARANTEES) >= 40
    assert {area for area, those in AREAS.items() if len(those) < 5} == set()


@EACH
def test_a_guarantee_can_be_switched_off_today(guarantee: Guarantee) -> None:
    """What is changed stands once in the source, and what is left is a program."""
    source = (ROOT / guarantee.file).read_text(encoding="utf-8")
    changed = guarantee.switched_off(source)
    assert changed != source
    compile(changed, guarantee.file, "exec")


@EACH
def test_the_tests_that_are_named_are_there(guarantee: Guarantee) -> None:
    """Under the name that they have today."""
    assert guarantee.tests
    for test in guarantee.tests:
        file, _, name = test.partition("::")
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, test


def test_some_of_them_are_missed_when_they_are_switched_off() -> None:
    """A short form of the sweep."""
    chosen = [one for one in GUARANTEES if one.name in SHORT]
    assert len(chosen) == len(SHORT)
    assert [verdict.missed for verdict in swept(chosen, workers=1)] == [()] * len(chosen)


HARMLESS = Guarantee(
    "nothing of the kind",
    "engine/redrive_engine/policy/question.py",
    '"no rule matches"',
    '"no rule  matches"',
    ("tests/engine/test_policy_functions.py::test_a_list_without_an_opinion_denies",),
)


def test_a_change_that_nothing_misses_is_told() -> None:
    """Or a sweep in which all is well would say nothing."""
    (verdict,) = swept([HARMLESS], workers=1)
    assert (verdict.killed, verdict.missed) == (False, HARMLESS.tests)


def test_a_copy_is_as_it_was_behind_a_change(tmp_path: Path) -> None:
    """Each guarantee is switched off alone."""
    copy = Copy(tmp_path)
    file = tmp_path / HARMLESS.file
    before = file.read_text(encoding="utf-8")
    with copy.without(HARMLESS):
        assert file.read_text(encoding="utf-8") != before
    assert file.read_text(encoding="utf-8") == before
    with (
        pytest.raises(ValueError, match="0 times"),
        copy.without(Guarantee("x", HARMLESS.file, "no such words", "", ())),
    ):
        pass
