"""Runs as tests: trajectories against snapshots of syrupy, promises that they keep, recordings beside the tests."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redrive_replays.testing.answering import ANSWERS, broken
    from redrive_replays.testing.fixture import Trajectories
    from redrive_replays.testing.freezing import Frozen, frozen, mask_for, unmasked
    from redrive_replays.testing.incidents import incidents
    from redrive_replays.testing.matching import Fit, Matcher, Mode, approx, ignore, of_type, regex
    from redrive_replays.testing.promises import (
        EVERY,
        Promise,
        a_fault_leads_to_no_blind_retry,
        at_most,
        called,
        called_before,
        calls,
        cost_at_most,
        every_claim_has_its_observation,
        fact,
        it_ended_for_a_known_reason,
        never_after,
        never_called,
        nothing_begins_after_the_end,
        nothing_forbidden_was_called,
        nothing_observed_grants_anything,
        replay_is_same,
        status_is,
        steps_at_most,
        the_budget_is_kept,
        what_was_called_is_what_was_allowed,
    )
    from redrive_replays.testing.recordings import file_name, plain_name
    from redrive_replays.testing.snapshots import (
        AmberTrajectoryExtension,
        JSONTrajectoryExtension,
        TrajectoryExtension,
    )
    from redrive_replays.testing.telling import Level
    from redrive_replays.testing.trajectory import Made, Trajectory

_DOORS = {
    "answering": ("ANSWERS", "broken"),
    "promises": (
        *("EVERY", "Promise", "at_most", "called", "called_before", "calls", "cost_at_most", "fact", "never_after"),
        *("never_called", "replay_is_same", "status_is", "steps_at_most", "a_fault_leads_to_no_blind_retry"),
        *("every_claim_has_its_observation", "it_ended_for_a_known_reason", "nothing_begins_after_the_end"),
        *("nothing_forbidden_was_called", "nothing_observed_grants_anything", "the_budget_is_kept"),
        "what_was_called_is_what_was_allowed",
    ),
    "fixture": ("Trajectories",),
    "freezing": ("Frozen", "frozen", "mask_for", "unmasked"),
    "incidents": ("incidents",),
    "recordings": ("file_name", "plain_name"),
    "matching": ("Fit", "Matcher", "Mode", "approx", "ignore", "of_type", "regex"),
    "snapshots": ("AmberTrajectoryExtension", "JSONTrajectoryExtension", "TrajectoryExtension"),
    "telling": ("Level",),
    "trajectory": ("Made", "Trajectory"),
}
_HOME = {name: door for door, names in _DOORS.items() for name in names}

__all__ = [
    "ANSWERS",
    "EVERY",
    "AmberTrajectoryExtension",
    "Fit",
    "Frozen",
    "JSONTrajectoryExtension",
    "Level",
    "Made",
    "Matcher",
    "Mode",
    "Promise",
    "Trajectories",
    "Trajectory",
    "TrajectoryExtension",
    "a_fault_leads_to_no_blind_retry",
    "approx",
    "at_most",
    "broken",
    "called",
    "called_before",
    "calls",
    "cost_at_most",
    "every_claim_has_its_observation",
    "fact",
    "file_name",
    "frozen",
    "ignore",
    "incidents",
    "it_ended_for_a_known_reason",
    "mask_for",
    "never_after",
    "never_called",
    "nothing_begins_after_the_end",
    "nothing_forbidden_was_called",
    "nothing_observed_grants_anything",
    "of_type",
    "plain_name",
    "regex",
    "replay_is_same",
    "status_is",
    "steps_at_most",
    "the_budget_is_kept",
    "unmasked",
    "what_was_called_is_what_was_allowed",
]


def __getattr__(name: str) -> object:
    """Load what is named: who makes promises needs no syrupy."""
    if name not in _HOME:
        raise AttributeError(f"module 'redrive_replays.testing' has no attribute {name!r}")
    return getattr(importlib.import_module(f"redrive_replays.testing.{_HOME[name]}"), name)
