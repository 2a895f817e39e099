"""Tools: how a function becomes a declaration, and what its arguments may be."""

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

import pytest
from pydantic import AfterValidator, BaseModel, Field

from redrive_engine.tools import Call, Declaration, Tool, tool
from redrive_events import Json

CALL = Call(number=1, tool="", arguments={})


class Item(BaseModel):
    """A line of an order."""

    name: str
    cents: Annotated[int, Field(ge=1)]


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


def made(function: Callable[..., Any], **settings: Any) -> Tool:
    """A tool that reads, of a function made on the spot."""
    return tool(**{"effect": "read", **settings})(function)


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
        ({"effect": "reads"}, "the effect of a tool is read or write, not 'reads'"),
        ({"timeout": "soon"}, "a length of time is written like 500ms, 10s, 2m or 1h, not 'soon'"),
    ],
    ids=str,
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, Any], problem: str) -> None:
    """A destination that is no argument would judge nothing, and never say so."""
    with pytest.raises((TypeError, ValueError)) as caught:
        tool(**settings)(pay.run)
    assert str(caught.value) == problem


def test_a_digest_is_the_same_in_every_process() -> None:
    """Sets have another order under another hash seed; the part that is recorded must not."""
    program = """
        from redrive_engine.tools import tool

        @tool()
        def find(tags: set[str] = {"a", "b", "c", "d"}) -> None: ...

        print(find.declaration.digest)
    """
    digests = {
        subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program)],
            check=True,
            capture_output=True,
            timeout=30,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in "123"
    }
    assert len(digests) == 1
