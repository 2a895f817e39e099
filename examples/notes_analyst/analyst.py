"""The agent that tells of a folder of notes: what it may do, when it is done, and what it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import redrive as rd
from notes_analyst.evidence import VERIFIERS
from notes_analyst.script import analyse, scripted
from notes_analyst.world import FOLDER, tools_of

GOAL: Final = "Which notes are in notes/, how many characters has each, and which is the longest?"
PROMPT: Final = """\
You look at a folder of notes with the tools you have, and change nothing.
Before each call say in one sentence what you make of what you know and what you intend.
Answer in words once all notes are counted and the longest one has been read.
"""


def contract(**terms: Any) -> rd.Contract:
    """Three facts, eight steps, and an end after two errors of a kind in a row; ``terms`` are said otherwise."""
    return rd.Contract(
        **{
            "tools": {"list_notes": {}, "word_count": {}, "read_note": {}},
            "done": {"notes": rd.ANY, "counts": rd.ANY, "longest": rd.ANY},
            "budget": rd.Budget(steps=8),
            "quotas": rd.FailureQuotas(unreadable=2, model_failed=2, arguments=2, tool_failed=2, denied=2),
            **terms,
        }
    )


def make_agent(*, model: rd.Model | None = None, folder: Path = FOLDER, **terms: Any) -> rd.Agent:
    """The agent, with the scripted model unless another is given."""
    return rd.Agent(
        "notes-analyst",
        "1",
        contract(**terms),
        tools=tools_of(folder),
        verifiers=VERIFIERS,
        model=model or scripted(analyse),
        prompt=PROMPT,
    )


agent = make_agent()
