"""Objects as JavaScript's console prints them, one behind another: names without quotes, long texts in pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from redrive_events import Json

# How an object begins.
BEGINS: Final = r"(?:<ref \*\d+> )?(?:[A-Z]\w* )?\{\s*(?:\}|(?:[A-Za-z_$][\w$]*|'[^'\n]*'): )"
_TOKEN: Final = re.compile(
    r"""\s*(?:
      (?P<mark>[{}\[\],:+])
    | (?P<text>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)
    | (?P<number>-?(?:\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|Infinity))n?
    | (?P<more>\.\.\.\s\d+\smore\s\w+)
    | (?P<ref><ref\s\*\d+>)
    | (?P<word>[A-Za-z_$][\w$]*(?:\(\d+\))?)
    )""",
    re.VERBOSE,
)
# What stands for a value that the console did not go into.
_LEFT_OUT: Final = re.compile(r"\s*\[(?:Object|Array|Function|Getter|Setter|Circular|class|Symbol)[^\]]*\]")
_WORDS: Final = {"undefined": None, "null": None, "true": True, "false": False, "NaN": "NaN"}
_ESCAPE: Final = re.compile(r"\\(?:u\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_BROKEN: Final = "no object of JavaScript"


class Printed(NamedTuple):
    """An object, where it ends in the text, and how many of its values the console left out."""

    value: Json
    end: int
    left_out: int


def printed(text: str, begin: int) -> Printed | None:
    """The object that begins at this place; None if it cannot be read."""
    reader = _Reader(text, begin)
    try:
        value = reader.value()
    except (ValueError, RecursionError):
        return None
    return Printed(value, reader.at, reader.left_out)


class _Reader:
    """A place in the text that moves on as values are read."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at
        self.left_out = 0

    def value(self) -> Json:
        """The value here; a class's name before an object is left out."""
        if skipped := _LEFT_OUT.match(self.text, self.at):
            self.at = skipped.end()
            self.left_out += 1
            return None
        kind, token = self._next()
        if token in {"{", "["}:
            return dict(self._members()) if token == "{" else list(self._items())
        if kind == "text":
            return self._joined(_unescaped(token[1:-1]))
        if kind == "number":
            return _number(token)
        if kind in {"word", "ref"}:
            return _WORDS[token] if token in _WORDS else self.value()
        raise ValueError(_BROKEN)

    def _next(self) -> tuple[str, str]:
        match = _TOKEN.match(self.text, self.at)
        if match is None or match.lastgroup is None:
            raise ValueError(_BROKEN)
        self.at = match.end()
        return match.lastgroup, match[match.lastgroup]

    def _is(self, mark: str) -> bool:
        match = _TOKEN.match(self.text, self.at)
        if match is None or match["mark"] != mark:
            return False
        self.at = match.end()
        return True

    def _more(self) -> bool:
        match = _TOKEN.match(self.text, self.at)
        if match is None or match["more"] is None:
            return False
        self.at = match.end()
        self.left_out += 1
        return True

    def _joined(self, text: str) -> str:
        while self._is("+"):
            kind, token = self._next()
            if kind != "text":
                raise ValueError(_BROKEN)
            text += _unescaped(token[1:-1])
        self._more()
        return text

    def _items(self) -> Iterator[Json]:
        while not self._is("]"):
            if not self._more():
                yield self.value()
            if not self._is(",") and not self._is("]"):
                raise ValueError(_BROKEN)
            if self.text[self.at - 1] == "]":
                return

    def _members(self) -> Iterator[tuple[str, Json]]:
        while not self._is("}"):
            if not self._more():
                kind, token = self._next()
                if kind not in {"word", "text", "number"} or not self._is(":"):
                    raise ValueError(_BROKEN)
                yield _unescaped(token[1:-1]) if kind == "text" else token, self.value()
            if not self._is(",") and not self._is("}"):
                raise ValueError(_BROKEN)
            if self.text[self.at - 1] == "}":
                return


def _number(token: str) -> Json:
    if "Infinity" in token or len(token) > 40:
        return token
    return int(token) if token.lstrip("-").isdigit() else float(token)


def _unescaped(text: str) -> str:
    """The text behind its escapes; half of a surrogate pair is no character."""
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code is None:
        return _ESCAPED.get(match[4], match[4])
    number = int(code, 16)
    return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
