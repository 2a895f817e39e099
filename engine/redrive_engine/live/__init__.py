"""The live world: it asks real models and tools, keeps the clock, and nothing else in the engine does."""

from redrive_engine.live.pausing import Patience
from redrive_engine.live.surroundings import StillClock, Surroundings, mint
from redrive_engine.live.world import LiveWorld, given_up

__all__ = ["LiveWorld", "Patience", "StillClock", "Surroundings", "given_up", "mint"]
