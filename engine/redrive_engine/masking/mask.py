"""What is masked and under which key: the values in a text, and the placeholders that stand for them."""

from __future__ import annotations

import hashlib
import hmac
import importlib
import re
from collections.abc import Collection, Iterator, Mapping
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple, Self

import re2  # type: ignore[import-untyped]

from redrive_engine.masking.classes import CLASSES, Kind, without_blanks
from redrive_engine.masking.credentials import credentials
from redrive_engine.masking.placeholder import placeholders
from redrive_engine.masking.unspoken import unspoken
from redrive_engine.masking.vault import MemoryVault, OverVault, Vault
from redrive_events import BadInput, canonical

SECRET: Final = "secret"
BLOCK: Final = "block"
KEY_BYTES_MIN: Final = 16

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,30}")
_KEPT: Final = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,98}[a-z0-9])?")

_QUIET: Final = re2.Options()
_QUIET.log_errors = False


class Found(NamedTuple):
    """A value that is masked: where it stands, its class, and whether it is only what is left beside a placeholder."""

    start: int
    end: int
    name: str
    part: bool = False


class Mask:
    """Masks credentials (unless ``secrets`` is off), values of the named ``classes``, and what ``patterns`` match.

    A pattern is RE2's, by the name of its class; its group ``kept`` stays to be seen. ``key`` has at least 16 bytes:
    who has it can tell whether two runs speak of the same value, and open the vault. ``key_id`` names it in the log.
    ``vault`` keeps the values; one in memory, if there is none, lasts as long as its process.

    Raises:
        BadInput: the key is too short, a class does not exist, a pattern is none, or credentials cannot be found since
            `redrive[mask]` is not installed.
    """

    def __init__(
        self,
        key: bytes | str,
        *,
        key_id: str = "",
        secrets: bool = True,
        classes: Collection[str] = (),
        patterns: Mapping[str, str] | None = None,
        vault: Vault | None = None,
    ) -> None:
        self._key = key.encode() if isinstance(key, str) else key
        if len(self._key) < KEY_BYTES_MIN:
            raise BadInput(f"a key has at least {KEY_BYTES_MIN} bytes", place="mask")
        for name in classes:
            if name not in CLASSES:
                raise BadInput(f"no class {name!r}; there are {', '.join(CLASSES)}", place="mask")
        named = {SECRET: ""} if secrets else {}
        self.classes: Mapping[str, str] = named | dict.fromkeys(sorted(classes), "") | dict(patterns or {})
        self._kinds = {name: _kind(name, pattern) for name, pattern in self.classes.items() if name != SECRET}
        self.secrets = secrets
        self.vault: Vault = vault or MemoryVault()
        _check_installed(secrets=secrets)
        self.key_id = f"{key_id}:{self.keyed('key', b'').hex()[:8]}".removeprefix(":")

    @classmethod
    def from_file(
        cls, path: Path | str, *, key_id: str = "", classes: Collection[str] = (), vault: Vault | None = None
    ) -> Self:
        """A mask whose key is what a file holds, without blanks around it.

        Raises:
            BadInput: the file cannot be read, or as `Mask` does.
        """
        try:
            key = Path(path).read_bytes().strip()
        except OSError as error:
            why = (error.strerror or type(error).__name__).lower()
            raise BadInput(f"the key cannot be read: {why}", place=str(path)) from error
        return cls(key, key_id=key_id, classes=classes, vault=vault)

    def of(self, classes: Mapping[str, str]) -> Mask:
        """The mask with the same key and the classes that a run was begun with."""
        if classes == self.classes:
            return self
        patterns = {name: pattern for name, pattern in classes.items() if pattern}
        known = [name for name in classes if name not in patterns and name != SECRET]
        mask = Mask(self._key, secrets=SECRET in classes, classes=known, patterns=patterns, vault=self.vault)
        mask.key_id = self.key_id
        return mask

    def apart(self) -> Mask:
        """The same mask, of which what it seals from now on lasts as long as its process."""
        mask = copy(self)
        mask.vault = OverVault(self.vault)
        return mask

    def keyed(self, use: str, what: bytes, size: int = 32) -> bytes:
        """Bytes that only the key could have made of ``what``, for one use and no other."""
        sub = hmac.digest(self._key, f"redrive mask {use}".encode(), hashlib.sha512)
        return hmac.digest(sub, what, hashlib.sha512)[:size]

    def placeholder(self, tenant: str, name: str, value: str, *, part: bool = False) -> str:
        """What stands for a value: the same for all its spellings, and another for each tenant.

        Of a ``part`` of one nothing is kept to be seen.
        """
        kind = None if part else self._kinds.get(name)
        normal, kept = (kind.normal(value), kind.kept(value)) if kind else (value.strip(), "")
        print_ = self.keyed("fingerprint", canonical([tenant, name, normal])).hex()[:16]
        return f"masked-{name}-{print_}" + (f"@{kept}" if _KEPT.fullmatch(kept) and not self.found(kept) else "")

    def placed(self, text: str) -> Iterator[tuple[int, int]]:
        """Where placeholders stand in ``text``, whoever wrote them; what is to be masked can hide in none of them."""
        for one in placeholders(text):
            yield one.start, one.bare if self.found(text[one.bare : one.end]) else one.end

    def found(self, text: str) -> list[Found]:
        """The values in plain ``text``, in order and apart: a credential first, else the longest."""
        secrets = [Found(*span, SECRET) for span in credentials(text)] if self.secrets else []
        others = [Found(*span, name) for name, kind in self._kinds.items() for span in kind.find(text)]
        return apart([*sorted(secrets, key=_longest), *sorted(others, key=_longest)])

    @cached_property
    def cipher_key(self) -> bytes:
        """The key under which values lie in a vault."""
        return self.keyed("vault", b"", 64)


def _check_installed(*, secrets: bool) -> None:
    """What is needed later is there, so that nothing is begun that cannot be gone on with."""
    try:
        importlib.import_module("cryptography")
        if secrets:
            with unspoken():
                importlib.import_module("detect_secrets")
    except ModuleNotFoundError as error:
        raise BadInput("masking needs more than is installed: pip install 'redrive[mask]'", place="mask") from error


def apart(found: Collection[Found]) -> list[Found]:
    """Those that overlap none before them, in the order of their places."""
    taken: list[Found] = []
    covered: set[int] = set()
    for one in found:
        places = range(one.start, one.end)
        if one.end > one.start and covered.isdisjoint(places):
            covered.update(places)
            taken.append(one)
    return sorted(taken)


def _longest(found: Found) -> tuple[int, int]:
    return found.start - found.end, found.start


def _kind(name: str, pattern: str) -> Kind:
    if not pattern:
        return CLASSES[name]
    if not _NAME.fullmatch(name) or name in {SECRET, BLOCK, *CLASSES}:
        raise BadInput(f"{name!r} cannot name a pattern: a word of its own, in a-z, 0-9 and _, is wanted", place="mask")
    try:
        shape = re2.compile(pattern, _QUIET)
    except re2.error as error:
        problem = error.args[0].decode(errors="replace")
        raise BadInput(f"{pattern!r} is no regular expression of RE2: {problem}", place=f"mask: {name}") from None
    if shape.search("") is not None:
        raise BadInput(f"{pattern!r} matches where nothing stands", place=f"mask: {name}")

    def find(text: str) -> Iterator[tuple[int, int]]:
        for found in shape.finditer(text):
            yield found.span()

    def kept(value: str) -> str:
        found = shape.fullmatch(value) if "kept" in shape.groupindex else None
        return str(found["kept"] or "").casefold() if found else ""

    return Kind(find, without_blanks, kept)
