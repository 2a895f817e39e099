"""Where something goes: the host of an address on the web, or of a mail address, which may be a masked one."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from redrive_events import Json

_LABEL: Final = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST: Final = rf"(?P<host>{_LABEL}(?:\.{_LABEL})*)\.?"
# What no two programs read in the same way is no address here: a user before a web host, a backslash, a space, a sign
# that is not ASCII, several recipients in one text, a way on from one mail server to the next. Nor is what leads to no
# host at all, whatever stands in the place of one.
_FORMS: Final = tuple(
    re.compile(form, re.ASCII | re.IGNORECASE)
    for form in (
        _HOST,
        rf"(?!(?:data|file|javascript|vbscript):)[a-z][a-z0-9+.-]*://{_HOST}(?::[0-9]{{1,5}})?(?:[/?#][!-\[\]-~]*)?",
        rf"(?P<user>[a-z0-9#$&'*+/=?^_`{{|}}~.-]+)@{_HOST}",
    )
)
# What stands for a masked value looks like a part of an address, and says nothing of it: the value may be one that ends
# the host, or brings another. Only a masked mail address has its own domain behind it.
_MASKED: Final = re.compile(r"masked-[a-z0-9_]+-[0-9a-f]+", re.ASCII | re.IGNORECASE)
_MASKED_USER: Final = re.compile(r"masked-email-[0-9a-f]{16}", re.ASCII | re.IGNORECASE)
_CHARS_MAX: Final = 2_048
_NAMED: Final = re.compile(rf"(?:\*\.)?{_HOST}", re.ASCII)


@lru_cache(maxsize=4096)
def host_of(address: str) -> str | None:
    """The host in an address, in small letters; None where it is no address, or one that could be read otherwise."""
    for form in _FORMS:
        if found := form.fullmatch(address):
            parts = found.groupdict()
            user, host = parts.get("user") or "", parts["host"].lower()
            known = not _MASKED.search(host) and (not _MASKED.search(user) or _MASKED_USER.fullmatch(user))
            return host if known else None
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
