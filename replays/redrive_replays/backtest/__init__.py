"""What another policy would have done to recorded runs: calls judged again, and runs that flip driven again."""

from redrive_replays.backtest.columns import Candidate
from redrive_replays.backtest.driving import Consequence, Sureness, consequence, consequences, in_a_word, undriven
from redrive_replays.backtest.judging import Flipped, Judged, Transition, judged_again

__all__ = [
    "Candidate",
    "Consequence",
    "Flipped",
    "Judged",
    "Sureness",
    "Transition",
    "consequence",
    "consequences",
    "in_a_word",
    "judged_again",
    "undriven",
]
