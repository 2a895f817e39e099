"""What can be said of a value of which only a placeholder is known: that it is another, or nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import re2  # type: ignore[import-untyped]

from redrive_events import Json, canonical

# ``masked-email-3f9a2c7d1e5b60a1@example.com``: of a mail address the domain is seen, and stands where it stood. What
# is seen of anything else stands nowhere in it.
_PLACEHOLDER: Final = re.compile(
    r"masked-(?:email-[0-9a-f]{16}|[a-z][a-z0-9_]{0,30}-[0-9a-f]{16}(?:@[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)?)",
    re.ASCII | re.IGNORECASE,
)
_NAMED: Final = "masked-"
_MAIL: Final = f"{_NAMED}email-"
# What a value might be, for patterns: a letter, nothing, or all that a pattern keeps out.
_PROBES: Final = ("a", "", "/\\@:?#%&=+.-_\"'<>(),; é中")
_WORD: Final = re.compile(r"[\w.+-]+")
_WORDS_MAX: Final = 100
_QUIET: Final = re2.Options()
_QUIET.log_errors = False


def is_masked(value: Json) -> bool:
    """Whether a placeholder stands anywhere in plain data."""
    if isinstance(value, str):
        return _NAMED in value.lower() and _PLACEHOLDER.search(value) is not None
    if isinstance(value, dict):
        return any(is_masked(one) for pair in value.items() for one in pair)
    return isinstance(value, list | tuple) and any(map(is_masked, value))


def may_be_same(left: Json, right: Json) -> bool:
    """Whether two that differ may be the same if one of them, and not the other, is masked in some place."""
    if is_masked(left) == is_masked(right):
        return False
    hidden, plain = (left, right) if is_masked(left) else (right, left)
    if not isinstance(hidden, str):
        return isinstance(hidden, dict) == isinstance(plain, dict) and isinstance(plain, dict | list | tuple)
    if isinstance(plain, dict | list | tuple):
        return False
    text = plain if isinstance(plain, str) else canonical(plain).decode()
    try:
        return re2.fullmatch("".join(_shape(hidden)), text, _QUIET) is not None
    except (re2.error, UnicodeEncodeError):  # larger than is looked at
        return True


def may_match(pattern: Any, text: str) -> bool | None:
    """Whether a masked text matches a pattern over UTF-8 whatever its values are; None where some would, others not.

    What a pattern could match in a value is tried by some values, and by the words of the pattern; of a value that is
    all of the text nothing is known, but where a mail address goes.
    """

    def matches(one: str) -> bool:
        return pattern.fullmatch(one.encode()) is not None

    spelled = pattern.pattern.decode()
    if _NAMED in spelled:  # it speaks of placeholders itself
        return matches(text)
    found = {matches(_filled(text, probe)) for probe in _PROBES}
    if len(found) == 1 and True not in found:
        whole = _PLACEHOLDER.fullmatch(text)
        if whole and not _is_mail(whole):
            return None
        found |= {matches(_filled(text, word)) for word in _words(spelled)}
    return found.pop() if len(found) == 1 else None


def _shape(text: str) -> Iterator[str]:
    """A pattern of all that a text can be."""
    done = 0
    yield "(?is)"
    for one in _PLACEHOLDER.finditer(text):
        yield _written(text[done : one.start()]) + ".*"
        done = one.end()
    yield _written(text[done:])


def _written(text: str) -> str:
    return str(re2.escape(text)).replace(str(re2.escape("@")), "(?:@|%40)")


def _words(pattern: str) -> list[str]:
    """What a pattern spells out."""
    return list(dict.fromkeys(_WORD.findall(re.sub(r"\\([^A-Za-z0-9])", r"\1", pattern))))[:_WORDS_MAX]


def _filled(text: str, probe: str) -> str:
    """``text`` with something in the place of each of its values; a mail address has no signs that would end it."""

    def filled(one: re.Match[str]) -> str:
        return one[0] if _is_mail(one) and not _WORD.fullmatch(probe) else probe

    return _PLACEHOLDER.sub(filled, text)


def _is_mail(one: re.Match[str]) -> bool:
    return one[0].lower().startswith(_MAIL)
