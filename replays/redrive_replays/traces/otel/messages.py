"""A message in any of the shapes that conventions give it, as what was said: text, calls, thinking, and results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from redrive_events import Block, Content, Json, Opaque, Text, Thinking, ToolUse, blocks_of
from redrive_replays.traces.otel.nested import are_parts, kind_of_part, opened, thought_of
from redrive_replays.traces.otel.values import parsed
from redrive_replays.traces.trace import ASSISTANT, RESULTS, Said

ROLES: Final = {"model": ASSISTANT, "ai": ASSISTANT, "human": "user", "bot": ASSISTANT}
# Where the parts of a message stand, and what a part is called by each convention.
_PARTS: Final = ("parts", "contents", "content", "text")
_TEXTS: Final = {"text", "input_text", "output_text"}
_THINKING: Final = {"reasoning", "thinking"}
_CALLS: Final = {"tool_call", "tool-call", "tool_use", "function_call", "function"}
_RESULTS: Final = {"tool_call_response", "tool-result", "tool_result", "function_response"}
_KINDS: Final = _TEXTS | _THINKING | _CALLS | _RESULTS | {"image_url", "image", "input_image", "file", "input_audio"}
_WORDS: Final = ("content", "text", "thinking", "reasoning")
_ARGUMENTS: Final = ("arguments", "args", "input")
_IDS: Final = ("id", "toolCallId", "tool_call_id", "call_id", "tool_use_id", "toolUseId")
_ANSWERS: Final = ("response", "result", "output", "content")
_READ: Final = frozenset(
    {"role", "tool_calls", "tool_call_id", "name", "id", "finish_reason", "index", "function_call", *_PARTS}
) | {"function_call_name", "function_call_arguments_json", "message", "refusal", "event.name", "gen_ai.message.index"}


def text_of_json(value: Json) -> str:
    """Text as it is; anything else as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _str(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _first(one: Mapping[str, Json], names: Sequence[str]) -> Json:
    return next((one[name] for name in names if one.get(name) is not None), None)


def said_in(messages: Json, role: str = "") -> list[Said]:
    """All that a list of messages says; what is no message is text of ``role``, or kept as it came."""
    messages = messages if isinstance(messages, list) else [messages]
    found: list[Said] = []
    for message in messages:
        if isinstance(message, dict):
            found += said_of(message, role)
        elif isinstance(message, str) and message:
            found.append(Said(role or "user", message))
        elif message is not None:
            found.append(Said(role or "user", (Opaque(data=message),)))
    return with_thoughts_joined(found)


def said_of(message: Mapping[str, Json], role: str = "") -> list[Said]:
    """What one message says: words in its role, and each result that stands in it by itself, in their order."""
    for key in ("message", "prompt", "completion"):
        if isinstance(message.get(key), dict):
            message = message[key]
    message = opened(message)
    role = _str(message.get("role")) or role or "user"
    role = ROLES.get(role, role)
    blocks, results = _blocks(message, role)
    calls = [block for block in blocks if type(block) is ToolUse]
    known = {block.id for block in calls if block.id}
    for call in _calls_beside(message):
        # Some write each call twice: among the parts, and beside them.
        if not (call.id in known if call.id else any(call == one for one in calls)):
            blocks.append(call)
    extras = {key: value for key, value in message.items() if key not in _READ and value is not None}
    if role in RESULTS and not results:
        answers = _str(_first(message, ("tool_call_id", "id", "call_id")))
        return [Said(role, _content(blocks), (answers,) if answers else (), _str(message.get("name")), extras=extras)]
    if role not in RESULTS and role != ASSISTANT and _str(message.get("name")):
        extras["name"] = message["name"]
    said = list(results)
    if blocks or not results:
        said.append(Said(role, _content(blocks), extras=extras))
    return said


def _content(blocks: list[Block]) -> Content:
    """One text is plain text; calls stand behind the words that belong to them."""
    if len(blocks) == 1 and type(blocks[0]) is Text:
        return blocks[0].text
    return tuple(blocks)


def _blocks(message: Mapping[str, Json], role: str) -> tuple[list[Block], list[Said]]:
    blocks: list[Block] = []
    results: list[Said] = []
    for part in _parts_of(message, role):
        if isinstance(part, dict):
            one = _part(part)
            if isinstance(one, Said):
                results.append(one)
            elif one is not None:
                blocks.append(one)
        elif isinstance(part, str):
            blocks.append(Text(text=part))
        elif part is not None:
            blocks.append(Opaque(data=part))
    if _str(message.get("refusal")):
        blocks.append(Opaque(data={"refusal": message["refusal"]}))
    return blocks, results


def _parts_of(message: Mapping[str, Json], role: str) -> list[Json]:
    content = _first(message, _PARTS)
    if isinstance(content, str) and role not in RESULTS:
        # An old writer puts parts as JSON into the text, and says nothing as two quotation marks.
        read = parsed(content)
        typed = isinstance(read, list) and read and all(isinstance(one, dict) and _is_part(one) for one in read)
        if isinstance(read, list) and (typed or are_parts(read)):
            return read
        content = "" if content == '""' else content
        return [content] if content else []
    if isinstance(content, str) and "toolResult" in content and are_parts(read := parsed(content)):
        content = read
    if content is None or isinstance(content, list):
        return content or []
    if role in RESULTS and isinstance(content, dict):
        return [text_of_json(content)]
    return [content]


def _is_part(one: Mapping[str, Json]) -> bool:
    kind = one.get("type")
    return isinstance(kind, str) and kind in _KINDS


def _part(part: Mapping[str, Json]) -> Block | Said | None:
    if isinstance(inner := part.get("message_content"), dict):
        # OpenInference: what a part is stands one level below, a call beside it.
        call = part.get("tool_call")
        part = {**inner, "tool_call": call} if call is not None else inner
    kind = _kind(part)
    for kinds, read in _READERS:
        if kind in kinds and (found := read(part)) is not None:
            return found
    return Opaque(data=dict(part))


def _kind(part: Mapping[str, Json]) -> str:
    """What a part is; Gemini's and Bedrock's have no type but one key."""
    kind = part.get("type")
    return kind if isinstance(kind, str) else kind_of_part(part)


def _text(part: Mapping[str, Json]) -> Block | None:
    words = _first(part, ("content", "text"))
    return Text(text=words) if isinstance(words, str) else None


def _thinking(part: Mapping[str, Json]) -> Block | None:
    part = thought_of(part)
    words = _first(part, _WORDS)
    if words is None:
        return Thinking(text="")
    return Thinking(text=words, signature=_str(part.get("signature"))) if isinstance(words, str) else None


def _call(part: Mapping[str, Json]) -> Block | None:
    inner = _first(part, ("tool_call", "function_call", "functionCall", "toolUse"))
    part = {**part, **inner} if isinstance(inner, dict) else part
    function = part.get("function")
    made = function if isinstance(function, dict) else part
    name = made.get("name") or made.get("toolName") or part.get("name")
    if not isinstance(name, str) or not name:
        return None
    arguments = _first(made, _ARGUMENTS)
    return ToolUse(
        name=name,
        arguments="" if arguments is None else text_of_json(arguments),
        id=_str(_first(part, _IDS)),
    )


def _result(part: Mapping[str, Json]) -> Said | None:
    inner = _first(part, ("function_response", "functionResponse", "toolResult"))
    part = inner if isinstance(inner, dict) else part
    answer = _first(part, _ANSWERS)
    failed = part.get("status") == "error" or part.get("is_error") is True or part.get("isError") is True
    if isinstance(answer, dict) and answer.keys() <= {"type", "value", "providerOptions"} and "value" in answer:
        failed = failed or _str(answer.get("type")).startswith("error")
        answer = answer["value"]
    label = _str(_first(part, _IDS))
    return Said(
        "tool",
        result_text(answer),
        (label,) if label else (),
        _str(_first(part, ("name", "toolName"))),
        status="error" if failed else "ok",
    )


def result_text(answer: Json) -> Content:
    """What a result says: text, the text of its only part, else JSON."""
    if isinstance(answer, list) and len(answer) == 1 and isinstance(answer[0], dict):
        words = answer[0].get("text")
        if answer[0].keys() <= {"type", "text"} and isinstance(words, str):
            return words
    return () if answer is None else text_of_json(answer)


_READERS: Final[tuple[tuple[set[str], Callable[[Mapping[str, Json]], Block | Said | None]], ...]] = (
    (_TEXTS, _text),
    (_THINKING, _thinking),
    (_CALLS, _call),
    (_RESULTS, _result),
)


def _calls_beside(message: Mapping[str, Json]) -> Iterator[ToolUse]:
    """The calls that stand beside the content."""
    calls = parsed(message.get("tool_calls"))
    for one in calls if isinstance(calls, list) else ():
        call = _call(one) if isinstance(one, dict) else None
        if isinstance(call, ToolUse):
            yield call
    old = message.get("function_call")
    call = _call(old) if isinstance(old, dict) else None
    if isinstance(call, ToolUse):
        yield call
    if isinstance(name := message.get("function_call_name"), str) and name:
        arguments = message.get("function_call_arguments_json")
        yield ToolUse(name=name, arguments="" if arguments is None else text_of_json(arguments))


def with_thoughts_joined(said: list[Said]) -> list[Said]:
    """What was only thought belongs to the words or calls of the same reply that follow."""
    found: list[Said] = []
    for one in said:
        before = found[-1] if found else None
        if before and before.role == one.role == ASSISTANT and _only_thinks(before.content):
            found[-1] = Said(ASSISTANT, (*blocks_of(before.content), *blocks_of(one.content)), extras=one.extras)
        else:
            found.append(one)
    return found


def _only_thinks(content: Content) -> bool:
    return not isinstance(content, str) and bool(content) and all(type(block) is Thinking for block in content)
