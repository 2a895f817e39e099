"""OpenAI Responses, read as runs."""

from redrive_replays.traces.responses.importer import detect, read

__all__ = ["detect", "read"]
