"""OpenAI chat transcripts, read as runs."""

from redrive_replays.traces.chat.importer import detect, read

__all__ = ["detect", "read"]
