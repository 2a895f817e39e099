"""Print the figures of this machine, this minute."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks import appending, importing, replaying, stepping

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    for subject in (appending, replaying, stepping, importing):
        for figure in subject.figures(folder):
            print(figure, flush=True)
