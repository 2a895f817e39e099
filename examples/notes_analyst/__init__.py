"""Notes analyst: plan and loop together, layers for what fails, and an end that is always known.

`agent` is the plain run, ``redrive run notes_analyst:agent --goal "..."``; `notes_analyst.variants` has the others.
"""

from notes_analyst.analyst import GOAL, agent, make_agent

__all__ = ["GOAL", "agent", "make_agent"]
