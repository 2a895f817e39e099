"""Pay a thousand times while workers die: `python -m tests.authority [--seed SEED] [--rounds N] [--story NUMBER]`."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from tests.authority.rounds import Tally, told

ROUNDS, ROUNDS_A_STORY, WORKERS = 1_000, 25, 4


def main() -> int:
    """All stories, some at a time, or the one that is asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.authority", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--story", type=int, help="one story of a run of all rounds, such as 17")
    chosen = parser.parse_args()
    sizes = [min(ROUNDS_A_STORY, chosen.rounds - at) for at in range(0, chosen.rounds, ROUNDS_A_STORY)]
    numbers = list(range(len(sizes))) if chosen.story is None else [chosen.story]
    began, total, troubles = time.monotonic(), Tally(), 0
    with ProcessPoolExecutor(WORKERS, mp_context=multiprocessing.get_context("spawn")) as pool:
        seeds = [f"{chosen.seed}:{number}" for number in numbers]
        for number, (tally, trouble) in zip(
            numbers, pool.map(told, seeds, [sizes[number] for number in numbers]), strict=True
        ):
            total.counts += tally.counts
            if trouble:
                troubles += 1
                again = f"python -m tests.authority --seed {chosen.seed} --rounds {chosen.rounds} --story {number}"
                print(f"story {number}: {trouble}\n  again: {again}", flush=True)
    print(f"seed {chosen.seed}: {total} in {time.monotonic() - began:.0f} s, {troubles} found")
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
