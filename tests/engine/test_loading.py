"""Where an agent's program is found: by the user's own registry, never by a name that stands in a log."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from redrive_engine import registered
from redrive_events import BadInput

DESK = """
import redrive as rd

def made():
    return rd.Agent("desk", "1", rd.Contract(), model=rd.ScriptedModel([]))
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that registers one agent, seen from a folder inside it."""
    (tmp_path / "registered_desk.py").write_text(DESK, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text('[tool.redrive.agents]\ndesk = "registered_desk:made"\n', encoding="utf-8")
    (tmp_path / "inside").mkdir()
    monkeypatch.chdir(tmp_path / "inside")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path / "pyproject.toml"


@pytest.mark.usefixtures("project")
def test_an_agent_is_found_by_the_name_it_is_registered_under() -> None:
    """From any folder of the project; a name that is not registered is none."""
    found = registered("desk")
    assert found is not None
    assert (found.name, found.version) == ("desk", "1")
    assert registered("registered_desk:made") is None, "a name in a log is never a place to import from"


def test_a_registry_that_was_changed_is_read_again(project: Path) -> None:
    """A process that lives long must not go by what stood there when it began."""
    assert registered("desk") is not None
    project.write_text("[project]\n", encoding="utf-8")
    os.utime(project, ns=(1, 1))
    assert registered("desk") is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("[tool", "not TOML", id="no TOML"),
        pytest.param(f"a = {'[' * 5_000}", "not TOML", id="deeper than Python goes"),
        pytest.param(f"a = {'9' * 5_000}", "not TOML", id="a number longer than Python reads"),
        pytest.param(
            "[tool.redrive.agents]\ndesk = 1\n", "[tool.redrive.agents] maps names to MODULE:ATTR", id="a number"
        ),
        pytest.param(
            'tool.redrive.agents = "desk"\n', "[tool.redrive.agents] maps names to MODULE:ATTR", id="no table"
        ),
    ],
)
def test_a_registry_that_is_none_is_refused(project: Path, text: str, problem: str) -> None:
    """In one line that names the file."""
    project.write_text(text, encoding="utf-8")
    os.utime(project, ns=(1, 1))
    with pytest.raises(BadInput) as refused:
        registered("desk")
    assert str(refused.value) == f"{project}: {problem}"
