"""A folder of notes, and what can be asked of it; each error says what is wrong and what is there instead."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import BaseModel

import redrive as rd

FOLDER: Final = Path(__file__).with_name("notes")
SHOWN_CHARS: Final = 1_500


class Note(BaseModel):
    """The beginning of a note; ``cut`` characters of it are not shown."""

    name: str
    text: str
    cut: int = 0


class Counted(BaseModel):
    """How long a note is, in characters."""

    name: str
    characters: int


def tools_of(folder: Path) -> list[rd.Tool]:
    """What can be asked of the notes in ``folder``, and of nothing outside it."""

    def names() -> list[str]:
        return sorted(file.name for file in folder.iterdir() if file.is_file())

    def text_of(name: str) -> str:
        known = names()
        if name not in known:
            raise rd.ToolError(f"No note {name!r} here. The notes are: {', '.join(known) or '(empty)'}.")
        return (folder / name).read_text(encoding="utf-8")

    @rd.tool(effect="read", source="notes")
    def list_notes() -> list[str] | str:
        """The names of all notes."""
        return names() or "(empty)"

    @rd.tool(effect="read", source="notes")
    async def word_count(name: str) -> Counted:
        """How many characters a note has."""
        return Counted(name=name, characters=len(text_of(name)))

    @rd.tool(effect="read", source="notes")
    def read_note(name: str) -> Note:
        """The first 1,500 characters of a note."""
        text = text_of(name)
        return Note(name=name, text=text[:SHOWN_CHARS], cut=max(0, len(text) - SHOWN_CHARS))

    return [list_notes, word_count, read_note]
