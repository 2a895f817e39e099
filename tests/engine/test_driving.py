"""Other ways to drive a run than the loop: a plan and its children, a fixed workflow, one direct answer; lessons."""
# ruff: noqa: ARG001 - a fake need not look at all that it is given

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive_engine import Agent, Contract, Patience, Plan, Run, WorkflowStep, lessons, tool, verifier
from redrive_engine.contract import ANY, Budget, FailureQuotas
from redrive_engine.dialects import Unreadable
from redrive_engine.loop.planning import read_plan
from redrive_engine.models import ModelRequest, ScriptedModel, reply, use
from redrive_engine.signals import cancel, say
from redrive_engine.tools import Call, ToolError
from redrive_engine.verifiers import Facts
from redrive_events import (
    BadInput,
    CancelRequested,
    DecisionMade,
    LeaseGranted,
    MemoryLog,
    ModelAsked,
    ModelReplied,
    ObservationReceived,
    PersonAsked,
    PlanDrawn,
    PlannedStep,
    ReflectionNoted,
    ReplyRefused,
    RunStarted,
    StopDecided,
    ToolCalled,
    Usage,
    VerdictGiven,
)
from redrive_projections import rebuilt, used
from redrive_replays import recording_of, replay
from tests import strategies

Kind = TypeVar("Kind")
Answer: TypeAlias = str | ModelReplied
Script: TypeAlias = Callable[[int, ModelRequest], Answer]
QUICK = Patience(grace_s=2.0, lease_s=0.3, look_s=0.01, pause_s=0.001)


@tool(effect="read")
def look(item: str) -> int:
    """How many there are."""
    if item == "nothing":
        raise ToolError("No such item: there are tea and milk.")
    return {"tea": 3, "milk": 5}[item]


@tool(effect="write")
def order(item: str, number: int, *, call: Call) -> str:
    """Order something."""
    return f"{number} {item} under {call.key}"


@verifier(look, commits=["tea", "milk"])
def counted(call: Call, seen: int, facts: Facts) -> Facts:
    """What was looked at."""
    return {str(call.arguments["item"]): seen}


def agent_of(script: Script, **terms: Any) -> Agent:
    """An agent of the shop, driven as ``terms`` say."""
    return Agent("shop", "1", Contract(**terms), tools=[look, order], verifiers=[counted], model=ScriptedModel(script))


def run_of(agent: Agent, log: MemoryLog | None = None, goal: str = "Fill the shelf", **settings: Any) -> Run:
    """Its run."""
    return agent.run(goal, log=log or MemoryLog(), run_id=settings.pop("run_id", "run"), patience=QUICK, **settings)


def found(run: Run, kind: type[Kind]) -> list[Kind]:
    """The run's events of one kind."""
    return [record.event for record in run.records() if isinstance(record.event, kind)]


def of_step(request: ModelRequest) -> str:
    """The step that a child is told to do; empty for its parent."""
    told = [str(message.content) for message in request.messages if "Do only this step: " in str(message.content)]
    return told[0].rpartition("Do only this step: ")[2] if told else ""


def shopkeeper(*steps: Any) -> Script:
    """A model that plans these steps, does each by one call that the step's words name, and then says so."""

    def script(turn: int, request: ModelRequest) -> Answer:
        if "Draw a plan" in str(request.messages[-1].content):
            return json.dumps({"steps": list(steps)})
        step = of_step(request)
        if not step or request.messages[-1].role == "tool":
            return f"done: {step}"
        name, _, given = step.partition(" ")
        return reply("I do it.", use(name, **json.loads(given)))

    return script


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ('{"steps": ["look", "order"]}', ["look", "order"]),
        ('Here it is:\n```json\n{"steps": ["看库存", "下单"]}\n```\nAll clear?', ["看库存", "下单"]),
        ('["look", {"step": "order", "budget": 2}]', ["look", "order"]),
        ('I have {some} thoughts. {"steps": ["look  at\\n it"]}', ["look at it"]),
        ("1. look\n2) order\n", ["look", "order"]),
        ("计划:\n1、看库存\n2:下单 🛒", ["看库存", "下单 🛒"]),
        ("- look\n* order", ["look", "order"]),
    ],
)
def test_a_plan_is_read(text: str, steps: list[str]) -> None:
    """From JSON or from a list of lines, whatever stands around it."""
    found = read_plan(text, most=5)
    assert not isinstance(found, Unreadable)
    assert [step.words for step in found] == steps


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no plan"),
        ("I would rather not.", "no plan"),
        ('{"steps": []}', "no plan"),
        ('{"steps": [1, 2]}', "no plan"),
        ('{"steps": ["look", "  "]}', "no plan"),
        ('{"steps": ["1", "2", "3", "4"]}', "a plan of 4 steps"),
    ],
)
def test_what_is_no_plan_is_told(text: str, reason: str) -> None:
    """With what is allowed, in our words."""
    found = read_plan(text, most=3)
    assert isinstance(found, Unreadable)
    assert found.reason == reason
    assert "at most 3" in found.text


@given(st.one_of(st.text(), strategies.json.map(json.dumps)))
def test_any_text_is_a_plan_or_none(text: str) -> None:
    """Nothing that a model says breaks the reading."""
    found = read_plan(text, most=5)
    assert isinstance(found, Unreadable) or (0 < len(found) <= 5 and all(step.words.strip() for step in found))


def test_a_budget_of_a_step_is_no_larger_than_the_contract_gives() -> None:
    """And one that is none is not taken."""
    plan = read_plan('[{"step": "a", "budget": 9}, {"step": "b", "budget": true}, {"step": "c", "budget": 0}]', most=5)
    assert plan == (PlannedStep("a", 9), PlannedStep("b"), PlannedStep("c"))
    steps = ({"step": 'look {"item": "tea"}', "budget": 9},)
    run = run_of(agent_of(shopkeeper(*steps), arm="plan", plan=Plan(step_budget=3)))
    assert found(run, ToolCalled)[0].arguments["budget"] == {"steps": 3}


def test_each_step_is_a_child_run_with_a_verdict_of_its_own() -> None:
    """One after the other; what each found is known to the next, and to the parent."""
    log = MemoryLog()
    agent = agent_of(shopkeeper('look {"item": "tea"}', 'look {"item": "milk"}'), arm="plan", done={"milk": ANY})
    run = run_of(agent, log)
    assert (run.status, {key: fact.value for key, fact in run.facts.items()}) == ("succeeded", {"tea": 3, "milk": 5})
    assert [(one.call, one.rule) for one in found(run, VerdictGiven)] == [
        (1, "a step of the plan"),
        (2, "a step of the plan"),
    ]
    assert [one.step for one in found(run, DecisionMade)] == [0, 1, 2, 0]
    second = next(record.event for record in log.read("run/2"))
    assert isinstance(second, RunStarted)
    assert (second.known, second.parent and (second.parent.run_id, second.parent.call)) == ({"tea": 3}, ("run", 2))
    assert all(replay(recording_of(log, head.run_id), agent=agent).same for head in log.runs())


def test_a_reply_that_is_no_plan_is_refused_within_its_quota() -> None:
    """The model is told how one is written; what it said is not in the transcript."""
    run = run_of(agent_of(lambda *_: "I just begin.", arm="plan", quotas=FailureQuotas(unreadable=2)))
    assert [one.reason for one in found(run, ReplyRefused)] == ["no plan"] * 2
    assert run.status == "failed"
    assert all(message.role != "assistant" for message in run.state.messages)


def test_a_plan_is_drawn_anew_only_so_often() -> None:
    """Then the run is given up with the reason of the last failure."""
    steps = ({"step": 'look {"item": "tea"}', "budget": 1},)
    run = run_of(agent_of(shopkeeper(*steps), arm="plan", plan=Plan(revisions=2)))
    assert [one.revision for one in found(run, PlanDrawn)] == [1, 2, 3]
    assert run.state.end is not None
    assert (run.status, run.state.end.reason) == (
        "failed",
        'off plan 3: step 1 (look {"item": "tea"}) ended exhausted: steps',
    )


def planning_one(step: str, *, after: str = "", **replies: Answer) -> Script:
    """A model that plans one step, and in it replies as it is told to; once somebody has spoken it plans ``after``."""

    def script(turn: int, request: ModelRequest) -> Answer:
        words = [str(message.content) for message in request.messages]
        if "Draw a plan" in words[-1]:
            return json.dumps({"steps": [after if "Go on." in words else step]})
        return replies.get(of_step(request), "done")

    return script


def test_what_a_child_may_not_do_ends_its_parent_too() -> None:
    """A denied call that blocks a run blocks it, whoever of its children makes it: no other plan is drawn."""
    script = planning_one("steal", steal=reply("", use("order", item="gold", number=1)))
    run = run_of(agent_of(script, arm="plan", tools={"look": {}}, on_denied="block"))
    assert run.state.end is not None
    reason = "step 1 of the plan: call 1 of order: not granted"
    assert (run.status, run.state.end.reason, len(found(run, PlanDrawn))) == ("blocked", reason, 1)


def test_a_child_s_wish_for_a_person_is_its_parent_s() -> None:
    """The parent asks, with all that is known in it, and goes on with the words: the rest is planned anew."""
    script = planning_one("choose", after="go", choose=reply("", use("escalate", reason="Which tea?")))
    agent = agent_of(script, arm="plan", ways_out=("escalate",))
    log = MemoryLog()

    async def with_a_person() -> Run:
        came: list[Run] = []
        async with anyio.create_task_group() as group:
            group.start_soon(spoken_to, log)
            came.append(await agent.arun("Fill the shelf", log=log, run_id="run", patience=QUICK))
        return came[0]

    run = anyio.run(with_a_person)
    (asked,) = found(run, PersonAsked)
    assert (asked.actor, asked.reason) == ("operator", "step 1 of the plan: Which tea?")
    assert [step.words for plan in found(run, PlanDrawn) for step in plan.steps] == ["choose", "go"]
    assert (run.status, replay(run, agent=agent).outcome) == ("finished", "same")


async def spoken_to(log: MemoryLog) -> None:
    """Answer once a person is asked."""
    with anyio.fail_after(10):
        while not any(isinstance(record.event, PersonAsked) for record in log.read("run")):
            await anyio.sleep(0.01)
    say(log, "run", "Go on.", at=list(log.read("run"))[-1].at, actor="operator")


def test_a_child_s_wish_for_a_person_ends_a_run_that_waits_for_nobody() -> None:
    """As the run's own would."""
    script = planning_one("choose", choose=reply("", use("escalate", reason="Which tea?")))
    run = run_of(agent_of(script, arm="plan", ways_out=("escalate",), escalation="end"))
    (stop,) = found(run, StopDecided)
    assert (run.status, stop.reason, stop.handover is not None) == (
        "escalated",
        "step 1 of the plan: Which tea?",
        True,
    )


@pytest.mark.parametrize(("on_doubt", "status", "plans"), [("escalate", "escalated", 1), ("tell", "failed", 3)])
def test_an_effect_in_doubt_never_goes_back_to_the_model(on_doubt: Any, status: str, plans: int) -> None:
    """Where nobody knows whether a child's write landed, no other child may be set upon doing it again."""

    @tool(effect="write")
    def pay() -> str:
        """Pay."""
        raise ConnectionError("the line went dead")

    script = planning_one("pay", pay=reply("", use("pay")))
    contract = Contract(arm="plan", plan=Plan(step_budget=1), on_doubt=on_doubt)
    run = run_of(Agent("bank", "1", contract, tools=[pay], model=ScriptedModel(script)))
    assert (run.status, len(found(run, PlanDrawn))) == (status, plans)
    assert {one.status for one in found(run, ObservationReceived)} == {"unknown"}


def test_a_child_that_fails_is_no_tool_that_failed() -> None:
    """The plan is drawn anew; neither does a quota of tools count it, nor is a lesson asked for."""
    steps = ({"step": 'look {"item": "tea"}', "budget": 1},)
    quotas = FailureQuotas(tool_failed=1)
    run = run_of(agent_of(shopkeeper(*steps), arm="plan", plan=Plan(revisions=2), quotas=quotas, reflection="model"))
    assert run.state.end is not None
    assert (len(found(run, PlanDrawn)), run.state.end.reason.startswith("off plan 3")) == (3, True)
    assert {one.purpose for one in found(run, ModelAsked)} == {"plan"}


def test_tool_calls_of_children_are_within_the_budget() -> None:
    """A child is a call, too, and what it may call is what is left behind it."""
    steps = ['look {"item": "tea"}'] * 3
    run = run_of(agent_of(shopkeeper(*steps), arm="plan", budget=Budget(tool_calls=4)))
    assert (run.status, run.state.stop and run.state.stop.dimension) == ("exhausted", "tool_calls")
    assert (len(found(run, ToolCalled)), used(run.state)["tool_calls"]) == (2, 4)


def test_a_child_knows_facts_in_the_order_in_which_they_are_stored() -> None:
    """What a verifier is given must not differ between the run and its replay."""
    steps = ('look {"item": "tea"}', 'look {"item": "milk"}', 'look {"item": "tea"}')
    run = run_of(agent_of(shopkeeper(*steps), arm="plan"))
    assert [list(call.arguments["known"]) for call in found(run, ToolCalled)] == [[], ["tea"], ["milk", "tea"]]


def test_what_children_use_counts_in_the_budget_of_their_parent() -> None:
    """But is paid for in their own logs: no cost stands twice."""
    script = shopkeeper(*['look {"item": "tea"}'] * 5)

    def dear(turn: int, request: ModelRequest) -> ModelReplied:
        said = script(turn, request)
        plain = reply(said) if isinstance(said, str) else said
        return ModelReplied(content=plain.content, usage=Usage(input=90, output=10), cost_micros=7)

    log = MemoryLog()
    run = run_of(agent_of(dear, arm="plan", budget=Budget(steps=20, tokens=450)), log)
    assert (run.status, run.state.stop and run.state.stop.dimension) == ("exhausted", "tokens")
    own = [replay_tokens(log, head.run_id) for head in log.runs()]
    assert used(run.state)["tokens"] == sum(own) == 500
    assert (run.state.tokens, run.state.cost_micros, used(run.state)["cost"]) == (100, 7, 35)


def replay_tokens(log: MemoryLog, run_id: str) -> int:
    """The tokens of a run's own replies."""
    events = [record.event for record in log.read(run_id)]
    return sum(one.usage.input + one.usage.output for one in events if isinstance(one, ModelReplied) and one.usage)


def test_a_cancelled_parent_ends_behind_its_child() -> None:
    """The child is asked to end, and ends; nothing of it starts any more."""
    log = MemoryLog()
    asked = anyio.Event()
    plain = shopkeeper('order {"item": "tea", "number": 2}')

    class Slow:
        """A model that takes its time over a step, and is given up with the run."""

        async def ask(self, request: ModelRequest) -> ModelReplied:
            if of_step(request):
                asked.set()
                await anyio.sleep(60)
            said = plain(request.turn, request)
            return reply(said) if isinstance(said, str) else said

    agent = agent_of(plain, arm="plan")
    agent.model = Slow()

    async def cancelled() -> Run:
        came: list[Run] = []
        async with anyio.create_task_group() as group:
            group.start_soon(cancel_when, asked, log)
            came.append(await agent.arun("Fill the shelf", log=log, run_id="run", patience=QUICK))
        return came[0]

    run = anyio.run(cancelled)
    child = [record.event for record in log.read("run/1")]
    assert [one.by for one in child if isinstance(one, CancelRequested)] == ["run run"]
    assert [one.status for one in found(run, ObservationReceived)] == ["cancelled"]
    assert [type(one) for one in child].count(ToolCalled) == 0
    order_of_ends = [record.run_id for _, record in log.read_all() if record.left == 0][-2:]
    assert (run.status, order_of_ends) == ("cancelled", ["run/1", "run"])
    assert all(replay(recording_of(log, head.run_id), agent=agent).same for head in log.runs())


async def cancel_when(asked: anyio.Event, log: MemoryLog) -> None:
    """Cancel the run once the child's model is asked."""
    await asked.wait()
    last = max(record.at for record in log.read("run"))
    cancel(log, "run", by="ana", at=last)


def test_a_tree_of_runs_has_one_lease() -> None:
    """It is the root's, and is given back once, at the end."""
    held: list[str] = []

    class Watched(MemoryLog):
        """A log that notes which leases are taken."""

        def hold(self, run_id: str, worker: str, *, ttl_s: float) -> Any:
            held.append(run_id)
            return super().hold(run_id, worker, ttl_s=ttl_s)

    log = Watched()
    run = run_of(agent_of(shopkeeper('order {"item": "tea", "number": 2}'), arm="plan"), log)
    assert (run.status, set(held)) == ("finished", {"run"})
    assert log.holder("run") is None
    assert [type(one.event) for one in log.read("run/1")].count(LeaseGranted) == 1


FILL = (
    WorkflowStep(tool="look", arguments={"item": "tea"}),
    WorkflowStep(tool="order", arguments={"item": "tea", "number": "{tea}"}),
)


def test_a_workflow_makes_its_calls_whatever_a_model_would_say() -> None:
    """A slot alone has the fact's own value; with a template for the answer no model is asked at all."""
    agent = agent_of(lambda *_: "never", arm="workflow", workflow=FILL, done={"tea": 3}, answer="Ordered {tea}.")
    run = run_of(agent)
    assert (run.status, run.answer, run.state.steps) == ("succeeded", "Ordered 3.", 0)
    assert [(one.tool, one.arguments) for one in found(run, ToolCalled)] == [
        ("look", {"item": "tea"}),
        ("order", {"item": "tea", "number": 3}),
    ]
    assert [one.rule for one in found(run, VerdictGiven)] == ["granted", "granted"]
    assert replay(run, agent=agent).same


@pytest.mark.parametrize(
    ("steps", "terms", "reason"),
    [
        (
            (WorkflowStep(tool="order", arguments={"item": "tea", "number": "{tea}"}),),
            {},
            "step 1 of the workflow speaks of tea, not known yet",
        ),
        (
            (WorkflowStep(tool="look", arguments={"item": "nothing"}), *FILL),
            {},
            "step 1 of the workflow (look): error",
        ),
        (FILL, {"tools": {"look": {}}}, "step 2 of the workflow (order): denied"),
    ],
)
def test_a_workflow_that_is_stuck_fails_with_its_reason(
    steps: tuple[WorkflowStep, ...], terms: dict[str, Any], reason: str
) -> None:
    """It is as strict as the loop: the same verdicts, and no step behind one that failed."""
    run = run_of(agent_of(lambda *_: "never", arm="workflow", workflow=steps, **terms))
    assert run.state.end is not None
    assert (run.status, run.state.end.reason) == ("failed", reason)


@pytest.mark.parametrize(
    ("workflow", "problem"),
    [
        ((WorkflowStep(tool="lock"),), "no such tool 'lock'; there are look, order"),
        (
            (WorkflowStep(tool="look", arguments={"item": "{goal} {coffee}"}),),
            "no verifier commits 'coffee'; there are milk, tea",
        ),
        ((), "a workflow has at least one step"),
    ],
)
def test_a_workflow_names_what_exists(workflow: tuple[WorkflowStep, ...], problem: str) -> None:
    """Or there is no agent."""
    with pytest.raises(BadInput) as refused:
        agent_of(lambda *_: "", arm="workflow", workflow=workflow)
    assert str(refused.value) == f"contract.workflow: {problem}"


def test_a_lesson_does_not_make_a_failed_step_good() -> None:
    """The model says what it learns from it, and the workflow is stuck all the same."""
    steps = (WorkflowStep(tool="look", arguments={"item": "nothing"}), *FILL)
    run = run_of(agent_of(lambda *_: "Ask for tea.", arm="workflow", workflow=steps, reflection="model"))
    assert run.state.end is not None
    assert (run.status, run.state.end.reason) == ("failed", "step 1 of the workflow (look): error")
    assert [one.lesson for one in found(run, ReflectionNoted)] == ["Lesson: Ask for tea."]


def test_behind_a_workflow_the_model_only_speaks() -> None:
    """It is offered no tools, so a call is no reply; and what its steps did not establish nobody will."""
    offered: list[int] = []

    def wants(turn: int, request: ModelRequest) -> Answer:
        offered.append(len(request.tools))
        return reply("More.", use("look", item="milk")) if turn == 1 else "Ordered three."

    agent = agent_of(wants, arm="workflow", workflow=FILL)
    run = run_of(agent)
    assert (run.status, run.answer, offered) == ("finished", "Ordered three.", [0, 0])
    assert [one.tool for one in found(run, ToolCalled)] == ["look", "order"]
    lacking = run_of(agent_of(wants, arm="workflow", workflow=FILL, done={"milk": ANY}))
    assert lacking.state.end is not None
    assert (lacking.status, lacking.state.end.reason, lacking.state.steps) == ("failed", "not done: milk", 2)


def test_a_direct_answer_is_one_answer() -> None:
    """What is to be established cannot be without tools, so it is not asked for again and again."""
    run = run_of(agent_of(lambda *_: "Three.", arm="direct", done={"tea": 3}))
    assert run.state.end is not None
    assert (run.status, run.state.end.reason, run.state.steps) == ("failed", "not done: tea", 1)


@pytest.mark.parametrize("arm", ["direct", "workflow"])
def test_the_ways_out_are_there_where_the_model_only_speaks(arm: str) -> None:
    """An honest word is no tool; and the request says to the byte what was offered."""
    offered: list[set[str]] = []

    def honest(turn: int, request: ModelRequest) -> Answer:
        offered.append(set(request.tools))
        return reply("", use("unable", reason="I cannot know."))

    run = run_of(agent_of(honest, arm=arm, workflow=FILL, ways_out=("unable",)))
    assert (run.status, run.answer, offered) == ("failed", "I cannot know.", [{"unable"}])
    (asked,) = (one.position for one in run.records() if isinstance(one.event, ModelAsked))
    assert rebuilt(run.records(), asked).tools.keys() == {"unable"}


def test_a_direct_answer_has_no_tools() -> None:
    """None are offered, and a call is no reply."""
    offered: list[int] = []

    def wants(turn: int, request: ModelRequest) -> Answer:
        offered.append(len(request.tools))
        return reply("I look.", use("look", item="tea")) if turn == 1 else "Three, I should think."

    agent = agent_of(wants, arm="direct")
    run = run_of(agent)
    assert (run.status, run.answer, offered) == ("finished", "Three, I should think.", [0, 0])
    assert [one.reason for one in found(run, ReplyRefused)] == ["a call where there are no tools"]
    assert found(run, ToolCalled) == []
    assert replay(run, agent=agent).same


def failing(turn: int, request: ModelRequest) -> Answer:
    """A model that errs once, says what it learns when asked, and then does right."""
    if "learnt" in str(request.messages[-1].content):
        return "只问有的东西 🫖"
    errors = sum("No such item" in str(message.content) for message in request.messages if message.role == "tool")
    done = sum(message.role == "tool" for message in request.messages) - errors
    return "Done." if done else reply("I look.", use("look", item="tea" if errors else "nothing"))


@pytest.mark.parametrize(
    ("reflection", "lesson", "rule", "asked"),
    [
        (
            "rule",
            'Lesson: look(item="nothing") failed (No such item: there are tea and milk). Do not repeat it unchanged.',
            "a tool failed",
            ["act"] * 3,
        ),
        ("model", "Lesson: 只问有的东西 🫖", "", ["act", "reflect", "act", "act"]),
    ],
)
def test_a_lesson_is_noted_after_a_failure(reflection: str, lesson: str, rule: str, asked: list[str]) -> None:
    """With the position of what failed, and told to the model with the next try."""
    agent = agent_of(failing, reflection=reflection)
    run = run_of(agent)
    noted = found(run, ReflectionNoted)
    failure = next(record.position for record in run.records() if isinstance(record.event, ObservationReceived))
    assert noted == [ReflectionNoted(lesson=lesson, window=(failure,), rule=rule)]
    assert [one.purpose for one in found(run, ModelAsked)] == asked
    assert lesson in [message.content for message in run.state.asked]
    assert (run.status, replay(run, agent=agent).outcome) == ("finished", "same")


def test_no_lesson_is_noted_unless_the_contract_wants_it() -> None:
    """A failure is told to the model all the same."""
    assert found(run_of(agent_of(failing)), ReflectionNoted) == []


def test_what_a_child_learnt_is_known_to_later_runs() -> None:
    """Its goal is only a step, so it is the goal of the whole that counts."""
    log = MemoryLog()
    agent = agent_of(shopkeeper('look {"item": "nothing"}'), arm="plan", reflection="rule")
    run_of(agent, log)
    assert lessons(log, "shop", "Fill the shelf") == (
        'Lesson: look(item="nothing") failed (No such item: there are tea and milk). Do not repeat it unchanged.',
    )


def test_lessons_of_earlier_runs_open_a_later_one() -> None:
    """Those of the same agent and goal, each once; the run holds them, so it replays without the others."""
    log = MemoryLog()
    agent = agent_of(failing, reflection="rule")
    for number in range(3):
        run_of(agent, log, run_id=f"run-{number}")
    run_of(agent, log, run_id="other", goal="Something else")
    known = lessons(log, "shop", "Fill the shelf")
    assert known == (
        'Lesson: look(item="nothing") failed (No such item: there are tea and milk). Do not repeat it unchanged.',
    )
    assert lessons(log, "shop", "Nothing of the kind") == lessons(log, "bank", "Fill the shelf") == ()
    run = run_of(agent, MemoryLog(), lessons=known)
    opening = [str(message.content) for message in run.state.messages][:2]
    assert opening == [f"Lessons of earlier runs:\n- {known[0]}", "Fill the shelf"]
    assert replay(run, agent=agent).same
