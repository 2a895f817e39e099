"""When people speak into a run: what is open is answered first, and no word is left unread."""

from __future__ import annotations

from redrive_engine.models import reply, use
from redrive_events import MessageReceived, ModelAsked, RunEnded, SignalsHeard, StopDecided, Terms
from tests.shop import recorded, seen, shop

LAST = MessageReceived(actor="user", content="Thanks, that is all.", last=True)
PAID = Terms(done={"paid": {"known": True}}, dialogue=True)


def test_a_last_word_waits_for_what_is_open() -> None:
    """A payment under way when the person leaves still counts."""
    program = shop(PAID)
    calls = reply("Paying.", use("price_of", item="tea"), use("pay", item="tea", cents=5))
    records = recorded(
        program, calls, LAST, SignalsHeard(), seen(1, {"item": "tea", "cents": 5}), seen(2, {"item": "tea", "cents": 5})
    )
    *_, stop, end = (record.event for record in records)
    assert stop == StopDecided(status="succeeded", reason="done")
    assert isinstance(end, RunEnded)
    assert [type(record.event) for record in records].count(ModelAsked) == 1, "nothing is asked after the last word"


def test_a_last_word_with_criteria_open_is_a_failure() -> None:
    """It says what was not reached."""
    records = recorded(shop(PAID), reply("How can I help?"), LAST, SignalsHeard())
    assert records[-2].event == StopDecided(status="failed", reason="not done: paid")


def test_words_that_come_with_the_finishing_reply_are_read() -> None:
    """The model wanted to finish, but had not seen what was said: it is asked again."""
    program = shop(Terms())
    more = MessageReceived(actor="user", content="And the milk?")
    records = recorded(program, more, reply("The tea is bought."), reply("The milk too."))
    kinds = [type(record.event).__name__ for record in records]
    assert kinds[4:8] == ["ModelReplied", "DecisionMade", "ModelAsked", "ModelReplied"]
    asked = records[6].event
    assert isinstance(asked, ModelAsked)
    assert asked.new == (5, 4), "the reply, then the words that came meanwhile"
    assert kinds[-1] == "RunEnded"
