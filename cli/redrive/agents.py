"""Loading the agent that a command line names: what is wrong with the user's own code is told in one line, too."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import TypeVar

from redrive_engine import Agent, Tool, load_agent, load_tools
from redrive_events import BadInput, RedriveError

Loaded = TypeVar("Loaded")


def agent_named(spec: str) -> Agent:
    """The agent ``MODULE:ATTR``; what its module prints is no answer of a command, and goes to stderr.

    Raises:
        BadInput: there is none, or its module cannot be loaded.
    """
    return _loaded(spec, load_agent)


def tools_named(spec: str) -> list[Tool]:
    """The tool ``MODULE:ATTR``, or the tools in it, likewise.

    Raises:
        BadInput: there are none, or their module cannot be loaded.
    """
    return _loaded(spec, load_tools)


def _loaded(spec: str, load: Callable[[str], Loaded]) -> Loaded:
    try:
        with redirect_stdout(sys.stderr):
            return load(spec)
    except (RedriveError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a module may even leave the program
        raise BadInput(f"{_told(error)} ({_place(error)})", place=spec) from error


def _told(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - its own text may fail, too
        return type(error).__name__


def _place(error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{last.filename}:{last.lineno}"
