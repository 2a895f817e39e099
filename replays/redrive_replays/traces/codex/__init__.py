"""Codex sessions, read as runs."""

from redrive_replays.traces.codex.importer import detect, read

__all__ = ["detect", "read"]
