"""Every event there can be, made from the vocabulary's own types."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, get_args

import msgspec.inspect as types
from hypothesis import strategies as st

from redrive_events import EVENTS, Event, Json, Record, RunForked

# What people write: also in Chinese, in Arabic, in signs beyond the first plane, and in what JSON must escape.
WORDS = st.sampled_from(["退款", "订单已取消", "استرداد", "🤖🧾", "é", "\u200f", '"\\/\n\t\x00', "\u2028", "0"])
TEXTS = st.one_of(WORDS, st.text(max_size=12))
INTEGERS = st.one_of(st.integers(-3, 40), st.integers(-(2**63), 2**64 - 1))
TIMES = st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001

json: st.SearchStrategy[Json] = st.recursive(
    st.one_of(st.none(), st.booleans(), INTEGERS, st.floats(allow_nan=False, allow_infinity=False), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)


def of_type(told: types.Type) -> st.SearchStrategy[Any]:
    """Values of a type as msgspec tells it; a type that no event has yet is a `KeyError`."""
    made: st.SearchStrategy[Any] = _MAKERS[type(told)](told)
    return made


def _struct(told: types.StructType) -> st.SearchStrategy[Any]:
    required = {field.name: of_type(field.type) for field in told.fields if field.required}
    optional = {field.name: of_type(field.type) for field in told.fields if not field.required}
    return st.fixed_dictionaries(required, optional=optional).map(lambda values: told.cls(**values))


def _integer(told: types.IntType) -> st.SearchStrategy[int]:
    return INTEGERS.filter(lambda number: told.ge is None or number >= told.ge)


_MAKERS: dict[type[types.Type], Any] = {
    types.AnyType: lambda _: json,
    types.BoolType: lambda _: st.booleans(),
    types.DateTimeType: lambda _: TIMES,
    types.DictType: lambda told: st.dictionaries(of_type(told.key_type), of_type(told.value_type), max_size=3),
    types.IntType: _integer,
    types.LiteralType: lambda told: st.sampled_from(told.values),
    types.NoneType: lambda _: st.none(),
    types.StrType: lambda _: TEXTS,
    types.StructType: _struct,
    types.UnionType: lambda told: st.one_of([of_type(one) for one in told.types]),
    types.VarTupleType: lambda told: st.lists(of_type(told.item_type), max_size=3).map(tuple),
}

run_ids = st.from_regex(r"[A-Za-z0-9._-]{1,80}(/[0-9]{1,9}){0,2}(@notes)?", fullmatch=True)
events: st.SearchStrategy[Event] = st.one_of([of_type(types.type_info(kind)) for kind in EVENTS])
records: st.SearchStrategy[Record] = st.builds(
    Record,
    run_id=run_ids,
    position=st.integers(1, 2**40),
    at=TIMES,
    cause=st.integers(0, 2**40),
    left=st.integers(0, 2**40),
    event=events,
)

# A fork stands only where a run begins that goes on from another.
_within = st.one_of([of_type(types.type_info(kind)) for kind in EVENTS if kind is not RunForked])

assert set(get_args(Event)) == set(EVENTS), "every kind of event is made here"


def runs(run_id: str = "run-1", *, size_max: int = 4) -> st.SearchStrategy[list[Record]]:
    """The records of one run, of which every append is whole and no time falls."""
    append = st.tuples(TIMES, st.lists(_within, min_size=1, max_size=3))
    return st.lists(append, min_size=1, max_size=size_max).map(lambda appends: _run(run_id, appends))


def _run(run_id: str, appends: list[tuple[datetime, list[Event]]]) -> list[Record]:
    times = sorted(at for at, _ in appends)
    made: list[Record] = []
    for at, (_, happened) in zip(times, appends, strict=True):
        for left, event in zip(reversed(range(len(happened))), happened, strict=True):
            cause = len(made) // 2
            made.append(Record(run_id=run_id, position=len(made) + 1, at=at, cause=cause, left=left, event=event))
    return made
