"""Claude Code sessions, read as runs of agents and sub-agents."""

from redrive_replays.traces.claude_code.importer import detect, detect_meta, read, refuse_meta

__all__ = ["detect", "detect_meta", "read", "refuse_meta"]
