"""Print the figures of this machine, this minute."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks import (
    appending,
    asking,
    importing,
    incidents,
    many_writers,
    million,
    peers,
    replayers,
    replaying,
    spreading,
    stepping,
)

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    for subject in (
        appending,
        many_writers,
        replaying,
        replayers,
        spreading,
        stepping,
        importing,
        million,
        asking,
        incidents,
        peers,
    ):
        for figure in subject.figures(folder):
            print(figure, flush=True)
