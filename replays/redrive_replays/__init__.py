"""Recorded runs, driven again: strict replay, where and why it parts, and traces of other tools as recordings."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redrive_replays.bisecting import Turned, bisected
    from redrive_replays.causes import Cause, chain_of
    from redrive_replays.comparison import Comparison, Parting, compared
    from redrive_replays.difference import ABSENT, Difference
    from redrive_replays.doors import hang_doors
    from redrive_replays.guarded import Reach, Said, guarding
    from redrive_replays.judging import Judged, judged
    from redrive_replays.programs import known_program, program_for
    from redrive_replays.recording import Recording, keep, recording_of
    from redrive_replays.redriving import begun_anew, redriven
    from redrive_replays.replayer import appends, replay_records
    from redrive_replays.report import Divergence, Outcome, Report, only_digests, worst
    from redrive_replays.script import Script, written_down
    from redrive_replays.shrinking import Shrunk, shrunk
    from redrive_replays.strict import replay, replay_under
    from redrive_replays.wording import Piece, word_diff

_DOORS = {
    "bisecting": ("Turned", "bisected"),
    "redriving": ("begun_anew", "redriven"),
    "shrinking": ("Shrunk", "shrunk"),
    "doors": ("hang_doors",),
    "guarded": ("Reach", "Said", "guarding"),
    "comparison": ("Comparison", "Parting", "compared"),
    "causes": ("Cause", "chain_of"),
    "difference": ("ABSENT", "Difference"),
    "judging": ("Judged", "judged"),
    "programs": ("known_program", "program_for"),
    "recording": ("Recording", "keep", "recording_of"),
    "replayer": ("appends", "replay_records"),
    "report": ("Divergence", "Outcome", "Report", "only_digests", "worst"),
    "script": ("Script", "written_down"),
    "strict": ("replay", "replay_under"),
    "wording": ("Piece", "word_diff"),
}
_HOME = {name: door for door, names in _DOORS.items() for name in names}

__all__ = [
    "ABSENT",
    "Cause",
    "Comparison",
    "Difference",
    "Divergence",
    "Judged",
    "Outcome",
    "Parting",
    "Piece",
    "Reach",
    "Recording",
    "Report",
    "Said",
    "Script",
    "Shrunk",
    "Turned",
    "appends",
    "begun_anew",
    "bisected",
    "chain_of",
    "compared",
    "guarding",
    "hang_doors",
    "judged",
    "keep",
    "known_program",
    "only_digests",
    "program_for",
    "recording_of",
    "redriven",
    "replay",
    "replay_records",
    "replay_under",
    "shrunk",
    "word_diff",
    "worst",
    "written_down",
]


def __getattr__(name: str) -> object:
    """Load what is named: who only reads recordings need not load the engine."""
    if name not in _HOME:
        raise AttributeError(f"module 'redrive_replays' has no attribute {name!r}")
    return getattr(importlib.import_module(f"redrive_replays.{_HOME[name]}"), name)
