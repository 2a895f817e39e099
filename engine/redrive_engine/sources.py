"""The source of a user's function, as a digest: who changes it may change what it decides."""

from __future__ import annotations

import hashlib
import inspect
import textwrap
from collections.abc import Callable


def source_digest(function: Callable[..., object]) -> str:
    """The digest of a function's source, wherever it stands; of its name, where it has none."""
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        source = f"{function.__module__}.{getattr(function, '__qualname__', type(function).__qualname__)}"
    return hashlib.sha256(source.encode()).hexdigest()
