"""Execution: what comes of a call, whatever the function does."""

from __future__ import annotations

import asyncio
import enum
import errno
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any, Literal

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from redrive_engine.envelope import Observed
from redrive_engine.execution import Outcome, ask_reconcile, cut_text, execute
from redrive_engine.tools import Call, Landed, NotLanded, Tool, ToolError, ToolUnavailable, tool
from redrive_events import Json

CALL = Call(number=1, tool="", arguments={})
FAMILY = "👨\u200d👩\u200d👧"


class Item(BaseModel):
    """A line of an order."""

    name: str
    cents: int


class Mood(enum.StrEnum):
    """A text with a name."""

    GLAD = "glad"


class Size(enum.Enum):
    """As it is sewn."""

    SMALL = "S"
    LARGE = "L"


@tool()
def pay(iban: str, cents: int) -> None:
    """Pay."""


def run(acting: Tool, **arguments: Json) -> Outcome:
    """What comes of one call."""
    return anyio.run(execute, acting, replace(CALL, arguments=arguments))


def made(function: Callable[..., Any], **settings: Any) -> Tool:
    """A tool that reads, of a function made on the spot."""
    return tool(**{"effect": "read", "source": "here", **settings})(function)


def text(content: str, status: Literal["ok", "error", "unknown"] = "ok", **rest: Any) -> Outcome:
    """An outcome in plain text."""
    return Outcome(status, content, size_bytes=len(content.encode()), source="here", **rest)


def refused(content: str) -> Outcome:
    """What a tool says that did nothing."""
    return text(content, "error", error="refused")


def data(content: str) -> Outcome:
    """An outcome in JSON."""
    return text(content, media_type="application/json")


class Receipt(BaseModel):
    """What a bank gives."""

    paid: date
    cents: int
    note: str = ""


class Anything(BaseModel):
    """Whose field is written by what it holds."""

    it: Any


class More(Receipt):
    """More than a tool says it returns."""

    secret: str = "x"


def receipt() -> Receipt:
    """With fields that its type does not have."""
    return More(paid=date(2026, 1, 31), cents=5)


def unannounced() -> Any:
    """With a type that nobody knows before."""
    return receipt()


def observed() -> Observed[Receipt] | str:
    """From elsewhere."""
    return Observed(receipt(), source="there")


@pytest.mark.parametrize(
    ("function", "outcome"),
    [
        pytest.param(lambda: "two\nlines", text("two\nlines"), id="text as it is"),
        pytest.param(lambda: "", text(""), id="empty text"),
        pytest.param(lambda: Mood.GLAD, text("glad"), id="an enum's text"),
        pytest.param(lambda: {"b": 1, "a": [1.5, None]}, data('{"a":[1.5,null],"b":1}'), id="JSON, keys sorted"),
        pytest.param(lambda: None, data("null"), id="nothing is null"),
        pytest.param(lambda: {"日": "é"}, data('{"日":"é"}'), id="JSON in UTF-8"),
        pytest.param(receipt, data('{"cents":5,"note":"","paid":"2026-01-31"}'), id="as the annotation has it"),
        pytest.param(unannounced, data('{"cents":5,"note":"","paid":"2026-01-31","secret":"x"}'), id="as it is"),
        pytest.param(
            observed, replace(data('{"cents":5,"note":"","paid":"2026-01-31"}'), source="there"), id="another source"
        ),
        pytest.param(lambda: Observed("x"), text("x"), id="no other source"),
        pytest.param(lambda: "a\ud800b\ud83d\ude00", text("a\ufffdb😀"), id="lone surrogates in text"),
        pytest.param(lambda: {"\ud800": ["\udc00"]}, data('{"\ufffd":["\ufffd"]}'), id="lone surrogates in JSON"),
        pytest.param(
            lambda: Item.model_construct(name="\ud800", cents=1), data('{"cents":1,"name":"\ufffd"}'), id="in a model"
        ),
        pytest.param(
            lambda: {"a": [float("nan")]}, text("t failed: BadInput", "error", error="failed"), id="NaN is no result"
        ),
        pytest.param(
            lambda: Anything(it={float("inf")}),
            text("t failed: BadInput", "error", error="failed"),
            id="nor is infinity",
        ),
        pytest.param(
            object, text("t failed: PydanticSerializationError", "error", error="failed"), id="an object is no result"
        ),
    ],
)
def test_a_result_has_one_spelling(function: Callable[[], object], outcome: Outcome) -> None:
    """Equal results are equal bytes, whatever library the tool made them with."""
    assert run(made(function, name="t")) == outcome


def fails(error: BaseException) -> Callable[[], None]:
    """A function that raises."""

    def act() -> None:
        raise error

    return act


@pytest.mark.parametrize("is_async", [False, True], ids=["in a thread", "async"])
@pytest.mark.parametrize(
    ("effect", "error", "outcome"),
    [
        ("read", ToolError("no order 7; there are 1 to 6"), refused("no order 7; there are 1 to 6")),
        ("write", ToolError("no order 7; there are 1 to 6"), refused("no order 7; there are 1 to 6")),
        ("read", ToolError(), refused("t failed")),
        ("read", ToolUnavailable("at night"), text("at night", "error", error="unavailable")),
        ("write", ToolUnavailable("at night"), text("at night", "error", error="unavailable")),
        ("read", KeyError("/home/ana/secret"), text("t failed: KeyError", "error", error="failed")),
        ("write", KeyError("/home/ana/secret"), text("t: not known whether it was done: KeyError", "unknown")),
        ("write", StopIteration(), None),
    ],
)
def test_what_a_tool_raises_says_only_what_is_known(
    effect: str, error: Exception, outcome: Outcome | None, is_async: bool
) -> None:
    """A read that broke has failed; of a write that broke nobody knows; only `ToolError` says that nothing was done."""

    async def act() -> None:
        raise error

    acting = made(act if is_async else fails(error), name="t", effect=effect)
    kind = "RuntimeError" if is_async else "StopIteration"  # Python's own rule for coroutines
    assert run(acting) == (outcome or text(f"t: not known whether it was done: {kind}", "unknown"))


def test_a_tool_cannot_end_the_worker() -> None:
    """A command line wrapped as a tool may call exit; that is its failure, not ours."""
    assert run(made(fails(SystemExit(3)), name="t")) == text("t failed: SystemExit", "error", error="failed")


def wrapped(error: Exception, *, hidden: bool = False) -> Exception:
    """An error of a library's own, raised because of another one."""
    try:
        try:
            raise error
        except Exception:  # noqa: BLE001 - whatever it is
            if hidden:
                raise RuntimeError("no") from None
            raise RuntimeError("no")  # noqa: B904 - as many libraries do
    except RuntimeError as outer:
        return outer


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ConnectionRefusedError(), "unavailable"),
        (TimeoutError(), "unavailable"),
        (OSError(errno.EHOSTUNREACH, "no route"), "unavailable"),
        (socket.gaierror(), "unavailable"),
        (wrapped(ConnectionResetError()), "unavailable"),
        (wrapped(wrapped(TimeoutError())), "unavailable"),
        (wrapped(TimeoutError(), hidden=True), "failed"),
        (FileNotFoundError("/home/ana/secret"), "failed"),
        (PermissionError(), "failed"),
        (ValueError(), "failed"),
    ],
)
def test_a_read_that_broke_tells_whether_that_may_pass(error: Exception, kind: str) -> None:
    """By what it came of: a connection that was refused, however often it was wrapped since."""
    outcome = run(made(fails(error), name="t"))
    assert (outcome.status, outcome.error) == ("error", kind)
    assert "secret" not in (outcome.content or "")


def test_the_function_gets_typed_values_and_the_call() -> None:
    """What was checked as JSON arrives as what the annotations say."""
    got: list[object] = []

    async def act(item: Item, /, day: date, size: Size = Size.LARGE, *, call: Call) -> str:
        got.extend([item, day, size, call])
        return "done"

    arguments = {"day": "2026-01-31", "item": {"name": "a", "cents": 1}}
    call = Call(3, "act", arguments, "nonce:3", 2, 1, "ana", "shop")
    assert anyio.run(execute, made(act), call) == text("done")
    assert got == [Item(name="a", cents=1), date(2026, 1, 31), Size.LARGE, call]


def test_a_misfit_never_reaches_the_function() -> None:
    """Verdicts come before calls; if one was wrong, nothing is done, and said so."""
    assert run(pay, iban="a", cents="1") == replace(refused("pay: cents: an integer is expected"), source="")


def test_a_plain_function_that_gives_a_coroutine_is_awaited() -> None:
    """Decorators of a user's own often hide that a function is async."""

    async def later() -> str:
        return "done"

    def hidden() -> object:
        return later()

    assert run(made(hidden)) == text("done")


@pytest.mark.parametrize(
    ("whole", "limit_bytes", "kept"),
    [
        pytest.param("abc", 3, "abc", id="fits"),
        pytest.param("abcd", 3, "abc", id="one a byte"),
        pytest.param("订单已发货", 7, "订单", id="Chinese, three bytes each"),
        pytest.param("مرحبا", 5, "مر", id="Arabic, two bytes each"),
        pytest.param("بِسم", 2, "ب", id="Arabic, a mark that alone is too long"),
        pytest.param("aبِسم", 4, "a", id="Arabic, a letter stays with its mark"),
        pytest.param("ae\u0301", 2, "a", id="a letter stays with its accent"),
        pytest.param("a😀", 4, "a", id="an emoji is four bytes"),
        pytest.param(f"a{FAMILY}", 18, "a", id="a family stays together"),
        pytest.param(f"a{FAMILY}", 19, f"a{FAMILY}", id="a family that fits"),
        pytest.param("a❤\ufe0f", 4, "a", id="a heart keeps its colour"),
        pytest.param("a👍🏽", 6, "a", id="a hand keeps its tone"),
        pytest.param("🇩🇪🇫🇷", 12, "🇩🇪", id="half a flag is none"),
        pytest.param("🇩🇪🇫🇷x", 16, "🇩🇪🇫🇷", id="two flags part between them"),
        pytest.param("e" + "\u0301" * 99, 81, "e" + "\u0301" * 40, id="a heap of accents is cut all the same"),
        pytest.param(FAMILY, 12, "👨\u200d👩", id="a first character that is too long"),
        pytest.param("日本", 2, "", id="not even one"),
    ],
)
def test_a_cut_leaves_characters_whole(whole: str, limit_bytes: int, kept: str) -> None:
    """Half a character is another character, or none."""
    assert cut_text(whole, limit_bytes) == kept


texts = st.text(
    st.sampled_from("ab日ب\u0650é\u0301😀🏽\u200d\ufe0f🇩🇪\u0000\n") | st.characters(codec="utf-8"), max_size=60
)


@given(texts, st.integers(0, 120))
def test_a_cut_is_a_beginning_within_the_limit(whole: str, limit_bytes: int) -> None:
    """Valid UTF-8, and never more than a character's length shorter than it must be."""
    kept = cut_text(whole, limit_bytes)
    assert whole.startswith(kept)
    assert len(kept.encode()) <= limit_bytes or kept == ""
    assert kept == whole or len(whole.encode()) > limit_bytes
    assert cut_text(kept, limit_bytes) == kept


def test_what_was_cut_is_recorded() -> None:
    """The size is that of the whole, so that nobody takes the beginning for all of it."""
    assert run(made(lambda: "订单已发货", name="t", output_max=7)) == Outcome(
        status="ok", content="订单", size_bytes=15, cut=9, source="here"
    )


def test_an_abandoned_thread_keeps_nobody_waiting() -> None:
    """Its result comes too late, and is dropped without a word, before and after the loop has ended."""
    gate, ended = threading.Event(), threading.Event()

    def slow() -> str:
        gate.wait(10)
        ended.set()
        return "late"

    async def abandon(*, open_inside: bool) -> bool:
        with anyio.move_on_after(0.02) as scope:
            await execute(made(slow), CALL)
        if open_inside:
            gate.set()
            await anyio.sleep(0.05)
        return scope.cancelled_caught

    assert anyio.run(lambda: abandon(open_inside=True))
    gate.clear()
    ended.clear()
    assert anyio.run(lambda: abandon(open_inside=False))
    gate.set()
    assert ended.wait(10)
    for thread in threading.enumerate():
        if thread.name == "redrive tool":
            thread.join(10)
            assert not thread.is_alive()


def test_a_process_ends_although_a_tool_blocks_for_ever() -> None:
    """A tool that hangs must not keep a worker from being replaced."""
    program = """
        import threading, anyio
        from redrive_engine.execution import execute
        from redrive_engine.tools import Call, tool

        @tool()
        def hang() -> None:
            threading.Event().wait()

        async def main() -> None:
            with anyio.move_on_after(0.05):
                await execute(hang, Call(1, "hang", {}))
            print("abandoned")

        anyio.run(main)
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program)],
        check=True,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert (done.stdout, done.stderr) == ("abandoned\n", "")


def reconciled(answer: object) -> tuple[str, Outcome | None]:
    """What comes of asking a tool whose reconcile gives, or raises, ``answer``."""

    def act() -> Receipt:
        raise NotImplementedError

    acting = made(act, name="t", effect="write")

    @acting.reconcile
    def was_paid(call: Call) -> object:
        assert call == CALL
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert acting.reconciler is was_paid
    return anyio.run(ask_reconcile, acting, CALL)


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        pytest.param(
            Landed(receipt()), ("landed", data('{"cents":5,"note":"","paid":"2026-01-31"}')), id="as it would have been"
        ),
        pytest.param(Landed(Observed("x", "there")), ("landed", replace(text("x"), source="there")), id="observed"),
        pytest.param(NotLanded(), ("not_landed", None), id="not landed"),
        pytest.param(None, ("unknown", None), id="no answer"),
        pytest.param(TimeoutError(), ("unknown", None), id="raises"),
        pytest.param(ToolError("not there"), ("unknown", None), id="a tool's error is no answer here"),
        pytest.param(Landed(float("nan")), ("unknown", None), id="no spelling"),
    ],
)
def test_the_authority_says_what_became_of_a_write(answer: object, found: tuple[str, Outcome | None]) -> None:
    """Only a plain word counts: everything else leaves it unknown."""
    assert reconciled(answer) == found


def test_without_a_reconcile_it_is_unknown() -> None:
    """Nobody was asked."""
    assert anyio.run(ask_reconcile, pay, CALL) == ("unknown", None)


@pytest.mark.parametrize("raised", [asyncio.CancelledError, SystemExit])
def test_an_async_tool_that_gives_itself_up_has_failed(raised: type[BaseException]) -> None:
    """Nobody cancelled it, and nobody asked the worker to end: it is a failure of the tool as any other."""

    @tool(effect="read")
    async def look() -> str:
        """Look."""
        raise raised

    outcome = anyio.run(execute, look, CALL)
    assert (outcome.status, outcome.content) == ("error", f"look failed: {raised.__name__}")
