"""The loop: what follows from what just happened, rule by rule, all of it pure."""

from redrive_engine.loop.calling import NOBODY, REFUSED
from redrive_engine.loop.effects import ACTING
from redrive_engine.loop.react import react

__all__ = ["ACTING", "NOBODY", "REFUSED", "react"]
