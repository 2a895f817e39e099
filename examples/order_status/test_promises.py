"""The promises of any trajectory: each is found to be broken where somebody breaks it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from msgspec.structs import replace

from order_status.variants import outcome
from redrive.testing import ANSWERS, broken
from redrive_events import (
    ApprovalGiven,
    Claim,
    EffectReconciled,
    Event,
    Record,
    RunEnded,
    StopDecided,
    ToolCalled,
    VerdictGiven,
)

Records: TypeAlias = Callable[[], list[Record]]


def changed(name: str, kind: type[Event], change: Callable[[Any], Event | None]) -> Records:
    """The records of a variant, in which the last event of a kind is another, or is missing."""

    def records() -> list[Record]:
        kept = outcome(name)[0].records()
        at = [place for place, record in enumerate(kept) if isinstance(record.event, kind)][-1]
        event = change(kept[at].event)
        return [*kept[:at], *([replace(kept[at], event=event)] if event is not None else []), *kept[at + 1 :]]

    return records


def called_behind(name: str, kind: type[Event], **otherwise: Any) -> Records:
    """The records of a variant, in which its first call is made once more, otherwise, behind the last of a kind."""

    def records() -> list[Record]:
        kept = outcome(name)[0].records()
        at = [place for place, record in enumerate(kept) if isinstance(record.event, kind)][-1]
        first = next(record for record in kept if isinstance(record.event, ToolCalled))
        again = replace(first, event=replace(first.event, **otherwise))
        return [*kept[: at + 1], again, *kept[at + 1 :]]

    return records


BROKEN = [
    pytest.param(
        called_behind("refused", VerdictGiven, call=2),
        ["nothing_forbidden_was_called", "what_was_called_is_what_was_allowed"],
        id="a call that was denied",
    ),
    pytest.param(
        changed("plain", ToolCalled, lambda event: replace(event, tool="delete_order")),
        ["nothing_forbidden_was_called", "what_was_called_is_what_was_allowed"],
        id="a tool that was not granted",
    ),
    pytest.param(
        changed("granted", ToolCalled, lambda event: replace(event, arguments={**event.arguments, "words": "Ha."})),
        ["what_was_called_is_what_was_allowed"],
        id="other arguments",
    ),
    pytest.param(
        changed("granted", ApprovalGiven, lambda event: replace(event, digest="0" * 64)),
        ["what_was_called_is_what_was_allowed"],
        id="something else than was shown",
    ),
    pytest.param(
        changed("granted", ApprovalGiven, lambda event: replace(event, answer="refuse")),
        ["what_was_called_is_what_was_allowed"],
        id="although it was refused",
    ),
    pytest.param(
        changed("plain", RunEnded, lambda event: replace(event, claims=(Claim(text="shipped", evidence=()),))),
        ["every_claim_has_its_observation"],
        id="a claim without evidence",
    ),
    pytest.param(
        changed("plain", RunEnded, lambda event: replace(event, claims=(Claim(text="shipped", evidence=(5,)),))),
        ["every_claim_has_its_observation"],
        id="a claim with the model's words as evidence",
    ),
    pytest.param(
        changed("plain", VerdictGiven, lambda event: replace(event, policy="0" * 64)),
        ["nothing_observed_grants_anything"],
        id="another policy",
    ),
    pytest.param(
        changed("plain", StopDecided, lambda _: outcome("plain")[0].records()[0].event),
        ["nothing_observed_grants_anything"],
        id="begun anew",
    ),
    pytest.param(changed("plain", RunEnded, lambda _: None), ["it_ended_for_a_known_reason"], id="no end"),
    pytest.param(
        changed("plain", RunEnded, lambda event: replace(event, reason="")),
        ["it_ended_for_a_known_reason"],
        id="no reason",
    ),
    pytest.param(
        changed("timeout before commit", EffectReconciled, lambda _: None),
        ["a_fault_leads_to_no_blind_retry"],
        id="a write that is simply made again",
    ),
    pytest.param(
        changed("timeout after commit", EffectReconciled, lambda event: replace(event, outcome="unknown")),
        ["a_fault_leads_to_no_blind_retry"],
        id="a write in doubt of which the model is asked",
    ),
    pytest.param(
        changed("unavailable", ToolCalled, lambda event: replace(event, attempt=4)),
        ["a_fault_leads_to_no_blind_retry"],
        id="a read again and again",
    ),
    pytest.param(called_behind("plain", StopDecided), ["nothing_begins_after_the_end"], id="a call after the end"),
]


@pytest.mark.parametrize(("records", "promises"), BROKEN)
def test_a_broken_promise_is_found(records: Records, promises: list[str]) -> None:
    """By its name, and no other is."""
    assert sorted({finding.partition(":")[0] for finding in broken(records())}) == promises


def test_each_promise_is_broken_by_one_of_them() -> None:
    """Or one of them might hold of anything."""
    names: set[str] = set().union(*(one.values[1] for one in BROKEN))  # type: ignore[arg-type]
    assert names == {promise.__name__ for promise in ANSWERS}
