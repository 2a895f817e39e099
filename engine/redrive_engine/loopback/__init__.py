"""Any model served over HTTP on this machine, and made to fail on the way: a provider where there is none."""

from redrive_engine.loopback.server import Fault, Loopback

__all__ = ["Fault", "Loopback"]
