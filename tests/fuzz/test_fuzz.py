"""The short form of `make fuzz`: the readers of bytes, given bytes that nobody wrote."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive_events import Json, Record, canonical, encode, parse_json
from tests.fuzz.mutations import inputs
from tests.fuzz.targets import TARGETS, seeds
from tests.strategies import json, records


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_almost_right_is_read_or_refused(name: str) -> None:
    """Never in a way that is not documented."""
    for data in islice(inputs(seeds(name), Random(name)), 300):
        TARGETS[name](data)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@settings(max_examples=60)
@given(data=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(target: Callable[[bytes], None], data: bytes) -> None:
    """Also those that look like nothing."""
    target(data)


@settings(max_examples=40)
@given(record=records, chance=st.randoms(use_true_random=False))
def test_any_record_with_a_mistake_in_it_is_read_or_quarantined(record: Record, chance: Random) -> None:
    """Whatever the vocabulary can say."""
    for data in islice(inputs([encode(record)], chance), 4):
        TARGETS["record"](data)
        TARGETS["store"](data)


@given(value=json)
def test_any_plain_data_have_one_spelling(value: Json) -> None:
    """And are read back as they were."""
    line = canonical(value)
    assert canonical(parse_json(line)) == line
    TARGETS["json"](line)
