"""What is said, masked block by block: signed ones are sealed as wholes, and opened for their provider alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from redrive_engine.masking.door import Door, SealedValueLost
from redrive_engine.masking.mask import BLOCK
from redrive_engine.masking.spelling import plain_of
from redrive_events import BadInput, Block, Content, Json, Opaque, Text, Thinking, ToolUse, canonical, parse_json
from redrive_projections import Message

_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")


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


def opened_arguments(door: Door, arguments: Json, problems: Callable[[Json], str]) -> Json:
    """The arguments of a call as its tool is given them; where it wants numbers, texts that are some are numbers.

    Raises:
        SealedValueLost: one of them is not to be had.
    """
    if not door.is_masking:
        return arguments
    opened = door.opened(arguments)
    if not problems(opened):
        return opened
    numbers = _as_numbers(arguments, opened)
    return opened if problems(numbers) else numbers


def _as_numbers(sealed: Json, opened: Json) -> Json:
    """``opened`` with numbers where a placeholder stands for one alone."""
    if isinstance(sealed, dict):
        return {key: _as_numbers(one, found) for (key, one), found in zip(sealed.items(), opened.values(), strict=True)}
    if isinstance(sealed, list):
        return [_as_numbers(one, found) for one, found in zip(sealed, opened, strict=True)]
    return parse_json(opened) if sealed != opened and _NUMBER.fullmatch(opened) else opened


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
    if not isinstance(token, str) or not token.startswith(f"masked-{BLOCK}-"):
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
