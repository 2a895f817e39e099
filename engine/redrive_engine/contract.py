"""The contract as people write it: what is granted, when it is done, what it may use."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from redrive_engine.policy import meant_as_predicate
from redrive_engine.toml_file import Misfit, TomlFile
from redrive_events import BadInput, Json, Limits, Predicate, Quotas, Terms, canonical
from redrive_projections import VIEWS, problem_of, slots


class _Any:
    """Whatever is known; None is something."""

    def __repr__(self) -> str:
        return "ANY"


ANY: Final = _Any()

_DURATION = re.compile(r"(\d{1,15}(?:\.\d{1,15})?) ?(ms|s|m|h)")
_UNIT_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
_WHOLE_MAX = 2**53  # beyond it other readers of JSON lose the last digits
_MONEY = re.compile(r"(\d{1,12}(?:\.\d{1,12})?)(?: ([A-Z]{3}))?")


def milliseconds(duration: str | timedelta | float) -> int:
    """A length of time as a person writes it: ``500ms``, ``10s``, ``2m``, ``1h``, a timedelta, or seconds.

    Raises:
        ValueError: it is none, not more than 0, or not of whole milliseconds.
    """
    if isinstance(duration, timedelta):
        exact = Decimal(duration // timedelta(microseconds=1)) / 1000
    elif isinstance(duration, str) and (found := _DURATION.fullmatch(duration)):
        exact = Decimal(found[1]) * _UNIT_MS[found[2]]
    elif isinstance(duration, int | float) and not isinstance(duration, bool):
        exact = Decimal(str(duration)) * 1000
    else:
        raise ValueError(f"a length of time is written like 500ms, 10s, 2m or 1h, not {duration!r}")
    if not _is_count(exact):
        raise ValueError(f"a length of time is more than 0, in whole milliseconds, not {duration!r}")
    return int(exact)


def micros(cost: str | Decimal) -> tuple[int, str]:
    """An amount of money in millionths, and its currency: ``0.10 USD``; without one it is USD.

    Raises:
        ValueError: it is none, not more than 0, or finer than a millionth.
    """
    currency = "USD"
    if isinstance(cost, str) and (found := _MONEY.fullmatch(cost)):
        exact, currency = Decimal(found[1]) * 1_000_000, found[2] or currency
    elif isinstance(cost, Decimal):
        exact = cost * 1_000_000
    else:
        raise ValueError(f'money is written like "0.10 USD" or Decimal("0.10"), not {cost!r}')
    if not _is_count(exact):
        raise ValueError(f"money is more than 0, in whole millionths, not {str(cost)!r}")
    return int(exact), currency


def _is_count(exact: Decimal) -> bool:
    return exact.is_finite() and 0 < exact <= _WHOLE_MAX and exact == int(exact)


def _scope(value: Json) -> Predicate:
    """How far an argument may go: a pattern, a list, a table of operators, a number or a truth."""
    if isinstance(value, _Any):
        return {"known": True}
    if isinstance(value, str):
        return _fit({"matches": value})
    if isinstance(value, list | tuple):
        return _fit({"one_of": list(value)})
    if isinstance(value, dict):
        return _fit(value)
    if isinstance(value, int | float):
        return _fit({"is": value})
    raise ValueError("a scope is a pattern, a list, a table of operators, a number, true or false")


def _criterion(value: Json) -> Predicate:
    """When a fact is as it should be: `ANY`, a table of operators, or the value it is to have."""
    if isinstance(value, _Any):
        return {"known": True}
    return _fit(value if meant_as_predicate(value) else {"is": value})


def _fit(predicate: Predicate) -> Predicate:
    problem = problem_of(predicate)
    if problem:
        raise ValueError(problem)
    return {operator: _plain(predicate[operator]) for operator in sorted(predicate)}


def _plain(value: Json) -> Json:
    """``value``, if it is plain JSON data; tuples become lists, as they are when they are read again."""
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _plain(value[key]) for key in sorted(value)}
    if isinstance(value, int) and abs(value) > _WHOLE_MAX:
        raise ValueError(f"{value} is too large a number")
    if value is not None and not isinstance(value, str | int | float):
        raise ValueError(f"{value!r} is no JSON value")
    try:
        canonical(value)
    except BadInput as error:
        raise ValueError(error.problem) from error
    return value


def _checked_duration(value: Any) -> Any:
    if value is not None:
        milliseconds(value)
    return value


def _checked_money(value: Any) -> Any:
    if value is not None:
        micros(value)
    return value


def _view(name: str) -> str:
    if name not in VIEWS:
        raise ValueError(f"no such view {name!r}; there are {', '.join(VIEWS)}")
    return name


Scopes: TypeAlias = dict[str, dict[str, Annotated[Json, AfterValidator(_scope)]]]
Count: TypeAlias = Annotated[int, Field(gt=0, le=_WHOLE_MAX)]
Duration: TypeAlias = Annotated[str | timedelta | float, BeforeValidator(_checked_duration)]
Money: TypeAlias = Annotated[str | Decimal, BeforeValidator(_checked_money)]


class _Written(BaseModel):
    """Data that people write: frozen, nothing unknown, nothing guessed from another type."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    owner: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = tuple(step for step in first["loc"] if step != "[key]")
            raise Misfit(_in_our_words(first, type(self)), *self.owner, *place, owner="contract") from None


class Budget(_Written):
    """What a run may use; None is no limit, but some limit there must be.

    ``wall_time`` is written like ``2m`` (or a timedelta, or seconds), ``cost`` like ``0.10 USD`` (or a Decimal).
    """

    owner = ("budget",)

    steps: Count | None = 30
    tokens: Count | None = None
    wall_time: Duration | None = None
    tool_calls: Count | None = None
    cost: Money | None = None

    @model_validator(mode="after")
    def _bounded(self) -> Budget:
        if self.steps is self.tokens is self.wall_time is self.cost is None:
            raise ValueError("an agent without any limit runs for ever: set steps, tokens, wall_time or cost")
        return self

    def limits(self) -> Limits:
        """The recorded form: milliseconds, and millionths of a currency."""
        cost, currency = (None, "USD") if self.cost is None else micros(self.cost)
        return Limits(
            steps=self.steps,
            tokens=self.tokens,
            wall_time_ms=None if self.wall_time is None else milliseconds(self.wall_time),
            tool_calls=self.tool_calls,
            cost_micros=cost,
            currency=currency,
        )


class FailureQuotas(_Written):
    """How many failures of a kind in a row end the run; None is no limit."""

    owner = ("quotas",)

    unreadable: Count | None = 3
    model_failed: Count | None = 3

    def quotas(self) -> Quotas:
        """The recorded form."""
        return Quotas(unreadable=self.unreadable, model_failed=self.model_failed)


def _as_budget(value: Any) -> Any:
    return Budget(**value) if isinstance(value, dict) else value


def _as_quotas(value: Any) -> Any:
    return FailureQuotas(**value) if isinstance(value, dict) else value


class Contract(_Written):
    """What a run may do, when it is done, and what happens when something is refused.

    ``tools`` maps each granted tool to how far its arguments may go (None grants every tool): a text is a pattern that
    must match as a whole, a list names what is allowed, a table holds operators, a number or truth must be equal.
    ``exclude`` is written alike, and denied all the same. ``done`` maps facts to the value they are to have, `ANY`, or
    a table of operators; with none, the agent's own word ends the run. ``answer`` is a template over facts
    (``{name}``); empty means the model's own words.
    """

    tools: Scopes | None = None
    exclude: Scopes = {}
    done: dict[str, Annotated[Json, AfterValidator(_criterion)]] = {}
    answer: str = ""
    budget: Annotated[Budget, BeforeValidator(_as_budget)] = Budget()
    quotas: Annotated[FailureQuotas, BeforeValidator(_as_quotas)] = FailureQuotas()
    attempts: Count = 2
    on_denied: Literal["block", "tell"] = "tell"
    on_refused: Literal["fail", "tell"] = "tell"
    on_doubt: Literal["escalate", "tell"] = "escalate"
    dialect: str = "native"
    view: Annotated[str, AfterValidator(_view)] = "chat"
    dialogue: bool = False
    model: str = ""
    parameters: Annotated[dict[str, Json], AfterValidator(_plain)] = {}

    @classmethod
    def from_file(cls, path: Path | str) -> Contract:
        """The contract in a TOML file, with the same names; ``{ known = true }`` stands for `ANY`.

        Raises:
            BadInput: it cannot be read, or is not allowed; the place is the line.
        """
        file = TomlFile.of(Path(path), name="contract")
        try:
            return cls(**file.data)
        except Misfit as misfit:
            raise file.refusal(misfit, named=True) from None

    def terms(self) -> Terms:
        """The recorded form: units resolved, predicates in one form, names in the order in which they are stored."""
        return Terms(
            tools=None if self.tools is None else _in_order(self.tools),
            exclude=_in_order(self.exclude),
            done={name: self.done[name] for name in sorted(self.done)},
            answer=self.answer,
            budget=self.budget.limits(),
            quotas=self.quotas.quotas(),
            attempts=self.attempts,
            on_denied=self.on_denied,
            on_refused=self.on_refused,
            on_doubt=self.on_doubt,
            dialect=self.dialect,
            view=self.view,
            dialogue=self.dialogue,
            model=self.model,
            parameters=self.parameters,
        )


def check_contract(terms: Terms, *, tools: Collection[str], commits: Collection[str]) -> None:
    """Whether an agent with these tools, and verifiers that commit these facts, can keep the contract.

    Raises:
        BadInput: it grants or excludes a tool that does not exist, or waits for a fact that nothing commits.
    """
    for place, named in (("tools", terms.tools or {}), ("exclude", terms.exclude)):
        for name in sorted(named):
            if name not in tools:
                raise BadInput(f"no such tool {name!r}; {_there_are(tools)}", place=f"contract.{place}")
    for place, wanted in (("done", sorted(terms.done)), ("answer", slots(terms.answer))):
        for name in wanted:
            if name not in commits:
                problem = f"no verifier commits {name!r}; {_there_are(commits)}"
                raise BadInput(problem, place=f"contract.{place}")


def _in_order(scopes: Scopes) -> Scopes:
    return {tool: {path: scope[path] for path in sorted(scope)} for tool, scope in sorted(scopes.items())}


def _there_are(names: Collection[str]) -> str:
    return f"there are {', '.join(sorted(names))}" if names else "there are none"


def _in_our_words(error: ErrorDetails, model: type[BaseModel]) -> str:
    """What is allowed where pydantic found something else."""
    context = error.get("ctx", {})
    wanted = {
        "extra_forbidden": f"no such field; there are {', '.join(model.model_fields)}",
        "greater_than": f"must be more than {context.get('gt')}",
        "less_than_equal": f"must be at most {context.get('le')}",
        "literal_error": f"must be {context.get('expected')}",
        "int_type": "must be a whole number",
        "string_type": "must be a text",
        "bool_type": "must be true or false",
        "dict_type": "must be a table",
        "model_type": "must be a table, or the model of that name",
        "value_error": str(context.get("error")),
    }
    return wanted.get(error["type"], "is not allowed here")
