"""The examples as somebody runs them."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path

import redrive as rd


@dataclass(frozen=True)
class Scenario:
    """An example by the name of its module, its agent, and what that is asked for."""

    module: str
    agent: rd.Agent
    goal: str


def examples() -> list[Scenario]:
    """Each of them, whatever there is."""
    folders = sorted(path.parent for path in (Path(__file__).parents[1] / "examples").glob("*/__init__.py"))
    modules = [importlib.import_module(folder.name) for folder in folders]
    return [Scenario(one.__name__, one.agent, getattr(one, "GOAL", "Refund ord_123")) for one in modules]
