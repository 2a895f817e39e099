"""What is masked: credentials, classes and patterns, however they are written; and what stands for it."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from redrive_engine.masking import CLASSES, Door, FileVault, Mask, MemoryVault, SealedValueLost, is_masked, masked_text
from redrive_events import BadInput, Json
from tests.engine.masking.secrets_of_tests import (
    AWS_KEY,
    GITHUB,
    GITLAB,
    JWT,
    PASSWORD,
    PEM,
    SLACK,
    STRIPE,
)

KEY = b"a key of the tests, and no other"
PATTERNS = {"member": r"mb_(?P<kept>eu|us)_\d+"}


def door(tenant: str = "t", nonce: str = "n", mask: Mask | None = None) -> Door:
    """A door that has seen nothing yet."""
    return Door(mask or Mask(KEY, classes=CLASSES, patterns=PATTERNS), tenant=tenant, nonce=nonce)


def shape(text: str) -> str:
    """A masked text with one fingerprint for all."""
    return re.sub(r"(?<=-)[0-9a-f]{16}", "#", text)


@pytest.mark.parametrize(
    ("said", "masked"),
    [
        pytest.param(f"use {AWS_KEY}.", "use masked-secret-#.", id="a key by its shape"),
        pytest.param(f"token={GITHUB}tail rest", "token=masked-secret-# rest", id="no end of it is left"),
        pytest.param(GITLAB, "masked-secret-#", id="alone"),
        pytest.param(f"({STRIPE})", "(masked-secret-#)", id="in parentheses"),
        pytest.param(f"{SLACK}\n{JWT}", "masked-secret-#\nmasked-secret-#", id="two, line by line"),
        pytest.param(f"key:\n{PEM}\nend", "key:\nmasked-secret-#\nend", id="a key of many lines"),
        pytest.param(PEM[:60], "masked-secret-#", id="a key whose end is missing"),
        pytest.param(f'"password": "{PASSWORD}"', '"password": "masked-secret-#"', id="behind a name"),
        pytest.param('{\\"api_key\\":\\"a b\\"}', '{\\"api_key\\":\\"masked-secret-#\\"}', id="in JSON in a text"),
        pytest.param('password = "a\\"b"', 'password = "masked-secret-#"', id="with a quotation mark in it"),
        pytest.param('password: "cut of', 'password: "masked-secret-#', id="with no end"),
        pytest.param("pwd=abcd&x=1", "pwd=masked-secret-#&x=1", id="in a query"),
        pytest.param("密码：hunter-7。", "密码：masked-secret-#。", id="in Chinese"),
        pytest.param("密码是hunter-7", "密码是masked-secret-#", id="in a Chinese sentence"),
        pytest.param("the password is hunter-7", "the password is masked-secret-#", id="in a sentence"),
        pytest.param("the password is required", "the password is required", id="only spoken of"),
        pytest.param("password: missing", "password: missing", id="only that there is none"),
        pytest.param("secretary: Ann Lee", "secretary: Ann Lee", id="another word"),
        pytest.param("https://ana:pw-7@host.org/x", "https://ana:masked-secret-#@host.org/x", id="in an address"),
        pytest.param("Authorization: Basic ZmFrZQ==", "Authorization: Basic masked-secret-#==", id="in a header"),
        pytest.param("to Ana.B@Mail.example.com, now", "to masked-email-#@mail.example.com, now", id="mail"),
        pytest.param("发到ana@example.com。", "发到masked-email-#@example.com。", id="mail between Chinese words"),
        pytest.param("ａｎａ＠ｅｘａｍｐｌｅ．ｃｏｍ", "masked-email-#@example.com", id="mail in full width"),
        pytest.param("a\u200bna@exa\u200dmple.com", "masked-email-#@example.com", id="mail with what nobody sees"),
        pytest.param("ana%40example.com", "masked-email-#@example.com", id="mail in a query"),
        pytest.param("ana\\u0040example.com", "masked-email-#@example.com", id="mail with a sign by its number"),
        pytest.param("王芳@例子.中国", "masked-email-#@xn--fsqu00a.xn--fiqs8s", id="mail in Chinese"),
        pytest.param("打13800002222吧", "打masked-phone-#吧", id="a mobile number of China"),
        pytest.param("tel. +44 20 7946 0958.", "tel. masked-phone-#.", id="a number with its country"),
        pytest.param("010-8888 8888", "masked-phone-#", id="a number of a city"),
        pytest.param("(415) 555-2671", "masked-phone-#", id="a number of America"),
        pytest.param("on 2026-10-02 at 12:00:00", "on 2026-10-02 at 12:00:00", id="a date is no number"),
        pytest.param("SF1390001 ord_13800002222", "SF1390001 ord_13800002222", id="nor is a code"),
        pytest.param("4111 1111 1111 1111", "masked-card-#", id="a card"),
        pytest.param("in 2026 4111-1111-1111-1111 1", "in 2026 masked-card-# 1", id="a card between numbers"),
        pytest.param("4111 1111 1111 1112", "4111 1111 1111 1112", id="no card: its check digit is wrong"),
        pytest.param("DE89 3704 0044 0532 0130 00 and", "masked-iban-#@de and", id="an account"),
        pytest.param("GB12 ABCD EFGH IJKL MNOP QR", "GB12 ABCD EFGH IJKL MNOP QR", id="no account"),
        pytest.param("11010519491231002X", "masked-cn_id-#", id="an identity card of China"),
        pytest.param("of mb_eu_17 and mb_x_1", "of masked-member-#@eu and mb_x_1", id="what a pattern matches"),
        pytest.param('{"a":13800002222}', '{"a":"masked-phone-#"}', id="a number where JSON has one"),
        pytest.param("id 7, 8 and 1234567", "id 7, 8 and 1234567", id="nothing"),
    ],
)
def test_what_is_masked(said: str, masked: str) -> None:
    """And all else stays as it is; once masked, it is not masked again."""
    opened = door()
    once = opened.text(said)
    assert shape(once) == masked
    assert opened.text(once) == once


@pytest.mark.parametrize(
    ("value", "masked"),
    [
        pytest.param({"password": PASSWORD}, {"password": "masked-secret-#"}, id="under a telling name"),
        pytest.param({"dbPassword": 123456, "n": 7}, {"dbPassword": "masked-secret-#", "n": 7}, id="a number there"),
        pytest.param({"secret": {"a": ["x", True, 1]}}, {"secret": {"a": ["masked-secret-#", True, 1]}}, id="below it"),
        pytest.param({"next_token": "abc"}, {"next_token": "abc"}, id="a name that tells nothing"),
        pytest.param([13800002222, 1], ["masked-phone-#", 1], id="a number"),
        pytest.param({"ana@example.com": 1}, {"masked-email-#@example.com": 1}, id="a name itself"),
        pytest.param({"a": f"x {GITHUB}"}, {"a": "x masked-secret-#"}, id="within a text"),
        pytest.param(
            [PASSWORD, {"password": PASSWORD}], ["masked-secret-#", {"password": "masked-secret-#"}], id="told later"
        ),
        pytest.param({"a": "line\n13800002222"}, {"a": "line\nmasked-phone-#"}, id="on a line of its own"),
        pytest.param({"a": [1.5, None, "x"]}, {"a": [1.5, None, "x"]}, id="nothing"),
    ],
)
def test_what_is_masked_in_data(value: Json, masked: Json) -> None:
    """It stays data of the same shape, whether it comes as data or as its text."""
    opened = door()
    once = opened.json(value)
    assert json.loads(shape(json.dumps(once))) == masked
    assert opened.json(once) == once
    assert json.loads(shape(masked_text(opened, json.dumps(value)))) == masked


SPELLINGS: list[tuple[str, list[str]]] = [
    (
        "email",
        ["ana@example.com", "Ana@Example.COM", "ａｎａ@example.com", "a\u200bna@example.com", "ana%40example.com"],
    ),
    (
        "phone",
        ["13800002222", "138 0000 2222", "138-0000-2222", "+86 138 0000 2222", "0086 13800002222", "１３８00002222"],
    ),
    ("phone", ["+1 (415) 555-2671", "415-555-2671", "(415) 555-2671"]),
    ("card", ["4111111111111111", "4111 1111 1111 1111", "4111-1111-1111-1111"]),
    ("iban", ["DE89370400440532013000", "de89 3704 0044 0532 0130 00"]),
]


@pytest.mark.parametrize(("name", "spellings"), SPELLINGS)
def test_all_spellings_of_a_value_are_one_placeholder(name: str, spellings: list[str]) -> None:
    """So that who reads the log can tell that it is the same, and no more."""
    opened = door()
    masked = {opened.text(f"x {spelling} y") for spelling in spellings}
    assert len(masked) == 1
    assert f"masked-{name}-" in masked.pop()


def test_case_counts_in_a_credential() -> None:
    """There it makes another value."""
    opened = door()
    assert opened.text(f"pwd={PASSWORD}") != opened.text(f"pwd={PASSWORD.upper()}")


def test_a_placeholder_tells_nothing_of_its_value_to_others() -> None:
    """Another key, another tenant: another placeholder. Another run of the tenant: the same."""
    said = "ana@example.com"
    other = Mask(KEY[::-1], classes=["email"])
    same = door().text(said)
    assert door(nonce="m").text(said) == same
    assert len({same, door(tenant="u").text(said), door(mask=other).text(said)}) == 3


def test_a_placeholder_goes_through_whatever_carries_it() -> None:
    """JSON, another case, the end of a sentence."""
    opened = door()
    token = opened.text("ana@example.com")
    assert json.loads(json.dumps(token)) == token
    assert token.isascii()
    for written in (token, token.upper(), f"to {token}.", f"“{token}”", f"发到{token}。", f"{token}: yes"):
        assert "ana@example.com" in opened.opened(written)


def test_a_placeholder_with_another_domain_opens_nothing() -> None:
    """What a policy judges is part of what is kept."""
    opened = door()
    token = opened.text("ana@evil.example")
    with pytest.raises(SealedValueLost):
        opened.opened(token.replace("evil.example", "good.example"))


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"tenant": "u"}, id="another tenant"),
        pytest.param({"nonce": "m"}, id="another run"),
        pytest.param({"mask": Mask(KEY[::-1], classes=["email"])}, id="another key"),
    ],
)
def test_only_its_own_run_opens_a_placeholder(other: dict[str, Any]) -> None:
    """However it came there: a tool or a person may have written it."""
    vault = MemoryVault()
    mine = Mask(KEY, classes=["email"], vault=vault)
    token = door(mask=mine).text("ana@example.com")
    mask = other.pop("mask", mine)
    mask.vault = vault
    with pytest.raises(SealedValueLost):
        door(mask=mask, **other).opened(token)
    assert door(nonce="n/3", mask=mine).opened(token) == "ana@example.com"  # a child of the same run


def test_a_forged_placeholder_opens_nothing_and_is_left_as_it_is() -> None:
    """It hides nothing either."""
    forged = "masked-email-0123456789abcdef@example.com"
    opened = door()
    assert opened.text(forged) == forged
    assert shape(opened.text(f"{forged} 13800002222")) == "masked-email-#@example.com masked-phone-#"
    with pytest.raises(SealedValueLost):
        opened.opened(forged)


def test_a_credential_is_known_again_by_its_value_alone() -> None:
    """A tool that was given it may say it without its name; so may one of a later process."""
    mask = Mask(KEY)
    first = door(mask=mask)
    token = first.text(f"password={PASSWORD}").removeprefix("password=")
    assert first.text(f"I used {PASSWORD}!") == f"I used {token}!"
    assert first.json({"said": PASSWORD}) == {"said": token}


def test_of_many_credentials_each_is_known_again_as_a_whole() -> None:
    """Whichever came first, and also where one begins or ends as another is."""
    values = [f"{PASSWORD}{number}" for number in range(40)] + [PASSWORD, f"x{PASSWORD}"]
    here = door()
    for value in values:
        here.json({"password": value})
        assert shape(here.text(f"It was {value} once.")) == "It was masked-secret-# once."
    assert shape(here.text(" ".join(values))) == " ".join(["masked-secret-#"] * len(values))


def test_what_is_put_back_is_what_was_seen_first() -> None:
    """A credential to the byte; anything else in ordinary width, without what nobody sees."""
    opened = door()
    phone = opened.text("１３８ 0000\u200b 2222")
    opened.text("13800002222")
    assert opened.opened(phone) == "138 0000 2222"
    assert opened.opened(opened.text("pwd='ｐa\u200bss-7'")) == "pwd='ｐa\u200bss-7'"
    assert opened.opened({"a": [phone, 1], phone: None}) == {"a": ["138 0000 2222", 1], "138 0000 2222": None}


NO_NAME = "cannot name a pattern: a word of its own, in a-z, 0-9 and _, is wanted"


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"key": b"short"}, "mask: a key has at least 16 bytes"),
        ({"classes": ["name"]}, "mask: no class 'name'; there are card, cn_id, email, iban, phone"),
        ({"patterns": {"x": "("}}, r"mask: x: '(' is no regular expression of RE2: missing ): ("),
        ({"patterns": {"x": "a*"}}, "mask: x: 'a*' matches where nothing stands"),
        ({"patterns": {"X-1": "a"}}, f"mask: 'X-1' {NO_NAME}"),
        ({"patterns": {"email": "a"}}, f"mask: 'email' {NO_NAME}"),
    ],
)
def test_a_mask_that_cannot_be_is_refused(settings: dict[str, Any], problem: str) -> None:
    """In one line, before anything is masked."""
    with pytest.raises(BadInput) as refused:
        Mask(**{"key": KEY, **settings})
    assert str(refused.value) == problem


@pytest.mark.parametrize("missing", ["cryptography", "detect_secrets"])
def test_a_mask_without_what_it_needs_is_refused(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is begun that could not be gone on with."""
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(BadInput, match=r"mask: masking needs more than is installed: pip install 'redrive\[mask\]'"):
        Mask(KEY)


def test_a_key_has_a_name_that_is_made_of_it() -> None:
    """Two keys cannot be taken for one, whatever people call them."""
    named = Mask(KEY, key_id="2026").key_id
    assert re.fullmatch(r"2026:[0-9a-f]{8}", named)
    assert Mask(KEY).key_id == named.removeprefix("2026:")
    assert Mask(KEY[::-1], key_id="2026").key_id != named


def test_a_vault_keeps_what_was_put_first(tmp_path: Any) -> None:
    """In memory or in a file, which only its owner can read."""
    for vault in (MemoryVault(), FileVault(tmp_path / "v")):
        assert vault.get("a") is None
        vault.put({"a": b"1", "b": b"2"})
        vault.put({"a": b"3"})
        assert (vault.get("a"), vault.get("b"), vault.get("c")) == (b"1", b"2", None)
    assert (tmp_path / "v").stat().st_mode & 0o777 == 0o600
    assert FileVault(tmp_path / "v").get("a") == b"1"


def test_a_file_that_is_no_vault_is_refused(tmp_path: Any) -> None:
    """In one line that names it."""
    (tmp_path / "v").write_text("no vault" * 100)
    with pytest.raises(BadInput, match="this vault cannot be used: file is not a database"):
        FileVault(tmp_path / "v").get("a")


def test_a_vault_says_nothing_without_the_key() -> None:
    """Neither its names nor its values."""
    vault = MemoryVault()
    door(mask=Mask(KEY, classes=["email"], vault=vault)).text("ana@example.com")
    kept = repr(vars(vault)).casefold()
    assert not any(word in kept for word in ("ana", "example", "email", "masked"))


def test_a_value_that_somebody_put_there_opens_nothing() -> None:
    """Each lies under its own name, and is read under no other."""
    vault = MemoryVault()
    opened = door(mask=Mask(KEY, classes=["email"], vault=vault))
    opened.text("evil@example.com")
    token = opened.text("good@example.com")
    evil, good = vault._sealed
    vault._sealed[good] = vault._sealed[evil]
    with pytest.raises(SealedValueLost):
        opened.opened(token)


PIECES = st.one_of(
    st.sampled_from([AWS_KEY, GITHUB, JWT, PASSWORD, "password: ", 'pwd="', "ana@example.com", "13800002222"]),
    st.sampled_from(
        ["4111 1111 1111 1111", "+86 138 0000 2222", "@", ".", " ", "\n", '"', "\\", "，", "\u200b", "mb_eu_1"]
    ),
    st.sampled_from(["masked-email-0123456789abcdef@example.com", "masked-", "secret=", "Bearer ", "://a:b@c.de"]),
    st.text(max_size=6),
)
TEXTS = st.lists(PIECES, max_size=8).map("".join)


@given(TEXTS)
def test_masking_masked_text_changes_nothing(text: str) -> None:
    """Whatever stands beside whatever."""
    opened = door()
    once = opened.text(text)
    assert opened.text(once) == once
    assert door().text(once) == once  # also for who knows of nothing that was masked


@given(TEXTS, st.sampled_from([AWS_KEY, "ana@example.com", "13800002222", "4111111111111111"]), TEXTS)
def test_no_masked_value_is_in_what_comes_out(before: str, value: str, behind: str) -> None:
    """Set apart by blanks, it is found whatever else is there; within a longer code it is another."""
    assume(value not in before + behind)
    assert value not in door().text(f"{before} {value} {behind}")


@given(TEXTS)
def test_what_was_masked_can_be_put_back(text: str) -> None:
    """All of it, and there is nothing in it that was not there; only a forged placeholder is nobody's."""
    opened = door()
    masked = opened.text(text)
    try:
        assert not is_masked(opened.opened(masked)) or is_masked(text)
    except SealedValueLost:
        assert is_masked(text)


@given(
    st.recursive(
        TEXTS | st.integers() | st.booleans(), lambda one: st.lists(one) | st.dictionaries(TEXTS, one), max_leaves=8
    )
)
def test_masking_masked_data_changes_nothing(value: Json) -> None:
    """Nor is data of another shape made of it."""
    opened = door()
    once = opened.json(value)
    assert opened.json(once) == once
    assert type(once) is type(value) or isinstance(once, str)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("/" * 65536, id="slashes"),
        pytest.param("sk-A" * 16384, id="beginnings of a key"),
        pytest.param("password: " * 6553, id="names of secrets"),
        pytest.param("DE89" * 16384, id="beginnings of an account"),
        pytest.param("4111 " * 13000, id="beginnings of a card"),
        pytest.param("a@" * 32768, id="beginnings of mail"),
        pytest.param("+1 " * 20000, id="beginnings of a number"),
        pytest.param("订" * 60000 + "@", id="Chinese"),
        pytest.param("-----BEGIN PRIVATE KEY-----" * 2000, id="beginnings of a long key"),
        pytest.param("\\u0041" * 10000, id="signs by their numbers"),
    ],
)
def test_no_text_holds_a_run_up(text: str) -> None:
    """What is long and shaped like many values is looked at in a time that grows with its length alone."""
    door().text(text)
