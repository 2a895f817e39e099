"""What tests import: promises, matchers, and the extensions of syrupy; the fixture comes by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import redrive_replays.testing as _testing

if TYPE_CHECKING:
    from redrive_replays.testing import *  # noqa: F403 - the same names, loaded when they are asked for

__all__ = list(_testing.__all__)


def __getattr__(name: str) -> object:
    """Load what is named."""
    return getattr(_testing, name)
