"""The front door: everything a user writes or reads, by one import, loaded when it is first named."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redrive_engine import (
        ANY,
        Agent,
        Budget,
        Call,
        Contract,
        Facts,
        FailureQuotas,
        Landed,
        NotLanded,
        Observed,
        Patience,
        Refused,
        Run,
        StillClock,
        Supersedes,
        Surroundings,
        Tool,
        ToolError,
        annotate,
        cancel,
        say,
        tool,
        verifier,
    )
    from redrive_engine.models import Model, ModelRequest, ModelTrouble, ScriptedModel, reply, use
    from redrive_engine.policy import Policy, Question, RulesPolicy, Ruling
    from redrive_events import BadInput, MemoryLog, ModelReplied, RedriveError, SqliteLog, ToolUse, Usage
    from redrive_replays import Report, replay

# Where a name comes from if not from the engine itself.
_DOORS = {
    "redrive_engine.models": ("Model", "ModelRequest", "ModelTrouble", "ScriptedModel", "reply", "use"),
    "redrive_engine.policy": ("Policy", "Question", "RulesPolicy", "Ruling"),
    "redrive_events": ("BadInput", "MemoryLog", "ModelReplied", "RedriveError", "SqliteLog", "ToolUse", "Usage"),
    "redrive_replays": ("Report", "replay"),
}
_HOME = {name: door for door, names in _DOORS.items() for name in names}

__all__ = [
    "ANY",
    "Agent",
    "BadInput",
    "Budget",
    "Call",
    "Contract",
    "Facts",
    "FailureQuotas",
    "Landed",
    "MemoryLog",
    "Model",
    "ModelReplied",
    "ModelRequest",
    "ModelTrouble",
    "NotLanded",
    "Observed",
    "Patience",
    "Policy",
    "Question",
    "RedriveError",
    "Refused",
    "Report",
    "RulesPolicy",
    "Ruling",
    "Run",
    "ScriptedModel",
    "SqliteLog",
    "StillClock",
    "Supersedes",
    "Surroundings",
    "Tool",
    "ToolError",
    "ToolUse",
    "Usage",
    "annotate",
    "cancel",
    "replay",
    "reply",
    "say",
    "tool",
    "use",
    "verifier",
]


def __getattr__(name: str) -> object:
    """Load what is named; `redrive --help` names nothing, so it is quick."""
    if name not in __all__:
        raise AttributeError(f"module 'redrive' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME.get(name, "redrive_engine")), name)
