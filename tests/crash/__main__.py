"""Crash the log ten thousand times: `python -m tests.crash [--seed SEED] [--story KIND:NUMBER]`."""

from __future__ import annotations

import argparse
import multiprocessing
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.crash.count import Count
from tests.crash.stories import STORIES, told

POINTS_MIN, KILLS_MIN = 10_000, 1_000


def main() -> int:
    """All stories on all processors, or the one that is asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--story", help="one story, such as power:17")
    chosen = parser.parse_args()
    every = [f"{kind}:{number}" for kind, (many, _) in STORIES.items() for number in range(many)]
    names = [chosen.story] if chosen.story else every
    began, total, troubles = time.monotonic(), Count(), 0
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        for name, done, trouble in pool.map(told, names, [chosen.seed] * len(names)):
            total += done
            if trouble:
                troubles += 1
                again = f"python -m tests.crash --seed {chosen.seed} --story {name}"
                print(f"{name}: {trouble}\n  again, at commit {_commit()}: {again}", flush=True)
    print(f"seed {chosen.seed}, commit {_commit()}: {total} in {time.monotonic() - began:.0f} s, {troubles} found")
    if not chosen.story and (total.points < POINTS_MIN or total.kills < KILLS_MIN):
        print(f"fewer than {POINTS_MIN} crash points, or than {KILLS_MIN} kills")
        return 1
    return 1 if troubles else 0


def _commit() -> str:
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


if __name__ == "__main__":
    sys.exit(main())
