"""What would have happened: a recorded run driven again with something changed, as far as the recording can answer."""

from redrive_replays.whatif.branch import Branch, Labelled
from redrive_replays.whatif.changes import Changes, Doorway, InPlace
from redrive_replays.whatif.driving import branched
from redrive_replays.whatif.edge import EdgeReport, edge_report
from redrive_replays.whatif.flips import Flip, Sureness
from redrive_replays.whatif.live import Kind, Live, check_told_twice
from redrive_replays.whatif.standing import Effect

__all__ = [
    "Branch",
    "Changes",
    "Doorway",
    "EdgeReport",
    "Effect",
    "Flip",
    "InPlace",
    "Kind",
    "Labelled",
    "Live",
    "Sureness",
    "branched",
    "check_told_twice",
    "edge_report",
]
