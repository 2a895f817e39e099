"""Credentials in runs that were recorded without a mask: what is shown of them is not their values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

import msgspec

from redrive_engine.masking.credentials import credentials, is_telling
from redrive_engine.masking.door import KNOWN_CHARS_MIN
from redrive_engine.masking.mask import SECRET, Found, apart
from redrive_engine.masking.placeholder import is_masked
from redrive_engine.masking.spelling import plain_of
from redrive_events import Json

CONCEALED: Final = "[masked]"

E = TypeVar("E", bound=msgspec.Struct)


class Concealer:
    """Puts a sign in place of each credential in plain data, and of its value wherever else that stands."""

    def __init__(self, seen: Iterable[Json]) -> None:
        known = {text for value in seen for text in _credentials(value) if len(text) >= KNOWN_CHARS_MIN}
        longest_first = sorted(known, key=len, reverse=True)
        self._knows = re.compile("|".join(map(re.escape, longest_first))) if known else None

    def data(self, value: Json) -> Json:
        """Plain data as it may be shown; what stands for a value already stays."""
        if isinstance(value, dict):
            return {self.data(key): CONCEALED if _is_told(key, one) else self.data(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.data(one) for one in value]
        return self._text(value) if isinstance(value, str) else value

    def event(self, event: E) -> E:
        """An event as it may be shown."""
        data = msgspec.to_builtins(event)
        shown = self.data(data)
        return event if shown == data else msgspec.convert(shown, type(event))

    def _text(self, text: str) -> str:
        plain = plain_of(text)
        known = [Found(*one.span(), SECRET) for one in self._knows.finditer(plain.text)] if self._knows else []
        parts, done = [], 0
        for one in apart([*_found(plain.text), *known]):
            start, end = plain.span(one.start, one.end)
            parts += [text[done:start], CONCEALED]
            done = end
        return "".join([*parts, text[done:]])


def _found(plain: str) -> list[Found]:
    found = apart([Found(*span, SECRET) for span in credentials(plain)])
    return [one for one in found if not is_masked(plain[one.start : one.end])]


def _is_told(name: str, value: Json) -> bool:
    return isinstance(value, str) and bool(value.strip()) and is_telling(name) and not is_masked(value)


def _credentials(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _credentials(key)
            yield from [one] if _is_told(key, one) else _credentials(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _credentials(one)
    elif isinstance(value, str):
        plain = plain_of(value).text
        yield from (plain[one.start : one.end] for one in _found(plain))
