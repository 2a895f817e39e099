"""Tools: how a function becomes a declaration, what its arguments may be, and what comes of a call."""

from __future__ import annotations

import enum
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from typing import Annotated, Any, Literal

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field

from redrive_engine.execution import Outcome, ask_reconcile, cut_text, execute
from redrive_engine.tools import Call, Declaration, Landed, NotLanded, Observed, Tool, ToolError, tool
from redrive_events import Json

CALL = Call(number=1, tool="", arguments={})
FAMILY = "👨\u200d👩\u200d👧"


class Item(BaseModel):
    """A line of an order."""

    name: str
    cents: Annotated[int, Field(ge=1)]


class Mood(enum.StrEnum):
    """A text with a name."""

    GLAD = "glad"


class Size(enum.Enum):
    """As it is sewn."""

    SMALL = "S"
    LARGE = "L"


class Cat(BaseModel, extra="forbid"):
    """One pet."""

    kind: Literal["cat"]


class Dog(Cat):
    """Another."""

    kind: Literal["dog"]  # type: ignore[assignment]
    size: Size


def even(number: int) -> int:
    """A user's own rule, which says no in three ways."""
    if number == 13:
        raise OSError("a file of the user's, and its name")
    if number % 2:
        raise ValueError("odd, says somebody")
    return number


@tool(effect="read", source="orders", timeout="2s", output_max="1kB", object="order_id")
def search(  # noqa: PLR0913, PLR0917 - one of each kind
    order_id: Annotated[str, Field(pattern=r"^ord_\d+$")],
    query: Annotated[str, Field(min_length=1, max_length=100)] = "all",
    count: Annotated[int, Field(gt=0, le=5), AfterValidator(even)] = 2,
    colour: Literal["red", "green", 3] = "red",
    items: Annotated[list[Item], Field(max_length=1)] = [],  # noqa: B006 - pydantic copies it
    day: date | None = None,
    either: int | list[str] | Item = 0,
    size: Size = Size.SMALL,
    weight: float = 1.0,
    by_name: dict[str, int] = {},  # noqa: B006 - pydantic copies it
    pair: tuple[Literal["a"], int] = ("a", 1),
    pet: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None,
    *,
    call: Call,
) -> str:
    """Find what was ordered.

    In all shops:
        the indented ones too.
    """
    return str((order_id, query, count, colour, items, day, either, size, weight, by_name, pair, pet, call.principal))


@tool()
def pay(iban: str, cents: int) -> None:
    """Pay."""


def run(acting: Tool, **arguments: Json) -> Outcome:
    """What comes of one call."""
    return anyio.run(execute, acting, replace(CALL, arguments=arguments))


def made(function: Callable[..., Any], **settings: Any) -> Tool:
    """A tool that reads, of a function made on the spot."""
    return tool(**{"effect": "read", "source": "here", **settings})(function)


def test_a_function_becomes_a_declaration() -> None:
    """All that a program knows of a tool is plain data; neither `call` nor names made by a library are part of it."""

    def rate(
        schema: str,
        model_config: Literal["a", "b"] = "a",
        /,
        call_it: list[Item] | None = None,
        tags: set[str] = {"b", "a"},  # noqa: B006 - pydantic copies it
    ) -> None:
        """Rate it.

        Twice.
        """

    declared = tool(destination="schema", timeout=timedelta(minutes=2), output_max=800, name="rate-it")(rate)
    assert declared.declaration == Declaration(
        name="rate-it",
        description="Rate it.\n\nTwice.",
        schema={
            "$defs": {
                "Item": {
                    "description": "A line of an order.",
                    "properties": {"cents": {"minimum": 1, "type": "integer"}, "name": {"type": "string"}},
                    "required": ["name", "cents"],
                    "type": "object",
                }
            },
            "additionalProperties": False,
            "properties": {
                "schema": {"type": "string"},
                "model_config": {"default": "a", "enum": ["a", "b"], "type": "string"},
                "call_it": {
                    "anyOf": [{"items": {"$ref": "#/$defs/Item"}, "type": "array"}, {"type": "null"}],
                    "default": None,
                },
                "tags": {"default": ["a", "b"], "items": {"type": "string"}, "type": "array", "uniqueItems": True},
            },
            "required": ["schema"],
            "type": "object",
        },
        effect="write",
        destination="schema",
        timeout_ms=120_000,
        output_max_bytes=800,
    )
    assert list(declared.declaration.schema["properties"]) == ["schema", "model_config", "call_it", "tags"]


def test_a_declaration_without_arguments_is_still_an_object() -> None:
    """Providers refuse a schema that says nothing."""
    assert made(lambda: None, name="nothing").declaration.schema == {
        "additionalProperties": False,
        "properties": {},
        "type": "object",
    }


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"},
        {"description": "other"},
        {"schema": {}},
        {"effect": "read"},
        {"source": "other"},
        {"object": "iban"},
        {"destination": "iban"},
        {"timeout_ms": None},
        {"output_max_bytes": 1},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_digest_is_over_all_that_is_declared(change: dict[str, Any]) -> None:
    """A part that changes without its digest would hide the cause of a divergence."""
    declared = pay.declaration
    assert replace(declared, **change).digest != declared.digest


def test_the_digest_is_not_over_the_function() -> None:
    """The same data is the same part, wherever its check comes from."""
    recorded = Declaration(**pay.declaration.data)
    assert (recorded, recorded.digest, recorded.problems({"x": 1})) == (pay.declaration, pay.declaration.digest, "")


def test_a_tool_is_still_its_function() -> None:
    """So that a user's own tests need no engine."""
    assert search("ord_1", call=replace(CALL, principal="ana")) == (
        "('ord_1', 'all', 2, 'red', [], None, 0, <Size.SMALL: 'S'>, 1.0, {}, ('a', 1), None, 'ana')"
    )
    assert (search.__name__, repr(search), search.__doc__) == ("search", "<tool search>", search.run.__doc__)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        pytest.param({"order_id": "ord_1"}, "", id="fits"),
        pytest.param({"order_id": "ord_1", "day": "2026-01-31", "size": "L", "weight": 2}, "", id="as JSON has them"),
        pytest.param({}, "order_id: missing", id="missing"),
        pytest.param("order ord_1", "arguments: an object is expected", id="no object"),
        pytest.param(None, "arguments: an object is expected", id="null"),
        pytest.param({"order_id": 1}, "order_id: a text is expected", id="text"),
        pytest.param({"order_id": "1"}, r"order_id: a text that matches ^ord_\d+$ is expected", id="pattern"),
        pytest.param({"query": "x" * 101}, "query: at most 100 characters", id="long text"),
        pytest.param({"query": ""}, "query: at least 1 character", id="short text"),
        pytest.param({"count": "2"}, "count: an integer is expected", id="digits are no integer"),
        pytest.param({"count": 2.5}, "count: an integer is expected", id="a fraction is no integer"),
        pytest.param({"count": True}, "count: an integer is expected", id="true is no integer"),
        pytest.param({"count": 0}, "count: more than 0 is expected", id="greater than"),
        pytest.param({"count": 6}, "count: at most 5 is expected", id="less or equal"),
        pytest.param({"count": 3}, "count: not allowed (value_error)", id="a user's rule"),
        pytest.param({"colour": "blue"}, "colour: one of these is expected: red, green, 3", id="literal"),
        pytest.param({"size": "M"}, "size: one of these is expected: S, L", id="enum"),
        pytest.param({"weight": "2"}, "weight: a number is expected", id="number"),
        pytest.param({"items": {}}, "items: a list is expected", id="list"),
        pytest.param({"items": [{"name": "a", "cents": 1}] * 2}, "items: at most 1 item", id="long list"),
        pytest.param({"items": [{"name": "a", "cents": 0}]}, "items[0].cents: at least 1 is expected", id="nested"),
        pytest.param({"items": [{"cents": 1}]}, "items[0].name: missing", id="nested, missing"),
        pytest.param({"items": ["a"]}, "items[0]: an object is expected", id="nested object"),
        pytest.param({"day": "31.1.2026"}, "day: a date is expected, as 2026-01-31", id="date"),
        pytest.param({"by_name": {"a": 1, "b": "x"}}, "by_name.b: an integer is expected", id="in a table"),
        pytest.param({"pair": ["b", 1]}, "pair[0]: one of these is expected: a", id="in a pair"),
        pytest.param({"pair": ["a"]}, "pair[1]: missing", id="half a pair"),
        pytest.param({"pet": {"kind": "dog", "size": "M"}}, "pet.size: one of these is expected: S, L", id="tagged"),
        pytest.param({"pet": {"kind": "fish"}}, "pet: not allowed (union_tag_invalid)", id="no such tag"),
        pytest.param({"pet": {"kind": "cat", "x": 1}}, "pet.x: no such field; there are: kind, size", id="no field"),
        pytest.param({"either": None}, "either: an integer or a list or an object is expected", id="union"),
        pytest.param(
            {"hue": 1},
            "hue: no such argument; there are: "
            "order_id, query, count, colour, items, day, either, size, weight, by_name, pair, pet",
            id="unknown",
        ),
        pytest.param({"call": {}, "query": 1, "count": "", "colour": 0, "day": 0}, None, id="no more than three"),
        pytest.param({"weight": float("nan")}, "arguments: NaN and Infinity are no JSON numbers", id="NaN"),
        pytest.param({"query": "\ud800"}, "arguments: a lone surrogate is no text", id="surrogate"),
    ],
)
def test_what_does_not_fit_is_told_in_our_words(arguments: Json, problem: str | None) -> None:
    """One line that a model can act on, with no text of a library's and nothing of the refused value."""
    if isinstance(arguments, dict) and arguments and problem != "order_id: missing":
        arguments = {"order_id": "ord_1", **arguments}
    told = search.declaration.problems(arguments)
    if problem is None:
        assert told == (
            "query: a text is expected; count: an integer is expected; colour: one of these is expected: red, green, 3"
        )
    else:
        assert told == problem


def test_a_rule_that_breaks_is_no_fit() -> None:
    """A verdict needs an answer, so a user's validator cannot end the run; what it says may hold anything."""

    def take(number: Annotated[int, AfterValidator(even)]) -> None: ...

    assert made(take).declaration.problems({"number": 13}) == "arguments: not allowed (OSError)"


def test_a_strangers_key_stays_short_and_on_its_line() -> None:
    """The names of arguments are the model's words, and may be an injection."""
    told = pay.declaration.problems({"iban": "a", "cents": 1, "\n" + "x" * 200: 1})
    assert told == f"\ufffd{'x' * 79}…: no such argument; there are: iban, cents"


def test_no_more_choices_than_can_be_read() -> None:
    """A list of all countries is no hint."""

    def take(number: Literal[tuple(range(30))]) -> None: ...  # type: ignore[valid-type]

    assert made(take).declaration.problems({"number": 99}) == (
        f"number: one of these is expected: {', '.join(map(str, range(20)))}, …"
    )


def keyword_only(*, query: str) -> None:
    """Not the engine's."""


def any_number(*query: str) -> None:
    """No schema."""


def untyped(query) -> None:  # type: ignore[no-untyped-def]
    """No schema either."""


def positional_call(call: Call) -> None:
    """The engine's, or the model's."""


def field_as_default(query: str = Field("all", max_length=3)) -> None:
    """A function that would be given the Field itself."""


def unreadable(query: threading.Thread) -> None:
    """No JSON for it."""


def unwritable(query: str) -> threading.Thread:
    """None for this."""
    raise NotImplementedError


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (keyword_only, "tool keyword_only: query is keyword-only, as the engine's `call` alone may be"),
        (any_number, "tool any_number: query takes any number of arguments, so there is no schema to give"),
        (untyped, "tool untyped: query has no type"),
        (positional_call, "tool positional_call: `call` is the engine's, so it must be keyword-only"),
        (field_as_default, "tool field_as_default: the Field of query belongs into its type: Annotated[…, Field(…)]"),
        (unreadable, "tool unreadable: an argument has a type that JSON cannot carry"),
        (unwritable, "tool unwritable: it returns a type that has no JSON"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_function_that_no_model_could_call_is_refused(function: Callable[..., Any], problem: str) -> None:
    """When it is decorated, not when it is called."""
    with pytest.raises(TypeError) as caught:
        tool()(function)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"object": "order"}, "tool pay: object 'order' is none of its arguments"),
        ({"destination": "to"}, "tool pay: destination 'to' is none of its arguments"),
        ({"output_max": "64 KB"}, "a size is more than 0, and written like 800B, 64kB (of 1024) or 2MB, not '64 KB'"),
        ({"output_max": 0}, "a size is more than 0, and written like 800B, 64kB (of 1024) or 2MB, not 0"),
        ({"timeout": "soon"}, "a length of time is written like 500ms, 10s, 2m or 1h, not 'soon'"),
    ],
    ids=str,
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, Any], problem: str) -> None:
    """A destination that is no argument would judge nothing, and never say so."""
    with pytest.raises((TypeError, ValueError)) as caught:
        tool(**settings)(pay.run)
    assert str(caught.value) == problem


def text(content: str, status: Literal["ok", "error", "unknown"] = "ok", **rest: Any) -> Outcome:
    """An outcome in plain text."""
    return Outcome(status, content, size_bytes=len(content.encode()), source="here", **rest)


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
        pytest.param(lambda: {"a": [float("nan")]}, text("t failed: BadInput", "error"), id="NaN is no result"),
        pytest.param(lambda: Anything(it={float("inf")}), text("t failed: BadInput", "error"), id="nor is infinity"),
        pytest.param(object, text("t failed: PydanticSerializationError", "error"), id="an object is no result"),
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
        ("read", ToolError("no order 7; there are 1 to 6"), text("no order 7; there are 1 to 6", "error")),
        ("write", ToolError("no order 7; there are 1 to 6"), text("no order 7; there are 1 to 6", "error")),
        ("read", ToolError(), text("t failed", "error")),
        ("read", KeyError("/home/ana/secret"), text("t failed: KeyError", "error")),
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
    assert run(made(fails(SystemExit(3)), name="t")) == text("t failed: SystemExit", "error")


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
    assert run(pay, iban="a", cents="1") == replace(text("pay: cents: an integer is expected", "error"), source="")


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


def python(program: str, **environment: str) -> str:
    """What a program prints, in a process of its own that ends by itself."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program)],
        check=True,
        capture_output=True,
        text=True,
        timeout=30,
        env=environment,
    )
    assert done.stderr == ""
    return done.stdout


def test_a_process_ends_although_a_tool_blocks_for_ever() -> None:
    """A tool that hangs must not keep a worker from being replaced."""
    assert (
        python("""
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
        """)
        == "abandoned\n"
    )


def test_a_digest_is_the_same_in_every_process() -> None:
    """Sets have another order under another hash seed; the part that is recorded must not."""
    program = """
        from redrive_engine.tools import tool

        @tool()
        def find(tags: set[str] = {"a", "b", "c", "d"}) -> None: ...

        print(find.declaration.digest)
    """
    assert len({python(program, PYTHONHASHSEED=seed) for seed in "123"}) == 1


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
