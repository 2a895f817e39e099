"""tau-bench and tau2-bench results, read as runs."""

from redrive_replays.traces.tau import tau2, tau_bench

__all__ = ["tau2", "tau_bench"]
