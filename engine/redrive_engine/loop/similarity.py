"""How alike two texts are, in any script: Dice's coefficient over their pairs of characters."""

from __future__ import annotations

import unicodedata
from collections import Counter
from itertools import pairwise


def similarity_percent(left: str, right: str) -> int:
    """From 0, nothing in common, to 100, the same: twice the pairs in both, by all pairs of the two; rounded down.

    Width, case and blanks make no difference, nor does the order of long passages. Characters are what is compared,
    so a text needs no spaces between its words.
    """
    one, other = _plain(left), _plain(right)
    if one == other:
        return 100
    pairs, others = _pairs(one), _pairs(other)
    return 200 * (pairs & others).total() // max(1, pairs.total() + others.total())


def _plain(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def _pairs(text: str) -> Counter[str]:
    return Counter(map("".join, pairwise(text)))
