"""Trajectories of SWE-agent and mini-swe-agent, read as runs."""

from redrive_replays.traces.swe import mini_swe_agent, swe_agent

__all__ = ["mini_swe_agent", "swe_agent"]
