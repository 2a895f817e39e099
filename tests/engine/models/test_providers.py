"""Providers of other protocols, over a transport that only seems to be one: signed thinking there and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anyio
import httpx2
import pytest
from pydantic_ai.models import Model as LayerModel
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

import redrive as rd
from redrive_events import Json, ModelReplied, Opaque, Text, Thinking, ToolUse, blocks_of
from tests.engine.models.requests import GO, request, said

ANTHROPIC: Json = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-x",
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "content": [
        {"type": "thinking", "thinking": "想一想", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "cmVk"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {"order": "ord_1", "a": "王"}},
    ],
    "usage": {
        "input_tokens": 10,
        "cache_read_input_tokens": 4,
        "cache_creation_input_tokens": 2,
        "output_tokens": 7,
    },
}
RESPONSES: Json = {
    "id": "resp_1",
    "object": "response",
    "created_at": 0,
    "model": "gpt-x",
    "status": "completed",
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "output": [
        {
            "id": "rs_1",
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "想一想"}],
            "encrypted_content": "c2ln",
        },
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
        },
        {
            "id": "fc_1",
            "type": "function_call",
            "call_id": "call_1",
            "name": "find",
            "arguments": '{"order": "ord_1", "a": "王"}',
            "status": "completed",
        },
    ],
    "usage": {
        "input_tokens": 16,
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 3},
        "total_tokens": 23,
    },
}


def anthropic(client: httpx2.AsyncClient) -> LayerModel:
    """A model of that protocol."""
    return AnthropicModel("claude-sonnet-5", provider=AnthropicProvider(api_key="k", http_client=client))


def responses(client: httpx2.AsyncClient) -> LayerModel:
    """A model of that protocol."""
    return OpenAIResponsesModel("gpt-5", provider=OpenAIProvider(api_key="k", http_client=client))


def told_twice(make: Callable[[httpx2.AsyncClient], LayerModel], answer: Json) -> tuple[ModelReplied, Any]:
    """The reply, and what is sent once it has been answered."""
    sent: list[Any] = []

    def answers(asked: httpx2.Request) -> httpx2.Response:
        sent.append(json.loads(asked.content))
        return httpx2.Response(200, json=answer)

    async def talk() -> ModelReplied:
        async with httpx2.AsyncClient(transport=httpx2.MockTransport(answers)) as client:
            model = rd.ProviderModel(make(client))
            reply = await model.ask(request(max_tokens=500))
            (call,) = [block for block in reply.content if isinstance(block, ToolUse)]
            answered = said("tool", "on its way", call_id=call.id)
            await model.ask(
                request(*GO, said("assistant", reply.content), answered, said("system", "Hurry."), max_tokens=500)
            )
            return reply

    return anyio.run(talk), sent[1]


def test_messages_of_anthropic() -> None:
    """Signed and sealed thinking goes back unaltered; system words in the midst go as a user's."""
    reply, sent = told_twice(anthropic, ANTHROPIC)
    *blocks, rest = blocks_of(reply.content)
    assert blocks == [
        Thinking(text="想一想", signature="c2ln"),
        Thinking(text="", signature="cmVk"),
        Text(text="I look."),
        ToolUse(name="find", arguments='{"order":"ord_1","a":"王"}', id="toolu_1"),
    ]
    assert isinstance(rest, Opaque)
    assert (reply.finish, reply.model, reply.response_id) == ("tool_use", "claude-x", "msg_1")
    assert reply.usage == rd.Usage(input=10, cache_read=4, cache_write=2, output=7)
    assert sent["system"] == "You find orders."
    assert [one["content"] for one in sent["messages"] if one["role"] == "assistant"] == [ANTHROPIC["content"]]
    assert sent["messages"][2]["content"][-1]["text"] == "Hurry."


def test_responses_of_openai() -> None:
    """What the provider sealed goes back under the ids that it gave."""
    reply, sent = told_twice(responses, RESPONSES)
    *blocks, _ = blocks_of(reply.content)
    assert blocks == [
        Thinking(text="想一想", signature="c2ln"),
        Text(text="I look."),
        ToolUse(name="find", arguments='{"order": "ord_1", "a": "王"}', id="call_1"),
    ]
    assert (reply.finish, reply.model, reply.response_id) == ("completed", "gpt-x", "resp_1")
    assert reply.usage == rd.Usage(input=12, cache_read=4, output=7, reasoning=3)
    back = {one.get("id"): one for one in sent["input"]}
    assert (back["rs_1"]["encrypted_content"], back["rs_1"]["summary"]) == ("c2ln", RESPONSES["output"][0]["summary"])
    assert json.loads(back["fc_1"]["arguments"]) == {"order": "ord_1", "a": "王"}
    assert sent["input"][-1] == {"role": "system", "content": "Hurry."}


@pytest.mark.parametrize(("make", "answer"), [(anthropic, ANTHROPIC), (responses, RESPONSES)])
def test_the_log_can_hold_it(make: Callable[[httpx2.AsyncClient], LayerModel], answer: Json) -> None:
    """Whole, as a run reads it again: what goes back after that is the same."""
    log = rd.MemoryLog()
    reply, _ = told_twice(make, answer)
    agent = rd.Agent("clerk", "1", rd.Contract(budget=rd.Budget(steps=1)), model=rd.ScriptedModel([reply]))
    run = agent.run("Say.", log=log)
    assert [one.event.content for one in run.records() if isinstance(one.event, ModelReplied)] == [reply.content]
