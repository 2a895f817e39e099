"""A person's words answer the transcript that they were said to, and no other."""

from __future__ import annotations

import pytest

from redrive_engine.models import reply, use
from redrive_events import (
    Content,
    Input,
    MessageReceived,
    PersonAsked,
    SignalsHeard,
    Terms,
)
from redrive_replays.whatif import Branch, Changes, branched, edge_report
from tests.shop import recorded, seen, shop

TERMS = Terms(dialogue=True)
ITEM = {"item": "tea", "cents": 5}


def said(words: str) -> tuple[Input, Input]:
    """The user speaks, and a worker hears it."""
    return MessageReceived(actor="user", content=words), SignalsHeard()


def branch_of(changes: Changes, *inputs: Input) -> Branch:
    """The branch of a talk in the shop."""
    program = shop(TERMS)
    return branched(recorded(program, *inputs), program, changes)


def heard(branch: Branch) -> list[tuple[str, str]]:
    """What people were heard to say in a branch, each with its label."""
    events = ((one.record.event, one.label) for one in branch.records)
    return [(str(event.content), label) for event, label in events if isinstance(event, MessageReceived)]


def asks_a_person(branch: Branch) -> bool:
    """Whether it stops where a person is asked."""
    return branch.edge is not None and isinstance(branch.edge.request, PersonAsked)


HOW_MANY, HOW_MUCH = reply("How many?"), reply("How much may it cost?")
TALK = (HOW_MANY, *said("Two."), HOW_MUCH, *said("Ten."), reply("Fine."))


def test_words_answer_what_they_were_asked() -> None:
    """Where nothing is changed each is said again."""
    assert heard(branch_of(Changes(), *TALK)) == [("Two.", "recorded"), ("Ten.", "recorded")]


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        pytest.param({1: HOW_MUCH.content}, [], id="another question in the same turn"),
        pytest.param({1: HOW_MUCH.content, 2: HOW_MANY.content}, [], id="the same questions in another order"),
        pytest.param({2: HOW_MANY.content}, ["Two."], id="the same question twice"),
        pytest.param({1: "How  many?"}, [], id="a question that differs in a space"),
        pytest.param({2: HOW_MUCH.content}, ["Two.", "Ten."], id="the same question, given"),
    ],
)
def test_words_are_not_served_to_another_question(replies: dict[int, Content], expected: list[str]) -> None:
    """However alike the two are, and whatever turn it is: it stops where nobody knows what the person would say."""
    branch = branch_of(Changes(replies=replies), *TALK)
    assert [words for words, _ in heard(branch)] == expected
    assert all(label == "recorded" for _, label in heard(branch))
    assert len(expected) == 2 or asks_a_person(branch)


LOOKS = reply("", use("price_of", item="tea"))


def test_words_are_not_served_behind_another_observation() -> None:
    """The question is the same, and what stands in front of it is not."""
    inputs = (LOOKS, seen(1, ITEM), HOW_MANY, *said("Two."), reply("Fine."))
    changes = Changes(observations={1: '{"cents":500,"item":"tea"}'}, replies={2: HOW_MANY.content})
    branch = branch_of(changes, *inputs)
    assert (heard(branch), asks_a_person(branch)) == ([], True)
    beyond = branch_of(Changes(observations=changes.observations, replies=changes.replies, beyond=True), *inputs)
    assert heard(beyond) == [("Two.", "assumed")]
    assert beyond.assumptions[0].startswith("turn 3: the words at")


def test_words_are_served_once() -> None:
    """The same transcript does not come twice; the words of one question are not those of the next."""
    branch = branch_of(Changes(replies={2: HOW_MANY.content, 3: HOW_MANY.content}), *TALK)
    assert heard(branch) == [("Two.", "recorded")]
    assert asks_a_person(branch)


def test_an_escalation_is_not_answered_by_words_to_another_one() -> None:
    """The operator was told another reason."""
    program = shop(Terms(ways_out=("escalate",)))
    first, other = (reply("", use("escalate", reason=words)) for words in ("Which tea?", "How much of it?"))
    told = MessageReceived(actor="operator", content="Green.")
    records = recorded(program, first, told, SignalsHeard(), reply("Fine."))
    same = branched(records, program)
    assert (heard(same), edge_report(records, same).sureness) == ([("Green.", "recorded")], "same")
    branch = branched(records, program, Changes(replies={1: other.content}))
    assert (heard(branch), asks_a_person(branch)) == ([], True)
