"""Whether a value occurs in words, however these are written: width, case, spaces, the formats of telephone numbers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Final

from redrive_events import BadInput, Json, canonical, parse_json

# Fewer characters than this, or more, are no number that people write in groups.
GROUPED_CHARS_MIN: Final = 7
GROUPED_CHARS_MAX: Final = 100

_GAP = r"[ \-().]{0,2}"
# The calling codes of the world, of which none begins like another.
_CODE = (
    r"1|7|2(?:0|7|[1-689]\d)|3(?:[0-469]|[578]\d)|4(?:[013-9]|2\d)|5(?:[1-8]|[09]\d)|6(?:[0-6]|[789]\d)|"
    r"8(?:[1246]|[035789]\d)|9(?:[0-58]|[679]\d)"
)
_ABROAD = rf"(?:(?:\+|\b00)(?P<code>{_CODE}){_GAP})?"
_WRITTEN_ABROAD = re.compile(rf"(?:\+|00)({_CODE})")
_TELEPHONE = re.compile(r"\+?[\d \-().]+")
_GROUPED = re.compile(r"(?=.*\d)[\da-z \-().]+", re.DOTALL)
_NUMBER = re.compile(r"(?<![\d_a-z])\d+(?:,\d{3})*(?:\.\d+)?(?!\d)")
_BLANKS = re.compile(r"\s+")
# Scripts that put no space between words, so that there a word may begin anywhere.
_UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")


def occurs(value: str | float | Decimal, words: str) -> bool:
    """Whether ``value`` stands in ``words`` as a whole: 138 is not in 13800002222, nor Ann in Anna.

    A text may be written in another width and case, with other blanks; a long number or code in other groups; a
    telephone number with or without its country. A number is equal whatever its spelling. If the words are JSON, each
    text, number and name in it stands for itself.
    """
    leaves = _leaves(words)
    if not isinstance(value, str):
        return any(_has_number(leaf, Decimal(str(value))) for leaf in leaves)
    text = _plain(value)
    bare = re.sub(r"[^\da-z]", "", text)
    in_groups = GROUPED_CHARS_MIN <= len(bare) <= GROUPED_CHARS_MAX
    if in_groups and _TELEPHONE.fullmatch(text):
        return any(_has_telephone(leaf, text, bare) for leaf in leaves)
    if in_groups and _GROUPED.fullmatch(text):
        return any(_has_group(leaf, bare) for leaf in leaves)
    return bool(text) and any(_has_text(leaf, text) for leaf in leaves)


@lru_cache(maxsize=512)
def _leaves(words: str) -> tuple[str, ...]:
    """Each text of its own in ``words``, brought into one form."""
    if words.lstrip()[:1] in {"{", "[", '"'}:
        try:
            return tuple(filter(None, map(_plain, _texts(parse_json(words)))))
        except (BadInput, RecursionError):
            pass  # words that only begin like JSON
    return (_plain(words),)


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    else:
        yield value if isinstance(value, str) else canonical(value).decode()


def _plain(text: str) -> str:
    """One width, one case, one dash, one blank between words and none between characters that need none."""
    text = unicodedata.normalize("NFKC", text).casefold()
    seen = "".join("-" if kind == "Pd" else one for one in text if (kind := unicodedata.category(one)) != "Cf")
    words = _BLANKS.split(seen.strip())
    plain = words[0]
    for word in words[1:]:
        plain += word if plain and (_unspaced(plain[-1]) or _unspaced(word[0])) else f" {word}"
    return plain


def _has_text(leaf: str, text: str) -> bool:
    start = leaf.find(text)
    while start >= 0:
        if _whole(leaf, start, start + len(text)):
            return True
        start = leaf.find(text, start + 1)
    return False


def _has_group(leaf: str, bare: str) -> bool:
    return any(_whole(leaf, *one.span()) for one in re.finditer(_GAP.join(bare), leaf))


def _has_telephone(leaf: str, text: str, digits: str) -> bool:
    """The same digits; where both name a country, the same country."""
    abroad = _WRITTEN_ABROAD.match(text)
    code = abroad[1] if abroad else ""
    national = digits[len(abroad[0]) - text.startswith("+") :] if abroad else digits
    for one in re.finditer(_ABROAD + _GAP.join(national), leaf):
        if (not code or one["code"] in {None, code}) and _whole(leaf, *one.span()):
            return True
    return _has_group(leaf, digits) or f"+{digits}" in re.sub(r"(?<=\d)[ \-().]{1,2}(?=\d)", "", leaf).split()


def _has_number(leaf: str, value: Decimal) -> bool:
    if _number(leaf) == value:
        return True
    for found in _NUMBER.finditer(leaf):
        negative = (
            leaf[found.start() - 1 : found.start()] == "-"
            and not leaf[max(0, found.start() - 2) : found.start() - 1].isalnum()
        )
        start = found.start() - negative
        if _number(leaf[start : found.end()].replace(",", "")) == value and _whole(leaf, start, found.end(), unit=True):
            return True
    return False


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def _whole(leaf: str, start: int, end: int, *, unit: bool = False) -> bool:
    """Whether nothing of the same word or number stands before or behind; behind a number a unit may."""
    found, before, after = leaf[start:end], leaf[max(0, start - 2) : start], leaf[end : end + 2]
    if before and _joined(before[-1], found[0]):
        return False
    if after and _joined(found[-1], after[0]) and not (unit and not after[0].isdigit()):
        return False
    gaps = "-.,:/" + (" " if " " in found else "")  # who writes a number in groups writes all of it in groups
    if found[0].isdigit() and len(before) == 2 and before[0].isdigit() and before[1] in gaps:
        return False
    return not (found[-1].isdigit() and len(after) == 2 and after[0] in gaps and after[1].isdigit())


def _joined(left: str, right: str) -> bool:
    return _in_word(left) and _in_word(right)


def _in_word(character: str) -> bool:
    return (character == "_" or character.isalnum() or unicodedata.category(character)[0] == "M") and not _unspaced(
        character
    )


def _unspaced(character: str) -> bool:
    return character > "\u0e00" and unicodedata.name(character, "").startswith(_UNSPACED)
