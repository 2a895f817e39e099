"""What an answer states that could have been made up, and what in a run bears it out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive_engine.claims import stated
from redrive_engine.models import reply, use
from redrive_events import MessageReceived, ObservationReceived, Terms
from redrive_projections import RunState, fold
from tests.shop import recorded, seen, shop

WORDS = (
    "order ord_1001 of 2026-10-02, waybill SF1390001, phone 138 0000 2222, packed 2026-11-18T09:30:00Z; "
    "b.txt has 1,934 characters, 30 % of all, at -9 degrees, a ratio of 0.2; 备忘.txt 有４５５字; call back at 17:05"
)


def told(*words: str) -> RunState:
    """The state of a run in which a person said these words, one after the other, from position 4 on."""
    return fold(recorded(shop(Terms()), *[MessageReceived(actor="user", content=one) for one in words]))


STATE = told(WORDS)


@pytest.mark.parametrize(
    ("answer", "borne_out", "made_up"),
    [
        ("Nothing that could be made up, don't you think?", [], []),
        ("Your order ord_1001, not ord_1002.", ["ord_1001"], ["ord_1002"]),
        ("1. Waybill SF1390001\n2) waybill SF1390002", ["SF1390001"], ["SF1390002"]),
        ("b.txt has 1934 characters, or 1,934, not 1,935 or 193.", ["1934", "1,934"], ["1,935", "193"]),
        ("共４５５字，占３０％。", ["455", "30%"], []),
        ("It is 20% and 30%, and 50%.", ["20%", "30%"], ["50%"]),
        ("A drop of 9 degrees, from -9 to 8", ["9", "-9"], ["8"]),
        ("On October 2, 2026", ["October 2, 2026"], []),
        ("on 2 Oct 2026 or Oct. 3rd", ["2 Oct 2026"], ["Oct. 3rd"]),
        ("2026年10月2日、10月2日、2026/10/02", ["2026年10月2日", "10月2日", "2026/10/02"], []),
        ("2026-10-03, 2025-10-02", [], ["2026-10-03", "2025-10-02"]),
        ("in 2026, not in 2027", ["2026"], ["2027"]),
        ("at 09:30 and 17:05, not 10:30", ["09:30", "17:05"], ["10:30"]),
        (
            "13800002222 or (138) 0000-2222, not 138 0000 2223",
            ["13800002222", "(138) 0000-2222"],
            ["138 0000 2223"],
        ),
        ("They are 1934 455 30", ["1934 455 30"], []),
        ("They are 1934 455 31", [], ["1934 455 31"]),
        ("It says “b.txt has” and `b.txt had`, 「备忘.txt」", ["b.txt has", "备忘.txt"], ["b.txt had"]),
        ("See https://x.example/a?b=1. Ask a.b@c.example!", [], ["https://x.example/a?b=1", "a.b@c.example"]),
        ("3-5 of gpt-5, v2 at 26°C", [], ["3", "5", "gpt-5", "v2", "26"]),
    ],
)
def test_what_an_answer_states(answer: str, borne_out: list[str], made_up: list[str]) -> None:
    """Numbers, dates, times, codes, addresses and what is quoted, however they are written."""
    found = stated(STATE, answer)
    assert [one.text for one in found if one.evidence] == borne_out
    assert [one.text for one in found if not one.evidence] == made_up
    assert {one.evidence for one in found} <= {(4,), ()}


def test_what_bears_out() -> None:
    """Goal, people's words, facts and verified observations; nothing that the model or an unverified tool says."""
    records = recorded(
        shop(Terms(), prompt="The secret is 111."),
        reply("It is 222.", use("price_of", item="tea"), use("poke"), use("count", item="tea")),
        seen(1, {"item": "tea", "cents": 5}),
        ObservationReceived(call=2, status="ok", content="333"),
        ObservationReceived(call=3, status="error", content="444"),
        MessageReceived(actor="operator", content="Pay 555."),
        MessageReceived(actor="agent", content="Pay 666."),
        reply("", use("price_of", item="milk")),
        seen(4, {"item": "777", "cents": 777}),
    )
    found = stated(fold(records), "“tea” 5 111 222 333 444 555 666 777".replace(" ", ", "))
    assert [one.text for one in found if one.evidence] == ["tea", "5", "555"]
    assert found[0].evidence[0] == 1, "the goal"


def test_how_many_a_list_holds_is_known() -> None:
    """A number that was worked out otherwise is borne out only as a fact."""
    state = told("three notes")
    assert not stated(state, "3 notes")[0].evidence
    records = recorded(
        shop(Terms()), reply("", use("pay", item="tea", cents=5)), seen(1, {"item": ["a", "b", "c"], "cents": 5})
    )
    claims = {one.text: bool(one.evidence) for one in stated(fold(records), "3 notes of 8")}
    assert claims == {"3": True, "8": False}


@given(st.text(alphabet="ab1 23,.%-年月日“”\"'`+()\n7/:@Oct", max_size=60))
def test_no_answer_is_too_odd_to_be_read(answer: str) -> None:
    """Each claim is a piece of the answer in its narrow form, and is told once."""
    claims = [one.text for one in stated(STATE, answer)]
    assert len(claims) == len(set(claims))
    assert all(claim in answer for claim in claims)
