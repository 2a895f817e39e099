"""The language model's double: it decides from the JSON view of one turn, and remembers nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import redrive as rd
from login_redirect.world import CALLBACK, KEY_TEST, LOGIN, REDIRECT_TEST

View: TypeAlias = Mapping[str, Any]
Decide: TypeAlias = Callable[[View], str]


def scripted(decide: Decide) -> rd.ScriptedModel:
    """A model that is shown the view of each request, and nothing else."""
    return rd.ScriptedModel(lambda _, request: decide(view_of(request)))


def view_of(request: rd.ModelRequest) -> View:
    """The view that a request ends with."""
    view: View = json.loads(str(request.messages[-1].content))
    return view


def action(summary: str, tool: str, **given: str) -> str:
    """A reply that asks for a tool."""
    return json.dumps({"type": "action", "tool": tool, "input": given, "summary": summary})


def final(summary: str) -> str:
    """A reply that asks to be finished."""
    return json.dumps({"type": "final", "summary": summary})


FIRST = "I will look at how the login remembers the page that was asked for."
# What is done about each fact that is lacking, in this order.
ABOUT = {
    "reproduced": action("The report is unconfirmed, so I reproduce it first.", "run_test", test=REDIRECT_TEST),
    "search_completed": action(
        "It is reproduced; I look for where the page is kept during the login.",
        "search_code",
        query="return_to next_path",
    ),
    "producer_key": action("Two session keys turn up; I read the side that writes.", "read_file", path=LOGIN),
    "consumer_key": action("The login writes one key; I read which one the callback uses.", "read_file", path=CALLBACK),
    "contract_mismatch": action(
        "The keys differ; I let the test of the key contract confirm it.", "run_test", test=KEY_TEST
    ),
}
LAST = final("Both keys and their mismatch are established, so the diagnosis is complete.")


def diagnose(view: View) -> str:
    """First words that are no decision, as models begin; then whatever the facts still lack."""
    if view["step"] == 1:
        return FIRST
    return next((reply for fact, reply in ABOUT.items() if fact not in view["facts"]), LAST)
