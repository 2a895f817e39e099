"""A conversation of spans as the messages of a run: each request's new ones, each reply with what its span counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from redrive_events import Block, Content, Json, Text, ToolUse, blocks_of, calls_of
from redrive_replays.traces.otel import names
from redrive_replays.traces.otel.asked import Asked
from redrive_replays.traces.otel.linking import Conversation
from redrive_replays.traces.otel.spans import Span
from redrive_replays.traces.otel.tools import Call, Tool
from redrive_replays.traces.trace import ASSISTANT, RESULTS, SYSTEM, Said


def said_in_turns(conversation: Conversation) -> list[Said]:
    """What was said, in order: the first request, its reply, what is new in the next one, and so on."""
    said: list[Said] = []
    previous: Asked | None = None
    for turn in conversation.turns:
        if previous is not None and (not previous.words.replied):
            said.append(_reply(previous, turn.replied))
        new = turn.asked.words.asked[turn.new :]
        kept = new if previous is None else [one for one in new if one.role not in SYSTEM]
        said += [replace(one, at=one.at or turn.asked.span.start) for one in kept]
        if turn.asked.words.replied:
            said.append(_reply(turn.asked, turn.asked.words.replied))
        previous = turn.asked
    if previous is not None and not previous.words.replied:
        said.append(_reply(previous, ()))
    return _by_order(said)


def _by_order(said: list[Said]) -> list[Said]:
    """Results whose ids are those of no call answer the calls that nothing answers, in their order.

    One SDK tells of calls by the ids of its items, and of results by those of the calls.
    """
    made = [call.id for one in said if one.role == ASSISTANT for _, call in calls_of(one.content)]
    known = set(made)
    given = {label for one in said if one.role in RESULTS for label in one.answers}
    waiting = sum(label not in given for label in made if label)
    found: list[Said] = []
    for one in said:
        lost = one.role in RESULTS and one.answers and known.isdisjoint(one.answers)
        if lost and waiting:
            waiting -= 1
            one = replace(one, answers=(), extras={**one.extras, "tool_call_id": one.answers[0]})  # noqa: PLW2901
        found.append(one)
    return found


def _reply(asked: Asked, replied: Sequence[Said]) -> Said:
    """A reply; in several messages it is one, unless more than one choice was asked for."""
    extras = {key: value for one in replied for key, value in one.extras.items()} | rest_of(asked.span)
    if len(replied) > 1 and asked.span.first(*names.CHOICES) not in (None, 1):
        extras["choices"] = [_plain(one.content) for one in replied[1:]]
        replied = replied[:1]
    return Said(ASSISTANT, _together(replied), meta=asked.meta(), at=asked.span.end, extras=extras)


def _plain(content: Content) -> Json:
    return content if isinstance(content, str) else [str(getattr(one, "text", "")) for one in content]


def _together(replied: Sequence[Said]) -> Content:
    if len(replied) == 1:
        return replied[0].content
    blocks: list[Block] = []
    for one in replied:
        blocks += (block for block in blocks_of(one.content) if block != Text(text=""))
    return tuple(blocks)


def rest_of(span: Span) -> dict[str, Json]:
    """What a span has that is not read, and what happened in it, each under a plain name."""
    attributes = {key: value for key, value in span.attributes.items() if not key.startswith(names.READ)}
    found: dict[str, Json] = {"span": span.id} if span.id else {}
    if attributes:
        found["attributes"] = attributes
    if span.error is not None:
        found["error"] = span.error
    happened = [
        {"name": one.name, **dict(one.attributes)}
        for one in span.events
        if one.name and not one.name.startswith(("gen_ai.content.", *names.EVENT_ROLES, names.CHOICE, names.DETAILS))
    ]
    return {**found, "events": happened} if happened else found


def said_without_words(conversation: Conversation, tools: Sequence[Tool]) -> list[Said]:
    """Replies of which only the tokens, and perhaps the words, are there: a tool that begins behind one is its call."""
    turns = conversation.turns
    asks = [turn.asked for turn in turns]
    starts = [one.span.start for one in asks[1:]]
    said: list[Said] = []
    waiting = list(tools)
    for place, one in enumerate(asks):
        until = starts[place] if place < len(starts) else None
        mine = [tool for tool in waiting if _before(tool.span.start, until)]
        waiting = waiting[len(mine) :]
        reply = _reply(one, one.words.replied)
        made = list(calls_of(reply.content))
        if mine and not made:
            calls = tuple(_call_of(tool) for tool in mine)
            words = tuple(block for block in blocks_of(reply.content) if block != Text(text=""))
            reply.content = (*words, *calls)
        said.append(reply)
        said += (result_of(tool) for tool in mine)
    return said


def _before(one: datetime | None, other: datetime | None) -> bool:
    return other is None or one is None or one < other


def said_by_tools(tools: Sequence[Tool]) -> Iterator[Said]:
    """Calls of which no request to a model is there."""
    for tool in tools:
        yield Said(ASSISTANT, (_call_of(tool),), at=tool.span.start)
        yield result_of(tool)


def has_failed(span: Span) -> bool:
    """Whether a tool's span says that its work failed."""
    return span.error is not None or span.text(*names.TOOL_STATUS) == "error"


def _call_of(tool: Tool) -> ToolUse:
    return ToolUse(name=tool.name or "unknown", arguments=tool.arguments, id=tool.id or tool.span.id)


def result_of(tool: Tool) -> Said:
    """What a tool's span says came of it."""
    content = tool.result if tool.result is not None else (tool.span.error or "")
    failed = has_failed(tool.span)
    return Said(
        "tool",
        content,
        tuple(filter(None, (tool.id or tool.span.id,))),
        tool.name,
        at=tool.span.end,
        status="error" if failed else "ok",
        extras=rest_of(tool.span),
    )


def with_tools(said: Sequence[Said], calls: Sequence[Call], tools: Mapping[int, Tool]) -> tuple[list[Said], int]:
    """Results with the time and the status of their tool's span; how many of the last stand only there."""
    found: list[Said] = []
    open_calls: list[Call] = []
    numbered = iter(calls)
    for one in said:
        if one.role == ASSISTANT:
            made = [next(numbered) for _ in calls_of(one.content)]
            open_calls = [*open_calls, *made] if made else open_calls
        elif one.role in RESULTS and (call := _answered(open_calls, one)) is not None:
            open_calls.remove(call)
            if call.span is not None:
                one = _with_span(one, call.span)  # noqa: PLW2901 - the same result, told better
        found.append(one)
    last = [call for call in open_calls if call.span is not None] if found and found[-1].calls else []
    for call in last:
        if call.span is not None:
            answer = result_of(tools[id(call.span)])
            found.append(replace(answer, answers=(call.made.id,) if call.made.id else ()))
    return found, len(last)


def _answered(open_calls: Sequence[Call], result: Said) -> Call | None:
    named = [call for call in open_calls if call.made.id and call.made.id in result.answers]
    if named:
        return named[0]
    free = [call for call in open_calls if not (result.answers and call.made.id)]
    return next((call for call in free if call.made.name == result.name), free[0] if free and not result.name else None)


def _with_span(result: Said, span: Span) -> Said:
    failed = has_failed(span)
    extras = {**rest_of(span), **result.extras}
    return replace(result, at=span.end or result.at, status="error" if failed else result.status, extras=extras)
