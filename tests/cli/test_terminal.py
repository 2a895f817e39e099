"""On a terminal: colours, a cut at the right edge, and progress of what takes a while."""

from __future__ import annotations

import pytest

from redrive import terminal
from tests.cli.conftest import Redrive

GOAL = "王芳的订单在哪里" * 20


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output that believes it is a terminal of 40 cells."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(terminal, "is_watched", lambda: True)


def test_lines_are_cut_by_cells(on_terminal: None, capsys: pytest.CaptureFixture[str]) -> None:
    """A Chinese character takes two, so 19 of them, a space and the sign of the cut are a line."""
    terminal.say(GOAL)
    assert capsys.readouterr().out == f"{GOAL[:19]} …\n"


def test_what_is_to_stay_whole_is_not_cut(on_terminal: None, capsys: pytest.CaptureFixture[str]) -> None:
    """An answer is not to be lost at the edge of a window."""
    terminal.say(GOAL, whole=True)
    assert GOAL in capsys.readouterr().out


def test_nothing_is_cut_in_a_pipe(capsys: pytest.CaptureFixture[str], folder: object) -> None:
    """Who greps wants all of it."""
    terminal.say(GOAL)
    assert capsys.readouterr().out == f"{GOAL}\n"


def test_colours_only_where_they_are_wanted(
    redrive: Redrive, incident: str, on_terminal: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NO_COLOR is respected."""
    assert "\x1b[32msame" in redrive("replay", incident).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[32m" not in redrive("replay", incident).out


def test_long_work_shows_how_far_it_is(
    on_terminal: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On stderr, so that stdout stays the answer."""
    monkeypatch.setattr(terminal, "PATIENCE_S", -1.0)
    assert list(terminal.watched([1, 2, 3], "counting", total=3)) == [1, 2, 3]
    out, err = capsys.readouterr()
    assert out == ""
    assert "counting" in err


def test_short_work_shows_nothing(on_terminal: None, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing flickers."""
    assert list(terminal.watched([1, 2, 3], "counting", total=3)) == [1, 2, 3]
    assert capsys.readouterr() == ("", "")
