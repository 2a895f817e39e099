"""What is compared with a masked value is another value, or nobody can say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive_events import Json
from redrive_projections import compare

MAIL = "masked-email-0123456789abcdef@shop.example"
OTHER = "masked-email-fedcba9876543210@shop.example"
SECRET = "masked-secret-0123456789abcdef"
IBAN = "masked-iban-0123456789abcdef@de"


@pytest.mark.parametrize(
    ("value", "limit", "held"),
    [
        pytest.param(MAIL, MAIL, True, id="the same placeholder"),
        pytest.param(MAIL, OTHER, False, id="another placeholder"),
        pytest.param(MAIL, "ana@shop.example", None, id="an address of that domain"),
        pytest.param("ana@shop.example", MAIL, None, id="the other way round"),
        pytest.param(MAIL, "Ana%40Shop.Example", None, id="an address of that domain in another spelling"),
        pytest.param(MAIL, "ana@evil.example", False, id="an address of another domain"),
        pytest.param(f"To {MAIL}!", "To ana@shop.example!", None, id="an address in a text"),
        pytest.param(f"To {MAIL}!", "ana@shop.example!", False, id="an address in another text"),
        pytest.param(IBAN, "DE00 0000", None, id="an account: its country is not written behind it"),
        pytest.param(SECRET, "a", None, id="anything"),
        pytest.param(SECRET, "a\nb", None, id="more than a line"),
        pytest.param(SECRET, 4_711, None, id="a number"),
        pytest.param(SECRET, ["a"], False, id="a list"),
        pytest.param({"to": MAIL}, {"to": "ana@shop.example"}, None, id="inside a table"),
        pytest.param([MAIL], {"to": "ana@shop.example"}, False, id="a list and a table"),
        pytest.param("masked-secret-1", "a", False, id="what only looks like one"),
    ],
)
def test_whether_a_masked_value_is_another(value: Json, limit: Json, held: bool | None) -> None:
    """It is not said to be another if it may be this one: a list of what is denied would let it through."""
    opposite = None if held is None else not held
    assert compare("is", value, limit) is held
    assert compare("is_not", value, limit) is opposite
    assert compare("one_of", value, [limit]) is held
    assert compare("not_one_of", value, [limit]) is opposite


@pytest.mark.parametrize(
    ("value", "pattern", "held"),
    [
        pytest.param(MAIL, r".*@shop\.example", True, id="the domain of a mail address"),
        pytest.param(MAIL, r"[^@]+@shop\.example", True, id="the domain, with care"),
        pytest.param(MAIL, r".*@evil\.example", False, id="another domain"),
        pytest.param(MAIL, r"ana@.*", None, id="a person"),
        pytest.param(MAIL, r"(ana|bo\.li)@shop\.example", None, id="one of some persons"),
        pytest.param(MAIL, r"[a-z]+@shop\.example", None, id="only letters"),
        pytest.param(SECRET, r".*", True, id="anything"),
        pytest.param(SECRET, r"4\d{15}", None, id="a number of a kind"),
        pytest.param(f"{SECRET}.shop.example", r"[a-z0-9.-]+\.shop\.example", None, id="a host below a domain"),
        pytest.param(f"https://shop.example/{SECRET}", r"https://shop\.example/.*", True, id="at the end"),
        pytest.param(f"The key is {SECRET}", r".*DROP TABLE.*", False, id="what stands nowhere beside it"),
        pytest.param(f"The key is {SECRET}", r".*DROP.*|.*key is .*", True, id="what stands beside it"),
        pytest.param(SECRET, r"masked-.*", True, id="a pattern of placeholders"),
    ],
)
def test_whether_a_masked_text_matches(value: str, pattern: str, held: bool | None) -> None:
    """It is said only if it is so for whatever is masked."""
    assert compare("matches", value, pattern) is held


@given(st.text(), st.text(), st.text())
def test_what_a_text_was_before_it_was_masked_is_never_said_to_be_another(before: str, value: str, behind: str) -> None:
    """Whatever stands beside it, and whatever it is."""
    plain = f"{before}{value}{behind}"
    assert compare("is", f"{before}{SECRET}-{behind}", f"{before}{value}-{behind}") is not False
    assert compare("is_not", f"{before} {SECRET}", f"{before} {value}") is not True
    assert compare("is", plain, plain) is True
