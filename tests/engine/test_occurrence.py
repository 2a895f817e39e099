"""Whether a value occurs in words: as people write it, and never a part of another one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive_engine.occurrence import occurs

WIDE = "13800002222".translate({ord("0") + n: 0xFF10 + n for n in range(10)})


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("13800002222", '{"phone":"13800002222"}'),
        ("13800002222", '{"phone":13800002222}'),
        ("+86 138-0000-2222", "13800002222"),
        ("+8613800002222", "13800002222"),
        ("13800002222", "call +86 138-0000-2222 now"),
        ("13800002222", "+8613800002222"),
        ("8613800002222", "+86 138-0000-2222"),
        ("+86 13800002222", "8613800002222"),
        ("008613800002222", "+86 (138) 0000.2222"),
        (WIDE, "13800002222"),
        ("13800002222", "电话１３８ ００００ ２２２２，谢谢"),
        ("13800002222", "13800002222 2026-10-02"),
        ("王芳", "给 王 芳 发短信"),
        ("深圳", "深圳未来三天"),
        ("ann", "Dear Ann,"),
        ("Straße", "STRASSE 5"),
        ("ord_1001", "订单ord_1001的"),
        ("SF1390001", '{"waybill":"sf1390001"}'),
        ("phone", '{"phone":1}'),
        ("DE89 3704 0044 0532 0130 00", "DE89370400440532013000"),
        ("a", '["a, b'),
        (5, "it is 5 cents"),
        (5, "ord-5"),
        (1200, "1,200 USD"),
        (26, "26°C"),
        (19.5, '{"t":19.50}'),
        (-5, "at -5 C"),
        (1e22, '{"n":1e22}'),
    ],
)
def test_occurs(value: str | float, words: str) -> None:
    """Width, case, blanks, groups and calling codes make no difference."""
    assert occurs(value, words)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("13800002223", "13800002222"),
        ("1380000222", "13800002222"),
        ("3800002222", "13800002222"),
        ("3800002222", "+8613800002222"),
        ("1380000", "138-0000-2222"),
        ("1380000", "138 0000 2222"),
        ("0000-2222", "138-0000-2222"),
        ("+1 13800002222", "+86 13800002222"),
        ("+86 138-0000-2222", "+1 13800002222"),
        ("Ann", "Anna"),
        ("SF1390001", "SF13900012"),
        ("1001", "ord_1001"),
        ("26", "26.5"),
        ("10", "2026-10-02"),
        ("", "anything"),
        ("—", "a, b"),
        ("a b", '["a","b"]'),
        (5, "15"),
        (5, "5.5"),
        (5, "-5 °C"),
        (-5, "5"),
        (26, "2026-26-01"),
        (1, '{"t":true}'),
        (1390001, "SF1390001"),
    ],
)
def test_does_not_occur(value: str | float, words: str) -> None:
    """A part of a number or word is not that number or word, nor is one that was put together."""
    assert not occurs(value, words)


@given(st.from_regex(r"1[3-9][0-9]{9}", fullmatch=True), st.sampled_from(["", "-", " ", "."]), st.booleans())
def test_a_telephone_number_in_any_format_is_the_same(number: str, gap: str, abroad: bool) -> None:
    """And one with another last digit is another one."""
    written = gap.join([number[:3], number[3:7], number[7:]])
    written = f"+86 {written}" if abroad else written
    another = number[:-1] + str((int(number[-1]) + 1) % 10)
    assert occurs(written, json.dumps({"phone": number}))
    assert occurs(number, f"Her phone is {written}, she said.")
    assert not occurs(another, written)


@given(st.text(), st.text())
def test_whatever_is_said_is_judged(value: str, words: str) -> None:
    """No text is too odd, and a text of letters occurs in itself."""
    assert occurs(value, words) in {True, False}
    if value.isalpha():
        assert occurs(value, value)


@given(st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_occurs_where_it_is_written(value: float) -> None:
    """As JSON has it."""
    assert occurs(value, json.dumps([value]))
