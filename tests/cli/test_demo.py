"""`demo`: the whole story, word for word, in time and without a trace."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.cli.conftest import Redrive

SECONDS_MAX = 10


def test_the_story(
    redrive: Redrive, folder: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    """It leaves nothing behind, neither here nor where temporary files are."""
    (elsewhere := folder / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    assert redrive("demo") == snapshot
    assert [path.name for path in elsewhere.iterdir() if "demo" in path.name] == []
    assert [path.name for path in folder.iterdir()] == ["tmp"]


def test_it_needs_neither_network_nor_time(folder: Path) -> None:
    """With all sockets refused it says the same, well before anybody looks away."""
    code = (
        "import socket, sys\n"
        "def refused(*args, **kwargs): raise OSError('no network')\n"
        "socket.socket.connect = socket.getaddrinfo = refused\n"
        "from redrive.command import main\n"
        "sys.exit(main(['demo']))"
    )
    begun = time.monotonic()
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert time.monotonic() - begun < SECONDS_MAX
    assert said.stderr == b""
