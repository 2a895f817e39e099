"""What is checked: an agent's contract and program, and which of its tools may come to be called at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple, Self

from redrive_engine.agent import Agent
from redrive_engine.contract import Contract
from redrive_engine.models import Prices
from redrive_engine.policy import Known, KnownTool, PolicyList, RulesPolicy, meant
from redrive_engine.program import Program
from redrive_engine.tools import Declaration
from redrive_events import Terms

# Replies in these dialects hold one call at most; those of others may hold any number.
ONE_CALL: Final = frozenset({"json", "react"})


class Flaw(NamedTuple):
    """What is wrong with a contract that is well written, and where."""

    place: str
    text: str


@dataclass(frozen=True)
class Subject:
    """An agent that is checked; ``reconcilable`` are its tools that an authority can be asked about.

    ``model`` is the name of its model, empty where that costs nothing.
    """

    contract: Contract
    program: Program
    reconcilable: frozenset[str] = frozenset()
    model: str = ""
    prices: Prices | None = None

    @classmethod
    def of(cls, agent: Agent, prices: Prices | None = None, *, model: str = "") -> Self:
        """An agent, with its own table of prices, or another; ``model`` is asked in place of its own.

        Raises:
            BadInput: its table of prices cannot be read.
        """
        own = Prices.from_toml(agent.prices) if isinstance(agent.prices, Path) else agent.prices
        return cls(
            agent.contract,
            agent.program,
            frozenset(name for name, tool in agent.tools.items() if tool.reconciler is not None),
            model or str(getattr(agent.model, "name", "")),
            prices or own,
        )

    @property
    def terms(self) -> Terms:
        """The contract as it is recorded."""
        return self.program.terms

    @cached_property
    def tools(self) -> Mapping[str, Declaration]:
        """All tools of the agent."""
        return self.program.tools or {}

    @cached_property
    def granted(self) -> Mapping[str, Declaration]:
        """Those that the contract grants; a run that is driven otherwise than by a loop may have none."""
        granted = self.terms.tools
        return {name: one for name, one in self.tools.items() if granted is None or name in granted}

    @cached_property
    def barred(self) -> Mapping[str, str]:
        """The tools of which no call is ever made, and why."""
        return {name: why for name in self.tools if (why := self._barred(name))}

    @cached_property
    def usable(self) -> Mapping[str, Declaration]:
        """The tools of which a call may be made, as far as can be said beforehand."""
        return {name: one for name, one in self.tools.items() if name not in self.barred}

    @cached_property
    def known(self) -> Known:
        """What rules may speak of."""
        return known_of(self.program)

    @cached_property
    def rules(self) -> tuple[tuple[RulesPolicy, ...], bool]:
        """The policies of rules in its policy, and whether there is nothing else that decides."""
        policy = self.program.policy
        parts = policy.policies if isinstance(policy, PolicyList) else () if policy is None else (policy,)
        written = tuple(one for one in parts if isinstance(one, RulesPolicy))
        return written, len(written) == len(parts)

    def _barred(self, name: str) -> str:
        if self.terms.arm == "direct":
            return "a direct answer calls nothing"
        if self.terms.arm == "workflow" and name not in {step.tool for step in self.terms.workflow}:
            return "the workflow does not call it"
        if name not in self.granted:
            return "it is not granted"
        if self.terms.exclude.get(name) == {}:
            return "all calls of it are excluded"
        written, alone = self.rules
        rules = [rule for policy in written for rule in policy.written if rule.then in {"allow", "ask"}]
        judged = alone and self.program.policy is not None
        if judged and not any(name in meant(rule, self.known) for rule in rules):
            return "no rule allows it"
        return ""


def known_of(program: Program) -> Known:
    """What the rules of a program may speak of."""
    tools, granted = program.tools or {}, program.terms.tools
    return Known(
        tools={
            name: KnownTool(one.effect, tuple(one.schema.get("properties", {})), one.object, one.destination)
            for name, one in tools.items()
        },
        granted=tuple(name for name in tools if granted is None or name in granted),
        facts=tuple(key for verifier in program.verifiers for key in verifier.commits),
    )


def listed(names: Iterable[str]) -> str:
    """Names for a reader."""
    return ", ".join(sorted(names)) or "none"
