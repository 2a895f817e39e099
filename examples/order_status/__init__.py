"""Order status: what makes it safe to let an agent act, all of it outside the model.

`agent` looks an order up, ``redrive run order_status:agent --goal "..." --principal desk --tenant velo``; `care` also
credits what a late order had cost and writes to the customer. `order_status.variants` has what goes wrong.
"""

from order_status.desk import CARE_GOAL, GOAL, agent, care, make_agent

__all__ = ["CARE_GOAL", "GOAL", "agent", "care", "make_agent"]
