"""Items of OpenAI's Responses: messages, sealed reasoning, calls and their outputs, and what ran at the provider."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from redrive_events import Block, Content, Json, Opaque, Text, Thinking, ToolUse
from redrive_replays.traces.trace import ASSISTANT, NO_META, Meta, Said

ROLES: Final = frozenset({"user", "assistant", "system", "developer"})
# Items that nothing else has; those of tools end in `_call` and `_output`.
_OWN: Final = frozenset(
    {
        *("reasoning", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "item_reference"),
        *("compaction", "additional_tools", "program"),
    }
)
_WORDS: Final = frozenset({"text", "input_text", "output_text"})
_PARTS: Final = frozenset({"input_text", "output_text", "input_image", "input_file", "refusal"})
# Where a call has what it is to do, by the kinds there are.
_GIVEN: Final = ("arguments", "input", "action", "actions", "operation", "code", "queries")
# Calls that the caller always answers, also where an old file leaves their id out.
_ASKED: Final = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
_CALL: Final = "_call"
_OUTPUT: Final = "_output"


def are_items(value: Json) -> bool:
    """Whether ``value`` is a list of items, one of which is told from other messages."""
    return isinstance(value, list) and bool(value) and all(map(is_item, value)) and any(map(is_own, value))


def is_item(value: Json) -> bool:
    """Whether ``value`` could be an item: it has a type or a role."""
    if not isinstance(value, dict):
        return False
    return isinstance(value.get("type"), str) or (isinstance(role := value.get("role"), str) and role in ROLES)


def is_own(item: Json) -> bool:
    """Whether an item can be nothing but one of these."""
    if not isinstance(item, dict) or "payload" in item or "message" in item:
        return False
    kind = kind_of(item)
    if kind in _OWN or (kind.endswith((_CALL, _OUTPUT)) and ("call_id" in item or "id" in item)):
        return True
    content = item.get("content")
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    return kind in {"", "message"} and any(kind_of(part) in _PARTS for part in parts)


def kind_of(item: Mapping[str, Json]) -> str:
    """The type of an item or of a part, empty if it has none."""
    kind = item.get("type")
    return kind if isinstance(kind, str) else ""


def is_replied(item: Mapping[str, Json]) -> bool:
    """Whether the model made this item."""
    kind = kind_of(item)
    if kind in {"", "message"}:
        return item.get("role") == ASSISTANT
    if kind == "program_output":
        return True  # a program runs at the provider, also where what came of it has an id
    if kind.endswith(_OUTPUT):
        return not _label(item) and kind.removesuffix(_OUTPUT) not in _ASKED
    return kind not in {"mcp_approval_response", "item_reference", "additional_tools"}


@dataclass(slots=True)
class Reply:
    """A reply while its items are read."""

    blocks: list[Block] = field(default_factory=list)
    extras: dict[str, Json] = field(default_factory=dict)
    count: int = 0

    def add(self, item: Mapping[str, Json], *, hosted: bool = False) -> None:
        """One item more; what it has beside its words stands in the extras under its place."""
        kind = kind_of(item)
        if kind in {"", "message"} and item.get("role") == ASSISTANT:
            blocks, rest = _message(item)
        elif kind == "reasoning":
            blocks, rest = _reasoning(item)
        elif kind.endswith(_CALL) and (_label(item) or kind in _ASKED) and not hosted:
            blocks, rest = _called(item)
        else:
            blocks, rest = [Opaque(data=dict(item))], {}
        self.blocks += blocks
        if rest:
            self.extras[f"item {self.count}"] = rest
        self.count += 1

    def said(self, meta: Meta = NO_META) -> Said:
        """The whole reply."""
        return Said(ASSISTANT, tuple(self.blocks), meta=meta, extras=self.extras)


def said_of(items: Iterable[Mapping[str, Json]], metas: Mapping[int, Meta] | None = None) -> Iterator[Said]:
    """What was said: what the model made stands together until something else is said.

    ``metas`` is what is known of the replies that begin with the item of that number.
    """
    reply: Reply | None = None
    meta = NO_META
    for index, item in enumerate(items):
        known = (metas or {}).get(index)
        if is_replied(item):
            if reply is not None and known is not None:
                yield reply.said(meta)
                reply = None
            if reply is None:
                reply, meta = Reply(), known or NO_META
            reply.add(item)
            continue
        if reply is not None:
            yield reply.said(meta)
            reply = None
        yield heard(item)
    if reply is not None:
        yield reply.said(meta)


def replied(output: Sequence[Json], meta: Meta) -> Said | None:
    """A response's output as one reply; a call that has its output beside it ran at the provider."""
    items = [item for item in output if isinstance(item, dict)]
    hosted = {_label(item) for item in items if kind_of(item).endswith(_OUTPUT)}
    reply = Reply()
    for item in items:
        reply.add(item, hosted=_label(item) in hosted)
    return reply.said(meta) if items else None


def heard(item: Mapping[str, Json]) -> Said:
    """An item that the model did not make: words, the output of a call, an approval."""
    kind, role = kind_of(item), item.get("role")
    if kind.endswith(_OUTPUT):
        return result_of(item)
    extras: dict[str, Json] = {}
    if kind in {"", "message"} and isinstance(role, str):
        content = content_of(item.get("content"), extras)
        extras |= {key: one for key, one in item.items() if key not in {"type", "role", "content"} and one is not None}
        return Said(role, content, extras=extras)
    said = Said("user" if kind == "mcp_approval_response" else "developer", (Opaque(data=dict(item)),))
    if kind == "mcp_approval_response":
        verdict = {True: "allow", False: "deny"}.get(item.get("approve") is True)
        told = {"call": item.get("approval_request_id"), "verdict": verdict, "by": "user", "reason": item.get("reason")}
        said.beside.append(("verdict", {key: one for key, one in told.items() if one is not None}))
    return said


def result_of(item: Mapping[str, Json]) -> Said:
    """The output of a call."""
    extras: dict[str, Json] = {}
    output = item.get("output", item.get("tools"))
    told = output.get("success") if isinstance(output, dict) and "content" in output else None
    content = content_of(output["content"] if isinstance(told, bool) else output, extras)
    taken = {"type", "call_id", "output" if "output" in item else "tools"}
    extras |= {key: one for key, one in item.items() if key not in taken and one is not None}
    label = _label(item)
    failed = told is False or item.get("status") in ("failed", "incomplete")
    return Said("tool", content, (label,) if label else (), status="error" if failed else "ok", extras=extras)


def content_of(content: Json, extras: dict[str, Json]) -> Content:
    """Plain text stays plain, one part of text is plain words, and other parts are kept as they came."""
    if isinstance(content, str):
        return content
    if content is None:
        return ()
    parts = content if isinstance(content, list) else [content]
    blocks = tuple(_part(part, index, extras) for index, part in enumerate(parts))
    return blocks[0].text if len(blocks) == 1 and isinstance(blocks[0], Text) else blocks


def _part(part: Json, index: int, extras: dict[str, Json]) -> Block:
    if isinstance(part, str):
        return Text(text=part)
    if not isinstance(part, dict) or kind_of(part) not in _WORDS or not isinstance(text := part.get("text"), str):
        return Opaque(data=part)
    rest = {key: one for key, one in part.items() if key not in {"type", "text"} and one is not None and one != []}
    if rest:
        extras[f"part {index}"] = rest
    return Text(text=text)


def _message(item: Mapping[str, Json]) -> tuple[list[Block], dict[str, Json]]:
    rest: dict[str, Json] = {}
    content = content_of(item.get("content"), rest)
    rest |= {key: one for key, one in item.items() if key not in {"type", "role", "content"} and one is not None}
    return [Text(text=content)] if isinstance(content, str) else list(content), rest


def _reasoning(item: Mapping[str, Json]) -> tuple[list[Block], dict[str, Json]]:
    """What is shown of the reasoning, and its seal; the rest, and the parts if there are several, beside it."""
    shown = [item.get("content"), item.get("summary")]
    parts = [part for parts in shown if isinstance(parts, list) for part in parts if isinstance(part, dict)]
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
    seal = item.get("encrypted_content")
    taken = {"type", "encrypted_content"} if isinstance(seal, str) or seal is None else {"type"}
    rest = {key: one for key, one in item.items() if key not in taken and one is not None and one != []}
    if len(parts) == len(texts) == 1 and not any(isinstance(one, str) for one in shown):
        rest = {key: one for key, one in rest.items() if key not in {"content", "summary"}}
    return [Thinking(text="\n".join(texts), signature=seal if isinstance(seal, str) else "")], rest


def _called(item: Mapping[str, Json]) -> tuple[list[Block], dict[str, Json]]:
    """A call; those of no name go by their type."""
    where = next((key for key in _GIVEN if key in item), "")
    given, name = item.get(where), item.get("name")
    arguments = given if isinstance(given, str) else "" if given is None else msgspec.json.encode(given).decode()
    call = ToolUse(
        name=name if isinstance(name, str) else kind_of(item).removesuffix(_CALL),
        arguments=arguments,
        id=_label(item),
    )
    kept = {"call_id", where} | ({"name"} if isinstance(name, str) else set())
    kept |= {"type"} if kind_of(item) == "function_call" else set()
    return [call], {key: one for key, one in item.items() if key not in kept and one is not None}


def _label(item: Mapping[str, Json]) -> str:
    label = item.get("call_id")
    if not label and kind_of(item) == "local_shell_call":
        label = item.get("id")
    return label if isinstance(label, str) else ""
