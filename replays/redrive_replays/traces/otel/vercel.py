"""Vercel AI SDK's spans: the prompt as JSON, the reply in attributes of its own."""

from __future__ import annotations

from collections.abc import Mapping

from redrive_events import Block, Json, Text, Thinking
from redrive_replays.traces.otel.messages import said_in, said_of
from redrive_replays.traces.otel.values import parsed
from redrive_replays.traces.trace import ASSISTANT, Said


def read(attributes: Mapping[str, Json]) -> tuple[list[Said], list[Said]] | None:
    """The messages of the request and those of the reply; None where the span has neither."""
    asked = _asked(attributes)
    replied = _replied(attributes)
    return (asked, replied) if asked or replied else None


def _asked(attributes: Mapping[str, Json]) -> list[Said]:
    messages = parsed(attributes.get("ai.prompt.messages"))
    if isinstance(messages, list):
        return said_in(messages, "user")
    prompt = parsed(attributes.get("ai.prompt"))
    if not isinstance(prompt, dict):
        return []
    found: list[Said] = []
    if isinstance(prompt.get("system"), str):
        found.append(Said("system", prompt["system"]))
    given = prompt.get("messages", prompt.get("prompt"))
    return found + (said_in(given, "user") if given is not None else [])


def _replied(attributes: Mapping[str, Json]) -> list[Said]:
    blocks: list[Block] = []
    thoughts = attributes.get("ai.response.reasoning")
    if isinstance(thoughts, str) and thoughts:
        blocks.append(Thinking(text=thoughts))
    for name in ("ai.response.text", "ai.result.text", "ai.response.object", "ai.result.object"):
        words = attributes.get(name)
        if isinstance(words, str) and words:
            blocks.append(Text(text=words))
            break
    calls = parsed(attributes.get("ai.response.toolCalls") or attributes.get("ai.result.toolCalls"))
    made = [{"type": "tool-call", **one} for one in calls if isinstance(one, dict)] if isinstance(calls, list) else []
    for said in said_of({"role": ASSISTANT, "content": made}) if made else ():
        blocks += said.content if not isinstance(said.content, str) else ()
    if not blocks:
        return []
    only = blocks[0]
    return [Said(ASSISTANT, only.text if len(blocks) == 1 and type(only) is Text else tuple(blocks))]
