"""What the model saw, rebuilt from the log and from nothing else."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings

import redrive as rd
from redrive_engine.program import Program
from redrive_events import (
    BadInput,
    BrokenChain,
    CannotReplay,
    Json,
    LeaseGranted,
    ModelAsked,
    ModelReplied,
    Part,
    Record,
    canonical,
    digest,
    load_portable,
)
from redrive_projections import partings, rebuilt, requests
from tests.projections.story import ASKED, LEASE, REPLY, STARTED, told
from tests.random_runs import programs, random_run, tapes
from tests.renew_recordings import FOLDER

RECORDINGS = sorted(FOLDER.glob("*.jsonl"))
TOOLS = {"price_of": {"description": "What it costs.", "schema": {}}}
OTHERS = digest({"count": {}})
PARTS = {"tools": Part(digest=digest(TOOLS), data=TOOLS)}
MODEL = msgspec.structs.replace(ASKED, model="m", parameters={"heat": 0})


def hold(records: list[Record]) -> None:
    """Each request is found right by its digest, also where the log ends with it, and is what is built in passing."""
    asked = [record.position for record in records if isinstance(record.event, ModelAsked)]
    built = list(requests(records))
    assert [one.position for one in built] == asked
    for one in built:
        assert rebuilt(iter(records), one.position) == one
        assert rebuilt(records[: one.position], one.position).data() == one.data()


@settings(max_examples=60, deadline=None)
@given(tapes, programs)
def test_every_request_of_every_run_is_rebuilt(tape: bytes, program: Program) -> None:
    """Whatever was kept of the last one, whatever came between, whichever worker asked."""
    hold(random_run(tape, program))


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_every_request_of_a_recording_is_rebuilt(path: Path) -> None:
    """For ever."""
    log, _ = load_portable(path)
    hold(list(log.read(path.stem)))


class Listener:
    """A model that keeps what it is given, and calls a tool once."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []

    async def ask(self, request: rd.ModelRequest) -> ModelReplied:
        """An answer to anything."""
        messages = [message.data() for message in request.messages]
        rest = {"model": request.model, "parameters": request.parameters, "tools": request.tools}
        self.heard.append(canonical({"messages": messages, **rest}))
        call = rd.use("price_of", item="茶")
        return rd.reply("Five.") if len(self.heard) > 1 else rd.reply("Let me see. 我看一下", call)


@rd.tool(effect="read", source="shop")
def price_of(item: str) -> int:  # noqa: ARG001 - a tool need not look at all that it is given
    """What it costs."""
    return 5


def test_what_is_rebuilt_is_what_the_model_was_given() -> None:
    """To the byte: a model that kept its requests has nothing that the log has not."""
    model = Listener()
    agent = rd.Agent("shop", "1", rd.Contract(tools={"price_of": {}}), tools=[price_of], model=model, prompt="Serve.")
    records = agent.run("Buy 茶", log=rd.MemoryLog()).records()
    built = [canonical(one.data()) for one in requests(records)]
    assert built == model.heard
    assert len(built) == 2


def test_where_no_model_was_asked_nothing_is_rebuilt() -> None:
    """Before, between, and behind the last."""
    records = told(STARTED, LEASE, ASKED, (REPLY, 3))
    for position in (0, 2, 4, 5):
        with pytest.raises(BadInput, match=f"^at event {position} no model was asked, but at 3$"):
            rebuilt(records, position)


def test_a_request_that_is_another_is_told() -> None:
    """The digest was made when the request was, so nothing is guessed."""
    with pytest.raises(BrokenChain, match="the log rebuilds another request than was asked"):
        rebuilt(told(STARTED, LEASE, ASKED), 3)


def test_what_a_later_worker_offered_is_not_in_the_log() -> None:
    """Of its program the log has the digests."""
    started = msgspec.structs.replace(STARTED, parts=PARTS)
    for other in ({"tools": OTHERS}, {"tools": PARTS["tools"].digest, "contract": digest("another")}):
        records = told(started, LeaseGranted(worker="w", epoch=2, parts=other), MODEL)
        with pytest.raises(CannotReplay, match="a worker asked it with a contract or tools of its own"):
            rebuilt(records, 3)
        assert [one for one in partings(records) if one.field == "request"] == []


@pytest.mark.parametrize(
    ("arm", "purpose", "tools"),
    [
        ("loop", "act", TOOLS),
        ("plan", "plan", {}),
        ("loop", "reflect", {}),
        ("direct", "act", {}),
        ("workflow", "act", {}),
    ],
)
def test_a_request_has_what_is_no_message_too(arm: str, purpose: str, tools: Json) -> None:
    """The model, its parameters, and the tools as it was told of them, where there was something to call."""
    contract = msgspec.structs.replace(STARTED.contract, arm=arm)
    started = msgspec.structs.replace(STARTED, parts=PARTS, contract=contract)
    (asked,) = requests(told(started, LEASE, msgspec.structs.replace(MODEL, purpose=purpose)))
    assert asked.data() == {
        "messages": [{"role": "user", "content": "Buy tea"}],
        "model": "m",
        "parameters": {"heat": 0},
        "tools": tools,
    }
