"""What a model was asked with and what it said, in whichever convention a span has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from redrive_events import Json, ToolUse, text_of
from redrive_replays.traces.otel import gemini, names, vercel
from redrive_replays.traces.otel.messages import said_in, said_of
from redrive_replays.traces.otel.spans import Noted, Span
from redrive_replays.traces.otel.values import parsed
from redrive_replays.traces.trace import ASSISTANT, SYSTEM, Said

CUT: Final = "messages (the JSON that held them is cut off)"
# SDKs keep so many attributes of a span, and drop the rest.
ATTRIBUTES_MAX: Final = 128


@dataclass(slots=True)
class Words:
    """The messages of a request, those of the reply, and what is wrong with them.

    ``gaps`` are skipped numbers among ``numbered`` messages; ``cut`` says that some could not be read.
    """

    asked: list[Said] = field(default_factory=list)
    replied: list[Said] = field(default_factory=list)
    finish: str = ""
    gaps: int = 0
    cut: bool = False
    numbered: bool = False


def words_of(span: Span) -> Words:
    """The words of a span: the first convention that has a request's messages, and the first that has a reply's."""
    found = Words()
    for read in _CONVENTIONS:
        one = read(span)
        if one is None:
            continue
        found.cut = found.cut or one.cut
        found.finish = found.finish or one.finish
        if not found.asked and one.asked:
            found.asked, found.gaps, found.numbered = one.asked, one.gaps, one.numbered
        if not found.replied and one.replied:
            found.replied = one.replied
        if found.asked and found.replied:
            break
    return _without_hidden(found)


def _without_hidden(words: Words) -> Words:
    """Messages without those that were hidden when they were recorded: none, where all were."""
    _clear(words, words.asked, {"user", *SYSTEM})
    # A reply may say nothing, if something was asked.
    _clear(words, words.replied, set() if words.asked else {ASSISTANT})
    return words


def _clear(words: Words, said: list[Said], speaking: set[str]) -> None:
    """Who is ``speaking`` says something, or it was hidden."""
    hidden = sum(text_of(one.content) in names.HIDDEN if one.content else one.role in speaking for one in said)
    if hidden == len(said):
        said.clear()
    elif hidden:
        words.cut = True


def _json(value: Json, words: Words) -> Json:
    """JSON text as what it holds; what begins like it and is none was cut off."""
    read = parsed(value)
    if read is None and isinstance(value, str) and value.lstrip()[:1] in {"[", "{"}:
        words.cut = True
    return read if read is not None or not isinstance(value, str) or words.cut else value or None


def _native(span: Span) -> Words | None:
    """Messages as JSON on the span, or on an event of it: conventions since 1.37."""
    words = Words()
    for holder in (span.attributes, *(event.attributes for event in span.events if event.name == names.DETAILS)):
        system = _json(holder.get(names.SYSTEM), words)
        if not words.asked and (asked := _json(holder.get(names.INPUT), words)):
            words.asked = [*(_instructions(system) if system else []), *said_in(asked, "user")]
        elif not words.asked and system and asked == []:
            words.asked = _instructions(system)
        if not words.replied and (replied := _json(holder.get(names.OUTPUT), words)):
            words.replied = _replies(replied)
            words.finish = words.finish or _finish(replied)
    return words


def _instructions(system: Json) -> list[Said]:
    if isinstance(system, list) and all(isinstance(one, dict) and "role" not in one for one in system):
        return said_of({"role": "system", "parts": system})
    return said_in(system, "system")


def _replies(messages: Json) -> list[Said]:
    return [replace(one, role=ASSISTANT) if one.role != "tool" else one for one in said_in(messages, ASSISTANT)]


def _finish(messages: Json) -> str:
    for one in messages if isinstance(messages, list) else [messages]:
        inner = one.get("content") if isinstance(one, dict) else None
        for holder in (one, inner):
            if isinstance(holder, dict) and isinstance(finish := holder.get("finish_reason"), str):
                return finish
    return ""


def _numbered(span: Span) -> Words | None:
    """Messages in attributes with numbers: OpenInference, and OpenLLMetry until its version 0.5x."""
    for asked, *replied in names.NUMBERED:
        requests, gaps = numbered(span.attributes, asked)
        replies = [one for prefix in replied for one in numbered(span.attributes, prefix)[0]]
        if requests or replies:
            if "openai_agents" in span.scope or (gaps and _thoughts_left_out(span)):
                gaps = 0
            finish = _finish([one.get("message", one) for one in replies])
            return Words(said_in(requests, "user"), _replies(replies), finish, gaps, numbered=True)
    return None


def _thoughts_left_out(span: Span) -> bool:
    """Whether a skipped number is that of an item of reasoning."""
    value = parsed(span.attributes.get("input.value"))
    value = value.get("input") if isinstance(value, dict) else value
    return isinstance(value, list) and any(isinstance(one, dict) and one.get("type") == "reasoning" for one in value)


def numbered(attributes: Mapping[str, Json], prefix: str) -> tuple[list[dict[str, Json]], int]:
    """The values under ``prefix.0.…``, ``prefix.1.…`` as a list, and how many numbers were skipped."""
    root: dict[str, Json] = {}
    start = f"{prefix}."
    for key, value in attributes.items():
        if key.startswith(start):
            at = root
            *path, last = key[len(start) :].split(".")
            for step in path:
                below = at.setdefault(step, {})
                at = below if isinstance(below, dict) else {}
            at.setdefault(last, value)
    given = [int(key) for key in root if key.isdecimal() and len(key) < 7 and isinstance(root[key], dict)]
    found = [_lists(root[str(key)]) for key in sorted(given) if str(key) in root]
    return [one for one in found if isinstance(one, dict)], (max(given, default=-1) + 1 - len(given))


def _lists(value: Json) -> Json:
    """Mappings whose keys are numbers as lists."""
    if not isinstance(value, dict):
        return value
    if value and all(key.isdecimal() for key in value):
        return [_lists(value[key]) for key in sorted(value, key=lambda one: (len(one), one))]
    return {key: _lists(inner) for key, inner in value.items()}


def _events(span: Span) -> Words | None:
    """Messages as events or log records: conventions 1.28 to 1.36, on the span or as a list in an attribute."""
    events = list(span.events)
    listed = parsed(span.attributes.get("events"))
    objects = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    events += (Noted(name, one, one) for one in objects if isinstance(name := one.get("event.name"), str))
    asked: list[Said] = []
    replied: list[Said] = []
    finish = ""
    for event in events:
        body = _body(event)
        if (role := names.EVENT_ROLES.get(event.name)) is not None:
            asked += said_of(body, role)
        elif event.name == names.CHOICE and body.get("index", 0) in (0, "0"):
            replied += said_of(_message_of(body), ASSISTANT)
            reason = body.get("finish_reason")
            finish = reason if isinstance(reason, str) else finish
    return Words(asked, [replace(one, role=ASSISTANT) for one in replied], finish) if asked or replied else None


def _message_of(choice: dict[str, Json]) -> dict[str, Json]:
    """The message of a choice: an object, the choice itself, or only the content of one."""
    message = choice.get("message")
    read = parsed(message)
    if isinstance(read, dict):
        return read
    return choice if message is None else {"content": message}


def _body(event: Noted) -> dict[str, Json]:
    body = parsed(event.body)
    body = dict(body) if isinstance(body, dict) else {}
    whole = parsed(event.attributes.get(names.EVENT_CONTENT))
    body |= whole if isinstance(whole, dict) else {}
    for key in ("content", "tool_calls", "id", "role", "message", "index", "finish_reason", "name"):
        if event.attributes.get(key) is not None:
            body.setdefault(key, event.attributes[key])
    return body


def _oldest(span: Span) -> Words | None:
    """Prompt and completion as JSON: on events of the span until 1.27, or straight on the span."""
    words = Words()
    holders = [span.attributes, *(event.attributes for event in span.events if "gen_ai.content." in event.name)]
    for holder in holders:
        if not words.asked and (prompt := holder.get("gen_ai.prompt")) is not None:
            words.asked = said_in(_messages(_json(prompt, words)), "user")
        if not words.replied and (completion := holder.get("gen_ai.completion")) is not None:
            words.replied = _replies(_messages(_json(completion, words)))
    return words


def _messages(value: Json) -> Json:
    """The messages in a request, a response, or a list of these."""
    if isinstance(value, dict):
        for key in ("messages", "input", "contents"):
            if isinstance(value.get(key), list):
                return value[key]
        if isinstance(choices := value.get("choices"), list):
            return [one.get("message") for one in choices[:1] if isinstance(one, dict)]
        if "role" not in value and "message" in value:
            return value["message"]
    return value


# Where a request and a response stand whole; what is no JSON in the first is what the user said.
_WHOLE: Final = (
    *(("request_data", "response_data"), ("input.value", "output.value"), ("input", "output")),
    *(("langfuse.observation.input", "langfuse.observation.output"), ("lmnr.span.input", "lmnr.span.output")),
    *(("llm.prompts", "llm.responses"), ("mlflow.spanInputs", "mlflow.spanOutputs")),
)
# Where the text of a response stands, as some have it; the second is all that was streamed.
_TEXTS: Final = ("text", "combined_chunk_content")
_PLAIN: Final = {"input.value", "langfuse.observation.input", "lmnr.span.input"}


def _bare(span: Span) -> Words | None:
    """A request and a response as some SDKs put them on a span whole."""
    words = Words()
    for asked, replied in _WHOLE:
        given = span.attributes.get(asked)
        request = _messages(parsed(given))
        if not words.asked and asked in _PLAIN and isinstance(given, str) and given and parsed(given) is None:
            words.asked = [Said("user", given)]
        response = span.attributes.get(replied)
        read = parsed(response)
        if not words.asked and _are_messages(request):
            words.asked = [*_system_in(parsed(given)), *said_in(request, "user")]
        if not words.replied and isinstance(read, dict):
            message = _messages(read)
            words.replied = (
                _replies([message]) if _is_message(message) else _replies(message) if _are_messages(message) else []
            )
            text = next((read[key] for key in _TEXTS if isinstance(read.get(key), str)), None)
            if not words.replied and text is not None:
                words.replied = [Said(ASSISTANT, text)]
        elif not words.replied and _are_messages(read):
            words.replied = _replies(read)
        elif not words.replied and isinstance(response, str) and response and read is None:
            words.replied = [Said(ASSISTANT, response)]
    return words if words.asked or words.replied else None


def system_of(agent: Span) -> list[Said]:
    """The system's words, where an agent's span has them for all that is asked inside of it."""
    words = agent.first(*names.AGENT_SYSTEM)
    read = parsed(words) if isinstance(words, str) and words.lstrip()[:1] == "[" else None
    return said_of({"role": "system", "content": words if read is None else read}) if words else []


def _system_in(request: Json) -> list[Said]:
    """The system's words, which some have beside the messages."""
    system = request.get("system", request.get("instructions")) if isinstance(request, dict) else None
    return said_of({"role": "system", "content": system}) if system else []


def _is_message(value: Json) -> bool:
    return isinstance(value, dict) and "role" in value and ("content" in value or "parts" in value)


def _are_messages(value: Json) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) and "role" in one for one in value)


def _gemini(span: Span) -> Words | None:
    read = gemini.read(span.attributes)
    return Words(*read) if read else None


def _vercel(span: Span) -> Words | None:
    read = vercel.read(span.attributes)
    return Words(*read) if read else None


_CONVENTIONS: Final[Sequence[Callable[[Span], Words | None]]] = (
    *(_native, _numbered, _events, _gemini, _vercel, _oldest, _bare),
)


def whole_conversation(span: Span) -> list[Said]:
    """All messages of an agent's span, where it says them."""
    words = Words()
    for name in names.ALL:
        listed = _json(span.attributes.get(name), words)
        if isinstance(listed, list) and listed:
            if all(isinstance(one, dict) and "event.name" in one for one in listed):
                read = _events(replace(span, events=[], attributes={"events": listed}))
                return [*read.asked, *read.replied] if read else []
            system = _json(span.attributes.get(names.SYSTEM), words)
            return [*(_instructions(system) if system else []), *said_in(listed, "user")]
    return []


def tools_of(span: Span) -> list[Json]:
    """The tools that the model was told of."""
    for name in names.TOOLS:
        read = parsed(span.attributes.get(name))
        if isinstance(read, list) and read:
            return [one if (one := parsed(each)) is not None else each for each in read]
    for prefix in names.NUMBERED_TOOLS:
        if listed := numbered(span.attributes, prefix)[0]:
            return list(_schemas(listed))
    return gemini.tools(span.attributes)


def _schemas(listed: list[dict[str, Json]]) -> Iterator[Json]:
    for one in listed:
        tool = one.get("tool")
        schema = parsed(tool.get("json_schema")) if isinstance(tool, dict) else None
        if schema is not None:
            yield schema
        else:
            yield {key: inner if (inner := parsed(value)) is not None else value for key, value in one.items()}


def prompt_of(said: Sequence[Said]) -> list[Said]:
    """The messages of the system at the beginning."""
    rest = next((index for index, one in enumerate(said) if one.role not in SYSTEM), len(said))
    return list(said[:rest])


def calls_in(blocks: Sequence[object]) -> list[ToolUse]:
    """The calls among blocks."""
    return [block for block in blocks if isinstance(block, ToolUse)]
