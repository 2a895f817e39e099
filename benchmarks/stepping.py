"""What a step of the loop costs when model and tool cost nothing, beside the loops of langgraph and pydantic-ai."""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import anyio

import redrive as rd
from benchmarks.measure import Figure, Work, compared

# A step is a reply that calls a tool, and its observation; the same in each loop, with the same words.
STEPS = 40
ROUNDS = 9
THOUGHT = "I look at the next one."
DONE = "I have seen them all."
GOAL = "Look at all of them."


def figures(folder: Path) -> Iterator[Figure | str]:
    """Ours in memory and on disk against each of the others in memory; what is not installed is said."""
    for name, make in (("pydantic-ai", _pydantic_ai), ("langgraph, InMemorySaver", _langgraph)):
        try:
            theirs = make()
        except ModuleNotFoundError as error:
            yield f"loop, {STEPS} steps: nothing to compare with, {error.name} is not installed"
            continue
        ours = (("in memory", rd.MemoryLog()), ("durable", rd.SqliteLog(folder / f"step-{name[0]}.db")))
        for where, log in ours:
            subject = _redrive(log)
            yield compared(f"a step of the loop, {where}", subject, name, theirs, units=STEPS, rounds=ROUNDS)


def _looped(run: Callable[[], Awaitable[object]]) -> Work:
    async def once() -> None:
        await run()

    return lambda: anyio.run(once)


async def look(number: int) -> str:
    """Look at one of them."""
    return f"{number} is there"


def looker(steps: int) -> rd.Agent:
    """An agent that looks so many times, and then is done."""

    def says(turn: int, _: rd.ModelRequest) -> rd.ModelReplied | str:
        return rd.reply(THOUGHT, rd.use("look", number=turn)) if turn <= steps else DONE

    return rd.Agent(
        "looker",
        "1",
        rd.Contract(tools={"look": {}}, budget=rd.Budget(steps=steps + 1)),
        tools=[rd.tool(effect="read")(look)],
        model=rd.ScriptedModel(says),
    )


def _redrive(log: rd.MemoryLog | rd.SqliteLog) -> Work:
    agent, names = looker(STEPS), count()

    async def run() -> None:
        done = await agent.arun(GOAL, log=log, run_id=f"run-{next(names)}")
        assert (done.status, done.state.steps) == ("finished", STEPS + 1)

    return _looped(run)


def _pydantic_ai() -> Work:
    from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart  # noqa: PLC0415
    from pydantic_ai.models.function import AgentInfo, FunctionModel  # noqa: PLC0415

    def says(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        turn = len(messages) // 2 + 1
        if turn > STEPS:
            return ModelResponse(parts=[TextPart(DONE)])
        return ModelResponse(parts=[TextPart(THOUGHT), ToolCallPart("look", {"number": turn}, f"call_{turn}")])

    agent = Agent(FunctionModel(says), tools=[look])

    async def run() -> None:
        done = await agent.run(GOAL, usage_limits=None)
        assert (done.output, done.usage.requests) == (DONE, STEPS + 1)

    return _looped(run)


def _langgraph() -> Work:
    graphs: Any = importlib.import_module("langgraph.graph")
    prebuilt: Any = importlib.import_module("langgraph.prebuilt")
    memory: Any = importlib.import_module("langgraph.checkpoint.memory")
    said: Any = importlib.import_module("langchain_core.messages")

    async def says(state: Any) -> Any:
        turn = len(state["messages"]) // 2 + 1
        if turn > STEPS:
            return {"messages": [said.AIMessage(DONE)]}
        call = {"name": "look", "args": {"number": turn}, "id": f"call_{turn}", "type": "tool_call"}
        return {"messages": [said.AIMessage(THOUGHT, tool_calls=[call])]}

    builder = graphs.StateGraph(graphs.MessagesState)
    builder.add_node("model", says)
    builder.add_node("tools", prebuilt.ToolNode([look]))
    builder.add_edge(graphs.START, "model")
    builder.add_conditional_edges("model", prebuilt.tools_condition)
    builder.add_edge("tools", "model")
    names = count()

    async def run() -> None:
        graph = builder.compile(checkpointer=memory.InMemorySaver())
        config = {"configurable": {"thread_id": str(next(names))}, "recursion_limit": 3 * STEPS}
        done = await graph.ainvoke({"messages": [said.HumanMessage(GOAL)]}, config)
        assert len(done["messages"]) == 2 * (STEPS + 1)

    return _looped(run)
