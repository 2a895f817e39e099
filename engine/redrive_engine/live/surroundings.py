"""What the live world takes from its surroundings: the clock, chance, and the names of this machine and process."""

from __future__ import annotations

import os
import platform
import secrets
from datetime import UTC, datetime


def now() -> datetime:
    """The moment it is, in UTC."""
    return datetime.now(UTC)


def mint() -> str:
    """A word that nobody else has: 16 hex digits."""
    return secrets.token_hex(8)


def worker_name() -> str:
    """A name for a worker of this process, unlike that of any other."""
    return f"{platform.node()}-{os.getpid()}-{secrets.token_hex(3)}"


def environment() -> dict[str, str]:
    """What is worth knowing of where a run was begun."""
    return {"python": platform.python_version()}
