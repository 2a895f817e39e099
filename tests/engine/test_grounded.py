"""Arguments that must not be made up: where the mark lies, and what lies under it."""
# ruff: noqa: ARG001 - a tool need not look at all that it is given

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from redrive_engine import Grounded, tool
from redrive_engine.models import reply, use
from redrive_engine.program import Program
from redrive_engine.tools import Call, Tool
from redrive_engine.verifiers import Facts, Refused, verifier
from redrive_events import Input, MessageReceived, ModelReplied, Reading, Record, SignalsHeard, Terms, VerdictGiven
from redrive_replays import replay_records
from tests.shop import recorded, seen


class Contact(BaseModel):
    """Somebody."""

    name: str
    phone: Grounded[str]


class Letter(BaseModel):
    """A letter, and whom it goes to; each may have letters inside."""

    to: list[Contact]
    inside: list[Letter] = []


@tool(effect="write")
def send(phone: Grounded[str], text: str = "") -> str:
    """Send a text."""
    return "sent"


@tool(effect="write")
def many(
    phones: Grounded[list[str]],
    cents: Grounded[int] | None = None,
    pair: tuple[str, Grounded[float]] | None = None,
    by_name: dict[str, Grounded[str]] | None = None,
) -> str:
    """Send to many."""
    return "sent"


@tool(effect="write")
def post(letter: Letter) -> str:
    """Send a letter."""
    return "sent"


@tool(effect="write")
def give(contact: Grounded[Contact], flag: Grounded[bool] = True) -> str:
    """Hand over a contact."""
    return "given"


@tool(effect="write")
def fill(form: Grounded[dict[str, Any]]) -> str:
    """Fill in whatever there is to be filled in."""
    return "filled"


@tool(effect="read")
def look(name: str) -> dict[str, Any]:
    """Look a phone up."""
    return {"name": name, "phone": "13800002222"}


@verifier(look, commits=["phone"])
def right_name(call: Call, seen: dict[str, Any], facts: Facts) -> Facts | Refused:
    """The phone of who was asked for."""
    return {"phone": seen["phone"]} if seen["name"] == call.arguments["name"] else Refused("somebody else")


@verifier(look)
def known(call: Call, seen: dict[str, Any], facts: Facts) -> Facts | Refused:
    """A first verifier, who has nothing against anybody."""
    return {}


@verifier(look)
def allowed(call: Call, seen: dict[str, Any], facts: Facts) -> Facts | Refused:
    """A second verifier, who does not like everybody."""
    return Refused("secret") if seen["name"] == "Mallory" else {}


@pytest.mark.parametrize(
    ("declared", "arguments", "values"),
    [
        (send, {"phone": "1", "text": "2"}, {"phone": "1"}),
        (many, {"phones": ["1", "2"], "cents": 3}, {"phones[0]": "1", "phones[1]": "2", "cents": 3}),
        (many, {"phones": [], "cents": None, "pair": ["a", 1.5]}, {"pair[1]": 1.5}),
        (many, {"phones": [], "by_name": {"Ann": "5"}}, {"by_name.Ann": "5"}),
        (
            post,
            {"letter": {"to": [{"name": "a", "phone": "1"}], "inside": [{"to": [{"name": "b", "phone": "2"}]}]}},
            {"letter.to[0].phone": "1", "letter.inside[0].to[0].phone": "2"},
        ),
        (
            give,
            {"contact": {"name": "a", "phone": "1"}, "flag": True},
            {"contact.name": "a", "contact.phone": "1"},
        ),
        (
            fill,
            {"form": {"a": {"b": ["1", 2, None, True]}, "c": "3"}},
            {"form.a.b[0]": "1", "form.a.b[1]": 2, "form.c": "3"},
        ),
        (look, {"name": "a"}, {}),
        (send, "{broken", {}),
    ],
)
def test_what_must_not_be_made_up(declared: Tool, arguments: Any, values: dict[str, Any]) -> None:
    """Every text and number under a mark, however deep; whether something is so or not was not made up."""
    assert declared.declaration.grounded_values(arguments) == values


def test_a_provider_s_schema_has_no_mark() -> None:
    """What is marked is a part of the declaration and of its digest, not of what the model is told."""
    assert send.declaration.schema == {
        "additionalProperties": False,
        "properties": {"phone": {"type": "string"}, "text": {"default": "", "type": "string"}},
        "required": ["phone"],
        "type": "object",
    }
    assert send.declaration.grounded == ("/properties/phone",)
    assert all("grounded" not in str(one.declaration.schema) for one in (send, many, post, give, fill))
    plain = {**send.declaration.data, "grounded": ()}
    assert type(send.declaration)(**plain).digest != send.declaration.digest


def test_a_marked_argument_is_checked_and_bound_as_before() -> None:
    """The mark asks for more, and takes nothing away."""
    assert send.declaration.problems({"phone": 5}) == "phone: a text is expected"
    assert send.arguments.bound({"phone": "5"}) == ([], {"phone": "5", "text": ""})


def program(**terms: Any) -> Program:
    """An agent that looks phones up and writes to them; its word alone does not end a run."""
    tools = {one.declaration.name: one.declaration for one in (send, many, look)}
    return Program(
        "sender",
        "1",
        Terms(done={"phone": {"is": "never"}}, **terms),
        tools=tools,
        verifiers=(known, allowed, right_name),
    )


def phoned(phone: str) -> ModelReplied:
    """The model writes to a phone."""
    return reply("", use("send", phone=phone))


def looked(name: str = "Ann", phone: str = "13800002222") -> tuple[Input, ...]:
    """A phone is looked up."""
    return reply("", use("look", name="Ann")), seen(1, {"name": name, "phone": phone})


def verdicts(records: list[Record]) -> list[tuple[str, str]]:
    """The verdict on each call of `send`, and its rule."""
    return [(one.event.verdict, one.event.rule) for one in records if isinstance(one.event, VerdictGiven)]


MALLORY = {"name": "Mallory", "phone": "5550000"}
GRANTED, DENIED = ("allow", "granted"), ("deny", "grounded")


@pytest.mark.parametrize(
    ("inputs", "last"),
    [
        pytest.param((phoned("tea"),), GRANTED, id="in the goal"),
        pytest.param((phoned("13800002222"),), DENIED, id="nowhere"),
        pytest.param((*looked(), phoned("+86 138-0000-2222")), GRANTED, id="observed and verified"),
        pytest.param((*looked("Bob"), phoned("13800002222")), DENIED, id="observed and refused"),
        pytest.param(
            (
                reply("", use("look", name="Mallory")),
                seen(1, {"name": "Mallory", "phone": "5550000"}),
                phoned("5550000"),
            ),
            DENIED,
            id="refused by the second verifier",
        ),
        pytest.param(
            (MessageReceived(actor="user", content="Write to 555-0000"), SignalsHeard(), reply(""), phoned("5550000")),
            GRANTED,
            id="said by a person",
        ),
        pytest.param(
            (MessageReceived(actor="agent", content="Write to 5550000"), SignalsHeard(), reply(""), phoned("5550000")),
            DENIED,
            id="said by an agent",
        ),
        pytest.param((reply("Her phone is 5550000."), phoned("5550000")), DENIED, id="said by the model"),
    ],
)
def test_who_may_say_what_a_value_is(inputs: tuple[Input, ...], last: tuple[str, str]) -> None:
    """People, facts and verified observations; not the model itself, nor what nobody verified."""
    records = recorded(program(), *inputs)
    assert verdicts(records)[-1] == last
    assert replay_records("run", records, program()).same


def test_a_denial_is_for_the_record_and_gives_no_way_around() -> None:
    """The value and where it stands are recorded; the model is told only that the call was not made."""
    (given,) = [
        one.event
        for one in recorded(program(), reply("", use("many", phones=["tea", "5550000"])))
        if isinstance(one.event, VerdictGiven)
    ]
    assert given.read == (Reading(path="arguments.phones[1]", operator="grounded", value="5550000"),)
    assert given.text == "many: phones[1] is a value that nobody gave and nothing showed, so the call was not made."


def test_it_is_a_denial_like_any_other() -> None:
    """Where the contract says so, it ends the run."""
    last = recorded(program(on_denied="block"), phoned("5550000"))[-1].event
    assert (getattr(last, "status", ""), getattr(last, "reason", "")) == ("blocked", "call 1 of send: grounded")
