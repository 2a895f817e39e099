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
        FileVault,
        Fork,
        Grounded,
        Guards,
        Landed,
        Mask,
        MemoryVault,
        NotLanded,
        Observed,
        Patience,
        Plan,
        Refused,
        Repeats,
        Run,
        Stagnation,
        StillClock,
        Supersedes,
        Surroundings,
        Tool,
        ToolError,
        ToolUnavailable,
        Vault,
        WorkflowStep,
        annotate,
        approve,
        cancel,
        fork,
        lessons,
        opened,
        revoke,
        say,
        state_outcome,
        tool,
        verifier,
    )
    from redrive_engine.dialects import Decision, Dialect, Proposal, Unreadable
    from redrive_engine.loopback import Fault, Loopback
    from redrive_engine.models import (
        Model,
        ModelRequest,
        ModelTrouble,
        Prices,
        ProviderModel,
        ScriptedModel,
        reply,
        use,
    )
    from redrive_engine.policy import CedarPolicy, Policy, Question, RulesPolicy, Ruling, allow, ask, deny, edit, policy
    from redrive_events import BadInput, MemoryLog, ModelReplied, RedriveError, SqliteLog, ToolUse, Usage
    from redrive_projections import Approval, open_approvals, state_at
    from redrive_projections.history import Notebook, history
    from redrive_replays import Report, replay
    from redrive_replays.testing import incidents

# Where a name comes from if not from the engine itself.
_DOORS = {
    "redrive_engine.dialects": ("Decision", "Dialect", "Proposal", "Unreadable"),
    "redrive_engine.loopback": ("Fault", "Loopback"),
    "redrive_engine.models": (
        *("Model", "ModelRequest", "ModelTrouble", "Prices", "ProviderModel", "ScriptedModel"),
        *("reply", "use"),
    ),
    "redrive_engine.policy": (
        *("CedarPolicy", "Policy", "Question", "RulesPolicy", "Ruling"),
        *("allow", "ask", "deny", "edit", "policy"),
    ),
    "redrive_events": ("BadInput", "MemoryLog", "ModelReplied", "RedriveError", "SqliteLog", "ToolUse", "Usage"),
    "redrive_projections": ("Approval", "open_approvals", "state_at"),
    "redrive_projections.history": ("Notebook", "history"),
    "redrive_replays": ("Report", "replay"),
    "redrive_replays.testing": ("incidents",),
}
_HOME = {name: door for door, names in _DOORS.items() for name in names}

__all__ = [
    "ANY",
    "Agent",
    "Approval",
    "BadInput",
    "Budget",
    "Call",
    "CedarPolicy",
    "Contract",
    "Decision",
    "Dialect",
    "Facts",
    "FailureQuotas",
    "Fault",
    "FileVault",
    "Fork",
    "Grounded",
    "Guards",
    "Landed",
    "Loopback",
    "Mask",
    "MemoryLog",
    "MemoryVault",
    "Model",
    "ModelReplied",
    "ModelRequest",
    "ModelTrouble",
    "NotLanded",
    "Notebook",
    "Observed",
    "Patience",
    "Plan",
    "Policy",
    "Prices",
    "Proposal",
    "ProviderModel",
    "Question",
    "RedriveError",
    "Refused",
    "Repeats",
    "Report",
    "RulesPolicy",
    "Ruling",
    "Run",
    "ScriptedModel",
    "SqliteLog",
    "Stagnation",
    "StillClock",
    "Supersedes",
    "Surroundings",
    "Tool",
    "ToolError",
    "ToolUnavailable",
    "ToolUse",
    "Unreadable",
    "Usage",
    "Vault",
    "WorkflowStep",
    "allow",
    "annotate",
    "approve",
    "ask",
    "cancel",
    "deny",
    "edit",
    "fork",
    "history",
    "incidents",
    "lessons",
    "open_approvals",
    "opened",
    "policy",
    "replay",
    "reply",
    "revoke",
    "say",
    "state_at",
    "state_outcome",
    "tool",
    "use",
    "verifier",
]


def __getattr__(name: str) -> object:
    """Load what is named; `redrive --help` names nothing, so it is quick."""
    if name not in __all__:
        raise AttributeError(f"module 'redrive' has no attribute {name!r}")
    found: object = getattr(importlib.import_module(_HOME.get(name, "redrive_engine")), name)
    globals()[name] = found  # which is asked first the next time
    return found
