"""The front door: everything a user writes or reads, by one import, loaded when it is first named."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redrive_engine.agent import Agent, Run
    from redrive_engine.contract import ANY, Budget, Contract, FailureQuotas
    from redrive_engine.live.surroundings import StillClock, Surroundings
    from redrive_engine.live.world import Patience
    from redrive_engine.models import Model, ModelRequest, ModelTrouble, ScriptedModel, reply, use
    from redrive_engine.policy import Policy, Question, RulesPolicy, Ruling
    from redrive_engine.signals import annotate, cancel, say
    from redrive_engine.tools import Call, Landed, NotLanded, Observed, Tool, ToolError, tool
    from redrive_engine.verifiers import Facts, Refused, Supersedes, verifier
    from redrive_events import BadInput, MemoryLog, RedriveError, SqliteLog
    from redrive_replays import Report, replay

_DOORS = {
    "redrive_engine.agent": ("Agent", "Run"),
    "redrive_engine.contract": ("ANY", "Budget", "Contract", "FailureQuotas"),
    "redrive_engine.live.surroundings": ("StillClock", "Surroundings"),
    "redrive_engine.live.world": ("Patience",),
    "redrive_engine.models": ("Model", "ModelRequest", "ModelTrouble", "ScriptedModel", "reply", "use"),
    "redrive_engine.policy": ("Policy", "Question", "RulesPolicy", "Ruling"),
    "redrive_engine.signals": ("annotate", "cancel", "say"),
    "redrive_engine.tools": ("Call", "Landed", "NotLanded", "Observed", "Tool", "ToolError", "tool"),
    "redrive_engine.verifiers": ("Facts", "Refused", "Supersedes", "verifier"),
    "redrive_events": ("BadInput", "MemoryLog", "RedriveError", "SqliteLog"),
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
    if name not in _HOME:
        raise AttributeError(f"module 'redrive' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)
