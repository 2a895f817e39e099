"""Where something goes: the host of an address on the web, or of a mail address, which may be a masked one."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from redrive_events import Json

_LABEL: Final = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST: Final = rf"(?P<host>{_LABEL}(?:\.{_LABEL})*)\.?"
# What no two programs read in the same way is no address here: a user before a web host, a backslash, a space, a sign
# that is not ASCII, several recipients in one text.
_FORMS: Final = tuple(
    re.compile(form, re.ASCII | re.IGNORECASE)
    for form in (
        _HOST,
        rf"[a-z][a-z0-9+.-]*://{_HOST}(?::[0-9]{{1,5}})?(?:[/?#][!-\[\]-~]*)?",
        rf"[a-z0-9!#$%&'*+/=?^_`{{|}}~.-]+@{_HOST}",
    )
)
# What stands for a masked value looks like a host, and is none: the real one is not known. Behind a mail address stands
# its domain.
_MASKED: Final = re.compile(r"masked-[a-z0-9_]+-[0-9a-f]+", re.ASCII)
_CHARS_MAX: Final = 2_048
_NAMED: Final = re.compile(rf"(?:\*\.)?{_HOST}", re.ASCII)


@lru_cache(maxsize=4096)
def host_of(address: str) -> str | None:
    """The host in an address, in small letters; None where it is no address, or one that could be read otherwise."""
    for form in _FORMS:
        if found := form.fullmatch(address):
            host = found["host"].lower()
            return None if _MASKED.fullmatch(host) else host
    return None


def goes_to_one_of(value: Json, hosts: Json) -> bool | None:
    """Whether an address is at one of the hosts: ``a.example`` is itself alone, ``*.a.example`` all that is below it.

    None where the two cannot be compared: a value that is no single address is at no host that can be told.
    """
    host = host_of(value) if isinstance(value, str) and len(value) <= _CHARS_MAX else None
    if host is None or problem_of_hosts(hosts):
        return None
    return any(host == one or (one.startswith("*.") and host.endswith(one[1:])) for one in hosts)


def goes_to_none_of(value: Json, hosts: Json) -> bool | None:
    """Whether an address is at a host, and at none of these."""
    found = goes_to_one_of(value, hosts)
    return None if found is None else not found


def problem_of_hosts(hosts: Json) -> str | None:
    """Why this is no list of hosts; None if it is one."""
    if not isinstance(hosts, list | tuple):
        return "takes a list of hosts"
    bad = next((one for one in hosts if not isinstance(one, str) or not _NAMED.fullmatch(one)), None)
    return None if bad is None else f"takes hosts in small letters, like a.example or *.a.example, not {bad!r}"
