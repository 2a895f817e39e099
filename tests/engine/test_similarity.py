"""How alike two texts are, in any script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive_engine.loop.similarity import similarity_percent


@pytest.mark.parametrize(
    ("left", "right", "percent"),
    [
        pytest.param("night", "nacht", 25, id="the textbook's example"),
        pytest.param("I will look again.", "i  will look AGAIN.", 100, id="case and blanks"),
        pytest.param("１２３度", "123度", 100, id="width"),
        pytest.param("我先查询天气，再决定穿什么。", "我先查询天气，再决定穿什么衣服。", 85, id="no spaces needed"),
        pytest.param("先查天气", "下雨了", 0, id="nothing in common"),
        pytest.param("aaaa", "aa", 50, id="how often counts"),
        pytest.param("a", "a", 100, id="one character, the same"),
        pytest.param("a", "b", 0, id="one character, another"),
        pytest.param("", "a", 0, id="nothing and something"),
    ],
)
def test_similarity(left: str, right: str, percent: int) -> None:
    """A whole number, rounded down."""
    assert similarity_percent(left, right) == percent


@given(st.text(), st.text())
def test_it_is_a_measure(left: str, right: str) -> None:
    """Between nothing and all, the same both ways, and all for the same."""
    assert 0 <= similarity_percent(left, right) == similarity_percent(right, left) <= 100
    assert similarity_percent(left, left) == 100
