"""Models: the port, real ones asked over HTTP on this machine, their failures and their prices."""
