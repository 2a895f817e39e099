"""``python -m tests.planted`` prints how many faults are found, by cause."""

from __future__ import annotations

from collections import Counter

from tests.planted.scores import Score, pairs, shares, singles, versions


def main() -> None:
    """Print what is found, by cause."""
    natural = list(versions())
    scores = [*singles(), *pairs(), *natural]
    cases, places, causes = Counter[str](), Counter[str](), Counter[str]()
    for one in scores:
        cases[one.cause] += 1
        places[one.cause] += one.at_place
        causes[one.cause] += one.by_cause
    print(f"{'cause':16}{'cases':>7}{'place':>7}{'cause':>7}")
    for cause, count in cases.most_common():
        print(f"{cause:16}{count:7}{places[cause] / count:7.2f}{causes[cause] / count:7.2f}")
    _share("two versions", natural)
    _share("all", scores)
    for one in scores:
        if not (one.at_place and one.by_cause):
            what = one.found and (one.found.position, one.found.cause, one.found.why)
            print(f"{one.generator}: {what}")


def _share(name: str, scores: list[Score]) -> None:
    place, cause = shares(scores)
    print(f"{name:16}{len(scores):7}{place:7.3f}{cause:7.3f}")


if __name__ == "__main__":
    main()
