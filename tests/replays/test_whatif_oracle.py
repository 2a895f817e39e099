"""What a branch says against what really happens: the same agent, lived anew under the changes in the same world."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from redrive_engine.models import use
from redrive_events import Content, Limits, MessageReceived, ModelReplied, ObservationReceived, Record, Terms, kind_of
from redrive_replays.whatif import Branch, Changes, Labelled, branched
from redrive_replays.whatif.flips import alike, first_flip
from tests.warehouse import PLACES, QUEUE, Manner, Warehouse, lived, looks, puts, said, warehouse

NONE: Final[Mapping[int, ObservationReceived]] = {}
places = st.sampled_from(PLACES)
calls = st.one_of(
    st.builds(looks, places),
    st.builds(lambda place, size: looks(place, shelf={"size": size}), places, st.integers(1, 2)),
    st.builds(puts, places, st.integers(1, 3)),
    st.just(use("total")),
)
scripts = st.lists(st.lists(calls, min_size=1, max_size=3).map(lambda uses: said(*uses)), min_size=1, max_size=5)
heards = st.sampled_from(["answer"] * 5 + ["landed", "not landed", "never"])
manners = st.dictionaries(
    st.tuples(st.sampled_from(["look", "put"]), places) | st.just(("total", "")),
    st.builds(Manner, st.integers(1, 6), heards),
)
verdicts = st.sampled_from(["allow", "allow", "deny", "ask"])
terms = st.builds(
    Terms,
    on_denied=st.sampled_from(["tell", "tell", "tell", "block"]),
    on_doubt=st.just("tell"),
    budget=st.builds(Limits, wall_time_ms=st.sampled_from([None, None, None, 1500, 3500, 5500])),
)


@st.composite
def rules(draw: st.DrawFn) -> str:
    """A policy: what becomes of each tool in each place."""
    text = ""
    for name, place in [("look", "north"), ("look", "south"), ("put", "north"), ("put", "south")]:
        verdict = draw(verdicts)
        when = f'{{ tool = "{name}", arguments.place = "{place}" }}'
        text += f'[[rule]]\nname = "{name} {place}"\nwhen = {when}\nthen = "{verdict}"\n'
    return text + f'[[rule]]\nname = "rest"\nwhen = {{}}\nthen = "{draw(verdicts)}"\n'


forced = st.dictionaries(
    st.integers(1, 8),
    st.sampled_from(
        [
            ObservationReceived(call=0, status="ok", content="7", media_type="application/json"),
            ObservationReceived(call=0, status="error", content="broken"),
        ]
    ),
    max_size=2,
)


class Case(NamedTuple):
    """A run in a warehouse, and what is changed in it; ``other`` is what the model says in the place of the script."""

    script: Sequence[Content]
    manners: dict[tuple[str, str], Manner]
    before: tuple[str, Terms]
    after: tuple[str, Terms]
    forced: dict[int, ObservationReceived]
    message: int | None
    beyond: bool
    other: Sequence[Content] | None = None

    def world(self, *, message: int | None, forced: Mapping[int, ObservationReceived] = NONE) -> Warehouse:
        """A warehouse as it was before the run."""
        return Warehouse(self.script, self.manners, message=message, forced=forced)


under = st.tuples(rules(), terms)
cases = st.builds(Case, scripts, manners, under, under, forced, st.none() | st.integers(1, 4), st.booleans(), st.none())


def held(branch: Branch, oracle: Sequence[Record]) -> list[Labelled]:
    """What of a branch rests on nothing, which is event by event and moment by moment what happened in the end."""
    sure = [one for one in branch.records if not one.assumptions]
    for ours, theirs in zip(sure, oracle, strict=False):
        told = (theirs.event, ours.record.event, ours.label)
        assert alike(theirs.event, ours.record.event), told
        assert theirs.at == ours.record.at, told
    assert len(sure) <= len(oracle)
    assert branch.edge is not None or branch.assumptions or len(sure) == len(oracle)
    return sure


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases)
def test_what_is_served_is_what_would_have_been(case: Case) -> None:
    """Up to the edge, or the first assumption, each event and moment is that of the run which is really lived so."""
    records = lived(warehouse(*case.before), case.world(message=case.message))
    seen = (one.event for one in records if isinstance(one.event, ObservationReceived))
    answered = {one.call for one in seen if one.status in {"ok", "error"}}
    forced = {call: replace(one, call=call) for call, one in case.forced.items() if call in answered}
    spoken = case.message if any(isinstance(one.event, MessageReceived) for one in records) else None
    changed = warehouse(*case.after)
    oracle = lived(changed, case.world(message=spoken, forced=forced))
    replies = dict(enumerate([*case.script, "Done."], start=1))
    branch = branched(records, changed, Changes(observations=forced, replies=replies, beyond=case.beyond))
    sure = held(branch, oracle)
    flipped = first_flip(records, branch)
    event("no flip" if flipped is None else "an edge" if branch.edge else "to the end")
    if flipped and flipped.branched:
        behind = [one for one in sure if one.record.position > flipped.branched.position]
        event(f"{sum(one.label.startswith('recorded') for one in behind) > 0} recorded behind")


def ruled(*flips: tuple[str, str]) -> str:
    """Rules by which all is allowed but these: a condition, and what becomes of it."""
    return "".join(
        f'[[rule]]\nname = "{number}"\nwhen = {{ {when} }}\nthen = "{then}"\n'
        for number, (when, then) in enumerate([*flips, ("", "allow")])
    )


PUT = 'tool = "put"'
SOUTH = 'tool = "put", arguments.place = "south"'
LOOK = 'tool = "look", arguments.place = "north"'


class Told(NamedTuple):
    """What tools were seen to say up to the edge, by call, and what was asked there; each told from nothing else."""

    seen: dict[int, str]
    edge: str


def told(case: Case) -> Told:
    """What a branch says with all replies given, once it was held against the run that is lived so."""
    records = lived(warehouse(*case.before), case.world(message=case.message))
    changed = warehouse(*case.after)
    script = case.script if case.other is None else case.other
    world = dataclasses.replace(case.world(message=case.message, forced=case.forced), script=script)
    replies = dict(enumerate([*script, "Done."], start=1))
    branch = branched(records, changed, Changes(observations=case.forced, replies=replies))
    oracle = lived(changed, world)
    events = [one.record.event for one in held(branch, oracle)]
    seen = {one.call: str(one.content) for one in events if isinstance(one, ObservationReceived)}
    return Told(seen, kind_of(branch.edge.request) if branch.edge else "")


def case(
    *script: Content,
    after: str = "",
    before: str = "",
    manners: dict[tuple[str, str], Manner] | None = None,
    forced: dict[int, ObservationReceived] | None = None,
    message: int | None = None,
    other: Sequence[Content] | None = None,
) -> Case:
    """A case by what is not as usual in it."""
    under = (before or ruled(), Terms(on_doubt="tell")), (after or ruled(), Terms(on_doubt="tell"))
    return Case(script, manners or {}, *under, forced or {}, message, beyond=False, other=other)


def failed(call: int) -> dict[int, ObservationReceived]:
    """A call that is given as failed."""
    return {call: ObservationReceived(call=call, status="error", content="broken")}


N, S = "north", "south"
TOTAL = said(use("total"))
SLOW_LOOK = {("look", N): Manner(5)}
ADVERSARIAL = {
    "a write is dropped between two equal reads": (
        case(said(looks(N)), said(puts(N, 2)), said(looks(N)), after=ruled((PUT, "deny"))),
        Told({1: "0"}, "tool_called"),
    ),
    "another write is dropped, and the equal reads stay unsure": (
        case(said(looks(N)), said(puts(S, 2)), said(looks(N)), after=ruled((PUT, "deny"))),
        Told({1: "0"}, "tool_called"),
    ),
    "a read behind a write that is not dropped": (
        case(
            said(puts(N, 2)),
            said(looks(N)),
            said(puts(S, 1)),
            after=ruled((SOUTH, "deny")),
        ),
        Told({1: "2", 2: "2"}, ""),
    ),
    "repeated equal calls with different results": (
        case(said(looks(N)), said(puts(N, 1)), said(looks(N)), said(puts(N, 1)), said(looks(N)), forced=failed(2)),
        Told({1: "0", 2: "broken"}, "tool_called"),
    ),
    "two equal writes, of which the first is given as failed": (
        case(said(puts(N, 1), puts(N, 1)), said(looks(N)), forced=failed(1)),
        Told({1: "broken"}, "tool_called"),
    ),
    "parallel calls finish in another order": (
        case(
            said(looks(N), puts(N, 2)),
            before=ruled((LOOK, "ask")),
            manners={("look", N): Manner(1), ("put", N): Manner(3)},
        ),
        Told({}, "tool_called"),
    ),
    "calls that differ in one nested argument": (
        case(
            said(looks(N, shelf={"size": 1})),
            said(puts(N, 1)),
            said(looks(N, shelf={"size": 2})),
            after=ruled((f"{LOOK}, arguments.shelf.size = 1", "deny")),
        ),
        Told({2: "1", 3: "2"}, ""),
    ),
    "a read in flight beside a denied write": (
        case(said(looks(N), puts(N, 2)), manners=SLOW_LOOK, after=ruled((PUT, "deny"))),
        Told({}, "tool_called"),
    ),
    "a read in flight beside a write that is given as failed": (
        case(said(looks(N), puts(N, 2)), manners=SLOW_LOOK, forced=failed(2)),
        Told({2: "broken"}, "tool_called"),
    ),
    "a read that was answered before the write that is given as failed": (
        case(said(looks(N), puts(N, 2)), manners={("put", N): Manner(5)}, forced=failed(2)),
        Told({}, "tool_called"),
    ),
    "a write given as failed, and then a read": (
        case(said(puts(N, 2)), said(looks(N)), forced=failed(1)),
        Told({1: "broken"}, "tool_called"),
    ),
    "a write of which nobody knows, and then a read": (
        case(said(puts(N, 2)), said(looks(N)), manners={("put", N): Manner(1, "never")}, after=ruled((PUT, "deny"))),
        Told({}, "tool_called"),
    ),
    "calls of a tool in another order": (
        case(
            said(looks(N), looks(S), puts(N, 1)),
            said(looks(S)),
            other=[said(looks(S), puts(N, 1), looks(N)), said(looks(N))],
        ),
        Told({1: "0", 2: "1", 3: "1"}, "tool_called"),
    ),
    "an answer that was recorded later": (
        case(TOTAL, said(looks(N)), other=[said(looks(N))]),
        Told({1: "0"}, ""),
    ),
    "an answer that was recorded later, and otherwise": (
        case(TOTAL, said(looks(QUEUE)), said(looks(QUEUE)), other=[said(looks(QUEUE))]),
        Told({}, "tool_called"),
    ),
    "a shortened poll": (
        case(said(looks(QUEUE)), said(looks(QUEUE)), said(looks(QUEUE)), other=[said(looks(QUEUE)), TOTAL]),
        Told({1: "1"}, "tool_called"),
    ),
    "a poll that goes on longer": (
        case(said(looks(QUEUE)), said(looks(QUEUE)), other=[said(looks(QUEUE))] * 3),
        Told({1: "1", 2: "2"}, "tool_called"),
    ),
    "a message between call and answer": (
        case(said(looks(N)), said(looks(N), puts(N, 1)), said(looks(N)), message=1, after=ruled((PUT, "deny"))),
        Told({1: "0"}, "tool_called"),
    ),
}


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_no_wrong_answer_is_served(name: str) -> None:
    """What could mislead a branch does not: it says what would have been, or that nobody knows."""
    given, expected = ADVERSARIAL[name]
    assert told(given) == expected


def test_an_equal_view_of_the_state_hides_no_write() -> None:
    """The model is asked the same, although a write is missing; what is read behind it is not served."""
    terms = Terms(view="facts", on_doubt="tell")
    script = [said(puts(N, 2)), said(looks(N))]
    program = warehouse(ruled(), terms)
    records = lived(program, Warehouse(script))
    branch = branched(records, program, Changes(observations=failed(1)))
    sure = held(branch, lived(program, Warehouse(script, forced=failed(1))))
    assert [one.label for one in sure if isinstance(one.record.event, ModelReplied)] == ["recorded", "recorded"]
    assert branch.edge is not None
    assert kind_of(branch.edge.request) == "tool_called"
