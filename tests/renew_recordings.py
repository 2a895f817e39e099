"""The named recordings: what each pins, and ``python -m tests.renew_recordings``, which writes them anew.

Until 0.1.0 the vocabulary may change, and these files with it; the snapshots of what they fold to are then renewed by
``pytest tests/test_recordings.py --snapshot-update``. Both are read in the diff. From 0.1.0 on a recording that is
there stays as it is, and an event that is changed has a tag of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import reduce
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from redrive_engine import Happened, append_of
from redrive_engine.models import reply, use
from redrive_engine.program import Program
from redrive_engine.signals import annotate
from redrive_events import (
    START,
    AnnotationMade,
    CancelRequested,
    DeadlinePassed,
    EffectReconciled,
    GuardTerms,
    Input,
    LeaseGranted,
    LeaseRevoked,
    Limits,
    MemoryLog,
    MessageReceived,
    ModelFailed,
    ObservationReceived,
    OutcomeStated,
    PlanTerms,
    Quotas,
    Record,
    RepeatTerms,
    Returned,
    RunForked,
    SignalsHeard,
    StagnationTerms,
    Terms,
    Usage,
    encode,
    link,
    write_portable,
)
from redrive_events.upcast import UPCASTERS
from redrive_projections import answered_by, evolve, fold
from tests.shapes import is_released, read, renewed, shapes, spelled
from tests.shop import NOON, PURCHASE, Asking, answer_to_pay, recorded, seen, shop

FOLDER = Path(__file__).with_name("recordings")
VOCABULARY = FOLDER / "vocabulary.sha256"

PAID = {"paid": {"known": True}}
PAY = reply("", use("pay", item="tea", cents=5))
RIGHT = {"item": "tea", "cents": 5}
TIMEOUT = ObservationReceived(call=1, status="timeout", content="No answer within 3000 ms.")
NOT_THERE = EffectReconciled(call=1, outcome="not_landed", content="This did not take effect.")
NOT_KNOWN = EffectReconciled(call=1, outcome="unknown", content="Not known.")
TAKEN_OVER = LeaseGranted(worker="v", epoch=2)
THOUGHTS = ("我需要先想一想该买哪一种茶。", "我需要先想一想，该买哪一种茶。")
CANCEL = CancelRequested(by="ana", reason="enough")


class Recipe(NamedTuple):
    """A program, and what happens to a run of it; ``forked`` has what happens then to one that is forked from it."""

    program: Program
    inputs: tuple[Input, ...]
    forked: tuple[Input, ...] = ()


RECIPES: Mapping[str, Recipe] = {
    "bought-after-an-early-finish": Recipe(shop(Terms(done=PAID, answer="Paid {paid}.")), PURCHASE),
    "denied-then-another-way": Recipe(
        shop(Terms(tools={"pay": {"cents": {"at_most": 5}}, "price_of": {}})),
        (
            reply("", use("pay", item="tea", cents=9), use("ghost"), use("price_of", item=7)),
            reply("", use("price_of", item="milk")),
            seen(4, RIGHT),
            reply("I cannot."),
        ),
    ),
    "blocked-before-anything-starts": Recipe(
        shop(Terms(tools={"price_of": {}}, on_denied="block")),
        (reply("", use("price_of", item="tea"), use("pay", item="tea", cents=5)),),
    ),
    "write-in-doubt-tried-again": Recipe(
        shop(Terms(done=PAID)), (PAY, TIMEOUT, NOT_THERE, seen(1, RIGHT), reply("Bought."))
    ),
    "write-in-doubt-handed-to-a-person": Recipe(
        shop(Terms(done=PAID)), (PAY, TIMEOUT, EffectReconciled(call=1, outcome="unknown", content="Not known."))
    ),
    "worker-lost-in-a-write": Recipe(
        shop(Terms(done=PAID)),
        (
            PAY,
            TAKEN_OVER,
            EffectReconciled(
                call=1, outcome="landed", content='{"item":"tea","cents":5}', media_type="application/json"
            ),
            reply("Bought."),
        ),
    ),
    "cancelled-with-a-write-open": Recipe(
        shop(Terms()),
        (
            reply("", use("price_of", item="tea"), use("pay", item="tea", cents=5)),
            CANCEL,
            SignalsHeard(),
            ObservationReceived(call=1, status="cancelled", content="Cancelled: the run is ending."),
            seen(2, RIGHT),
        ),
    ),
    "talk-until-the-last-word": Recipe(
        shop(Terms(dialogue=True)),
        (
            reply("What may it be?"),
            MessageReceived(actor="user", content="Tea."),
            SignalsHeard(),
            reply("With pleasure."),
            MessageReceived(actor="user", content="Bye.", last=True),
            SignalsHeard(),
        ),
    ),
    "unreadable-then-facts-in-json": Recipe(
        shop(Terms(dialect="json", view="facts", done={"price": {"is": 5}}, answer="It costs {price}.")),
        (
            reply("It costs five, I think."),
            ModelFailed(kind="timeout", retryable=True),
            reply('{"type":"action","tool":"price_of","input":{"item":"tea"},"summary":"ask"}'),
            seen(1, RIGHT),
            reply('{"type":"final"}', usage=Usage(input=9, output=3), cost_micros=12),
        ),
    ),
    "out-of-time-while-a-tool-works": Recipe(
        shop(Terms(budget=Limits(wall_time_ms=2000))),
        (
            reply("", use("count", item="tea")),
            DeadlinePassed(which="wall_time"),
            ObservationReceived(call=1, status="cancelled", content="Cancelled: the run is ending."),
        ),
    ),
    "repeated-then-warned-then-held-on-the-last-step": Recipe(
        shop(
            Terms(
                done=PAID,
                partial="It costs {price}.\nPaid {paid}.",
                budget=Limits(steps=3),
                guards=GuardTerms(repeats=RepeatTerms(), warn=True, last_step=True),
            )
        ),
        (
            reply("", use("price_of", item="tea"), use("price_of", item="tea")),
            seen(1, RIGHT),
            reply("Once more.", use("price_of", item="tea")),
            reply("And again.", use("count", item="tea")),
        ),
    ),
    "failed-then-every-rung-in-turn": Recipe(
        shop(
            Terms(
                done=PAID,
                quotas=Quotas(tool_failed=1),
                recovery=("another_way", "stronger_model", "escalate"),
                models=("big",),
                escalation="end",
            )
        ),
        (
            reply("", use("price_of", item="tea")),
            ObservationReceived(call=1, status="error", content="Closed."),
            reply("", use("price_of", item="milk")),
            ObservationReceived(call=2, status="error", content="Closed."),
            reply("", use("count", item="tea"), model="big"),
            ObservationReceived(call=3, status="error", content="Closed."),
        ),
    ),
    "handed-over-then-spoken-to-then-too-late": Recipe(
        shop(Terms(done=PAID, ways_out=("escalate",), person_ms=3000)),
        (
            reply("", use("price_of", item="tea"), use("escalate", reason="Which tea?")),
            seen(1, RIGHT),
            reply("Somebody must say.", use("escalate", reason="Which tea?")),
            MessageReceived(actor="user", content="Hello?"),
            MessageReceived(actor="operator", content="Green tea."),
            SignalsHeard(),
            reply("", use("escalate", reason="How much of it?")),
            SignalsHeard(),
            SignalsHeard(),
            DeadlinePassed(which="person"),
        ),
    ),
    "finished-by-a-call-once-it-is-borne-out": Recipe(
        shop(Terms(ways_out=("finish", "unable"), claims="supported", quotas=Quotas(finish=3))),
        (
            reply("", use("finish", answer="It costs 7.")),
            reply("", use("price_of", item="tea")),
            seen(2, RIGHT),
            reply("", use("finish", answer="“Tea” costs 5 cents.")),
        ),
    ),
    "an-honest-no-in-chinese": Recipe(
        shop(Terms(dialect="react", ways_out=("unable",), done=PAID)),
        (
            reply('思考：先查价格。\n行动：price_of\n行动输入：{"item": "龙井"}\n观察：五分钱'),
            ObservationReceived(call=1, status="error", content="没有这种茶。"),
            reply("转人工：帮我"),
            reply("思考：没有这种茶。\n**无法完成**：店里没有龙井，请确认名称。"),
        ),
    ),
    "planned-and-drawn-anew-then-a-lesson": Recipe(
        shop(Terms(arm="plan", plan=PlanTerms(steps=2), reflection="rule")),
        (
            reply('{"steps": ["Look for tea.", "Pay."]}'),
            ObservationReceived(call=1, status="ok", returned=Returned(status="exhausted", reason="steps", tokens=7)),
            reply('{"steps": ["Count the tea."]}'),
            ObservationReceived(call=2, status="ok", returned=Returned(status="finished", answer="Three.", tokens=5)),
            reply("", use("count", item="tea")),
            ObservationReceived(call=3, status="error", content="Closed."),
            reply("There were three."),
        ),
    ),
    "asked-about-then-granted-another-digest-first": Recipe(
        shop(Terms(done=PAID), policy=Asking(cap=7)),
        (
            reply("", use("pay", item="tea", cents=9), use("price_of", item="tea")),
            answer_to_pay("grant", 9),
            seen(2, RIGHT),
            answer_to_pay("grant", 7, reason="fine"),
            SignalsHeard(),
            seen(1, {"item": "tea", "cents": 7}),
            reply("Bought."),
        ),
    ),
    "asked-about-then-edited-refused-and-too-late": Recipe(
        shop(Terms(done=PAID, approval_ms=3000), policy=Asking()),
        (
            reply("", use("pay", item="tea", cents=9), use("pay", item="tea", cents=8)),
            answer_to_pay("refuse", 8, call=2, reason="twice"),
            answer_to_pay("edit", 9, arguments=RIGHT),
            SignalsHeard(),
            seen(1, RIGHT),
            reply("One more.", use("pay", item="tea", cents=9)),
            SignalsHeard(),
            SignalsHeard(),
            DeadlinePassed(which="approval"),
            answer_to_pay("grant", 9, call=3),
            reply("Bought."),
        ),
    ),
    "doubt-stated-by-a-person": Recipe(
        shop(Terms(done=PAID, on_doubt="wait")),
        (
            PAY,
            OutcomeStated(call=1, by="bo", outcome="landed", reason="nobody had asked"),
            TIMEOUT,
            NOT_KNOWN,
            OutcomeStated(call=1, by="bo", outcome="not_landed", content="This did not take effect."),
            SignalsHeard(),
            TIMEOUT,
            NOT_KNOWN,
            OutcomeStated(
                call=1,
                by="bo",
                outcome="landed",
                content='{"item":"tea","cents":5}',
                media_type="application/json",
                reason="the bank has it",
            ),
            SignalsHeard(),
            reply("Bought."),
        ),
    ),
    "undone-before-the-run-is-given-up": Recipe(
        shop(Terms(done=PAID, quotas=Quotas(tool_failed=1), recovery=("compensate",))),
        (
            reply("", use("pay", item="tea", cents=5), use("pay", item="milk", cents=3)),
            seen(2, {"item": "milk", "cents": 3}),
            seen(1, RIGHT),
            reply("", use("price_of", item="tea")),
            ObservationReceived(call=3, status="error", content="Closed.", error="failed"),
            seen(4, {"back": "n0:1"}),
            ObservationReceived(call=5, status="timeout", content="No answer within 3000 ms."),
            EffectReconciled(call=5, outcome="not_landed", content="This did not take effect."),
            ObservationReceived(call=5, status="error", content="The bank has closed.", error="refused"),
        ),
    ),
    "revoked-then-taken-up-by-another": Recipe(
        shop(Terms()),
        (
            reply("", use("price_of", item="tea")),
            LeaseRevoked(by="bo", epoch=1, reason="it hangs"),
            TAKEN_OVER,
            seen(1, RIGHT),
            reply("It costs 5."),
        ),
    ),
    "forked-with-a-read-and-a-write-under-way": Recipe(
        shop(Terms()),
        (reply("", use("price_of", item="tea"), use("pay", item="tea", cents=5)),),
        (LeaseGranted(worker="w", epoch=2), seen(1, RIGHT), reply("I do not know whether it is paid.")),
    ),
    "the-same-thought-twice-in-chinese": Recipe(
        shop(Terms(done=PAID, guards=GuardTerms(stagnation=StagnationTerms(similarity_percent=80)))),
        (reply(THOUGHTS[0]), reply(THOUGHTS[1])),
    ),
}


def records_of(name: str) -> list[Record]:
    """The records of a recipe, by this engine; of one that is forked, with what it inherits."""
    program, inputs, then = RECIPES[name]
    if not then:
        return recorded(program, *inputs, run_id=name)
    before = recorded(program, *inputs, run_id=f"{name}.before")
    state, digest = fold(before), reduce(link, map(encode, before), START).hex()
    fork = RunForked(parent=state.run_id, position=state.position, digest=digest, nonce="n0/fork-n1", rules=0)
    at, place = NOON + timedelta(days=1), state.position + 1
    records = [*before, Record(run_id=name, position=place, at=at, cause=0, left=0, event=fork)]
    evolve(state, records[-1])
    for number, event in enumerate(then, start=1):
        happened = Happened(event, at + timedelta(seconds=number), answered_by(state.requests, event))
        records += append_of(program, state, happened)
    return records


def file_of(name: str) -> Path:
    """Where a recording stands."""
    return FOLDER / f"{name}.jsonl"


def main() -> None:
    """Write them all, each with a remark beside it, and the vocabulary they are written in."""
    FOLDER.mkdir(exist_ok=True)
    for name in RECIPES:
        if is_released() and file_of(name).exists():
            continue
        log, records = MemoryLog(), records_of(name)
        for run_id, own in groupby(records, lambda record: record.run_id):
            batch = list(own)
            log.append(run_id, batch, expected=batch[0].position - 1)
        remark = AnnotationMade(name="pins", value=name.replace("-", " "), source="tests")
        annotate(log, name, remark, at=NOON + timedelta(hours=1))
        with file_of(name).open("wb") as file:
            write_portable(log, [name], file)
    kept = renewed(read(VOCABULARY.read_text()), shapes(), upcasters=UPCASTERS, released=is_released())
    VOCABULARY.write_text(spelled(kept))


if __name__ == "__main__":
    main()
