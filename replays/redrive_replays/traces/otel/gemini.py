"""Google ADK's spans: request and response of the model as Gemini's JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from redrive_events import Json
from redrive_replays.traces.otel.messages import said_in, said_of
from redrive_replays.traces.otel.values import parsed
from redrive_replays.traces.trace import ASSISTANT, Said

REQUEST: Final = "gcp.vertex.agent.llm_request"
RESPONSE: Final = "gcp.vertex.agent.llm_response"
_COUNTS: Final = {
    "input": ("prompt_token_count", "promptTokenCount"),
    "output": ("candidates_token_count", "candidatesTokenCount"),
    "cache_read": ("cached_content_token_count", "cachedContentTokenCount"),
    "reasoning": ("thoughts_token_count", "thoughtsTokenCount"),
}


def read(attributes: Mapping[str, Json]) -> tuple[list[Said], list[Said], str] | None:
    """The messages of the request, those of the reply, and why it ended; None where the span has none of these."""
    request, response = parsed(attributes.get(REQUEST)), parsed(attributes.get(RESPONSE))
    asked: list[Said] = []
    if isinstance(request, dict) and isinstance(request.get("contents"), list):
        asked = said_in(request["contents"], "user")
        if system := _system(request):
            asked = [*said_in([system], "system"), *asked]
    content = response.get("content") if isinstance(response, dict) else None
    replied = said_of(content, ASSISTANT) if isinstance(content, dict) else []
    finish = response.get("finish_reason") if isinstance(response, dict) else ""
    if not asked and not replied:
        return None
    return asked, [replace(one, role=ASSISTANT) for one in replied], finish if isinstance(finish, str) else ""


def _system(request: Mapping[str, Json]) -> Json:
    config = request.get("config")
    system = config.get("system_instruction") if isinstance(config, dict) else None
    if isinstance(system, dict):
        return {"role": "system", "parts": system.get("parts")}
    return {"role": "system", "content": system} if system else None


def tools(attributes: Mapping[str, Json]) -> list[Json]:
    """The tools that the request declares."""
    request = parsed(attributes.get(REQUEST))
    config = request.get("config") if isinstance(request, dict) else None
    groups = config.get("tools") if isinstance(config, dict) else None
    found: list[Json] = []
    for group in groups if isinstance(groups, list) else ():
        declared = group.get("function_declarations") if isinstance(group, dict) else None
        found += declared if isinstance(declared, list) else [group]
    return found


def tokens(attributes: Mapping[str, Json]) -> dict[str, int]:
    """What the response counts; its thoughts stand beside its other words, here they are among them."""
    response = parsed(attributes.get(RESPONSE))
    counted = response.get("usage_metadata") or response.get("usageMetadata") if isinstance(response, dict) else None
    found: dict[str, int] = {}
    for kind, keys in _COUNTS.items():
        for key in keys:
            number = counted.get(key) if isinstance(counted, dict) else None
            if isinstance(number, int) and not isinstance(number, bool) and number > 0:
                found[kind] = number
    if "output" in found:
        found["output"] += found.get("reasoning", 0)
    return found
