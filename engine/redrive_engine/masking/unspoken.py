"""How detect-secrets is loaded: without the library by which it would ask others whether a secret is in use.

That one binds a socket as it is loaded, and nothing here asks anybody. It is loaded when somebody else does.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Final

_SPEAKING: Final = "requests"


class _Unspoken(ModuleType):
    """Stands in for the library where it is imported, and gives what is of it once somebody uses that."""

    def __getattr__(self, name: str) -> object:
        stands_in = sys.modules.get(_SPEAKING) is self
        if stands_in and name == "Response":  # said of what a function returns, as that function is defined
            return object
        if stands_in:
            del sys.modules[_SPEAKING]
        return getattr(importlib.import_module(_SPEAKING), name)


@contextmanager
def unspoken() -> Iterator[None]:
    """In here detect-secrets is loaded, and what it would speak to others with is not."""
    if _SPEAKING in sys.modules:
        yield
        return
    silent = sys.modules[_SPEAKING] = _Unspoken(_SPEAKING)
    try:
        yield
    finally:
        if sys.modules.get(_SPEAKING) is silent:
            del sys.modules[_SPEAKING]
