"""The pure parts an agent is made of: all that `react` may consult, and nothing that acts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from redrive_engine.dialects import DIALECTS, Dialect
from redrive_engine.policy import Grants, Policy
from redrive_engine.tools import Declaration
from redrive_engine.verifiers import Verifier
from redrive_engine.ways import WAYS_OUT
from redrive_events import BadInput, Json, Limits, Part, Purpose, RunStarted, Terms, canonical, digest
from redrive_projections import VIEWS, Message, RunState, offered

# The version of the engine's own behaviour: a run is replayed under the rules it was recorded with.
RULES = 0


@dataclass(frozen=True)
class Program:
    """An agent's pure half. ``tools`` None stands for any tool: the permissive program of an import.

    ``told`` is what the model of an import was told of its tools, as the trace has it.
    """

    name: str
    version: str
    terms: Terms
    prompt: Sequence[Mapping[str, Json]] = ()
    tools: Mapping[str, Declaration] | None = None
    verifiers: Sequence[Verifier] = ()
    policy: Policy | None = None
    told: Sequence[Json] = ()
    dialects: Mapping[str, Dialect] = field(default_factory=lambda: DIALECTS)

    def __post_init__(self) -> None:
        """Refuse a contract that names what does not exist."""
        for word, known in ((self.terms.dialect, self.dialects), (self.terms.view, VIEWS)):
            if word not in known:
                raise BadInput(f"no {word!r}; there are {', '.join(known)}", place=f"contract of {self.name}")

    @property
    def dialect(self) -> Dialect:
        """How replies are read."""
        return self.dialects[self.terms.dialect]

    @property
    def view(self) -> tuple[str, Callable[[RunState], list[Message]]]:
        """What the model is given, with the name and version that is recorded."""
        return VIEWS[self.terms.view]

    def verifiers_of(self, tool: str) -> list[Verifier]:
        """The verifiers of a tool's observations, in the order given."""
        return self._verifiers.get(tool, [])

    @cached_property
    def _verifiers(self) -> dict[str, list[Verifier]]:
        found: dict[str, list[Verifier]] = {}
        for one in self.verifiers:
            found.setdefault(one.tool, []).append(one)
        return found

    @cached_property
    def grants(self) -> Grants:
        """What the contract says of calls."""
        return Grants(self.terms)

    @cached_property
    def offered(self) -> dict[str, Json]:
        """Description and argument schema of each tool that the contract grants: a model is told of no others."""
        granted = self.terms.tools
        tools = {name: tool for name, tool in (self.tools or {}).items() if granted is None or name in granted}
        tools |= {way: WAYS_OUT[way] for way in self.terms.ways_out}
        return {name: {"description": tool.description, "schema": tool.schema} for name, tool in sorted(tools.items())}

    @property
    def taught(self) -> Json:
        """What a model is told of its tools: as the trace has it, or what is offered."""
        return list(self.told) or self.offered

    def offers(self, purpose: Purpose) -> dict[str, Json]:
        """The tools that come with a request."""
        tools: dict[str, Json] = offered(self.offered, purpose, self.terms)
        return tools

    def rest(self, model: str, purpose: Purpose) -> bytes:
        """What of a request is no message, in canonical bytes: model, parameters, tools."""
        if (model, purpose) not in self._rests:
            tools = offered(self.taught, purpose, self.terms)
            rest = {"model": model, "parameters": self.terms.parameters, "tools": tools}
            self._rests[model, purpose] = canonical(rest)
        return self._rests[model, purpose]

    @cached_property
    def _rests(self) -> dict[tuple[str, Purpose], bytes]:
        return {}

    def child(self, budget: Limits) -> Program:
        """The program of a child run: the same agent in its loop, with its own goal, no criteria and nobody to ask."""
        terms = msgspec.structs.replace(
            self.terms,
            budget=budget,
            arm="loop",
            plan=None,
            done={},
            answer="",
            partial="",
            dialogue=False,
            escalation="end",
            recovery=tuple(rung for rung in self.terms.recovery if rung != "escalate"),
        )
        return dataclasses.replace(self, terms=terms)

    @cached_property
    def parts(self) -> dict[str, Part]:
        """Name and digest of each part, with its data where it is data."""
        parts = {
            "contract": Part(digest=digest(self.terms)),
            "dialect": Part(digest=digest(self.dialect.name), data=self.dialect.name),
        }
        if self.prompt:
            parts["prompt"] = Part(digest=digest(self.prompt), data=list(self.prompt))
        if self.taught:
            parts["tools"] = Part(digest=digest(self.taught), data=self.taught)
        if self.policy is not None:
            parts["policy"] = Part(digest=self.policy.wording, data=self.policy.data)
        for name, tool in sorted((self.tools or {}).items()):
            parts[f"tool {name}"] = Part(digest=tool.digest)
        for one in self.verifiers:
            parts[f"verifier {one.name}"] = Part(digest=one.digest)
        return parts

    @property
    def digests(self) -> dict[str, str]:
        """The digest of each part."""
        return {name: part.digest for name, part in self.parts.items()}


def permissive(started: RunStarted) -> Program:
    """The program of a run whose own is not known: what was recorded as data, any tool granted, nothing verified."""
    prompt, told = started.parts.get("prompt"), started.parts.get("tools")
    terms = msgspec.structs.replace(started.contract, tools=None, exclude={})
    return Program(
        started.agent,
        started.version,
        terms,
        prompt=tuple(prompt.data) if prompt else (),
        told=tuple(told.data) if told else (),
    )
