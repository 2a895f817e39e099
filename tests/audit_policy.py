"""What every verdict has to be, whoever ruled: borne out by what it read, and of the call that is then made."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from redrive_engine.policy import Opinionated
from redrive_engine.program import Program
from redrive_events import (
    BadInput,
    DecisionMade,
    Json,
    ModelReplied,
    ProposedCall,
    Record,
    ToolCalled,
    ToolUse,
    VerdictGiven,
    canonical,
    parse_json,
)
from redrive_projections import OPERATORS, compare

ENGINES = {
    *("schema", "unknown tool", "alone", "grounded", "granted", "not granted", "scope", "excluded"),
    *("a step of the plan", "approval", "not approved", "approval expired", "edited over and over", "compensation"),
}


class Verdicts:
    """A verdict says who ruled; an edit changes something and is judged on; what is made is what was allowed."""

    def __init__(self, program: Program) -> None:
        self.digest = program.policy.digest if program.policy else ""
        self.rules = set(program.policy.rules) if isinstance(program.policy, Opinionated) else None
        self.arguments: dict[int, Json] = {}
        self.said: Sequence[object] = ()

    def take(self, append: Sequence[Record]) -> None:
        """One append further."""
        edited = 0
        for event in (record.event for record in append):
            if isinstance(event, ModelReplied):
                self.said = event.content if isinstance(event.content, tuple) else ()
            if isinstance(event, DecisionMade):
                self.arguments |= {one.call: self._proposed(one) for one in event.calls}
            if isinstance(event, VerdictGiven):
                assert edited in {0, event.call}, "an edited call is judged on, before any other"
                edited = event.call if event.verdict == "edit" else 0
                self._given(event)
            if isinstance(event, ToolCalled) and event.call in self.arguments:
                allowed = canonical(self.arguments[event.call])
                assert canonical(event.arguments) == allowed, "what is made is what was allowed"
        assert not edited, "an edit is never the last word"

    def _proposed(self, call: ProposedCall) -> Json:
        """The arguments of a call as they were written: in the reply, or beside the decision."""
        block = self.said[call.block] if call.block is not None else None
        if not isinstance(block, ToolUse):
            return call.arguments
        with suppress(BadInput):
            return parse_json(block.arguments)
        return block.arguments

    def _given(self, event: VerdictGiven) -> None:
        if event.verdict == "edit":
            changes = canonical(event.arguments) != canonical(self.arguments[event.call])
            assert changes or self.rules is None or event.rule == "approval", "an edit of ours changes something"
            self.arguments[event.call] = event.arguments
        else:
            assert event.arguments is None
        assert event.policy in {"", self.digest}
        assert event.text == "" or event.verdict in {"deny", "ask"}, "a call that is made has no words for the model"
        if not event.policy or event.rule == "approval":
            assert event.rule in ENGINES
        elif self.rules is not None:
            assert event.rule in self.rules or (event.verdict, event.rule) == ("deny", "no rule")
        if event.verdict != "deny":
            compared = [one for one in event.read if one.operator in OPERATORS]
            assert all(compare(one.operator, one.value, one.limit) for one in compared), "what it read bears it out"
