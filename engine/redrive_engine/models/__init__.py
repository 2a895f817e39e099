"""The port to language models, a scripted one for tests, real ones over pydantic-ai, and what they cost."""

from redrive_engine.models.port import Connects, Model, ModelRequest, ModelTrouble, connected, reply, use
from redrive_engine.models.prices import FREE, Price, Prices, metered
from redrive_engine.models.provider import ProviderModel
from redrive_engine.models.scripted import ScriptedModel

__all__ = [
    "FREE",
    "Connects",
    "Model",
    "ModelRequest",
    "ModelTrouble",
    "Price",
    "Prices",
    "ProviderModel",
    "ScriptedModel",
    "connected",
    "metered",
    "reply",
    "use",
]
