"""Inspect's logs: an evaluation of many samples, each an agent's run with its events and scores."""

from redrive_replays.traces.inspect_logs.files import detect, read

__all__ = ["detect", "read"]
