"""What is said: plain text, or blocks of text, calls, thinking and whatever else a provider sends."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

# msgspec accepts no recursive alias; this is the one exception to "no Any".
Json: TypeAlias = Any


class Data(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Recorded data: frozen, named fields only, and nothing that is not known."""


class _Block(Data, frozen=True, tag_field="type"):
    """A part of what was said."""


class Text(_Block, frozen=True, tag="text"):
    """Words."""

    text: str


class ToolUse(_Block, frozen=True, tag="call"):
    """A call as the provider wrote it: ``arguments`` is its raw text, ``id`` its label (may repeat, or be absent)."""

    name: str
    arguments: str = ""
    id: str = ""


class Thinking(_Block, frozen=True, tag="thinking"):
    """Reasoning that the provider shows; ``signature`` is sealed and goes back unaltered."""

    text: str
    signature: str = ""


class Opaque(_Block, frozen=True, tag="opaque"):
    """A block of another kind (a picture, a citation), kept as it came."""

    data: Json


Block: TypeAlias = Text | ToolUse | Thinking | Opaque
Content: TypeAlias = str | tuple[Block, ...]


def blocks_of(content: Content | None) -> tuple[Block, ...]:
    """``content`` as blocks; a plain string is one block of text."""
    if isinstance(content, str):
        return (Text(text=content),)
    return content or ()


def text_of(content: Content | None) -> str:
    """The words of ``content``, blocks joined by line breaks; thinking and other blocks are left out."""
    if isinstance(content, str):
        return content
    return "\n".join([block.text for block in content or () if type(block) is Text])


def calls_of(content: Content | None) -> list[tuple[int, ToolUse]]:
    """The calls in ``content``, each with its index among the blocks."""
    if content is None or isinstance(content, str):
        return []
    return [(index, block) for index, block in enumerate(content) if type(block) is ToolUse]
