"""Anthropic Messages, read as runs."""

from redrive_replays.traces.anthropic.importer import detect, read

__all__ = ["detect", "read"]
