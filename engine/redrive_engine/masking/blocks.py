"""What is said, masked block by block: signed ones are sealed as wholes, and opened for their provider alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from redrive_engine.masking.door import Door, SealedValueLost
from redrive_engine.masking.placeholder import PLACEHOLDER
from redrive_engine.masking.spelling import plain_of
from redrive_events import BadInput, Block, Content, Opaque, Text, Thinking, ToolUse, canonical, parse_json
from redrive_projections import Message


def masked_content(door: Door, content: Content) -> Content:
    """What was said with its values masked; halves of a value in two pieces of text come together first."""
    if not door.is_masking:
        return content
    if isinstance(content, str):
        return masked_text(door, content)
    return tuple(_masked(door, block) for block in _joined(door, content))


def masked_text(door: Door, text: str) -> str:
    """Words, or JSON of which the texts are masked and which stays JSON."""
    if text.lstrip()[:1] in {"{", "["}:
        try:
            value = parse_json(text)
        except BadInput:
            return door.text(text)
        masked = door.json(value)
        if masked != value:
            return canonical(masked).decode()
    return door.text(text)


def opened_messages(door: Door, messages: Sequence[Message]) -> tuple[Message, ...]:
    """Messages for the provider that signed blocks of them: these are as they came, or left out where that is lost."""
    return tuple(_opened(door, one) for one in messages) if door.is_masking else tuple(messages)


def _masked(door: Door, block: Block) -> Block:
    match block:
        case Text():
            return Text(text=masked_text(door, block.text))
        case ToolUse():
            return msgspec.structs.replace(block, arguments=masked_text(door, block.arguments))
        case Thinking(signature=""):
            return Thinking(text=door.text(block.text))
        case Thinking():
            whole = msgspec.to_builtins(block)
            return Thinking(text=door.whole(whole), signature="sealed") if door.finds(whole) else block
        case Opaque():
            return Opaque(data=door.whole(block.data)) if door.finds(block.data) else block


def _opened(door: Door, message: Message) -> Message:
    if isinstance(message.content, str):
        return message
    content = tuple(one for block in message.content for one in _unsealed(door, block))
    return message if content == message.content else Message(message.role, content, message.of, message.call_id)


def _unsealed(door: Door, block: Block) -> Iterator[Block]:
    token = block.text if isinstance(block, Thinking) else block.data if isinstance(block, Opaque) else None
    if not isinstance(token, str) or not PLACEHOLDER.fullmatch(token) or not token.startswith("masked-block-"):
        yield block
        return
    try:
        data = parse_json(door.opened(token))
    except SealedValueLost:
        return
    yield Opaque(data=data) if isinstance(block, Opaque) else msgspec.convert(data, Thinking)


def _joined(door: Door, blocks: Sequence[Block]) -> list[Block]:
    """The blocks, where of a value that stands in two texts side by side the rest has gone to its beginning."""
    found: list[Block] = []
    for block in blocks:
        before = found[-1] if found else None
        if isinstance(before, Text) and isinstance(block, Text):
            border = len(before.text)
            plain = plain_of(before.text + block.text)
            spans = (plain.span(one.start, one.end) for one in door.values(plain.text))
            end = next((end for start, end in spans if start < border < end), border)
            whole = before.text + block.text
            found[-1], block = Text(text=whole[:end]), Text(text=whole[end:])  # noqa: PLW2901 - its rest
        found.append(block)
    return found
