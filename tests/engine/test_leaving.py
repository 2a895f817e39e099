"""How a run leaves its loop: by the engine's own tools, by a dialect's words, or by a person who takes over."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from redrive_engine.agent import Agent
from redrive_engine.contract import Contract
from redrive_engine.dialects import Decision, Unreadable
from redrive_engine.models import ScriptedModel, reply, use
from redrive_engine.tools import tool
from redrive_events import (
    BadInput,
    Claim,
    Content,
    DeadlinePassed,
    DecisionMade,
    EffectReconciled,
    Event,
    FinishRefused,
    Handover,
    LeaseGranted,
    Limits,
    MessageReceived,
    ModelAsked,
    ModelReplied,
    ObservationReceived,
    PersonAsked,
    ProposedCall,
    Quotas,
    Record,
    ReplyRefused,
    RunEnded,
    SignalsHeard,
    StopDecided,
    Terms,
    Tried,
    VerdictGiven,
)
from redrive_projections import fold, used
from tests.shop import NOON, recorded, seen, shop

ALL: Any = ("escalate", "finish", "unable")
PAID = {"paid": {"known": True}}
HANDED = "Handed over to a person, who has the word now."
OPERATOR = MessageReceived(actor="operator", content="Green tea.")
USER = MessageReceived(actor="user", content="Hello?")


def of(records: list[Record], kind: type[Event]) -> list[Any]:
    """The events of a kind."""
    return [record.event for record in records if isinstance(record.event, kind)]


def end(records: list[Record]) -> tuple[str, str, str | None]:
    """How a run ended."""
    (ended,) = of(records, RunEnded)
    return ended.status, ended.reason, ended.answer


@pytest.mark.parametrize(
    ("dialect", "words"),
    [
        pytest.param("native", reply("So it is.", use("unable", reason="No order of that name.")), id="a call"),
        pytest.param("json", reply('{"type":"unable","answer":"No order of that name."}'), id="a JSON message"),
        pytest.param(
            "json", reply('{"type":"action","tool":"unable","input":{"reason":"No order of that name."}}'), id="JSON"
        ),
        pytest.param("react", reply("Thought: hm\nUnable: No order of that name."), id="a label"),
        pytest.param("react", reply("思考：没有\n**无法完成**：No order of that name."), id="a Chinese label"),
        pytest.param(
            "react", reply('Action: unable\nAction Input: {"reason": "No order of that name."}'), id="an action"
        ),
    ],
)
def test_an_honest_word_that_it_cannot_be_done(dialect: str, words: ModelReplied) -> None:
    """It fails for the reason `unable`, and what the model says of it is the answer; criteria do not matter."""
    terms = Terms(dialect=dialect, ways_out=("unable",), done=PAID)
    records = recorded(shop(terms), words)
    assert of(records, DecisionMade)[0].unable
    assert end(records) == ("failed", "unable", "No order of that name.")


@pytest.mark.parametrize(
    ("dialect", "words", "refusal"),
    [
        ("native", reply("", use("unable", reason="No.")), VerdictGiven),
        ("json", reply('{"type":"unable","answer":"No."}'), ReplyRefused),
        ("react", reply("Escalate: help"), ReplyRefused),
    ],
)
def test_a_way_out_that_is_not_granted_leads_nowhere(dialect: str, words: ModelReplied, refusal: type[Event]) -> None:
    """As a call it is one of a tool that does not exist; in a dialect's own words it is no decision."""
    records = recorded(shop(Terms(dialect=dialect)), words)
    assert len(of(records, refusal)) == 1
    assert isinstance(records[-1].event, ModelAsked)


def test_a_finishing_call_is_refused_until_the_criteria_hold() -> None:
    """Each time it has its response, so that the transcript stays one that a provider takes."""
    program = shop(Terms(ways_out=("finish",), done=PAID))
    records = recorded(
        program,
        reply("", use("finish", answer="Bought.")),
        reply("", use("pay", item="tea", cents=5)),
        seen(2, {"item": "tea", "cents": 5}),
        reply("", use("finish", answer="Bought for 5.")),
    )
    text = "Not done yet. Still to be established: paid."
    assert of(records, FinishRefused) == [FinishRefused(missing=("paid",), text=text, call=1)]
    assert end(records) == ("succeeded", "done", "Bought for 5.")
    told = [(one.role, one.call_id, one.content) for one in fold(records).messages if one.role == "tool"]
    assert told[0] == ("tool", "call_1", text)
    assert used(fold(records))["tool_calls"] == 1, "a way out is no call of a tool"


def test_a_way_out_beside_other_calls_is_denied_and_they_go_on() -> None:
    """Nobody finishes with a call in the air; the model is told to come back alone."""
    program = shop(Terms(ways_out=ALL, on_denied="block", tools={"price_of": {}}))
    records = recorded(
        program, reply("", use("price_of", item="tea"), use("finish", answer="5")), seen(1, {"item": "tea", "cents": 5})
    )
    text = "finish must be the only call of a reply. Call it alone, once the other calls are answered."
    assert [(one.verdict, one.rule, one.text) for one in of(records, VerdictGiven)] == [
        ("allow", "granted", ""),
        ("deny", "alone", text),
    ]
    assert [one.content for one in fold(records).messages if one.role == "tool"] == ['{"cents":5,"item":"tea"}', text]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "finish: answer: missing"),
        ({"answer": ""}, "finish: answer: at least 1 character"),
        ({"answer": 5}, "finish: answer: a text is expected"),
        ({"answer": "5", "why": "so"}, "finish: why: no such argument; there are: answer"),
    ],
)
def test_a_way_out_has_one_argument(arguments: dict[str, Any], problem: str) -> None:
    """What does not fit is told like any other call's arguments."""
    records = recorded(shop(Terms(ways_out=ALL)), reply("", use("finish", **arguments)))
    (verdict,) = of(records, VerdictGiven)
    assert (verdict.rule, verdict.text) == ("schema", problem)


def test_the_ways_out_are_offered_where_they_are_granted() -> None:
    """With a description and a schema, like tools; and the request says so to the byte."""
    program = shop(Terms(tools={"price_of": {}}, ways_out=("escalate", "unable")))
    assert list(program.offered) == ["escalate", "price_of", "unable"]
    schema = {"minLength": 1, "type": "string"}
    assert program.offered["unable"] == {
        "description": "Say that the task cannot be done, and why, rather than guess. "
        "Call nothing else in the same reply.",
        "schema": {
            "additionalProperties": False,
            "properties": {"reason": schema},
            "required": ["reason"],
            "type": "object",
        },
    }
    assert "finish" not in shop(Terms()).offered


def test_a_tool_must_not_be_called_like_a_way_out() -> None:
    """Whether the contract grants it or not: what it means must not depend on that."""

    @tool(effect="read")
    def finish(answer: str) -> str:
        """Finish."""
        return answer

    with pytest.raises(BadInput, match="agent a: tool 'finish': the engine has a tool of that name"):
        Agent("a", "1", Contract(tools={}), tools=[finish], model=ScriptedModel([]))


def test_a_dialogue_is_finished_by_a_call() -> None:
    """Plain words go on being said to the person."""
    records = recorded(
        shop(Terms(dialogue=True, ways_out=("finish",))),
        reply("What may it be?"),
        MessageReceived(actor="user", content="Nothing."),
        SignalsHeard(),
        reply("", use("finish", answer="Nothing was wanted.")),
    )
    assert [one.kind for one in of(records, DecisionMade)] == ["ask", "finish"]
    assert end(records) == ("finished", "done", "Nothing was wanted.")


@pytest.mark.parametrize("way", ["finish", "unable", "escalate"])
def test_whoever_spoke_meanwhile_is_heard_first(way: str) -> None:
    """A way out that the model took before it read the words is put off, with a response of its own."""
    argument = "answer" if way == "finish" else "reason"
    records = recorded(
        shop(Terms(ways_out=ALL, quotas=Quotas(finish=1))), USER, reply("", use(way, **{argument: "Enough."}))
    )
    text = "Somebody has spoken meanwhile: read that first."
    assert of(records, FinishRefused) == [FinishRefused(missing=(), text=text, call=1)]
    assert [one.content for one in fold(records).messages[-2:]] == [text, "Hello?"]
    assert isinstance(records[-1].event, ModelAsked), "it counts as no failure"


ESCALATING = Terms(ways_out=ALL, done=PAID | {"price": {"is": 5}})
TRIED = (
    reply("", use("price_of", item="tea"), use("pay", item="tea", cents="five"), use("count", item="tea")),
    seen(1, {"item": "tea", "cents": 5}),
    ObservationReceived(call=3, status="timeout", content="No answer within 2000 ms."),
)
ASKS = reply("", use("escalate", reason="Which tea?"))
PACKED = Handover(
    asked="Buy tea",
    known={"price": 5},
    tried=(
        Tried(call=1, tool="price_of", outcome="ok"),
        Tried(call=2, tool="pay", outcome="denied"),
        Tried(call=3, tool="count", outcome="timeout"),
    ),
    open=("paid",),
)


def test_a_person_is_handed_what_they_need_and_their_words_come_back() -> None:
    """What was asked, is known, was tried and is open; the words stand behind the response to the call."""
    program = shop(ESCALATING)
    records = recorded(program, *TRIED, ASKS, OPERATOR, SignalsHeard(), reply("", use("pay", item="tea", cents=5)))
    assert of(records, DecisionMade)[1] == DecisionMade(
        kind="escalate", answer="Which tea?", calls=(ProposedCall(call=4, tool="escalate", block=0),)
    )
    assert of(records, PersonAsked) == [
        PersonAsked(actor="operator", why="escalation", reason="Which tea?", handover=PACKED, call=4, text=HANDED)
    ]
    said = [(one.role, one.content) for one in fold(records).messages]
    assert said[-3:-1] == [("tool", HANDED), ("system", "Green tea.")]


def test_an_escalation_may_end_the_run() -> None:
    """Where the contract says so nobody is waited for, and the end hands over."""
    records = recorded(shop(Terms(ways_out=ALL, escalation="end")), ASKS)
    (stop,) = of(records, StopDecided)
    assert (stop.status, stop.reason, stop.handover) == ("escalated", "Which tea?", Handover(asked="Buy tea"))
    assert end(records) == ("escalated", "Which tea?", None)


def test_an_escalation_waits_for_whom_it_was_made_to() -> None:
    """Others may speak: it is read with the operator's words. A last word ends the wait, whoever says it."""
    program = shop(Terms(ways_out=ALL))
    waits = recorded(program, ASKS, USER, SignalsHeard())
    assert isinstance(waits[-1].event, SignalsHeard)
    assert [type(one) for one in fold(waits).requests.values()] == [PersonAsked]
    goes_on = recorded(program, ASKS, USER, SignalsHeard(), OPERATOR, SignalsHeard())
    assert [one.content for one in fold(goes_on).messages[-2:]] == ["Hello?", "Green tea."]
    last = MessageReceived(actor="user", content="Never mind.", last=True)
    assert end(recorded(program, ASKS, last, SignalsHeard()))[0] == "finished"


LATE = timedelta(seconds=3)  # the run starts at noon, and each input comes a second later


def test_nobody_is_waited_for_beyond_their_time() -> None:
    """The run ends as escalated, and hands over anew what there is by then."""
    records = recorded(shop(Terms(ways_out=ALL, person_ms=2000)), ASKS, USER, DeadlinePassed(which="person"))
    (asked,) = of(records, PersonAsked)
    assert asked.expires == NOON + timedelta(seconds=4)
    (stop,) = of(records, StopDecided)
    tried = (Tried(call=1, tool="escalate", outcome="asked"),)
    assert stop == StopDecided(
        status="escalated", reason="no word from the operator in time", handover=Handover(asked="Buy tea", tried=tried)
    )
    assert end(records)[0] == "escalated"


@pytest.mark.parametrize("woken_by", [SignalsHeard(), LeaseGranted(worker="v", epoch=2)])
def test_words_that_come_too_late_are_none(woken_by: Any) -> None:
    """They are kept, but the time was over: every input says so, not only the deadline."""
    terms = Terms(dialogue=True, person_ms=1000)
    records = recorded(shop(terms), reply("What may it be?"), MessageReceived(actor="user", content="Tea."), woken_by)
    assert end(records) == ("escalated", "no word from the user in time", None)


def test_waiting_for_people_uses_no_wall_time() -> None:
    """Only their own limit counts then, and it may be longer than the run's."""
    terms = Terms(dialogue=True, person_ms=60_000, budget=Limits(wall_time_ms=3000))
    spoken = MessageReceived(actor="user", content="Tea.")
    records = recorded(shop(terms), reply("What may it be?"), *[LeaseGranted(worker="v", epoch=2)] * 5, spoken)
    state = fold(records)
    assert state.stop is None
    assert used(state)["wall_time"] == 1000


def test_an_effect_in_doubt_is_handed_over() -> None:
    """Nobody may go on from a doubt; whoever looks into it sees what was done."""
    doubt = EffectReconciled(call=1, outcome="unknown", content="Not known.")
    timeout = ObservationReceived(call=1, status="timeout", content="No answer within 3000 ms.")
    records = recorded(shop(Terms(done=PAID)), reply("", use("pay", item="tea", cents=5)), timeout, doubt)
    (stop,) = of(records, StopDecided)
    assert stop.handover == Handover(
        asked="Buy tea", tried=(Tried(call=1, tool="pay", outcome="unknown"),), open=("paid",)
    )


PRICE = (reply("", use("price_of", item="tea")), seen(1, {"item": "tea", "cents": 5}))


def test_an_answer_may_say_only_what_is_borne_out() -> None:
    """The refusal names what is not; what is has its positions at the end."""
    program = shop(Terms(claims="supported"))
    records = recorded(program, *PRICE, reply("It costs 5, not 7."), reply("“Tea” costs 5 cents."))
    text = "Nothing that was said or observed bears out “7”. Look it up, or leave it out of the answer."
    assert of(records, FinishRefused) == [FinishRefused(missing=(), unsupported=("7",), text=text)]
    (ended,) = of(records, RunEnded)
    observed = next(one.position for one in records if isinstance(one.event, ObservationReceived))
    assert ended.claims == (
        Claim(text="Tea", evidence=(1, observed)),
        Claim(text="5", evidence=(observed, observed + 2)),
    )


def test_an_answer_made_up_again_and_again_ends_the_run() -> None:
    """The quota of refused finishes bounds it."""
    program = shop(Terms(claims="supported", quotas=Quotas(finish=2)))
    assert end(recorded(program, reply("It is 7."), reply("It is 8."))) == (
        "failed",
        "2 refused finishes in a row",
        None,
    )


def test_words_that_are_made_of_facts_need_no_bearing_out() -> None:
    """The template speaks; what the model says beside it is dropped."""
    program = shop(Terms(claims="supported", done={"price": {"is": 5}}, answer="It costs {price}."))
    assert end(recorded(program, *PRICE, reply("It is 7."))) == ("succeeded", "done", "It costs 5.")


def test_without_claims_in_the_contract_they_are_only_told() -> None:
    """One without evidence is seen in the log, and refuses nothing."""
    (ended,) = of(recorded(shop(Terms()), reply("It is 7.")), RunEnded)
    assert (ended.status, ended.claims) == ("finished", (Claim(text="7"),))


class Shouting:
    """A dialect of a user's: an answer is shouted, and there is nothing else."""

    def __init__(self, name: str = "shouting.1") -> None:
        self.name = name

    def read(self, content: Content) -> Decision | Unreadable:
        """Whoever shouts finishes."""
        return Decision("finish", answer=str(content)) if str(content).isupper() else Unreadable("quiet", "Shout!")


def test_a_user_may_add_a_dialect() -> None:
    """The contract names it; it is a part of the program, and a name of the engine's is not taken."""
    agent = Agent("a", "1", Contract(dialect="shouting.1"), dialects=[Shouting()], model=ScriptedModel(["hi", "HELLO"]))
    assert agent.program.parts["dialect"].data == "shouting.1"
    records = recorded(agent.program, reply("hi"), reply("HELLO"))
    assert end(records) == ("finished", "done", "HELLO")
    with pytest.raises(BadInput, match=r"contract of b: no 'shouting\.1'; there are native, recorded, json, react"):
        Agent("b", "1", Contract(dialect="shouting.1"), model=ScriptedModel([]))
    with pytest.raises(BadInput, match="agent c: dialect 'json': the engine has a dialect of that name"):
        Agent("c", "1", Contract(), dialects=[Shouting("json")], model=ScriptedModel([]))
