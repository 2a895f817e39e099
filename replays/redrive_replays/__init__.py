"""Recorded runs, driven again: strict replay, where and why it parts, and traces of other tools as recordings."""

from redrive_replays.asked import asked_at
from redrive_replays.difference import ABSENT, Difference
from redrive_replays.programs import program_for
from redrive_replays.recording import Recording, recording_of, replay
from redrive_replays.replayer import appends, replay_records
from redrive_replays.report import Divergence, Outcome, Report, worst
from redrive_replays.script import Script, written_down

__all__ = [
    "ABSENT",
    "Difference",
    "Divergence",
    "Outcome",
    "Recording",
    "Report",
    "Script",
    "appends",
    "asked_at",
    "program_for",
    "recording_of",
    "replay",
    "replay_records",
    "worst",
    "written_down",
]
