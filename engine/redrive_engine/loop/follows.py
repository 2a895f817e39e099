"""What a rule of the loop gives: the events that follow, each folded before the next is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from redrive_events import Derived

Follows: TypeAlias = Iterator[Derived]
