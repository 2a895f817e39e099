"""How long a model that failed is left alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive_engine.live import Patience
from redrive_engine.live.pausing import pause_of
from redrive_engine.world import Waiting, waiting_of
from redrive_events import Event, Limits, ModelAsked, ModelFailed, PersonAsked, Request, RunStarted, Terms
from redrive_projections import fold
from tests.records import record

ASKED = ModelAsked(kept=0, new=(), request="", state="")
PATIENT = Patience(pause_s=1.0, pause_max_s=60.0)


def failed(*kinds: Any, after_ms: int | None = None) -> Waiting:
    """A run that waits for a model which has failed so often in a row."""
    happened: list[Event] = [RunStarted(goal="", agent="", nonce="", contract=Terms(), rules=0)]
    for kind in kinds:
        happened += [ASKED, ModelFailed(kind=kind, retryable=True, retry_after_ms=after_ms)]
    return waiting_of(fold(record("run", place, event=one) for place, one in enumerate(happened, start=1)), Limits())


@pytest.mark.parametrize(
    ("request_", "waiting", "seconds"),
    [
        pytest.param(ASKED, failed(), 0.0, id="nothing has failed"),
        pytest.param(ASKED, failed("broken"), 1.0, id="once"),
        pytest.param(ASKED, failed("broken", "timeout"), 2.0, id="twice"),
        pytest.param(ASKED, failed(*["broken"] * 6), 32.0, id="six times"),
        pytest.param(ASKED, failed(*["broken"] * 2_000), 60.0, id="no longer than the bound"),
        pytest.param(ASKED, failed("rate_limited", after_ms=2500), 2.5, id="as long as it said"),
        pytest.param(ASKED, failed("rate_limited", "broken", after_ms=0), 0.0, id="it said at once"),
        pytest.param(ASKED, failed("rate_limited", after_ms=3_600_000), 60.0, id="it said an hour"),
        pytest.param(ASKED, failed("cancelled"), 0.0, id="this program asks what another had asked"),
        pytest.param(PersonAsked(), failed("broken"), 0.0, id="a person is not a model"),
    ],
)
def test_the_pause(request_: Request, waiting: Waiting, seconds: float) -> None:
    """Twice as long after each failure, or as long as the provider says; never longer than the bound."""
    assert pause_of(request_, waiting, PATIENT, chance=lambda: 1.0) == seconds


@given(st.integers(1, 100), st.floats(0, 1, exclude_max=True))
def test_runs_that_failed_together_do_not_come_back_together(failures: int, chance: float) -> None:
    """Chance takes up to half of it away, and adds nothing."""
    waiting = failed(*["unavailable"] * failures)
    whole = pause_of(ASKED, waiting, PATIENT, chance=lambda: 1.0)
    assert whole / 2 <= pause_of(ASKED, waiting, PATIENT, chance=lambda: chance) <= whole
