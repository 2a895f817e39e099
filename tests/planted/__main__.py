"""``python -m tests.planted`` prints how many faults are found, by cause."""

from __future__ import annotations

from collections import Counter

from tests.planted.scores import pairs, singles


def main() -> None:
    """Print what is found, by cause."""
    scores = [*singles(), *pairs()]
    cases, places, causes = Counter[str](), Counter[str](), Counter[str]()
    for one in scores:
        cases[one.cause] += 1
        places[one.cause] += one.at_place
        causes[one.cause] += one.by_cause
    print(f"{'cause':16}{'cases':>7}{'place':>7}{'cause':>7}")
    for cause, count in cases.most_common():
        print(f"{cause:16}{count:7}{places[cause] / count:7.2f}{causes[cause] / count:7.2f}")
    total = len(scores)
    print(f"{'all':16}{total:7}{places.total() / total:7.3f}{causes.total() / total:7.3f}")
    for one in scores:
        if not (one.at_place and one.by_cause):
            what = one.found and (one.found.position, one.found.cause, one.found.why)
            print(f"{one.generator}: {what}")


if __name__ == "__main__":
    main()
