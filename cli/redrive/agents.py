"""Loading the agent that a command line names: what is wrong with the user's own code is told in one line, too."""

from __future__ import annotations

import sys
import traceback
from contextlib import redirect_stdout

from redrive_engine import Agent, load_agent
from redrive_events import BadInput, RedriveError


def agent_named(spec: str) -> Agent:
    """The agent ``MODULE:ATTR``; what its module prints is no answer of a command, and goes to stderr.

    Raises:
        BadInput: there is none, or its module cannot be loaded.
    """
    try:
        with redirect_stdout(sys.stderr):
            return load_agent(spec)
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
