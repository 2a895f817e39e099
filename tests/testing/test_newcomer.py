"""Somebody who has never seen this repository: the wheel in an environment of its own, and a complaint made a test."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INCIDENT = ROOT / "cli" / "redrive" / "demo" / "incident.json"
LIMIT_S = 180


def run(*command: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command in that folder; none may take for ever."""
    done = subprocess.run(
        [str(one) for one in command], cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    done.stdout += done.stderr
    return done


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of an environment with the wheel in it; what it needs is found where these tests have it."""
    folder = tmp_path_factory.mktemp("newcomer")
    built = run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", folder, ROOT, folder=folder)
    (wheel,) = folder.glob("redrive-*.whl")
    assert built.returncode == 0, built.stdout
    venv.create(folder / "env", with_pip=False)
    (packages,) = (folder / "env").glob("lib/python*/site-packages")
    target: list[str | Path] = ["--no-deps", "--no-index", "--target", packages, wheel]
    done = run(sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", *target, folder=folder)
    assert done.returncode == 0, done.stdout
    # A path that is added like this has its packages, and not the sources of this repository that it leads to.
    (packages / "needed.pth").write_text(sysconfig.get_paths()["purelib"], encoding="utf-8")
    return folder / "env" / "bin"


def test_a_complaint_becomes_a_test_in_three_commands(installed: Path, tmp_path: Path) -> None:
    """Those of the first page; the test fails once the incident is driven by an agent that does otherwise."""
    shutil.copy(INCIDENT, tmp_path)
    python = installed / "python"
    where = run(python, "-c", "import redrive; print(redrive.__file__)", folder=tmp_path)
    assert str(installed.parent) in where.stdout
    redrive: list[str | Path] = [python, "-m", "redrive"]
    assert run(*redrive, "import", "incident.json", folder=tmp_path).returncode == 0
    frozen = ["freeze", "openai-chat", "--name", "late-refund", "--mask", "Mira Sand", "--yes"]
    made = run(*redrive, *frozen, folder=tmp_path)
    assert made.returncode == 0, made.stdout
    tested = run(python, "-m", "pytest", "-q", "tests/incidents", folder=tmp_path)
    assert tested.returncode == 0, tested.stdout
    assert "1 passed" in tested.stdout
    test = tmp_path / "tests" / "incidents" / "test_late_refund.py"
    text = test.read_text(encoding="utf-8")
    test.write_text(text.replace('.jsonl")', '.jsonl", policy="stricter.toml")'), encoding="utf-8")
    shutil.copy(INCIDENT.with_name("stricter.toml"), tmp_path)
    tested = run(python, "-m", "pytest", "-q", "tests/incidents", folder=tmp_path)
    assert tested.returncode == 1, tested.stdout
    assert "first difference at verdict#2, cause: policy" in tested.stdout
