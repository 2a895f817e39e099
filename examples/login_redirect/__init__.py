"""Login redirect diagnosis: an agent that may only look, and a controller that alone says what is true.

`agent` is the plain run, ``redrive run login_redirect:agent --goal "..."``; `login_redirect.variants` has the others.
"""

from login_redirect.diagnosis import GOAL, agent, make_agent

__all__ = ["GOAL", "agent", "make_agent"]
