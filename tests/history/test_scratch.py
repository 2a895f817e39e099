"""The folder for what does not fit into memory: one for each process, and none that a killed process left."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from redrive_projections.history.scratch import PREFIX

OPENED = """
import sys
from redrive_events import MemoryLog
from redrive_projections.history import ask
ask(MemoryLog(), "SELECT 1")
print("opened", flush=True)
sys.stdin.read()
"""


@contextmanager
def opened(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has a history open, until its stdin is closed."""
    pipe = subprocess.PIPE
    environment = {**os.environ, "TMPDIR": str(folder)}
    with subprocess.Popen([sys.executable, "-c", OPENED], env=environment, stdin=pipe, stdout=pipe, text=True) as one:
        assert one.stdout is not None
        assert one.stdout.readline() == "opened\n"
        yield one


def there(folder: Path) -> set[Path]:
    """The folders there are."""
    return set(folder.glob("redrive-*"))


def test_the_next_process_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    """And nothing of one that lives, nor what has no lock."""
    (tmp_path / f"{PREFIX}somebodys").mkdir()
    nobodys = there(tmp_path)
    with opened(tmp_path) as killed:
        (left,) = there(tmp_path) - nobodys
        (left / "duckdb_temp_storage").write_text("much")
        killed.kill()
    assert left.exists()
    with opened(tmp_path) as living:
        (kept,) = there(tmp_path) - nobodys
        assert kept != left
        with opened(tmp_path):
            assert there(tmp_path) > {kept}
        assert there(tmp_path) - nobodys == {kept}
        living.communicate()
    assert there(tmp_path) == nobodys
