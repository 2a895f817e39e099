"""``python -m tests.planted`` prints how many faults are found, by cause, and how many are told that are none."""

from __future__ import annotations

from collections import defaultdict

from tests.planted.scores import LATER, Score, pairs, shares, singles, versions

NONE = "no fault"


def main() -> None:
    """Print what is found, by cause."""
    natural, alone = list(versions()), list(singles())
    scores = [*alone, *pairs(), *natural]
    by_cause = defaultdict[str, list[Score]](list)
    for one in scores:
        by_cause[one.cause or NONE].append(one)
    print(f"{'cause':16}{'cases':>7}{'right':>7}{'cause':>7}")
    for cause, those in sorted(by_cause.items(), key=lambda item: -len(item[1])):
        right, named = sum(one.at_place for one in those), sum(one.by_cause for one in those)
        print(f"{cause:16}{len(those):7}{right / len(those):7.2f}{named / len(those):7.2f}")
    print(f"\n{'first event':16}{'cases':>7}{'precision':>11}{'recall':>8}{'cause':>7}")
    _shares("two versions", natural)
    _shares("planted later", [one for one in alone if one.generator in LATER])
    _shares("all", scores)
    for one in scores:
        if not (one.at_place and one.by_cause):
            print(f"{one.generator}: {one.cause or NONE} at {one.position}, told {one.told_cause} at {one.told}")


def _shares(name: str, scores: list[Score]) -> None:
    found = shares(scores)
    print(f"{name:16}{len(scores):7}{found.precision:11.3f}{found.recall:8.3f}{found.cause:7.3f}")


if __name__ == "__main__":
    main()
