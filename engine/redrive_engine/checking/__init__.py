"""What can be said of an agent before it runs: what of its contract can never come, and what a run may use at most."""

from redrive_engine.checking.ceiling import Ceiling, ceiling_of
from redrive_engine.checking.flaws import flaws_of
from redrive_engine.checking.subject import Flaw, Subject, known_of

__all__ = ["Ceiling", "Flaw", "Subject", "ceiling_of", "flaws_of", "known_of"]
