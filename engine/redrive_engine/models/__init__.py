"""The port to language models, and a scripted model for tests and demonstrations."""

from redrive_engine.models.port import Model, ModelRequest, ModelTrouble, reply, use
from redrive_engine.models.scripted import ScriptedModel

__all__ = ["Model", "ModelRequest", "ModelTrouble", "ScriptedModel", "reply", "use"]
