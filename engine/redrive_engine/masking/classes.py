"""The classes of values that can be masked by name: how each is found, and when two spellings are one value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import re2  # type: ignore[import-untyped]

Spans: TypeAlias = Iterator[tuple[int, int]]

_QUIET: Final = re2.Options()
_QUIET.log_errors = False

CARD_DIGITS: Final = (13, 19)
CARD_GROUPS_MAX: Final = 7
# How long an account number of each country is.
IBAN_CHARS: Final[Mapping[str, int]] = {
    one[:2]: int(one[2:])
    for one in re.findall(
        r"\w+",
        "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 "
        "FI18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 "
        "LI21 LT20 LU20 LV21 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 "
        "SC31 SE24 SI19 SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20",
    )
}
# How many digits a number has in all, where that is the same for every one.
COUNTRY_DIGITS: Final[Mapping[str, int]] = {"+861": 13, "+1": 11}
# Digits that are masked as one number have so many, the ones that JSON has as numbers too.
NUMBER_DIGITS_MIN: Final = 7


def _nothing(value: str) -> str:  # noqa: ARG001 - the signature of what is kept
    return ""


@dataclass(frozen=True, slots=True)
class Kind:
    """A class of values; ``normal`` is what all spellings of a value have in common.

    ``kept`` is what of it may be seen behind its placeholder, for a policy to judge.
    """

    find: Callable[[str], Spans]
    normal: Callable[[str], str]
    kept: Callable[[str], str] = _nothing


def without_blanks(value: str) -> str:
    """One case, and nothing between the characters that only groups them."""
    return re.sub(r"[\s\-().]+", "", value.casefold())


_MAIL: Final = re2.compile(
    r"(?:[A-Za-z0-9_+%-][A-Za-z0-9._+%'&-]*|\"[^\"\n@]{1,64}\"|[\p{L}\p{N}._+%-]*[^\x00-\x{7F}])(?:@|%40)"
    r"(?:(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z][A-Za-z0-9-]*[A-Za-z0-9]"
    r"|[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+)",
    _QUIET,
)
_DIGITS: Final = re.compile(r"\d+", re.ASCII)
_IBAN: Final = re.compile(r"[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]){11,30}", re.ASCII | re.IGNORECASE)
_CN_ID: Final = re2.compile(r"[1-9]\d{5}(?:19|20)\d{9}[\dXx]", _QUIET)
_PHONES: Final = (
    # with its country
    re2.compile(r"\(?(?:\+|\b00)[ ]?\(?[1-9]\d{0,2}\)?(?:(?:[ \-.]|\)[ \-]?|[ ]?\()?\d){6,13}", _QUIET),
    # a mobile number of China
    re2.compile(r"1[3-9]\d(?:[ -]?\d{4}){2}", _QUIET),
    re2.compile(r"\(?0\d{1,4}\)?[ \-/]{1,2}\d{3,8}(?:[ \-]\d{2,8}){0,3}", _QUIET),
    re2.compile(r"\(?[2-9]\d{2}\)?[ .\-]{1,2}\d{3}[ .\-]\d{4}", _QUIET),
)
_GROUPED_PHONES: Final = _PHONES[2:]  # those that only their groups show to be one
_ABROAD: Final = re.compile(r"(?:\+|00)")


def _mails(text: str) -> Spans:
    for found in _MAIL.finditer(text):
        yield found.span()


def _mail(value: str) -> str:
    return re.sub(r"%40", "@", value, count=1).casefold()


def _domain(value: str) -> str:
    domain = _mail(value).rpartition("@")[2]
    try:
        return domain.encode("idna").decode()
    except UnicodeError:  # no name that a mail server could have
        return ""


def _cards(text: str) -> Spans:
    """Groups of digits that together have a card's length and check digit; the longest that begin where they do."""
    groups = [found.span() for found in _DIGITS.finditer(text)]
    ends_before = -1
    for index, (start, _) in enumerate(groups):
        if start > ends_before and text[start] in "23456" and not _in_code(text[max(0, start - 1) : start]):
            end = max(_card_ends(text, groups, index), default=0)
            if end:
                ends_before = end
                yield start, end


def _card_ends(text: str, groups: Sequence[tuple[int, int]], index: int) -> Iterator[int]:
    digits, before = "", groups[index][0]
    for start, end in groups[index : index + CARD_GROUPS_MAX]:
        if text[before:start] not in {"", " ", "-"} or end - start > CARD_DIGITS[1]:
            return
        digits, before = digits + text[start:end], end
        if CARD_DIGITS[0] <= len(digits) <= CARD_DIGITS[1] and _luhn(digits) and not _in_code(text[end : end + 1]):
            yield end


def _luhn(digits: str) -> bool:
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 * (value > 9)
    return total % 10 == 0


def _ibans(text: str) -> Spans:
    place = 0
    while found := _IBAN.search(text, place):
        start, end = found.start(), found.start()
        left = IBAN_CHARS.get(found[0][:2].upper(), 0)
        while left and end < found.end():  # what stands behind it may look like one more group
            left -= text[end].isalnum()
            end += 1
        whole = end > start and not left and _is_alone(text, start, end)
        place = start + 1
        if whole and _is_checked(without_blanks(text[start:end])):
            yield start, end
            place = end


def _is_checked(iban: str) -> bool:
    return int("".join(str(int(one, 36)) for one in iban[4:] + iban[:4])) % 97 == 1


def _cn_ids(text: str) -> Spans:
    for found in _CN_ID.finditer(text):
        start, end = found.span()
        weighed = sum(int(one) * (2 ** (17 - place) % 11) for place, one in enumerate(found[0][:17]))
        if _is_alone(text, start, end) and "10X98765432"[weighed % 11] == found[0][17].upper():
            yield start, end


def _phones(text: str) -> Spans:
    for shape in _PHONES:
        for found in shape.finditer(text):
            start, end = found.start(), _phone_end(text, *found.span())
            digits = sum(one.isdigit() for one in text[start:end])
            goes_on = shape in _GROUPED_PHONES and re.search(r"\d[ \-]\Z", text[max(0, start - 2) : start])
            if NUMBER_DIGITS_MIN <= digits <= 15 and _is_alone(text, start, end) and not goes_on:
                yield start, end


def _phone_end(text: str, start: int, end: int) -> int:
    """Where a number ends that may go on as far as one of its country does."""
    places = [place for place in range(start, end) if text[place].isdigit()]
    plain = _phone(text[start:end])
    size = len(plain) - 1 if plain[0] == "+" else 0
    most = next((size for code, size in COUNTRY_DIGITS.items() if plain.startswith(code)), 0)
    return places[len(places) - size + most - 1] + 1 if 0 < most < size else end


def _phone(value: str) -> str:
    """With its country, where that is told or can be: a mobile number of China, one that has America's length."""
    digits = re.sub(r"\D", "", value)
    if _ABROAD.match(re.sub(r"[\s(]", "", value)):
        return re.sub(r"^(?:00)?", "+", digits, count=1)
    if re.fullmatch(r"1[3-9]\d{9}", digits):
        return f"+86{digits}"
    return f"+1{digits}" if re.fullmatch(r"[2-9]\d{9}", digits) else digits


def _is_alone(text: str, start: int, end: int) -> bool:
    """Whether it is no part of a longer number, date or code."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    if before and _in_code(before[-1]):
        return False
    if after and _in_code(after[0]):
        return False
    if len(before) == 2 and before[1] in ".-/:," and before[0].isdigit():
        return False
    return not (len(after) == 2 and after[0] in "-/:" and after[1].isdigit())


def _in_code(character: str) -> bool:
    return character == "_" or (character.isascii() and character.isalnum())


CLASSES: Final[Mapping[str, Kind]] = {
    "card": Kind(_cards, without_blanks),
    "cn_id": Kind(_cn_ids, without_blanks),
    "email": Kind(_mails, _mail, _domain),
    "iban": Kind(_ibans, without_blanks, lambda value: without_blanks(value)[:2]),
    "phone": Kind(_phones, _phone),
}
