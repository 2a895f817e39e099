"""The scenario's promises: what it finds, what ends it, and what nobody can talk it into."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

import redrive as rd
from login_redirect import GOAL, agent, make_agent, variants
from login_redirect.script import LAST, View, action, diagnose, scripted, view_of
from login_redirect.world import (
    BROKEN,
    CALLBACK,
    KEY_TEST,
    LOGIN,
    REDIRECT_TEST,
    Found,
    RanTest,
    Repository,
    SourceFile,
)
from redrive_engine import load_agent
from redrive_events import (
    FactCommitted,
    FinishRefused,
    ObservationRefused,
    ReplyRefused,
    RunStarted,
    ToolCalled,
    VerdictGiven,
)
from redrive_projections.history import ask
from trajectories import Make, ends_alike_wherever_it_is_cut, found, replays_the_same, told

Log: TypeAlias = rd.MemoryLog | rd.SqliteLog

ANSWER = (
    "The login keeps the requested page under 'return_to', but the callback reads 'next_path', "
    "finds nothing there, and redirects to its default '/'."
)
FACTS = {
    "reproduced": True,
    "search_completed": True,
    "search_matches": [
        {"path": LOGIN, "line": 3, "text": "  session['return_to'] = validated_path;"},
        {"path": CALLBACK, "line": 2, "text": "  const target = session['next_path'] ?? '/';"},
    ],
    "files_read": [LOGIN, CALLBACK],
    "producer_key": "return_to",
    "consumer_key": "next_path",
    "contract_mismatch": True,
}
CALLS = ["run_test", "search_code", "read_file", "read_file", "run_test"]


def short_of_words() -> rd.Agent:
    """Two replies in a row that cannot be read."""
    return variants.stammering((1, 2))


def long_winded() -> rd.Agent:
    """A query of 101 characters."""
    return variants.searching("next_path " * 10 + "?")


# Each agent, and how its run ends: status, reason, steps, and the tools that were asked to act.
ENDS: list[tuple[Make, str, str, int, list[str]]] = [
    (make_agent, "succeeded", "done", 7, CALLS),
    (variants.short, "exhausted", "steps", 3, CALLS[:2]),
    (variants.hasty, "succeeded", "done", 7, CALLS),
    (variants.deploying, "blocked", "call 2 of deploy: not granted", 3, CALLS[:1]),
    (variants.straying, "blocked", "call 2 of read_file: scope", 3, CALLS[:1]),
    (variants.searching, "blocked", "call 2 of search_code: scope", 3, CALLS[:1]),
    (long_winded, "blocked", "call 2 of search_code: scope", 3, CALLS[:1]),
    (variants.stammering, "succeeded", "done", 8, CALLS),
    (short_of_words, "failed", "2 unreadable replies in a row", 2, []),
    (variants.crossed, "failed", "observation of call 1 refused: origin: another test ran", 2, CALLS[:1]),
    (variants.misled, "succeeded", "done", 7, CALLS),
    (variants.gullible, "blocked", "call 3 of deploy: not granted", 4, CALLS[:2]),
]
MAKES = [pytest.param(make, id=make.__name__) for make, *_ in ENDS]


@dataclass(frozen=True)
class Noting(Repository):
    """A repository that notes what is asked of it."""

    touched: list[str] = field(default_factory=list)

    def run_test(self, test: str) -> RanTest:
        """Note it, then run it."""
        self.touched.append(test)
        return super().run_test(test)

    def search_code(self, query: str) -> Found:
        """Note it, then search."""
        self.touched.append(query)
        return super().search_code(query)

    def read_file(self, path: str) -> SourceFile:
        """Note it, then read."""
        self.touched.append(path)
        return super().read_file(path)


def run_of(asked: rd.Agent, *, log: Log | None = None, clock: rd.StillClock | None = None) -> rd.Run:
    """A run of the scenario in surroundings that never differ."""
    return asked.run(GOAL, log=log or rd.MemoryLog(), run_id="run", surroundings=rd.Surroundings.fixed(clock))


@pytest.mark.parametrize(
    ("make", "status", "reason", "steps", "calls"), [pytest.param(*end, id=end[0].__name__) for end in ENDS]
)
def test_the_run_ends(make: Make, status: str, reason: str, steps: int, calls: list[str]) -> None:
    """Each with its known reason, after these tools; only a run that came to its own end has an answer."""
    run = run_of(make())
    assert run.state.end is not None
    assert (run.status, run.state.end.reason, run.state.steps) == (status, reason, steps)
    assert [called.tool for called in found(run, ToolCalled)] == calls
    assert run.answer == (ANSWER if status == "succeeded" else None)


def test_all_that_is_known_was_verified() -> None:
    """The facts, each with the verifier and the observation that bear it out."""
    run = run_of(agent)
    assert {key: fact.value for key, fact in run.facts.items()} == FACTS
    assert {key: fact.verifier for key, fact in run.facts.items()} == {
        "reproduced": "right_test",
        "search_completed": "right_search",
        "search_matches": "right_search",
        "files_read": "right_file",
        "producer_key": "right_file",
        "consumer_key": "right_file",
        "contract_mismatch": "right_test",
    }
    grown = [fact for fact in found(run, FactCommitted) if fact.key == "files_read"]
    assert [(fact.value, fact.supersedes is None) for fact in grown] == [([LOGIN], True), ([LOGIN, CALLBACK], False)]


def test_the_model_is_given_a_view_made_anew_and_no_chat() -> None:
    """Each request ends with the view of that turn; nothing that was said before is in it."""
    requests: list[rd.ModelRequest] = []

    def watched(_: int, request: rd.ModelRequest) -> str:
        requests.append(request)
        return diagnose(view_of(request))

    run_of(make_agent(model=rd.ScriptedModel(watched)))
    views = [view_of(request) for request in requests]
    assert {len(request.messages) for request in requests} == {3}  # prompt, goal, view
    assert views[0] == {"step": 1, "consecutive_parse_errors": 0, "facts": {}}
    assert views[1] == {"step": 2, "consecutive_parse_errors": 1, "facts": {}}
    assert views[-1] == {"step": 7, "consecutive_parse_errors": 0, "facts": FACTS}


def test_a_final_asked_too_early_is_refused_with_what_is_missing() -> None:
    """And the run goes on to its end."""
    run = run_of(variants.hasty())
    missing = ("reproduced", "search_completed", "producer_key", "consumer_key", "contract_mismatch")
    words = f"Not done yet. Still to be established: {', '.join(sorted(missing))}."
    assert found(run, FinishRefused) == [FinishRefused(missing=tuple(sorted(missing)), text=words)]
    assert run.status == "succeeded"


@pytest.mark.parametrize("make", [variants.deploying, variants.gullible], ids=lambda make: make.__name__)
def test_a_tool_outside_the_contract_never_acts(make: Callable[[list[str]], rd.Agent]) -> None:
    """It is there and would act, so only the verdict keeps it from acting."""
    deployed: list[str] = []
    run = run_of(make(deployed))
    assert [(one.verdict, one.rule) for one in found(run, VerdictGiven)][-1] == ("deny", "not granted")
    assert deployed == []


def test_a_tool_outside_the_contract_is_no_tool_to_the_model() -> None:
    """It is not offered, and a call of it is blocked before anybody looks at its arguments."""
    offered: list[str] = []
    deployed: list[str] = []

    def pushy(_: int, request: rd.ModelRequest) -> str:
        offered.extend(request.tools)
        return action("I deploy somewhere.", "deploy", host="production")

    run = run_of(make_agent(model=rd.ScriptedModel(pushy), ungranted=[variants.deploy_to(deployed)]))
    assert offered == ["read_file", "run_test", "search_code"]
    assert (run.status, deployed) == ("blocked", [])


@pytest.mark.parametrize("given", [{}, {"query": 5}, {"query": "session", "flags": "--replace"}])
def test_arguments_that_do_not_fit_are_corrected_and_never_used(given: dict[str, object]) -> None:
    """They are a slip of the model's and no request outside the contract, so the run goes on."""
    slip = json.dumps({"type": "action", "tool": "search_code", "input": given})
    watched = Noting(BROKEN.files, BROKEN.tests)
    run = run_of(make_agent(model=scripted(variants.instead({1: slip})), repository=watched))
    assert next((one.verdict, one.rule) for one in found(run, VerdictGiven)) == ("deny", "schema")
    assert (run.status, watched.touched[0]) == ("succeeded", REDIRECT_TEST)


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (action("", "read_file", path="src/auth/../auth/login.ts"), "arguments.path is out of scope (one_of)"),
        (action("", "read_file", path="/etc/passwd"), "arguments.path is out of scope (one_of)"),
        (action("", "read_file", path=LOGIN.upper()), "arguments.path is out of scope (one_of)"),
        (action("", "run_test", test="tests/auth/login-redirect.test.ts"), "arguments.test is out of scope (one_of)"),
        (action("", "search_code", query=""), "arguments.query is out of scope (matches)"),
        (action("", "search_code", query=" \n "), "arguments.query is out of scope (matches)"),
        (action("", "search_code", query="x" * 101), "arguments.query is out of scope (matches)"),
        (action("", "write_file", path=LOGIN), "no tool 'write_file'"),
        (action("", "RUN_TEST", test=REDIRECT_TEST), "no tool 'RUN_TEST'"),
    ],
)
def test_a_request_outside_the_contract_touches_nothing(wanted: str, why: str) -> None:
    """Nothing is asked of the repository, since the run is blocked at once."""
    watched = Noting(BROKEN.files, BROKEN.tests)
    run = run_of(make_agent(model=scripted(lambda _: wanted), repository=watched))
    assert (run.status, [one.reason for one in found(run, VerdictGiven)], watched.touched) == ("blocked", [why], [])


@pytest.mark.parametrize("query", ["#", "#" * 100, "两个键"])
def test_a_query_within_its_limits_is_searched_for(query: str) -> None:
    """Characters are counted, not bytes."""
    replies = {2: action("", "search_code", query=query)}
    run = run_of(make_agent(model=scripted(variants.instead(replies)), max_steps=2))
    assert run.facts["search_matches"].value == []


def test_unreadable_replies_add_up_only_in_a_row() -> None:
    """Two with a valid reply between them are two first ones."""
    apart, in_a_row = run_of(variants.stammering((1, 3))), run_of(variants.stammering((1, 2)))
    assert len(found(apart, ReplyRefused)) == len(found(in_a_row, ReplyRefused)) == 2
    assert (apart.status, in_a_row.status) == ("succeeded", "failed")


@pytest.mark.parametrize(
    ("repository", "reason"),
    [
        (variants.Crossed(BROKEN.files, BROKEN.tests), "origin: another test ran"),
        (replace(BROKEN, tests={**BROKEN.tests, REDIRECT_TEST: (0, "FAILED: expected 'a', got 'b'\n")}), "evidence: "),
        (replace(BROKEN, tests={**BROKEN.tests, KEY_TEST: (1, "FAILED: producer 'a' != consumer 'b'\n")}), "evidence:"),
    ],
)
def test_an_observation_that_does_not_hold_fails_the_run(repository: Repository, reason: str) -> None:
    """Nothing is known from it, and the model does not see it."""
    run = run_of(make_agent(repository=repository))
    refused = found(run, ObservationRefused)
    assert run.status == "failed"
    assert [one.reason.startswith(reason) for one in refused] == [True]
    assert run.records()[-1].event == run.state.end


def test_a_defect_that_is_not_there_is_not_diagnosed() -> None:
    """The tests pass, so nothing is reproduced, and the model's wish to be finished is refused until its steps end."""
    mended = replace(BROKEN, tests={REDIRECT_TEST: (0, "ok\n"), KEY_TEST: (0, "ok\n")})
    run = run_of(make_agent(repository=mended, model=scripted(variants.instead({7: LAST, 8: LAST}))))
    assert (run.status, run.answer, run.facts["reproduced"].value) == ("exhausted", None, False)


def test_what_an_observation_says_grants_nothing() -> None:
    """The same contract, goal, verdicts and budget, although sources and tests tell the model otherwise."""
    plain, misled = run_of(agent), run_of(variants.misled())
    assert variants.INJECTION in json.dumps(misled.facts["search_matches"].value)
    assert found(misled, VerdictGiven) == found(plain, VerdictGiven)
    assert found(misled, RunStarted) == found(plain, RunStarted)
    assert (misled.state.terms, misled.answer) == (plain.state.terms, plain.answer)


@pytest.mark.parametrize("make", MAKES)
def test_a_recorded_run_replays_the_same(make: Make, tmp_path: Path) -> None:
    """From either file alone, with an agent made anew, whatever the ending."""
    replays_the_same(run_of, make, tmp_path)


@pytest.mark.parametrize("make", MAKES)
def test_a_run_cut_at_any_append_ends_as_it_would_have(make: Make) -> None:
    """Whoever takes it up knows what was established, and how many replies could not be read."""
    ends_alike_wherever_it_is_cut(run_of, make)


@pytest.mark.parametrize("make", MAKES)
def test_the_trajectory(make: Make, snapshot: SnapshotAssertion) -> None:
    """As people read it."""
    log = rd.MemoryLog()
    run_of(make(), log=log)
    assert told(log) == snapshot


def test_every_run_is_rows_in_sql() -> None:
    """One row a run, one row a step, one row for each time something became known."""
    log = rd.MemoryLog()
    for make in (make_agent, variants.short, variants.hasty, variants.straying):
        make().run(GOAL, log=log, run_id=make.__name__)
    assert ask(log, "SELECT run_id, status, dimension, steps, tool_calls, denials FROM runs ORDER BY run").rows == [
        ("make_agent", "succeeded", None, 7, 5, 0),
        ("short", "exhausted", "steps", 3, 2, 0),
        ("hasty", "succeeded", None, 7, 5, 0),
        ("straying", "blocked", None, 3, 1, 1),
    ]
    steps = "SELECT step, decision, tool, verdict, refusal, verified FROM steps WHERE run_id = ? ORDER BY step"
    assert ask(log, steps, parameters=["make_agent"]).rows == [
        (1, "refused", None, None, "not JSON", None),
        *((step, "call", tool, "allow", None, True) for step, tool in enumerate(CALLS, start=2)),
        (7, "finish", None, None, None, None),
    ]
    asked = "SELECT summary <> '' AS told, count(*) FROM steps WHERE decision = 'call' GROUP BY told"
    assert ask(log, asked).rows == [(True, 14)]
    known = "SELECT key, count(*) FROM facts WHERE supersedes IS NOT NULL GROUP BY key"
    assert ask(log, known).rows == [("files_read", 2)]


def test_the_whole_trajectory(snapshot: SnapshotAssertion) -> None:
    """Every record as it is stored; the model takes two seconds to think."""
    clock, log = rd.StillClock(), rd.MemoryLog()

    def thoughtful(view: View) -> str:
        clock.move(2)
        return diagnose(view)

    run_of(make_agent(model=scripted(thoughtful)), log=log, clock=clock)
    lines = [json.loads(stored.line) for stored in log.lines("run")]
    assert lines == snapshot.use_extension(JSONSnapshotExtension)


def test_the_agent_is_found_from_the_folder_of_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `redrive run login_redirect:agent` finds it; a variant is a function that makes its agent."""
    monkeypatch.chdir(Path(__file__).parents[1])
    assert load_agent("login_redirect:agent") is agent
    assert load_agent("login_redirect.variants:short").contract.budget.steps == 3
