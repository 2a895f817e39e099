"""Loading the agent that a command line names: what is wrong with the user's own code is told in one line, too."""

from __future__ import annotations

import traceback

from redrive_engine import Agent, load_agent
from redrive_events import BadInput, RedriveError


def agent_named(spec: str) -> Agent:
    """The agent ``MODULE:ATTR``.

    Raises:
        BadInput: there is none, or its module cannot be loaded.
    """
    try:
        return load_agent(spec)
    except RedriveError:
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = (
            f"{error.filename}:{error.lineno}" if isinstance(error, SyntaxError) else f"{last.filename}:{last.lineno}"
        )
        raise BadInput(f"{type(error).__name__}: {error} ({place})", place=spec) from error
