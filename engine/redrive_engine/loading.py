"""Finding a user's agent by MODULE:ATTR, or by name in the project's registry, never by a name from a log."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path

from redrive_engine.agent import Agent
from redrive_engine.tools import Tool
from redrive_events import BadInput

ENTRY_POINTS = "redrive.agents"


def named(spec: str, what: str) -> object:
    """What ``MODULE:ATTR`` names, None if its module has no such thing; the current folder is on the path.

    Raises:
        BadInput: there is no such module, or ``what`` is named otherwise.
    """
    module_name, _, attribute = spec.partition(":")
    if not module_name or not attribute:
        raise BadInput(f"{what} is named MODULE:ATTR", place=repr(spec))
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and not f"{module_name}.".startswith(f"{error.name}."):
            raise  # the user's module is there, and fails in its own imports
        raise BadInput(f"no module {module_name!r}", place=repr(spec)) from error
    return getattr(module, attribute, None)


def load_agent(spec: str) -> Agent:
    """The agent ``MODULE:ATTR`` names, or the one a function of that name returns.

    Raises:
        BadInput: there is no such module, attribute or agent.
    """
    found = named(spec, "an agent")
    if callable(found) and not isinstance(found, Agent):
        found = found()
    if not isinstance(found, Agent):
        module_name, _, attribute = spec.partition(":")
        raise BadInput(f"{module_name} has no agent {attribute!r}", place=repr(spec))
    return found


def load_tools(spec: str) -> list[Tool]:
    """The tool ``MODULE:ATTR`` names, or the tools in it.

    Raises:
        BadInput: there is no such module, or it has no tools of that name.
    """
    found = named(spec, "a tool")
    tools = [one for one in (found if isinstance(found, list | tuple) else [found]) if isinstance(one, Tool)]
    if not tools or (isinstance(found, list | tuple) and len(tools) < len(found)):
        module_name, _, attribute = spec.partition(":")
        raise BadInput(f"{module_name} has no tools {attribute!r}", place=repr(spec))
    return tools


def registered(name: str) -> Agent | None:
    """The agent that the user registered under ``name``: in ``[tool.redrive.agents]`` or as an entry point."""
    spec = registered_as(name)
    return load_agent(spec) if spec else None


def registered_as(name: str) -> str | None:
    """The ``MODULE:ATTR`` that is registered under ``name``."""
    for folder in [here := Path.cwd(), *here.parents]:
        project = folder / "pyproject.toml"
        if project.is_file():
            if spec := _agents_of(project, project.stat().st_mtime_ns).get(name):
                return spec
            break
    return _installed().get(name)


@cache
def _installed() -> Mapping[str, str]:
    """The entry points; looking for them takes longer than most replays, and there is one lookup a run."""
    return {point.name: point.value for point in importlib.metadata.entry_points(group=ENTRY_POINTS)}


@lru_cache(maxsize=8)
def _agents_of(project: Path, changed_ns: int) -> Mapping[str, str]:  # noqa: ARG001 - a changed file is read again
    try:
        settings = tomllib.loads(project.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # of TOML, of its encoding, or of a number in it
        raise BadInput("not TOML", place=str(project)) from error
    agents = settings.get("tool", {}).get("redrive", {}).get("agents", {})
    if not isinstance(agents, dict) or not all(isinstance(spec, str) for spec in agents.values()):
        raise BadInput("[tool.redrive.agents] maps names to MODULE:ATTR", place=str(project))
    return agents
