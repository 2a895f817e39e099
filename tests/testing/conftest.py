"""A project of somebody else, with an agent and its tests, and pytest run in it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
import syrupy
from syrupy.extensions.base import SnapshotCollectionStorage

DESK = Path(__file__).parents[2] / "examples" / "refund_desk"

QUIET = [f"-pno:{plugin}" for plugin in ("cacheprovider", "cov", "hypothesispytest", "anyio")]

Pytest: TypeAlias = Callable[..., pytest.RunResult]

TEST = """
from little_desk import agent

def test_refund(trajectories, snapshot):
    assert trajectories.run(agent, "Refund ord_123", principal="ana") == snapshot
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> Path:
    """A folder with the refund desk under another name, so that it is loaded anew for each run of pytest."""
    shutil.copytree(DESK, pytester.path / "little_desk", ignore=shutil.ignore_patterns("test_*", "__*__"))
    for file in (pytester.path / "little_desk").glob("*.py"):
        file.write_text(file.read_text(encoding="utf-8").replace("refund_desk", "little_desk"), encoding="utf-8")
    source = (DESK / "__init__.py").read_text(encoding="utf-8").replace("refund_desk", "little_desk")
    (pytester.path / "little_desk" / "__init__.py").write_text(source, encoding="utf-8")
    (pytester.path / "test_desk.py").write_text(TEST, encoding="utf-8")
    pytester.syspathinsert()
    return pytester.path


def forget() -> None:
    """Whoever asks for the agent next loads what is in its files by then."""
    for name in [one for one in sys.modules if one.partition(".")[0] == "little_desk"]:
        del sys.modules[name]


@pytest.fixture
def run_pytest(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Pytest:
    """Pytest as somebody calls it in that folder; what syrupy keeps in its module is that of this session again."""
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)

    def run(*arguments: str) -> pytest.RunResult:
        forget()
        session, folder = syrupy._syrupy, SnapshotCollectionStorage.snapshot_dirname
        try:
            return pytester.runpytest_inprocess(*QUIET, *arguments)
        finally:
            syrupy._syrupy, SnapshotCollectionStorage.snapshot_dirname = session, folder

    return run


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the recording and the snapshot of the test are once they were made."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
def recorded(project: Path, kept: Path, run_pytest: Pytest) -> Path:
    """The project, with the recording and the snapshot of its test."""
    if not any(kept.iterdir()):
        run_pytest("--redrive-record=once", "--snapshot-update").assert_outcomes(passed=1)
        for folder in project.glob("__[rs]*__"):
            shutil.copytree(folder, kept / folder.name)
    shutil.copytree(kept, project, dirs_exist_ok=True)
    return project
