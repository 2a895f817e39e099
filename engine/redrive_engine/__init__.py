"""The loop: contract, policy, tools and verifiers; `react`, which says what follows, and `drive`, which writes it."""

from redrive_engine.agent import Agent, Run
from redrive_engine.approving import approve
from redrive_engine.contract import (
    ANY,
    Budget,
    Contract,
    FailureQuotas,
    Guards,
    Plan,
    Repeats,
    Stagnation,
    WorkflowStep,
)
from redrive_engine.drive import append_of, cause_of, drive, lease_of, without_waiting, write
from redrive_engine.envelope import Observed, is_json
from redrive_engine.execution import as_returned
from redrive_engine.explaining import Judging, judgings
from redrive_engine.forking import Fork, fork
from redrive_engine.given import with_given
from redrive_engine.grounded import Grounded
from redrive_engine.lessons import lessons
from redrive_engine.live import LiveWorld, Patience, StillClock, Surroundings, mint
from redrive_engine.loading import load_agent, load_tools, registered, registered_as
from redrive_engine.loop import react
from redrive_engine.masking import FileVault, Mask, MemoryVault, Vault
from redrive_engine.occurrence import occurs
from redrive_engine.program import RULES, Program, permissive
from redrive_engine.signals import annotate, cancel, opened, revoke, say, signal
from redrive_engine.stating import Landing, state_outcome
from redrive_engine.tools import Call, Declaration, Landed, NotLanded, Tool, ToolError, ToolUnavailable, tool
from redrive_engine.verifiers import Facts, Refused, Supersedes, verifier
from redrive_engine.world import Happened, Waiting, World, waiting_of

__all__ = [
    "ANY",
    "RULES",
    "Agent",
    "Budget",
    "Call",
    "Contract",
    "Declaration",
    "Facts",
    "FailureQuotas",
    "FileVault",
    "Fork",
    "Grounded",
    "Guards",
    "Happened",
    "Judging",
    "Landed",
    "Landing",
    "LiveWorld",
    "Mask",
    "MemoryVault",
    "NotLanded",
    "Observed",
    "Patience",
    "Plan",
    "Program",
    "Refused",
    "Repeats",
    "Run",
    "Stagnation",
    "StillClock",
    "Supersedes",
    "Surroundings",
    "Tool",
    "ToolError",
    "ToolUnavailable",
    "Vault",
    "Waiting",
    "WorkflowStep",
    "World",
    "annotate",
    "append_of",
    "approve",
    "as_returned",
    "cancel",
    "cause_of",
    "drive",
    "fork",
    "is_json",
    "judgings",
    "lease_of",
    "lessons",
    "load_agent",
    "load_tools",
    "mint",
    "occurs",
    "opened",
    "permissive",
    "react",
    "registered",
    "registered_as",
    "revoke",
    "say",
    "signal",
    "state_outcome",
    "tool",
    "verifier",
    "waiting_of",
    "with_given",
    "without_waiting",
    "write",
]
