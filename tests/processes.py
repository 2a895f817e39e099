"""Python in another process, which finds the sources and the tests as this one does."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def surroundings(**more: str) -> dict[str, str]:
    """The environment of another process."""
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])} | more
