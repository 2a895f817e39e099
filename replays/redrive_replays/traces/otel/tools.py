"""Tools at work: which call of which conversation a tool's span is, and what it says of the result."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec

from redrive_events import Content, Json, ToolUse, calls_of, text_of
from redrive_replays.traces.otel import names
from redrive_replays.traces.otel.content import words_of
from redrive_replays.traces.otel.linking import Conversation, agent_of, canonical
from redrive_replays.traces.otel.messages import result_text, text_of_json
from redrive_replays.traces.otel.spans import Span, Tree
from redrive_replays.traces.otel.values import parsed
from redrive_replays.traces.trace import ASSISTANT, Said

_REPR_MAX: Final = 100_000


@dataclass(slots=True, eq=False)
class Call:
    """A call in a conversation: its number there, and the span of the tool at work, if it is found."""

    conversation: Conversation
    number: int
    made: ToolUse
    trace: str
    span: Span | None = None


class Told(NamedTuple):
    """What the events of a tool's span say: the call and its result, as messages."""

    id: str = ""
    arguments: str = ""
    result: Content | None = None


_NOTHING: Final = Told()


def _told(span: Span) -> Told:
    words = words_of(span)
    asked, replied = words.asked[:1], words.replied[:1]
    made = next((call for one in asked for _, call in calls_of(one.content)), None)
    label = made.id if made else next((one for said in asked for one in said.answers), "")
    arguments = made.arguments if made else "".join(text_of(one.content) for one in asked)
    return Told(label, arguments, text_of(replied[0].content) if replied else None)


class Tool:
    """What a tool's span says of itself."""

    def __init__(self, span: Span) -> None:
        self.span = span
        given = span.first(*names.TOOL_ARGUMENTS)
        output = span.first(*names.TOOL_RESULT)
        made = parsed(output)
        index = made.get("tool_name") if isinstance(made, dict) and "blocks" in made else None
        self.name = index if isinstance(index, str) and index else span.text(*names.TOOL_NAME) or _named(span.name)
        told = _told(span) if span.events and (given is None or output is None) else _NOTHING
        label = span.text(*names.TOOL_ID) or _id_in(made) or told.id
        self.id = "" if label in names.NO_IDS else label
        self.arguments = _arguments(given) if given is not None else told.arguments
        self.result = _result(output, made) if output is not None else told.result

    def is_for(self, call: Call) -> bool:
        """Whether this may be the work of that call, which has no id to say so."""
        if self.name and call.made.name != self.name:
            return False
        # With one argument that is a text, some write that text alone.
        mine, theirs = canonical(self.arguments), canonical(call.made.arguments or "{}")
        if mine == theirs or not mine:
            return True
        values = parsed(theirs)
        return isinstance(values, dict) and list(values.values()) == [self.arguments]


def _named(name: str) -> str:
    return name.removeprefix("execute_tool ").removesuffix(".tool").removeprefix("running tool: ")


def _arguments(given: Json) -> str:
    """Arguments as JSON text; LangChain's stand in ``input_str`` as Python writes them."""
    read = parsed(given)
    if isinstance(read, dict) and isinstance(text := read.get("input_str"), str):
        try:
            value = ast.literal_eval(text) if len(text) < _REPR_MAX else text
            return msgspec.json.encode(value).decode()
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError, UnicodeError):
            return text
    if isinstance(read, dict) and read.keys() <= {"args", "kwargs"} and not read.get("args") and read.get("kwargs"):
        given = read["kwargs"]
    return "" if given is None else text_of_json(given)


def _id_in(made: Json) -> str:
    """The id of the call in the message that LangChain makes of a result."""
    message = _message(made)
    label = message.get("tool_call_id") if message else None
    return label if isinstance(label, str) else ""


def _message(made: Json) -> Mapping[str, Json] | None:
    if isinstance(made, dict):
        made = made.get("output", made)
    for key in ("data", "kwargs"):
        inner = made.get(key) if isinstance(made, dict) else None
        if isinstance(inner, dict) and "tool_call_id" in inner:
            return inner
    return None


def _result(output: Json, made: Json) -> Content | None:
    message = _message(made)
    if message is not None:
        return result_text(message.get("content"))
    blocks = made.get("blocks") if isinstance(made, dict) and "tool_name" in made else None
    if isinstance(blocks, list) and len(blocks) == 1 and isinstance(blocks[0], dict):
        # LlamaIndex's result of one text.
        text = blocks[0].get("text")
        return text if isinstance(text, str) else text_of_json(output)
    return None if output is None else text_of_json(output)


def calls_in(conversation: Conversation, said: Sequence[Said], trace: str) -> list[Call]:
    """The calls of a conversation, numbered as the run numbers them."""
    made = (call for one in said if one.role == ASSISTANT for _, call in calls_of(one.content))
    return [Call(conversation, number, call, trace) for number, call in enumerate(made, start=1)]


class Pairing:
    """Calls and the spans of tools, brought together: by id, else by agent, name, arguments and order."""

    def __init__(self, tree: Tree, calls: Iterable[Call]) -> None:
        self.tree = tree
        self.by_span: dict[int, Call] = {}
        self._by_id: dict[tuple[str, str], list[Call]] = {}
        self._by_name: dict[tuple[str, str], list[Call]] = {}
        for call in calls:
            for trace in call.conversation.traces() or {call.trace}:
                if call.made.id:
                    self._by_id.setdefault((trace, call.made.id), []).append(call)
                self._by_name.setdefault((trace, call.made.name), []).append(call)

    def add(self, tool: Tool) -> Call | None:
        """The call that a tool's span works for, which no other does."""
        trace = tool.span.trace
        named = self._by_id.get((trace, tool.id), ()) if tool.id else ()
        found = self._fitting(tool, named)
        if not named:
            # ADK takes the ids of calls out of what it asks the model with.
            near = self._by_name.get((trace, tool.name), ())
            near = [call for call in near if call.span is None and not (tool.id and call.made.id)]
            # Without content it writes empty arguments.
            told = [call for call in near if tool.is_for(call)]
            found = self._fitting(tool, told or (near if tool.arguments == "{}" else ()))
        if found is not None:
            found.span = tool.span
            self.by_span[id(tool.span)] = found
        return found

    def _fitting(self, tool: Tool, calls: Iterable[Call]) -> Call | None:
        agent = agent_of(self.tree, tool.span)
        free = [one for one in calls if one.span is None]
        return next((one for one in free if one.conversation.agent is agent), free[0] if free else None)


def unpaired(tools: Iterable[Tool], pairing: Pairing) -> Iterator[Tool]:
    """The spans of tools that no call is known for, once all others have theirs."""
    for tool in tools:
        if pairing.add(tool) is None:
            yield tool
