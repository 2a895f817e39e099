"""Beyond the edge the living are asked: a model, and tools only of the kinds that were asked for."""
# ruff: noqa: ARG001 - a script need not look at all that it is given

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from redrive_engine import FileVault, Mask, Patience, fork, tool
from redrive_engine.models import ModelRequest, ModelTrouble, reply, use
from redrive_engine.policy import RulesPolicy
from redrive_events import (
    BadInput,
    ModelAsked,
    ModelReplied,
    ObservationReceived,
    RunForked,
    ToolCalled,
    canonical,
    kind_of,
)
from redrive_replays.whatif import Branch, Changes, Kind, Live, branched, edge_report
from tests import buyer as shop
from tests.buyer import ALL, READS, bought, buyer
from tests.shop import count, price_of

DENIES = Changes(policy=RulesPolicy.from_toml(READS))
SECRET = "sk-proj-" + "a1B2c3D4e5F6g7H8" * 3


def asked(branch: Branch) -> str:
    """At which request a branch stops."""
    return kind_of(branch.edge.request) if branch.edge else ""


def alive(*kinds: Kind, script: object = shop.says, **more: object) -> Live:
    """The living of those kinds."""
    real = bool({"writes"} & set(kinds))
    return Live(buyer(script=script), kinds, effects_are_real=real, **more)  # type: ignore[arg-type]


def test_a_live_answer_has_a_label_and_an_assumption_of_its_own() -> None:
    """The model is asked what nobody recorded; all that follows rests on that."""
    records = bought(buyer()).records()
    branch = branched(records, buyer().program, DENIES, live=alive("model"))
    assert branch.assumptions == ["turn 3: the model says now what it would have said then"]
    live = [one for one in branch.records if one.label == "live"]
    assert [(one.record.event.content, one.assumptions) for one in live] == [("I may not.", (1,))]  # type: ignore[union-attr]
    assert branch.records[-1].assumptions == (1,)
    assert edge_report(records, branch).sureness == "under assumptions"
    assert shop.done == []


def test_what_is_recorded_is_not_asked_again() -> None:
    """Not even where everything may be."""
    records = bought(buyer()).records()
    branch = branched(records, buyer().program, live=alive("model", "reads", "writes"))
    assert edge_report(records, branch).sureness == "same"
    assert shop.done == []


def test_the_living_go_on_where_the_recording_ends() -> None:
    """What was open there, nobody has answered."""
    whole = bought(buyer()).records()
    last = max(one.position for one in whole if isinstance(one.event, ModelAsked))
    branch = branched(whole[:last], buyer().program, live=alive("model"))
    assert [type(one.record.event).__name__ for one in branch.records if one.label == "live"] == ["ModelReplied"]
    assert branch.state.end is not None


ASKS_SHELF = [reply("", use("price_of", item="tea")), reply("", use("pay", item="tea", cents=5))]
LATER = reply("", use("ask_shelf", item="tea"), use("pay", item="tea", cents=4))


def curious(turn: int, request: ModelRequest) -> ModelReplied | str:
    """Does more than the recording knows."""
    return [*ASKS_SHELF, LATER, reply("Done.")][turn - 1]


@pytest.mark.parametrize(
    ("kinds", "stops", "did"),
    [
        pytest.param(("model",), "tool_called", [], id="the model alone"),
        pytest.param(("model", "reads"), "tool_called", [], id="nothing begins as long as another call has no answer"),
        pytest.param(("model", "reads", "writes"), "", ["ask_shelf", "pay"], id="everything"),
        pytest.param(("reads", "writes"), "model_asked", [], id="no model"),
    ],
)
def test_only_the_kinds_that_were_asked_for_act(kinds: tuple[Kind, ...], stops: str, did: list[str]) -> None:
    """A tool that reads does so with its kind, one that writes with both words."""
    records = bought(buyer()).records()
    changes = Changes(prompt="Serve well.") if "model" in kinds else Changes(observations={2: "broken"})
    branch = branched(records, buyer().program, changes, live=alive(*kinds, script=curious))
    assert (asked(branch), sorted(name for name, _ in shop.done)) == (stops, did)


def test_a_tool_that_reads_is_called_for_real() -> None:
    """What it says is labelled so, and what is recorded is still served from the recording."""
    script = [*ASKS_SHELF, reply("", use("ask_shelf", item="tea")), reply("Three are left.")]
    records = bought(buyer()).records()
    live = alive("model", "reads", script=lambda turn, _: script[turn - 1])
    branch = branched(records, buyer().program, Changes(prompt="Serve well."), live=live)
    seen = [
        (one.label, one.record.event.call)
        for one in branch.records
        if isinstance(one.record.event, ObservationReceived)
    ]
    assert seen == [("recorded", 1), ("recorded", 2), ("live", 3)]
    assert [name for name, _ in shop.done] == ["ask_shelf"]
    assert "turn 4: call 3 of ask_shelf is answered now as it would have been then" in branch.assumptions


def test_a_tool_that_does_not_answer_is_given_up() -> None:
    """By its own limit of time, as in a run."""

    @tool(effect="read", timeout="50ms")
    async def ask_shelf(item: str) -> int:
        """For ever."""
        await anyio.sleep_forever()
        return 0

    script = [reply("", use("ask_shelf", item="tea")), reply("It is slow.")]
    slow = buyer(script=lambda turn, _: script[turn - 1], tools=(price_of, count, shop.pay, ask_shelf))
    records = bought(buyer()).records()
    branch = branched(records, slow.program, Changes(prompt="Serve well."), live=Live(slow, {"model", "reads"}))
    seen = [one.record.event for one in branch.records if isinstance(one.record.event, ObservationReceived)]
    assert [one.status for one in seen] == ["timeout"]
    assert branch.state.end is not None


def test_a_write_for_real_has_a_key_of_its_own() -> None:
    """Else the authority takes it for the recorded one, which it has seen."""
    records = bought(buyer()).records()
    recorded = {one.event.key for one in records if isinstance(one.event, ToolCalled)}
    branch = branched(records, buyer().program, Changes(prompt="x"), live=alive("model", "writes", script=paying))
    keys = [key for name, key in shop.done if name == "pay"]
    assert len(keys) == 1
    assert keys[0] not in recorded
    assert branch.state.end is not None


def test_the_living_go_on_in_a_fork() -> None:
    """They look into a log in which it stands behind what it inherits, and its keys are no other run's."""
    agent = buyer()
    run = bought(agent)
    made = fork(run.log, "run", 3, at=run.records()[-1].at, new_id="fork")
    records = agent.run("Buy tea", principal="ana", log=run.log, run_id=made.run_id).records()
    shop.done.clear()
    branch = branched(records, agent.program, Changes(prompt="x"), live=alive("model", "writes", script=paying))
    (key,) = [key for name, key in shop.done if name == "pay"]
    (forked,) = [one.event for one in records if isinstance(one.event, RunForked)]
    assert key.startswith(f"{forked.nonce.partition('/')[0]}/fork-")
    assert not key.startswith(forked.nonce)
    assert branch.state.end is not None
    assert branch.records[0].record.position == 4


def paying(turn: int, request: ModelRequest) -> ModelReplied | str:
    """Pays something else at once."""
    return [reply("", use("pay", item="tea", cents=1)), reply("Done.")][turn - 1]


@pytest.mark.parametrize(
    ("kinds", "real", "problem"),
    [
        (("writes",), False, "--live writes: it acts for real, which no replay undoes: say --effects-are-real too"),
        (("model",), True, "--effects-are-real: nothing acts without --live writes"),
    ],
)
def test_writes_are_told_twice(kinds: tuple[Kind, ...], real: bool, problem: str) -> None:
    """Neither word is enough."""
    with pytest.raises(BadInput, match=problem):
        Live(buyer(), kinds, effects_are_real=real)


def test_a_model_that_gives_no_answer_is_asked_again() -> None:
    """As in a run, and each failure is recorded as one."""
    troubles = [ModelTrouble("unavailable", retryable=True)]

    def script(turn: int, request: ModelRequest) -> ModelReplied:
        if troubles:
            raise troubles.pop()
        return reply("At last.")

    records = bought(buyer()).records()
    live = alive("model", script=script, patience=Patience(pause_s=0.0))
    branch = branched(records, buyer().program, DENIES, live=live)
    assert branch.state.end is not None
    assert branch.state.end.answer == "At last."
    assert sum(isinstance(one.record.event, ModelAsked) for one in branch.records) == 4


def telling(turn: int, request: ModelRequest) -> ModelReplied | str:
    """Tells a secret when it is denied something."""
    said = shop.says(turn, request)
    return reply(f"The key is {SECRET}.") if said.content == "I may not." else said


def test_what_is_live_or_given_is_masked(tmp_path: Path) -> None:
    """As everything that comes into a masked run; and nothing of it stays behind."""
    vault = tmp_path / "vault"
    mask = Mask("0123456789abcdef", vault=FileVault(vault))
    agent = buyer(mask=mask, script=telling)
    records = bought(agent, f"Buy tea with {SECRET}x").records()
    before = vault.read_bytes()
    changes = Changes(policy=DENIES.policy, observations={1: f'{{"cents":5,"item":"tea","note":"{SECRET}"}}'})
    given = Changes(
        policy=DENIES.policy,
        prompt=f"password: {SECRET}",
        observations=changes.observations,
        replies={1: reply(f"It is {SECRET}", use("price_of", item="tea")).content},
    )
    for one in (changes, given):
        branch = branched(records, agent.program, one, live=Live(agent), mask=mask)
        written = b"".join(canonical(record.record) for record in branch.records)
        assert SECRET.encode() not in written
        assert branch.state.end is not None
        assert "masked-secret-" in str(branch.state.end.answer)
        assert any("masked-secret-" in str(label.record.event) for label in branch.records if label.label == "given")
    assert vault.read_bytes() == before


def test_what_is_given_to_a_masked_run_needs_its_key() -> None:
    """Else it would stand there in clear."""
    agent = buyer(mask=Mask("0123456789abcdef", key_id="shop"))
    records = bought(agent).records()
    with pytest.raises(BadInput, match=r"it is masked under key 'shop:.*', and here is no key"):
        branched(records, agent.program, Changes(observations={1: SECRET}))
    assert branched(records, agent.program, DENIES).edge is not None


def test_given_observations_are_answers() -> None:
    """Of a call that nobody answered, as JSON where it is some."""
    records = bought(buyer(READS)).records()
    branch = branched(records, buyer().program, Changes(policy=RulesPolicy.from_toml(ALL), observations={2: "5"}))
    (given,) = (one.record.event for one in branch.records if one.label == "given")
    assert isinstance(given, ObservationReceived)
    assert (given.call, given.status, given.media_type) == (2, "ok", "application/json")
