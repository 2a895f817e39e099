"""What detect-secrets is loaded with: it masks as it ever did, and nothing speaks to anybody."""

from __future__ import annotations

import json
import os
import subprocess
import sys

LOADED = """
import json, sys
heard = []
sys.addaudithook(lambda event, _: heard.append(event) if event.startswith("socket.") else None)
{before}
from redrive_engine.masking.credentials import _names, _shapes
shapes = [_names(), *(one.pattern for one in _shapes()[0])]
silent = not heard and "requests" not in sys.modules
{after}
print(json.dumps([shapes, silent]))
"""


def loaded(before: str = "", after: str = "") -> tuple[list[str], bool]:
    """The shapes of credentials in a process of its own, and whether it was silent while it loaded them."""
    around = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONHASHSEED": "0"}
    ran = [sys.executable, "-c", LOADED.format(before=before, after=after)]
    shapes, silent = json.loads(subprocess.run(ran, env=around, capture_output=True, check=True, text=True).stdout)
    return shapes, silent


def test_all_shapes_are_known_without_a_socket() -> None:
    """The same as with the library by which detect-secrets would ask others, which binds one as it is loaded."""
    shapes, silent = loaded()
    assert silent
    assert loaded(before="import requests") == (shapes, False)


def test_what_is_not_loaded_is_there_for_whoever_uses_it() -> None:
    """Else detect-secrets would be broken for the rest of the process."""
    own = "from detect_secrets.plugins import stripe; import requests; assert stripe.requests.get is requests.get"
    assert loaded(after=own)[1]
    one = "from detect_secrets.plugins import base; assert issubclass(base.requests.exceptions.Timeout, Exception)"
    assert loaded(after=one)[1]
