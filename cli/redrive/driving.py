"""The program that a recorded run is driven again with, as a command line names it."""

from __future__ import annotations

from redrive.agents import agent_named
from redrive_engine import Agent, Program, registered
from redrive_events import CannotReplay
from redrive_projections import fork_of, start_of
from redrive_replays import Recording, program_for


def program_of(recording: Recording, agent: str | None) -> Program:
    """That of the agent ``MODULE:ATTR``, else the one that fits the recording.

    Raises:
        BadInput: there is no such agent.
        CannotReplay: there is no program, or the recording cannot be read to its end.
    """
    return agent_and_program(recording, agent)[1]


def agent_and_program(recording: Recording, agent: str | None) -> tuple[Agent | None, Program]:
    """That program, and the agent it is of, where there is one. Raises as `program_of` does."""
    started = start_of(recording.records)
    if recording.problem or started is None:
        raise CannotReplay(recording.problem or "the recording does not begin with the start of a run")
    found = agent_named(agent) if agent else registered(started.agent)
    return found, program_for(started, agent=found, fork=fork_of(recording.records))
