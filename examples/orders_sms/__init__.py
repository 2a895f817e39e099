"""Orders, logistics, text message: native tool calls, and what keeps a model from failing, repeating and inventing.

`agent` is the plain run, ``redrive run orders_sms:agent --goal "..."``; `orders_sms.variants` has the others.
"""

from orders_sms.service import GOAL, agent, make_agent

__all__ = ["GOAL", "agent", "make_agent"]
