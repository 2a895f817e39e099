"""Where something goes is told of no address that two programs could read in two ways."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive_events import Json
from redrive_projections import compare, problem_of

OURS = ["shop.example", "*.pay.example"]


@pytest.mark.parametrize(
    ("address", "held"),
    [
        pytest.param("shop.example", True, id="a host"),
        pytest.param("SHOP.Example.", True, id="a host in other letters, with its root"),
        pytest.param("eu.pay.example", True, id="below a domain"),
        pytest.param("pay.example", False, id="the domain itself is not below it"),
        pytest.param("evil-shop.example", False, id="another name with the same end"),
        pytest.param("shop.example.evil.example", False, id="another name with the same beginning"),
        pytest.param("https://shop.example/a?b=c#d", True, id="on the web"),
        pytest.param("https://shop.example:8443", True, id="with a port"),
        pytest.param("https://evil.example/shop.example", False, id="our name in the path"),
        pytest.param("https://evil.example/@shop.example", False, id="a sign of a user in the path"),
        pytest.param("https://evil.example?u=https://shop.example", False, id="our name in the query"),
        pytest.param("https://shop.example@evil.example", None, id="our name as a user"),
        pytest.param(r"https://evil.example\@shop.example", None, id="a backslash"),
        pytest.param("https://shop.example /x", None, id="a space"),
        pytest.param("https://shop.example\n", None, id="the end of a line"),
        pytest.param("https://ѕhop.example", None, id="another script"),
        pytest.param("https://ſhop.example", None, id="a letter whose capital is another's"),
        pytest.param("https:shop.example", None, id="no slashes"),
        pytest.param("//shop.example", None, id="no scheme"),
        pytest.param("https://[::1]/", None, id="a bracket"),
        pytest.param("ana+x@shop.example", True, id="a mail address"),
        pytest.param("ana@evil.example", False, id="another's mail address"),
        pytest.param("ana@evil.example,bo@shop.example", None, id="two of them"),
        pytest.param("ana@evil.example\r\nBcc: bo@shop.example", None, id="a header"),
        pytest.param("Ana <ana@shop.example>", None, id="with a name"),
        pytest.param('"a@evil.example"@shop.example', None, id="in quotes"),
        pytest.param("masked-email-0123456789abcdef@shop.example", True, id="a masked mail address"),
        pytest.param("masked-email-0123456789abcdef@evil.example", False, id="another's masked mail address"),
        pytest.param("masked-card-0123456789abcdef", None, id="something else that is masked"),
        pytest.param("https://masked-secret-0123456789abcdef/", None, id="a host that is masked"),
        pytest.param("https://masked-secret-0123456789abcdef.shop.example/", None, id="a masked value before our host"),
        pytest.param(
            "https://amasked-secret-0123456789abcdef.pay.example", None, id="a masked value in a name of ours"
        ),
        pytest.param("Masked-Secret-0123456789ABCDEF.pay.example", None, id="a masked value in capital letters"),
        pytest.param(
            "masked-secret-0123456789abcdef@shop.example", None, id="a masked value as a mail address of ours"
        ),
        pytest.param("a.masked-email-0123456789abcdef@shop.example", None, id="a masked mail address behind a name"),
        pytest.param("https://shop.example/masked-secret-0123456789abcdef", True, id="a masked value in the path"),
        pytest.param("ana%evil.example@shop.example", None, id="a way on by percent sign"),
        pytest.param("ana%40evil.example@shop.example", None, id="a second address in escapes"),
        pytest.param("evil.example!ana@shop.example", None, id="a way on by exclamation mark"),
        pytest.param("javascript://shop.example/%0aalert(1)", None, id="a script"),
        pytest.param("File://shop.example/etc/passwd", None, id="a file"),
        pytest.param("ftp://shop.example/a", True, id="another protocol"),
        pytest.param("", None, id="nothing"),
        pytest.param("a" * 100_000 + "@shop.example", None, id="longer than any address"),
        pytest.param(["ana@shop.example"], None, id="a list"),
        pytest.param(7, None, id="a number"),
    ],
)
def test_where_an_address_leads(address: Json, held: bool | None) -> None:
    """To one of our hosts, to another, or nobody can say; and the other operator is the opposite."""
    assert compare("domain_one_of", address, OURS) is held
    assert compare("domain_not_one_of", address, OURS) is (None if held is None else not held)


@pytest.mark.parametrize(
    ("hosts", "problem"),
    [
        (OURS, None),
        ("shop.example", "domain_one_of takes a list of hosts"),
        (["https://shop.example"], "domain_one_of takes hosts in small letters, like a.example or *.a.example, "),
        (["Shop.example"], "domain_one_of takes hosts in small letters, like a.example or *.a.example, "),
        (["*"], "domain_one_of takes hosts in small letters, like a.example or *.a.example, "),
        ([1], "domain_one_of takes hosts in small letters, like a.example or *.a.example, not 1"),
    ],
)
def test_what_a_list_of_hosts_is(hosts: Json, problem: str | None) -> None:
    """What could never be met is no list."""
    found = problem_of({"domain_one_of": hosts})
    assert found is None if problem is None else found is not None and found.startswith(problem)


@settings(deadline=None)
@given(st.text() | st.from_regex(r"[a-z]{1,6}://[!-~]{0,40}", fullmatch=True), st.text(max_size=20))
def test_whatever_is_written_in_front_of_a_host_does_not_make_it_ours(before: str, behind: str) -> None:
    """Only an address at our host is at our host: what stands behind the last host-like part decides nothing."""
    for address in (before, f"{before}evil.example{behind}", f"https://evil.example/{before}"):
        if compare("domain_one_of", address, ["shop.example"]):
            assert "shop.example" in address.lower()
            assert "evil.example" not in address.lower().split("shop.example", maxsplit=1)[0]
