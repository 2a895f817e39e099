"""Weather and clothing: a text protocol, in English and Chinese, and what keeps a run from going in circles.

`agent` is the plain run, ``redrive run weather:agent --goal "..."``; `weather.variants` has the others.
"""

from weather.advisor import GOAL, agent, make_agent

__all__ = ["GOAL", "agent", "make_agent"]
