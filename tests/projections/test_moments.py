"""Days and moments are compared as such, and only where both are known."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive_events import Json
from redrive_projections import compare, problem_of, spelled_moment


@pytest.mark.parametrize(
    ("value", "limit", "not_before", "not_after"),
    [
        pytest.param("2026-01-31T08:00Z", "2026-01-31T08:00Z", True, True, id="the same moment"),
        pytest.param("2026-01-31T08:00:01Z", "2026-01-31T08:00Z", True, False, id="a second later"),
        pytest.param("2026-01-31T08:00Z", "2026-01-31T09:30+01:00", False, True, id="another zone"),
        pytest.param("2026-01-31T23:59:59.999Z", "2026-01-31", True, True, id="inside a day"),
        pytest.param("2026-02-01T00:30+01:00", "2026-01-31", True, True, id="inside a day of UTC"),
        pytest.param("2026-02-01T00:00Z", "2026-01-31", True, False, id="behind a day"),
        pytest.param("2026-01-30", "2026-01-31T08:00Z", False, True, id="a day against a moment"),
        pytest.param("2026-01-31 08:00Z", "2026-01-31T08:00:00.000Z", True, True, id="two spellings"),
        pytest.param("2026-01-31T08:00", "2026-01-31", None, None, id="a moment of no zone"),
        pytest.param("2026-02-30", "2026-01-31", None, None, id="no such day"),
        pytest.param("0001-01-01T00:00+14:00", "2026-01-31", None, None, id="before there were days"),
        pytest.param("2026-W05", "2026-01-31", None, None, id="a week"),
        pytest.param("٢٠٢٦-01-31", "2026-01-31", None, None, id="other digits"),
        pytest.param("soon", "2026-01-31", None, None, id="words"),
        pytest.param(1_700_000_000, "2026-01-31", None, None, id="a number"),
    ],
)
def test_which_is_the_earlier_one(value: Json, limit: Json, not_before: bool | None, not_after: bool | None) -> None:
    """None where nobody can say."""
    assert (compare("not_before", value, limit), compare("not_after", value, limit)) == (not_before, not_after)


@pytest.mark.parametrize("limit", ["tomorrow", "2026-01-31T08:00", 2026, None])
def test_what_no_limit_is(limit: Json) -> None:
    """What is written says which form it has."""
    problem = "not_after takes a day like 2026-01-31, or a moment like 2026-01-31T08:00Z"
    assert problem_of({"not_after": limit}) == problem


@settings(deadline=None)
@given(st.datetimes(timezones=st.timezones()), st.datetimes(timezones=st.timezones()))
def test_a_spelled_moment_is_the_moment(left: object, right: object) -> None:
    """In whatever zone it was."""
    try:
        spelled = [spelled_moment(one) for one in (left, right)]  # type: ignore[arg-type]
    except OverflowError:  # the edge of what a datetime can say
        return
    assert compare("not_before", *spelled) is (left >= right)  # type: ignore[operator]
