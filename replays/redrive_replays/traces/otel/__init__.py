"""OpenTelemetry traces, in every container and convention that is met, read as runs of agents."""

from redrive_replays.traces.otel.importer import (
    EVAL_SET,
    detect_eval_set,
    holds_spans,
    importers,
    is_printed,
    refuse_eval_set,
    traces_of_records,
)

__all__ = [
    "EVAL_SET",
    "detect_eval_set",
    "holds_spans",
    "importers",
    "is_printed",
    "refuse_eval_set",
    "traces_of_records",
]
