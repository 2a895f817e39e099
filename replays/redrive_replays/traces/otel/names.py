"""The names of attributes that conventions and their dialects use, one table for each thing that they say."""

from __future__ import annotations

from typing import Final, Literal

# What a span is, by GenAI's operation, OpenInference's kind, Traceloop's kind.
OPERATION: Final = "gen_ai.operation.name"
OPEN_INFERENCE: Final = "openinference.span.kind"
TRACELOOP: Final = "traceloop.span.kind"
MODEL_OPERATIONS: Final = frozenset({"chat", "text_completion", "generate_content", "completion", "responses"}) | {
    # Semantic Kernel's.
    *(
        "chat.completions",
        "chat_completions",
        "chat.streaming_completions",
        "text.completions",
        "text.streaming_completions",
    ),
}
AGENT_OPERATIONS: Final = frozenset({"invoke_agent", "invoke_workflow", "process_thread_run"})
TOOL_OPERATIONS: Final = frozenset({"execute_tool"})
# Vercel's spans by their operation: the model is asked inside of the outer ones, which count the same tokens again.
VERCEL: Final = ("ai.operationId", "operation.name")
VERCEL_ASKED: Final = (".doGenerate", ".doStream")
VERCEL_OUTER: Final = ("ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject")
# What observers of models call a span, by the attribute in which they say so.
OBSERVED: Final[dict[str, dict[str, Literal["model", "agent", "tool"]]]] = {
    "langfuse.observation.type": {"generation": "model", "agent": "agent", "tool": "tool"},
    "lmnr.span.type": {"LLM": "model", "TOOL": "tool"},
    "langsmith.span.kind": {"llm": "model", "tool": "tool"},
    # MLflow writes each value as JSON.
    "mlflow.spanType": {'"CHAT_MODEL"': "model", '"LLM"': "model", '"AGENT"': "agent", '"TOOL"': "tool"},
    "agentops.span.kind": {"llm": "model", "agent": "agent", "tool": "tool", "workflow": "agent"},
}
# ADK's summary of several tools, which is the work of none; and a step of Strands' loop, which tells all once more.
NO_IDS: Final = frozenset({"<not specified>"})
NO_WORK: Final = frozenset({"(merged tools)"})
STEPS: Final = ("execute_event_loop_cycle", "Cycle ")
VERCEL_TOOL: Final = "ai.toolCall"

# Tokens: the first name that is there counts. Those of the prompt contain the cached ones.
TOKENS: Final = {
    "input": (
        *("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"),
        *("ai.usage.inputTokens", "ai.usage.promptTokens", "llm.usage.prompt_tokens"),
        "gen_ai.response.prompt_tokens",
    ),
    "output": (
        *("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"),
        *("ai.usage.outputTokens", "ai.usage.completionTokens", "llm.usage.completion_tokens"),
        "gen_ai.response.completion_tokens",
    ),
    "cache_read": (
        *("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens"),
        *("llm.token_count.prompt_details.cache_read", "ai.usage.cachedInputTokens"),
        *("gen_ai.usage.details.cache_read_tokens", "gen_ai.usage.input_tokens.cached"),
        *("ai.usage.inputTokenDetails.cacheReadTokens", "gen_ai.usage.cached_tokens"),
    ),
    "cache_write": (
        *("gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_creation_input_tokens"),
        *("gen_ai.usage.cache_write.input_tokens", "gen_ai.usage.cache_write_input_tokens"),
        "llm.token_count.prompt_details.cache_write",
        *("gen_ai.usage.details.cache_write_tokens", "ai.usage.inputTokenDetails.cacheWriteTokens"),
    ),
    "reasoning": (
        *("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens"),
        *("llm.token_count.completion_details.reasoning", "ai.usage.reasoningTokens"),
        *("gen_ai.usage.details.reasoning_tokens", "gen_ai.usage.output_tokens.reasoning"),
        *("ai.usage.outputTokenDetails.reasoningTokens", "gen_ai.usage.experimental.reasoning_tokens"),
    ),
}
# Attributes that hold all counts as JSON, or a response that has them under "usage"; and what they are called there.
COUNTED: Final = ("mlflow.chat.tokenUsage", "llm.token.counts", "response_data")
COUNTS: Final = {
    "input": ("input_tokens", "prompt_tokens"),
    "output": ("output_tokens", "completion_tokens"),
    "cache_read": ("cache_read_input_tokens", "cached_tokens"),
    "cache_write": ("cache_creation_input_tokens",),
    "reasoning": ("reasoning_tokens",),
}
COUNT_DETAILS: Final = (
    *("prompt_tokens_details", "input_tokens_details", "completion_tokens_details", "output_tokens_details"),
)
# What holds the system's words of all requests inside of an agent that do not have them themselves.
AGENT_SYSTEM: Final = ("system_prompt",)
COST: Final = ("gen_ai.usage.cost", "llm.cost.total", "operation.cost", "gen_ai.usage.total_cost", "gen_ai.cost.total")

REQUEST_MODEL: Final = ("gen_ai.request.model", "llm.request.model_name", "ai.model.id", "llm.request.model")
RESPONSE_MODEL: Final = (
    *("gen_ai.response.model", "llm.response.model_name", "llm.model_name", "ai.response.model", "llm.response.model"),
    "model_name",
)
RESPONSE_ID: Final = ("gen_ai.response.id", "ai.response.id", "llm.response.id")
FINISH: Final = (
    *("gen_ai.response.finish_reasons", "gen_ai.response.finish_reason", "llm.finish_reason"),
    *("ai.response.finishReason", "ai.finishReason", "anthropic.message.stop_reason", "llm.response.finish_reason"),
    "gen_ai.completion.0.finish_reason",
)
PARAMETERS: Final = "gen_ai.request."
NO_PARAMETERS: Final = frozenset({"gen_ai.request.model"})
CHOICES: Final = ("gen_ai.request.choice.count",)

# What a tool's span says of its end, beside its status; "error" is the word of all.
TOOL_STATUS: Final = ("gen_ai.tool.status", "tool.status")

AGENT: Final = (
    *("gen_ai.agent.name", "agent.name", "agent_name", "gen_ai.workflow.name", "ai.telemetry.functionId"),
    *("traceloop.entity.name", "graph.node.name", "graph.node.id", "traceloop.workflow.name"),
)
CONVERSATION: Final = (
    *("gen_ai.conversation.id", "session.id", "ai.telemetry.metadata.sessionId", "gcp.vertex.agent.session_id"),
)
LABELS: Final = {
    "agent_id": ("gen_ai.agent.id",),
    "user": ("user.id", "enduser.id"),
    "workflow": ("gen_ai.workflow.name", "traceloop.workflow.name"),
}

TOOL_NAME: Final = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "tool_name", "traceloop.entity.name")
TOOL_ID: Final = ("gen_ai.tool.call.id", "tool_call.id", "ai.toolCall.id", "tool.id", "tool_call_id")
TOOL_ARGUMENTS: Final = (
    *("gen_ai.tool.call.arguments", "tool_arguments", "ai.toolCall.args", "gcp.vertex.agent.tool_call_args"),
    *("input.value", "traceloop.entity.input", "input", "langfuse.observation.input", "lmnr.span.input"),
    "mlflow.spanInputs",
)
TOOL_RESULT: Final = (
    *("gen_ai.tool.call.result", "tool_response", "ai.toolCall.result", "gcp.vertex.agent.tool_response"),
    *("output.value", "traceloop.entity.output", "output", "langfuse.observation.output", "lmnr.span.output"),
    "mlflow.spanOutputs",
)
TOOLS: Final = ("gen_ai.tool.definitions", "ai.prompt.tools", "gen_ai.request.tools")

# Where the words stand: as JSON on the span or on an event of it.
SYSTEM: Final = "gen_ai.system_instructions"
INPUT: Final = "gen_ai.input.messages"
OUTPUT: Final = "gen_ai.output.messages"
DETAILS: Final = "gen_ai.client.inference.operation.details"
ALL: Final = ("pydantic_ai.all_messages", "all_messages_events", "all_messages")
EVENT_ROLES: Final = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
CHOICE: Final = "gen_ai.choice"
# Azure has all that an event says as JSON in one attribute.
EVENT_CONTENT: Final = "gen_ai.event.content"
# What stands for words that were not to be recorded.
HIDDEN: Final = frozenset({"<elided>", "__REDACTED__", "[REDACTED]", "<redacted>", "REDACTED"})
# Where they stand in attributes with numbers: request, reply.
NUMBERED: Final = (
    ("llm.input_messages", "llm.output_messages"),
    ("gen_ai.prompt", "gen_ai.completion"),
    ("llm.prompts", "llm.completions", "llm.choices"),
)
NUMBERED_TOOLS: Final = ("llm.tools", "llm.request.functions")
# Attributes whose values are read, by how their names begin: what is left is kept as it is.
READ: Final = (
    *("gen_ai.usage.", "gen_ai.request.", "gen_ai.response.", "gen_ai.input.messages", "gen_ai.output.messages"),
    *("gen_ai.system_instructions", "gen_ai.tool.", "gen_ai.prompt", "gen_ai.completion", "gen_ai.operation.name"),
    *("llm.input_messages", "llm.output_messages", "llm.tools", "llm.token_count.", "llm.usage.", "llm.prompts"),
    *("llm.completions", "llm.request.functions", "llm.model_name", "llm.finish_reason", "openinference.span.kind"),
    *("ai.prompt", "ai.response.", "ai.usage.", "ai.toolCall.", "ai.model.id", "ai.operationId", "operation.name"),
    *("gcp.vertex.agent.llm_re", "gcp.vertex.agent.tool_", "input.", "output.", "pydantic_ai.all_messages"),
    *("all_messages", "events", "tool_arguments", "tool_response", "final_result", "logfire.json_schema"),
    *("tool.name", "tool.parameters", "tool.description", "traceloop.entity.input", "traceloop.entity.output"),
    *("traceloop.span.kind", "otel.scope.", "span.kind", "gen_ai.agent.name", "model_request_parameters"),
    *("gen_ai.conversation.id", "llm.request.type", "model_name", "agent_name", "request_data", "response_data"),
)
