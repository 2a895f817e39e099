"""What the model may decide: a call, a finish with an answer, an escalation; anything else is no decision."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

import redrive as rd
from redrive_events import Content, parse_json, text_of

VERSION: Final = 1
Words: TypeAlias = Annotated[str, Field(min_length=1, max_length=500)]

# Our own words: what a library says of a misfit is another text with its next version.
ALLOWED: Final = (
    "Reply with one JSON object and nothing else: "
    '{"version": 1, "kind": "tool_call", "summary": "...", "tool": "...", "arguments": {...}}, '
    '{"version": 1, "kind": "finish", "summary": "...", "answer": "..."} or '
    '{"version": 1, "kind": "escalate", "summary": "...", "reason": "..."}.'
)


class _Typed(BaseModel):
    """What all decisions have; a key that is none of theirs is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    version: Literal[1]
    summary: Words


class ToolCall(_Typed):
    """A tool is to be called."""

    kind: Literal["tool_call"]
    tool: Words
    arguments: dict[str, Any]


class Finish(_Typed):
    """It is done, and this is the answer."""

    kind: Literal["finish"]
    answer: Words


class Escalate(_Typed):
    """A person is to take over."""

    kind: Literal["escalate"]
    reason: Words


Typed: TypeAlias = Annotated[ToolCall | Finish | Escalate, Field(discriminator="kind")]
_TYPED: Final[TypeAdapter[ToolCall | Finish | Escalate]] = TypeAdapter(Typed)


class OrderDecisions:
    """One typed decision a reply; the version of the schema is part of the name, and so of the recorded contract."""

    name = f"order-decision.{VERSION}"

    def read(self, content: Content) -> rd.Decision | rd.Unreadable:
        """The decision, if the reply is one as a whole."""
        try:
            match _TYPED.validate_python(parse_json(text_of(content))):
                case ToolCall(summary=summary, tool=tool, arguments=arguments):
                    return rd.Decision("call", summary, (rd.Proposal(tool, arguments=arguments),))
                case Finish(summary=summary, answer=answer):
                    return rd.Decision("finish", summary, answer=answer)
                case Escalate(summary=summary, reason=reason):
                    return rd.Decision("escalate", summary, answer=reason)
        except (rd.BadInput, ValidationError):
            return rd.Unreadable("no decision of this schema", ALLOWED)
