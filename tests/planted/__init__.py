"""Faults planted one by one, or two at once, with the place and the cause that a replay has to find."""

import sys
from pathlib import Path

# Two versions of an example are among them, and the examples are found as pytest finds them.
if (_examples := str(Path(__file__).parents[2] / "examples")) not in sys.path:
    sys.path.insert(0, _examples)
