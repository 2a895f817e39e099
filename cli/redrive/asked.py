"""What a model was asked, every word of it, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from redrive.state import plain
from redrive.terminal import Cell, columns
from redrive_events import Block, Json, Opaque, Thinking, ToolUse, blocks_of, canonical
from redrive_projections import Asked


def asked_data(asked: Asked, *, thoughts: bool = False) -> dict[str, Json]:
    """A request as plain data; with what the model had thought, its canonical JSON is the request to the byte."""
    return asked.data() | {"messages": [plain(message.data(), thoughts=thoughts) for message in asked.messages]}


def asked_told(asked: Asked, run_id: str, digest: str, *, thoughts: bool = False) -> Iterator[Cell]:
    """The same in lines; ``digest`` is that of the request as it was asked."""
    rows = [
        ("request", f"at event {asked.position} of {run_id}"),
        ("digest", digest),
        ("model", asked.model),
        ("parameters", canonical(asked.parameters).decode() if asked.parameters else ""),
        ("tools", canonical(asked.tools).decode() if asked.tools else ""),
    ]
    yield from columns((Text(name, style="dim"), value) for name, value in rows if value)
    for message in asked.messages:
        yield ""
        yield Text(message.role + (f" {message.call_id}" if message.call_id else ""), style="bold")
        for block in blocks_of(message.content):
            yield from (f"  {line}" for line in _words(block, thoughts=thoughts).split("\n"))


def _words(block: Block, *, thoughts: bool) -> str:
    match block:
        case ToolUse():
            return f"{block.name} {block.arguments}" + (f" ({block.id})" if block.id else "")
        case Opaque():
            return canonical(block.data).decode()
        case Thinking() if not thoughts:
            return "(thoughts)"
        case _:
            return block.text
