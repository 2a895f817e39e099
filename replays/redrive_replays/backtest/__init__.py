"""What another policy would have done to recorded runs: calls judged again, and runs that flip driven again."""

from redrive_replays.backtest.driving import Consequence, consequence, consequences
from redrive_replays.backtest.judging import Flipped, Judged, judged_again

__all__ = ["Consequence", "Flipped", "Judged", "consequence", "consequences", "judged_again"]
