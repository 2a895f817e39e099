"""Inputs from inputs: bytes changed, moved and multiplied, with a liking for what JSON and its readers stumble over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random

SIZE_MAX = 8_000
TOKENS = (
    *(b'"', b"{", b"}", b"[", b"]", b":", b",", b"\\", b"\n", b"\x00", b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b" "),
    *(b"null", b"true", b"NaN", b"-Infinity", b"1e999", b"-0", b"-0.0", b"0.1e-400", b"18446744073709551616"),
    *(
        b"9" * 400,
        b"[" * 2_000,
        b'{"a":' * 1_200,
        b"\\ud800",
        b"\\u0000",
        "🤖".encode(),
        "退".encode(),
        b"\xef\xbb\xbf",
    ),
    *(b'"event":', b'"left":1', b'"position":0', b'"run_id":"x"', b'"version":1', b'{"$blob":0}', b"\x28\xb5\x2f\xfd"),
    *(b'"at":"9999-12-31T23:59:59.999999Z"', b'"at":"0001-01-01T00:00:00.000000+23:59"', b"Z", b'{"d":"', b'","r":'),
)


def inputs(seeds: Sequence[bytes], chance: Random) -> Iterator[bytes]:
    """Without end; the seeds themselves come first."""
    yield from seeds
    while True:
        data = chance.choice(seeds)
        for _ in range(1 << chance.randint(0, 4)):
            data = chance.choice(_WAYS)(data, chance.choice(seeds), chance)[:SIZE_MAX]
        yield data


def _flip(data: bytes, _: bytes, chance: Random) -> bytes:
    at = chance.randint(0, max(0, len(data) - 1))
    return data[:at] + bytes([chance.randint(0, 255)]) + data[at + 1 :]


def _put(data: bytes, _: bytes, chance: Random) -> bytes:
    at, behind = _span(data, chance)
    return data[:at] + chance.choice(TOKENS) + data[chance.choice([at, behind]) :]


def _cut(data: bytes, _: bytes, chance: Random) -> bytes:
    at, behind = _span(data, chance)
    return data[:at] + data[behind:]


def _double(data: bytes, _: bytes, chance: Random) -> bytes:
    at, behind = _span(data, chance)
    return data[:behind] + data[at:behind] * chance.randint(1, 3) + data[behind:]


def _cross(data: bytes, other: bytes, chance: Random) -> bytes:
    return data[: chance.randint(0, len(data))] + other[chance.randint(0, len(other)) :]


def _end(data: bytes, _: bytes, chance: Random) -> bytes:
    return data[: chance.randint(0, len(data))]


def _number(data: bytes, _: bytes, chance: Random) -> bytes:
    """Another number where there is one."""
    places = [at for at in range(len(data)) if 0x30 <= data[at] <= 0x39]
    if not places:
        return data
    at = chance.choice(places)
    return data[:at] + str(chance.choice([0, 1, -1, 2**31, 2**32, 2**63, 2**64])).encode() + data[at + 1 :]


def _span(data: bytes, chance: Random) -> tuple[int, int]:
    at = chance.randint(0, len(data))
    return at, min(len(data), at + chance.choice([1, 2, 4, 16, 64, 512]))


_WAYS: tuple[Callable[[bytes, bytes, Random], bytes], ...] = (
    _flip,
    _flip,
    _put,
    _put,
    _cut,
    _double,
    _cross,
    _end,
    _number,
)
