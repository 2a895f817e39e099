"""What each observation must hold before anything is known from it: its origin, its shape, and other evidence."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

import redrive as rd
from login_redirect.evidence import VERIFIERS
from login_redirect.world import BROKEN, CALLBACK, KEY_TEST, LOGIN, REDIRECT_TEST, Found, Hit, RanTest, SourceFile

TESTED = {"test": REDIRECT_TEST}
KEYS = {"producer_key": "return_to", "consumer_key": "next_path"}
MISMATCH = RanTest(test=KEY_TEST, exit_code=1, output="FAILED: producer 'return_to' != consumer 'next_path'\n")
HIT = Hit(path=LOGIN, line=3, text="  session['return_to'] = validated_path;")
LOGIN_FILE, CALLBACK_FILE = BROKEN.read_file(LOGIN), BROKEN.read_file(CALLBACK)


def judged(given: dict[str, str], seen: BaseModel | str, facts: rd.Facts) -> object:
    """What the verifier of the tool with this argument makes of an observation: facts, or why there are none."""
    tool = {"test": "run_test", "query": "search_code", "path": "read_file"}[next(iter(given))]
    (verifier,) = (one for one in VERIFIERS if one.tool == tool)
    content = seen if isinstance(seen, str) else seen.model_dump_json()
    found = verifier.check(rd.Call(1, tool, given), content, "application/json", facts)
    return found.reason if isinstance(found, rd.Refused) else found


@pytest.mark.parametrize(
    ("given", "seen", "facts", "then"),
    [
        (TESTED, BROKEN.run_test(REDIRECT_TEST), {}, {"reproduced": True}),
        (TESTED, RanTest(test=REDIRECT_TEST, exit_code=0, output="ok\n"), {}, {"reproduced": False}),
        (
            TESTED,
            RanTest(test=REDIRECT_TEST, exit_code=1, output="FAILED: expected '/a', got '/b'\n"),
            {},
            {"reproduced": False},
        ),
        ({"test": KEY_TEST}, MISMATCH, KEYS, {"contract_mismatch": True}),
        ({"test": KEY_TEST}, MISMATCH, {"producer_key": "return_to"}, {}),
        ({"query": "none"}, Found(query="none", hits=()), {}, {"search_completed": True, "search_matches": []}),
        ({"path": LOGIN}, LOGIN_FILE, {}, {"files_read": [LOGIN], "producer_key": "return_to"}),
        ({"path": LOGIN}, LOGIN_FILE, {"files_read": [LOGIN], "producer_key": "return_to"}, {}),
        ({"path": LOGIN}, SourceFile(path=LOGIN, text=""), {}, {"files_read": [LOGIN]}),
        ({"path": CALLBACK}, CALLBACK_FILE, {}, {"files_read": [CALLBACK], "consumer_key": "next_path"}),
    ],
)
def test_what_becomes_known(given: dict[str, str], seen: BaseModel, facts: rd.Facts, then: dict[str, object]) -> None:
    """All facts of an observation that holds, and none that it does not bear out."""
    assert judged(given, seen, facts) == then


@pytest.mark.parametrize(
    ("given", "seen", "facts", "then"),
    [
        (TESTED, MISMATCH, {}, "origin: another test ran"),
        (TESTED, '{"test":"t","exit_code":"1","output":""}', {}, "shape: exit_code: an integer is expected"),
        (TESTED, RanTest(test=REDIRECT_TEST, exit_code=1, output="ok"), {}, "evidence: exit code and output disagree"),
        (
            {"test": KEY_TEST},
            MISMATCH,
            KEYS | {"consumer_key": "x"},
            "evidence: the sources have other keys than the test names",
        ),
        ({"query": "a"}, Found(query="b", hits=()), {}, "origin: another query was searched for"),
        ({"query": "a"}, '{"query":"a"}', {}, "shape: hits: missing"),
        (
            {"query": "a"},
            Found(query="a", hits=(Hit(path=".env", line=1, text="a"),)),
            {},
            "evidence: no hit for this query at .env:1",
        ),
        ({"query": "nope"}, Found(query="nope", hits=(HIT,)), {}, f"evidence: no hit for this query at {LOGIN}:3"),
        ({"path": LOGIN}, CALLBACK_FILE, {}, "origin: another file was read"),
        ({"path": LOGIN}, '{"path":1,"text":""}', {}, "shape: path: a text is expected"),
        (
            {"path": LOGIN},
            SourceFile(path=LOGIN, text=""),
            {"search_matches": [HIT.model_dump()]},
            "evidence: line 3 is not what the search found",
        ),
        ({"path": LOGIN}, LOGIN_FILE, {"producer_key": "other"}, "contradicts fact 'producer_key'"),
    ],
)
def test_what_is_refused(given: dict[str, str], seen: BaseModel | str, facts: rd.Facts, then: str) -> None:
    """With a reason that says which of the checks did not hold."""
    assert judged(given, seen, facts) == then
