"""Credentials in text: the shapes that detect-secrets knows, those it lacks, and what stands behind a telling name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

import re2  # type: ignore[import-untyped]

from redrive_engine.masking.unspoken import unspoken

# Of the library these are left out: random-looking text is every id and digest, an address on the Internet is no
# credential, and for the others there is more below than their beginnings or one value a line.
_LEFT_OUT: Final = frozenset(
    {
        "Base64 High Entropy String",
        "Hex High Entropy String",
        "Public IP (ipv4)",
        "Secret Keyword",
        "Private Key",
    }
)
_SHAPES: Final = (
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z0-9 ]*-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY[A-Z0-9 ]*-----|\z)",
    r"eyJ[\w-]+\.eyJ[\w-]+(?:\.[\w-]*)?",
    r"(?i)\bbearer\s+([\w+/.~=-]{16,})",
    r"(?i)\bauthorization\\?[\"']?\s*[:=]\s*\\?[\"']?(?:(?:basic|bearer|digest|token|negotiate)\s+)?([^\s\"'\\,;]{6,})",
    r"\bsk-[\w-]{20,}",
    r"\bgithub_pat_\w{22,}",
    r"\bAIza[\w-]{35}",
    r"\bya29\.[\w-]{20,}",
    r"\bhf_[A-Za-z0-9]{30,}",
    r"\bxapp-[\w-]{20,}",
)
# Names behind which a credential stands, beside those of the library.
_NAMES: Final = (
    *("password", "passwd", "pwd", "secret", "api_?key", "auth_?key", "private_?key", "client_?key", "contraseña"),
    *("passphrase", "access_?token", "refresh_?token", "auth_?token", "bearer_?token", "session_?token", "id_?token"),
    *("access_?key", "secret_?key", "signing_?key", "encryption_?key", "密码", "口令", "密钥", "令牌"),
)
_TAIL: Final = r"s?\d{0,3}(?:[_-]?(?:pem|value|b64|base64))?"
# What stands behind such a name where somebody only speaks of it.
_NO_VALUE: Final = frozenset(
    ("missing", "required", "optional", "null", "none", "true", "false", "invalid", "expired", "wrong", "empty")
)
_TOKEN: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_AROUND: Final = " \t\r\n=:\"'"

_QUIET: Final = re2.Options()
_QUIET.log_errors = False


def credentials(text: str) -> Iterator[tuple[int, int]]:
    """Where in plain ``text`` credentials stand, each as far as it goes; they may overlap."""
    shapes, which = _shapes()
    for index in which.Match(text) or ():
        for found in shapes[index].finditer(text):
            yield _whole(text, *_secret(found, text))
    for found in _assigned().finditer(text):
        index = next((group for group in range(1, 6) if found[group] is not None), 0)
        value = found[index] if index else ""
        said = index == 5 and not any(one.isdigit() for one in value)  # "the password is right"
        if value.strip() and not said and value.casefold() not in _NO_VALUE:
            yield found.span(index)


def is_telling(name: str) -> bool:
    """Whether what stands under this name is a credential."""
    return _telling().search(name.replace("-", "_").replace(" ", "_").replace(".", "_")) is not None


def _secret(found: Any, text: str) -> tuple[int, int]:
    """The group that holds the secret, where one does: behind it nothing of a word is left in the match."""
    start, end = found.span()
    for group in range(found.re.groups, 0, -1):
        begins, ends = found.span(group)
        if begins > start and ends > begins and not any(one.isalnum() for one in text[ends:end]):
            return begins, ends
    return start, end


def _whole(text: str, start: int, end: int) -> tuple[int, int]:
    """Without what stands around it, and with what of the same word goes on: no end of a secret is left over."""
    while start < end and text[start] in _AROUND:
        start += 1
    while start < end and text[end - 1] in _AROUND:
        end -= 1
    while end < len(text) and text[end - 1] in _TOKEN and text[end] in _TOKEN:
        end += 1
    return start, end


@cache
def _shapes() -> tuple[Sequence[Any], Any]:
    """All shapes, and which of them a text has at all; by RE2, so that no text holds a run up."""
    shapes = [*map(_compiled, _of_library()), *(re2.compile(one, _QUIET) for one in _SHAPES)]
    which = re2.Set.SearchSet(_QUIET)
    for shape in shapes:
        which.Add(shape.pattern)
    which.Compile()
    return shapes, which


def _compiled(pattern: re.Pattern[str]) -> Any:
    """A pattern of the library for RE2, which looks neither back nor ahead: what it would see is found all the same."""
    text = pattern.pattern.replace(r"(?:(?<=\W)|(?<=^))", r"(?:^|\W)")
    text = re.sub(r"\(\?!(?:\\w|\[[^\]]*\])\)", "", text)
    text = re.sub(r"\{(\d+),\d{4,}\}", r"{\1,}", text)  # it counts no further than to a thousand
    return re2.compile(f"(?i){text}" if pattern.flags & re.IGNORECASE else text, _QUIET)


def _of_library() -> Iterator[re.Pattern[str]]:
    try:
        with unspoken():
            from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class

            plugins: Mapping[str, Any] = get_mapping_from_secret_type_to_class()
    except ModuleNotFoundError:  # a mask is not made without it, but what is shown is not left open for that
        return
    for name in sorted(plugins.keys() - _LEFT_OUT):
        yield from plugins[name].denylist


@cache
def _names() -> str:
    try:
        with unspoken():
            from detect_secrets.plugins import keyword
    except ModuleNotFoundError:
        return _alternatives(_NAMES)
    return _alternatives([*keyword.DENYLIST, *_NAMES])


def _alternatives(names: Iterable[str]) -> str:
    return "|".join(sorted(set(names), key=len, reverse=True)).replace("_?", "[_-]?")


@cache
def _telling() -> Any:
    return re2.compile(rf"(?i)(?:{_names()}){_TAIL}$", _QUIET)


@cache
def _assigned() -> Any:
    """A telling name, a sign that gives it a value, and the value: in quotes, in quotes within quotes, or a word."""
    value = r"[^\s\"'`\\,;&<>。、)}\]]{4,}"
    return re2.compile(
        rf"(?i)(?:{_names()}){_TAIL}"
        r"(?:\\{0,3}[\"'`\])]{0,3}\s{0,3}(?:=>|:=|={1,3}|::?|<-)\s{0,3}(?:"
        r'"((?:[^"\\\n]|\\.)*)'
        r"|'((?:[^'\\\n]|\\.)*)"
        r'|\\{1,3}"((?:[^"\\\n]|\\{1,3}[^"\\])*)'
        rf"|({value}))"
        rf"|\s{{0,3}}(?:\bis\b|是|为)\s{{0,3}}({value}))",
        _QUIET,
    )
