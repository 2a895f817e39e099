"""A refund desk: an agent that pays money back, to the account that paid and to no other.

``redrive run refund_desk:agent --goal "Refund ord_123" --principal ana`` is the plain run.
"""

from refund_desk.desk import agent

__all__ = ["agent"]
