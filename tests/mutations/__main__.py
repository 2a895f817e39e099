"""Switch off each guarantee, or those with one of these words, and tell which tests miss it."""

from __future__ import annotations

import os
import sys

from tests.mutations.guarantees import GUARANTEES
from tests.mutations.sweep import swept


def main(words: list[str]) -> int:
    """Print a line for each; 1 if any survives."""
    chosen = [one for one in GUARANTEES if not words or any(word in f"{one.name} {one.file}" for word in words)]
    survived = 0
    for number, verdict in enumerate(swept(chosen, workers=min(2, os.cpu_count() or 1)), start=1):
        survived += not verdict.killed
        told = "killed  " if verdict.killed else "SURVIVED"
        print(f"{number:3} of {len(chosen)}  {told}  {verdict.guarantee.name}  ({verdict.said})", flush=True)
        for test in verdict.missed:
            print(f"              not failed: {test}", flush=True)
    print(f"{len(chosen) - survived} of {len(chosen)} guarantees are missed by their tests when they are switched off")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
