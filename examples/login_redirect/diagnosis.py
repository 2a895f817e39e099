"""The agent that diagnoses: what it may look at, when it is done, and what it answers from facts alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import redrive as rd
from login_redirect.evidence import VERIFIERS
from login_redirect.script import diagnose, scripted
from login_redirect.world import BROKEN, FILES, TESTS, Found, RanTest, Repository, SourceFile

GOAL: Final = "A user who was on /settings logs in and lands on /. Find out why; change nothing."

# Not only blanks, and at most 100 characters.
QUERY: Final = r"(?s)\S(?:.{0,98}\S)?"

ANSWER: Final = (
    "The login keeps the requested page under '{producer_key}', but the callback reads '{consumer_key}', "
    "finds nothing there, and redirects to its default '/'."
)

PROMPT: Final = f"""\
You diagnose a defect in a repository, and change nothing.
Each turn you are given a JSON view: the step, how many of your last replies could not be read, and the facts so far.
Reply with one JSON object and nothing else, one of:
{{"summary": "...", "type": "action", "tool": "run_test", "input": {{"test": "..."}}}}
{{"summary": "...", "type": "action", "tool": "search_code", "input": {{"query": "..."}}}}
{{"summary": "...", "type": "action", "tool": "read_file", "input": {{"path": "..."}}}}
{{"summary": "...", "type": "final"}}
In "summary" say in one sentence, before each call, what you make of the facts and what you intend.
A query is a few words; lines with any of them are found. The tests are {" and ".join(TESTS)}.
The files are {" and ".join(FILES)}.
Ask for "final" once the defect is reproduced, the search is done, both session keys are read in the sources, and the
test of the key contract has confirmed the mismatch.
"""


def contract(max_steps: int = 8) -> rd.Contract:
    """Two tests, two files and short queries; anything else ends the run at once."""
    return rd.Contract(
        tools={
            "run_test": {"test": list(TESTS)},
            "search_code": {"query": QUERY},
            "read_file": {"path": list(FILES)},
        },
        done={
            "reproduced": True,
            "search_completed": True,
            "producer_key": rd.ANY,
            "consumer_key": rd.ANY,
            "contract_mismatch": True,
        },
        answer=ANSWER,
        budget=rd.Budget(steps=max_steps),
        quotas=rd.FailureQuotas(unreadable=2),
        on_denied="block",
        on_refused="fail",
        dialect="json",
        view="facts",
    )


def tools_of(repository: Repository) -> list[rd.Tool]:
    """What can be looked at in a repository."""

    @rd.tool(effect="read", source="test runner", timeout="60s")
    def run_test(test: str) -> RanTest:
        """Run one test, named FILE#TEST: its exit code and output."""
        return repository.run_test(test)

    @rd.tool(effect="read", source="repository")
    def search_code(query: str) -> Found:
        """All lines that have any of these words."""
        return repository.search_code(query)

    @rd.tool(effect="read", source="repository")
    def read_file(path: str) -> SourceFile:
        """The whole text of one file."""
        return repository.read_file(path)

    return [run_test, search_code, read_file]


def make_agent(
    *,
    model: rd.Model | None = None,
    max_steps: int = 8,
    repository: Repository = BROKEN,
    ungranted: Sequence[rd.Tool] = (),
) -> rd.Agent:
    """The agent, with the scripted model unless another is given.

    ``ungranted`` are tools that it has and that its contract does not grant.
    """
    return rd.Agent(
        "login-redirect",
        "1",
        contract(max_steps),
        tools=[*tools_of(repository), *ungranted],
        verifiers=VERIFIERS,
        model=model or scripted(diagnose),
        prompt=PROMPT,
    )


agent = make_agent()
