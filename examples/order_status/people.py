"""People beside the desk: they approve, refuse, change, say what they know, cancel, or do not come in time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import redrive as rd
from order_status.staging import Scene
from redrive_events import canonical

Person: TypeAlias = Callable[[Scene], None]

# Longer than any of them is waited for.
TOO_LONG_S = 31 * 60


def grants(scene: Scene) -> None:
    """Each call may be made as it was shown."""
    for one in scene.approvals():
        rd.approve(scene.log, scene.run_id, one.call, by="ana", at=scene.clock())


def refuses(scene: Scene) -> None:
    """No call is made."""
    for one in scene.approvals():
        rd.approve(scene.log, scene.run_id, one.call, by="ana", at=scene.clock(), answer="refuse", reason="too much")


def sleeps(scene: Scene) -> None:
    """Nobody comes before it is too late."""
    if scene.approvals() or scene.asked("doubt"):
        scene.clock.move(TOO_LONG_S)


def cancels(scene: Scene) -> None:
    """The run is stopped while it waits for consent."""
    if scene.approvals():
        cancel(scene)


def cancel(scene: Scene) -> None:
    """The run is to stop before its next action."""
    rd.cancel(scene.log, scene.run_id, by="ana", at=scene.clock(), reason="the customer rang")


def revoke(scene: Scene) -> None:
    """The run is taken from the worker that has it."""
    if scene.state.epoch == 1:
        rd.revoke(scene.log, scene.run_id, by="ana", at=scene.clock())


def edits(cents: int, *, account: str = "") -> Person:
    """The first call may be made with another sum, the others as they are shown."""

    def person(scene: Scene) -> None:
        for one in scene.approvals():
            changed = one.arguments | {"cents": cents} | ({"account": account} if account else {})
            first = len(scene.seen) == 1
            rd.approve(
                scene.log,
                scene.run_id,
                one.call,
                by="ana",
                at=scene.clock(),
                answer="edit" if first else "grant",
                arguments=changed if first else None,
            )

    return person


def states(outcome: Literal["landed", "not_landed"]) -> Person:
    """Consent is given, and what became of the credit is known to somebody."""

    def person(scene: Scene) -> None:
        grants(scene)
        for asked in scene.asked("doubt"):
            assert asked.effect is not None
            call = scene.state.calls[asked.effect]
            seen = canonical({"key": call.key, **call.arguments}).decode() if outcome == "landed" else None
            rd.state_outcome(
                scene.log,
                scene.run_id,
                asked.effect,
                outcome,
                by="ana",
                at=scene.clock(),
                content=seen,
                media_type="application/json" if seen else "text/plain",
            )

    return person


def consents_and_sleeps(scene: Scene) -> None:
    """Consent is given, and nobody comes to say what became of the credit."""
    grants(scene)
    if scene.asked("doubt"):
        scene.clock.move(TOO_LONG_S)


def says(words: str) -> Person:
    """Whoever is asked to take over knows more."""

    def person(scene: Scene) -> None:
        if scene.asked("escalation"):
            rd.say(scene.log, scene.run_id, words, at=scene.clock(), actor="operator")

    return person
