"""The door of one run: what comes in is masked before anything else, and what goes to a tool is put back."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import RLock
from typing import Any, Final

from redrive_engine.masking.classes import NUMBER_DIGITS_MIN
from redrive_engine.masking.credentials import is_telling
from redrive_engine.masking.mask import BLOCK, SECRET, Found, Mask, apart
from redrive_engine.masking.placeholder import Placeholder, placeholders
from redrive_engine.masking.sought import Sought
from redrive_engine.masking.spelling import Plain, plain_of, unescaped
from redrive_events import BadInput, Json, Record, RunStarted, canonical, parse_json

# A value no longer than this is not looked for where nothing else tells that it is one.
KNOWN_CHARS_MIN: Final = 6
# A number under a telling name has at least so many digits: fewer are a count.
TELLING_DIGITS_MIN: Final = 4
# What is masked may show something more to be masked, but not for ever.
PASSES_MAX: Final = 4

_NUMBER_PLACE: Final = re.compile(r"[:\[,]\s*\Z"), re.compile(r"\s*[,\]}]")


class SealedValueLost(Exception):
    """A placeholder stands for no value that this run has masked, or the vault no longer has it."""


class Door:
    """Masks what comes into a run and puts back what its tools need; without a mask everything goes through as it is.

    A value is kept under the run (that of the root, for a tree of runs) and its tenant: a placeholder from elsewhere,
    or one that somebody made up, opens nothing. Each value is in the vault before anything speaks of it.
    """

    def __init__(self, mask: Mask | None = None, *, tenant: str = "", nonce: str = "") -> None:
        self._mask, self._tenant = mask, tenant
        self._scope = nonce.partition("/")[0]
        self._known: dict[str, str] = {}
        self._sought = Sought()
        self._fresh: dict[str, bytes] = {}
        self._lock, self._depth = RLock(), 0

    @classmethod
    def of(cls, started: RunStarted, mask: Mask | None, *, run_id: str) -> Door:
        """The door of a run that was begun, with what was masked from its beginning.

        Raises:
            BadInput: it is masked under another key, or was begun without a mask.
        """
        key_id = mask.key_id if mask else ""
        if key_id.rpartition(":")[2] != started.mask_key.rpartition(":")[2]:  # the rest is a name for people
            under = f"is masked under key {started.mask_key!r}" if started.mask_key else "was begun without a mask"
            here = f"here the key is {key_id!r}" if key_id else "here is no key"
            raise BadInput(f"it {under}, and {here}", place=f"run {run_id}")
        return cls(mask.of(started.mask_classes) if mask else None, tenant=started.tenant, nonce=started.nonce)

    @property
    def is_masking(self) -> bool:
        """Whether anything is masked at all."""
        return self._mask is not None

    def learn(self, records: Iterable[Record]) -> None:
        """Look out for credentials that were masked before, also where nothing but their value tells what they are."""
        if self._mask is None:
            return
        lines = (canonical(record).decode() for record in records)
        found = ((line, one) for line in lines for one in placeholders(line) if self._tells_by_value(one.name))
        for token in {line[one.start : one.end] for line, one in found}:
            with suppress(SealedValueLost):  # then there is nothing to look out for
                value, end = self._value(token, next(placeholders(token)))
                self._remember(plain_of(value).text, token[:end])

    def text(self, text: str) -> str:
        """``text`` with placeholders in place of what is masked; those that it has already stay."""
        with self._sealing():
            for _ in range(PASSES_MAX if self._mask else 0):
                plainer = unescaped(text)
                masked = self._masked(plainer)
                if masked == plainer:
                    break
                text = masked
            return text

    def json(self, value: Json, *, telling: bool = False) -> Json:
        """Plain data, masked in each text, name and long number; ``telling`` says that a name told it is a secret."""
        if not telling and not self.finds(value):
            return value
        with self._sealing():
            for _ in range(PASSES_MAX):
                known = len(self._known)
                value = self._json(value, telling=telling)
                if len(self._known) == known:  # else a credential may stand where nothing tells that it is one
                    break
            return value

    def finds(self, value: Json) -> bool:
        """Whether there can be anything to mask in plain data: all its texts are looked at as one."""
        if self._mask is None:
            return False
        plain = plain_of(unescaped("\n".join(_leaves(value))))
        return bool(self.values(plain.text)) or (self._mask.secrets and any(map(is_telling, _names(value))))

    def values(self, plain: str) -> list[Found]:
        """What is to be masked in plain text, in order; of what is masked already nothing."""
        assert self._mask is not None
        known = self._known_in(plain)
        return list(_beside(self._mask.placed(plain), apart([*self._mask.found(plain), *known]), plain))

    def whole(self, value: Json) -> str:
        """A placeholder for all of ``value``, which must come back unaltered."""
        with self._sealing():
            return self._sealed(BLOCK, canonical(value).decode())

    def opened(self, value: Json) -> Json:
        """``value`` with the masked values in place of their placeholders.

        Raises:
            SealedValueLost: one of them is not to be had.
        """
        if self._mask is None:
            return value
        if isinstance(value, dict):
            return {self.opened(key): self.opened(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.opened(one) for one in value]
        return self._unsealed(value) if isinstance(value, str) else value

    def _json(self, value: Json, *, telling: bool) -> Json:
        if isinstance(value, dict):
            return {
                self.text(key): self._json(one, telling=telling or (self._secrets and is_telling(key)))
                for key, one in value.items()
            }
        if isinstance(value, list | tuple):
            return [self._json(one, telling=telling) for one in value]
        if isinstance(value, str):
            return self._secret(value) if telling and value.strip() else self.text(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return self._number(value, telling=telling)
        return value

    @property
    def _secrets(self) -> bool:
        return self._mask is not None and self._mask.secrets

    def _secret(self, text: str) -> str:
        """All of a text, but for placeholders that it has."""
        assert self._mask is not None
        plain = plain_of(text)
        whole = [Found(0, len(plain.text), SECRET)]
        return self._replaced(text, plain, _beside(self._mask.placed(plain.text), whole, plain.text))

    def _number(self, value: float, *, telling: bool) -> Json:
        text = canonical(value).decode()
        digits = sum(one.isdigit() for one in text)
        if telling and digits >= TELLING_DIGITS_MIN:
            return self._sealed(SECRET, text)
        masked = self.text(text) if digits >= NUMBER_DIGITS_MIN else text
        return value if masked == text else masked

    def _masked(self, text: str) -> str:
        plain = plain_of(text)
        return self._replaced(text, plain, self.values(plain.text))

    def _replaced(self, text: str, plain: Plain, found: Iterable[Found]) -> str:
        parts, done = [], 0
        for one in found:
            start, end = plain.span(one.start, one.end)
            seen = plain.text[one.start : one.end]
            # a credential is put back to the byte, anything else in ordinary width and without what nobody sees
            exact = self._tells_by_value(one.name)
            value = text[start:end] if exact else seen
            token = self._known.get(seen) or self._sealed(one.name, value, seen, part=one.part)
            if _is_number_in_json(text, start, end):
                token = f'"{token}"'
            elif text[end : end + 1].isalnum() and text[end].isascii():  # so that it is seen where the placeholder ends
                token += " "
            parts += [text[done:start], token]
            done = end
        return "".join([*parts, text[done:]])

    def _sealed(self, name: str, value: str, plain: str = "", *, part: bool = False) -> str:
        assert self._mask is not None
        token = self._mask.placeholder(self._tenant, name, plain or value, part=part)
        place = self._place(token)
        if place not in self._fresh:
            self._fresh[place] = self._cipher().encrypt(canonical(value), [place.encode()])
        if self._tells_by_value(name):
            self._remember(plain or value, token)
        return token

    def _tells_by_value(self, name: str) -> bool:
        """Whether a value of the class is found elsewhere only by what it is: others are known by their shape."""
        return name == SECRET or bool(self._mask and self._mask.classes.get(name))

    def _remember(self, value: str, token: str) -> None:
        if len(value) >= KNOWN_CHARS_MIN and value not in self._known:
            self._known[value] = token
            self._sought.add(value)

    def _known_in(self, plain: str) -> list[Found]:
        """Where credentials stand that were seen before: of two that overlap the longer one first."""
        with self._lock:
            places = list(self._sought.places(plain))
        return sorted((Found(start, end, SECRET) for start, end in places), key=lambda one: one.start - one.end)

    def _unsealed(self, text: str) -> str:
        parts, done = [], 0
        for one in placeholders(text):
            value, end = self._value(text, one)
            parts += [text[done : one.start], value]
            done = end
        return "".join([*parts, text[done:]])

    def _value(self, text: str, one: Placeholder) -> tuple[str, int]:
        """The value behind a placeholder, and where that ends: what it keeps to be seen may run into what follows."""
        assert self._mask is not None
        end = one.end
        while True:
            place = self._place(text[one.start : end].lower())
            if (sealed := self._fresh.get(place) or self._mask.vault.get(place)) is not None:
                return self._decrypted(place, sealed), end
            if end == one.bare:
                raise SealedValueLost
            end = max(one.bare, *(text.rfind(sign, one.bare, end) for sign in "@.-"))

    def _decrypted(self, place: str, sealed: bytes) -> str:
        from cryptography.exceptions import InvalidTag

        try:
            return str(parse_json(self._cipher().decrypt(sealed, [place.encode()])))
        except (InvalidTag, ValueError, BadInput) as error:  # somebody has put something else there
            raise SealedValueLost from error

    def _place(self, token: str) -> str:
        """Under what name a value is kept: it says nothing, not even what it is."""
        assert self._mask is not None
        return self._mask.keyed("name", canonical([self._tenant, self._scope, token])).hex()

    def _cipher(self) -> Any:
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV

        assert self._mask is not None
        return AESSIV(self._mask.cipher_key)

    @contextmanager
    def _sealing(self) -> Iterator[None]:
        """All that is masked at once is kept at once."""
        with self._lock:
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
            if not self._depth and self._fresh and self._mask:
                self._mask.vault.put(self._fresh)
                self._fresh = {}


# The door of runs without a mask.
OPEN: Final = Door()


def _beside(taken: Iterable[tuple[int, int]], found: Iterable[Found], text: str) -> Iterator[Found]:
    """What of each value stands beside placeholders: these are masked already."""
    placed = list(taken)
    starts, ends = [first for first, _ in placed], [last for _, last in placed]
    for one in found:
        inside = placed[bisect_right(ends, one.start) : bisect_left(starts, one.end)]
        if not inside:
            yield one
        begin = one.start
        for first, last in [*inside, (one.end, one.end)] if inside else ():
            left = text[begin:first]
            if any(map(str.isalnum, left)):
                yield Found(begin + len(left) - len(left.lstrip()), begin + len(left.rstrip()), one.name, part=True)
            begin = max(begin, last)


def _is_number_in_json(text: str, start: int, end: int) -> bool:
    """Whether a number stands where JSON has a value, so that its placeholder has to be a text there."""
    before, behind = _NUMBER_PLACE
    return text[start:end].isdigit() and bool(before.search(text, 0, start)) and bool(behind.match(text, end))


def _leaves(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from _leaves(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _leaves(one)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def _names(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from _names(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _names(one)
