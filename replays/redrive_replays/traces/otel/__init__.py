"""OpenTelemetry traces, in every container and convention that is met, read as runs of agents."""

from redrive_replays.traces.otel.importer import EVAL_SET, detect_eval_set, importers, refuse_eval_set

__all__ = ["EVAL_SET", "detect_eval_set", "importers", "refuse_eval_set"]
