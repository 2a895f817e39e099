"""What a trajectory tells: an event a line, the same from run to run, readable, a small change a small difference."""

from __future__ import annotations

import re

import pytest
from syrupy.assertion import SnapshotAssertion

import orders_sms
import redrive as rd
from redrive.testing import (
    AmberTrajectoryExtension,
    Fit,
    JSONTrajectoryExtension,
    Level,
    Trajectory,
    TrajectoryExtension,
    approx,
    ignore,
    of_type,
    regex,
)
from redrive_events import BadInput, ModelReplied, Text
from redrive_replays.testing.explaining import explained
from refund_desk import agent
from tests.testing.courses import IBAN, LOOK, course, fresh_bank, paying

LEVELS: tuple[Level, ...] = ("decisions", "steps", "full")


@pytest.mark.parametrize("level", LEVELS)
def test_each_level_tells_so_much(level: Level, snapshot: SnapshotAssertion) -> None:
    """An event a line; ``full`` leaves nothing out."""
    told = course().at(level)
    assert told == snapshot
    assert level != "full" or len(told.text.splitlines()) == len(told.records)


def test_amber_and_json_tell_the_same(snapshot: SnapshotAssertion) -> None:
    """All snapshots of a file in one, or an object an event."""
    assert course() == snapshot.use_extension(AmberTrajectoryExtension)
    assert course() == snapshot.use_extension(JSONTrajectoryExtension)


def test_ids_and_clocks_make_no_difference() -> None:
    """Another run, at another time, by another worker, with another nonce; at each level."""
    for level in LEVELS:
        texts = [Trajectory(tuple(live(run_id).records())).at(level).text for run_id in ("0a1b2c3d4e", "9f8e7d6c5b")]
        timeless = {re.sub(r"t\+[\d.]+s", "t", text) for text in texts}
        assert len(timeless) == 1
        assert level == "full" or timeless == set(texts)


def live(run_id: str) -> rd.Run:
    """A run with a clock, ids and a worker that are as they come."""
    fresh_bank()
    return agent.run("Refund ord_123", principal="ana", log=rd.MemoryLog(), run_id=run_id)


def test_what_was_minted_for_a_run_is_named_in_whatever_was_said() -> None:
    """A service that gives a key back tells the nonce of the run with it."""
    runs = [orders_sms.make_agent().run(orders_sms.GOAL, log=rd.MemoryLog()) for _ in range(2)]
    one, other = (Trajectory(tuple(run.records())).text for run in runs)
    assert one == other
    assert '"key":"<nonce>:3"' in one


def test_two_ids_that_differ_still_do() -> None:
    """Nothing is left out so that it is the same; the same id is called the same."""
    uses = [rd.ToolUse(name="find_order", arguments='{"order_id":"ord_123"}', id=one) for one in ("x", "y", "x")]
    told = course(ModelReplied(content=tuple(uses))).at("full").text
    one, other, again = re.findall(r'"id":"(id#\d+)"', told)
    assert one == again != other


@pytest.mark.parametrize("words", ["我先查一下订单。", "Done 🎉👩‍💻", "عربي"])
def test_what_people_write_is_readable(words: str) -> None:
    """In a snapshot as in the run; no sign is escaped."""
    told = course(words, goal=words)
    assert f"start  refund-desk 1 for ana: {words}\n" in told.text
    assert f"reply#1  {words}\n" in told.text
    assert words in told.at("full").text


def test_long_content_is_told_by_its_first_words_and_a_digest() -> None:
    """Two that differ far behind still do; what would break a line does not."""
    one, other = (course(rd.reply("word " * 500 + end)).text for end in ("a", "b"))
    (line,) = (line for line in one.splitlines() if line.startswith("reply#1"))
    assert re.fullmatch(r"reply#1  word word .* … \(2,501 characters, sha256 [0-9a-f]{10}\)", line)
    assert one != other
    assert len(course(rd.reply("a\n\x1b[31m\u2028b")).text.splitlines()) == len(
        course(rd.reply("a b")).text.splitlines()
    )


def test_a_small_change_is_a_small_difference() -> None:
    """Whatever hangs on digests or places, no other line is another."""
    before, after = (set(course(words, rd.reply("", LOOK), paying(4_900), "ok").text.splitlines()) for words in "ab")
    assert before ^ after == {"reply#1  a", "reply#1  b"}


def test_a_level_or_mode_that_there_is_not_is_refused() -> None:
    """With those that there are."""
    with pytest.raises(BadInput, match="there are decisions, steps, full"):
        course().at("all")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="there are strict, in order, any order, superset, subset"):
        course().matching("loose")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="left out whole, by ignore"):
        course().matching(fits={"refund": int})
    with pytest.raises(BadInput, match=r"4900 is no matcher: .* a type or a function"):
        course().matching(fits={"refund.cents": 4900})  # type: ignore[dict-item]
    with pytest.raises(BadInput, match="matching 'facts:iban': there are result:TOOL and fact:KEY"):
        course().matching(fits={"facts:iban": str})
    with pytest.raises(BadInput, match="no regular expression"):
        regex("(")


TWICE = (rd.reply("", LOOK, rd.use("find_order", order_id="ord_124")), paying(4_900), "ok")
TURNED = (rd.reply("", rd.use("find_order", order_id="ord_124"), LOOK), paying(4_900), "ok")
OTHERWISE = (ModelReplied(content=(Text(text="Other words."), *TWICE[0].content)), *TWICE[1:])
MODES = [
    pytest.param("strict", TWICE, TWICE, True, id="strict, the same"),
    pytest.param("strict", TWICE, ("Hm.", *TWICE), False, id="strict, other words"),
    pytest.param("in order", TWICE, OTHERWISE, True, id="words"),
    pytest.param("in order", TWICE, TURNED, False, id="in order, turned"),
    pytest.param("any order", TWICE, TURNED, True, id="any order, turned"),
    pytest.param("any order", TWICE, (), False, id="any order, one more"),
    pytest.param("superset", TWICE, (), True, id="superset, one more"),
    pytest.param("superset", (), TWICE, False, id="superset, one less"),
    pytest.param("subset", (), TWICE, True, id="subset, one less"),
    pytest.param("subset", TWICE, (), False, id="subset, one more"),
]


@pytest.mark.parametrize(("mode", "received", "wanted", "fits"), MODES)
def test_each_mode_compares_what_it_says(mode: str, received: tuple, wanted: tuple, fits: bool) -> None:  # type: ignore[type-arg]
    """``received`` against ``wanted``; each difference is one that only some modes see."""
    assert (course(*received).matching(mode) == course(*wanted)) == fits  # type: ignore[arg-type]


def test_a_snapshot_is_compared_by_the_mode_and_kept(snapshot: SnapshotAssertion) -> None:
    """In each form; what fits leaves it as it is, also where snapshots are renewed."""
    for form in (TrajectoryExtension, AmberTrajectoryExtension, JSONTrajectoryExtension):
        kept = snapshot.use_extension(form)
        assert course() == kept(name="plain")
        assert course(*TWICE).matching("superset") == kept(name="plain")
        assert course("Nothing.").matching("subset") == kept(name="plain")


def test_what_is_missing_and_what_is_too_much_are_both_told() -> None:
    """Where a mode looks at both."""
    other = course(rd.reply("", rd.use("find_order", order_id="ord_124")), "ok")
    told = explained(course(rd.reply("", LOOK), "ok").matching("any order"), other.text)
    assert told[1:3] == [
        'missing: find_order(order_id="ord_124")',
        'not in the snapshot: find_order(order_id="ord_123")',
    ]


FITS = [
    pytest.param({"refund.cents": int}, True, id="type"),
    pytest.param({"refund.cents": approx(4_850, abs=100)}, True, id="approx"),
    pytest.param({"refund.cents": approx(4_900, rel=0.001)}, False, id="approx, too far"),
    pytest.param({"*.cents": ignore()}, True, id="ignored, of any tool"),
    pytest.param({"refund.cents": lambda value: value > 0}, True, id="a function"),
    pytest.param({"refund.cents": of_type(bool)}, False, id="another type"),
    pytest.param({"refund.iban": regex("DE.*")}, False, id="another argument"),
    pytest.param({"refund": ignore()}, True, id="a tool left out"),
]


@pytest.mark.parametrize(("fits", "same"), FITS)
def test_a_value_need_only_fit(fits: dict[str, Fit], same: bool) -> None:
    """4,800 where 4,900 was paid; what comes of it in results, facts and answer is ignored here."""
    around: dict[str, Fit] = {"result:refund": ignore(), "fact:refunded": ignore(), "answer": ignore()}
    one, other = (course(rd.reply("", LOOK), paying(cents), "ok") for cents in (4_900, 4_800))
    assert (one.matching(fits=fits | around) == other) == same
    assert one != other


def test_what_fits_stands_in_the_snapshot(snapshot: SnapshotAssertion) -> None:
    """In place of the value, so that everybody sees what is not compared."""
    fits: dict[str, Fit] = {
        "refund.cents": approx(4_900, rel=0.1),
        "*.order_id": regex(r"ord_\d+"),
        "reply": ignore(),
        "fact:iban": str,
    }
    assert course().matching(fits=fits) == snapshot
    assert IBAN in course().matching(fits=fits).text
