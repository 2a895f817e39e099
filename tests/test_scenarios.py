"""What holds for a run of every example."""

from __future__ import annotations

import pytest

import redrive as rd
from redrive.testing import broken
from tests.scenarios import Scenario, examples


@pytest.mark.parametrize("scenario", [pytest.param(one, id=one.module) for one in examples()])
def test_every_promise_of_a_trajectory_is_kept(scenario: Scenario) -> None:
    """Nothing forbidden, nothing altered, nothing unsupported, nothing granted by data, nothing blindly again."""
    run = scenario.agent.run(scenario.goal, principal="desk", tenant="velo", log=rd.MemoryLog())
    assert run.status == "succeeded"
    assert broken(run.records()) == []
