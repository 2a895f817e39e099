"""Where a log is kept: in memory, or in one SQLite file."""

from redrive_events.stores.durability import DURABILITIES, Durability
from redrive_events.stores.memory import MemoryLog
from redrive_events.stores.sizes import KindSize, Sizes
from redrive_events.stores.sqlite import SqliteLog

__all__ = ["DURABILITIES", "Durability", "KindSize", "MemoryLog", "Sizes", "SqliteLog"]
