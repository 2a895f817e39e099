"""What a branch says against what really happens: the same agent, lived anew under the changes in the same world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from redrive_engine.models import use
from redrive_events import Content, Limits, MessageReceived, ObservationReceived, Terms
from redrive_replays.whatif import Changes, branched
from redrive_replays.whatif.flips import alike, first_flip
from tests.warehouse import PLACES, Manner, Warehouse, lived, looks, puts, said, warehouse

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
    """A run in a warehouse, and what is changed in it."""

    script: Sequence[Content]
    manners: dict[tuple[str, str], Manner]
    before: tuple[str, Terms]
    after: tuple[str, Terms]
    forced: dict[int, ObservationReceived]
    message: int | None
    beyond: bool

    def world(self, *, message: int | None, forced: Mapping[int, ObservationReceived] = NONE) -> Warehouse:
        """A warehouse as it was before the run."""
        return Warehouse(self.script, self.manners, message=message, forced=forced)


under = st.tuples(rules(), terms)
cases = st.builds(Case, scripts, manners, under, under, forced, st.none() | st.integers(1, 4), st.booleans())


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
    sure = [one for one in branch.records if not one.assumptions]
    for ours, theirs in zip(sure, oracle, strict=False):
        told = (theirs.event, ours.record.event, ours.label)
        assert alike(theirs.event, ours.record.event), told
        assert theirs.at == ours.record.at, told
    assert len(sure) <= len(oracle)
    assert branch.edge is not None or branch.assumptions or len(sure) == len(oracle)
    flipped = first_flip(records, branch)
    event("no flip" if flipped is None else "an edge" if branch.edge else "to the end")
    if flipped and flipped.branched:
        behind = [one for one in sure if one.record.position > flipped.branched.position]
        event(f"{sum(one.label.startswith('recorded') for one in behind) > 0} recorded behind")
