"""The same agent driven otherwise, or where something goes wrong: a plan, a hasty model, an empty folder, no tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import redrive as rd
from notes_analyst.analyst import make_agent
from notes_analyst.evidence import VERIFIERS
from notes_analyst.script import EARLY, Decide, Reply, analyse, plan, scripted


def planned() -> rd.Agent:
    """A plan first, then a child run for each step; the second has too small a budget, and the rest is drawn anew."""
    return make_agent(model=scripted(plan), arm="plan", plan=rd.Plan(steps=5, step_budget=4, revisions=2))


def hasty() -> rd.Agent:
    """The model answers before it has looked at anything."""
    return make_agent(model=scripted(first(EARLY)))


def empty(folder: Path) -> rd.Agent:
    """There are no notes."""
    return make_agent(folder=folder)


def straying(name: str = "../pyproject.toml") -> rd.Agent:
    """The model asks for a file outside the folder, once, and makes it good."""
    return make_agent(model=scripted(first(rd.reply("I look around.", rd.use("read_note", name=name)))))


def stubborn(**terms: Any) -> rd.Agent:
    """The model asks for notes that are not there, again and again, until a person gives it their names."""

    def ask(request: rd.ModelRequest) -> Reply:
        words = [str(message.content) for message in request.messages if message.role in {"user", "system"}]
        if any("b.txt" in one for one in words):
            return analyse(request)
        tried = sum(message.role == "tool" for message in request.messages)
        return rd.reply("It must be there.", rd.use("word_count", name=f"note-{tried + 1}.txt"))

    return make_agent(model=scripted(ask), **terms)


def climbing(**terms: Any) -> rd.Agent:
    """Every layer in turn: correct, another way, a stronger model, a person."""
    recovery = ("another_way", "stronger_model", "escalate")
    return stubborn(recovery=recovery, models=("analyst-large",), budget=rd.Budget(steps=20), **terms)


def circling() -> rd.Agent:
    """The model counts one and the same note for ever: nothing new becomes known."""

    def ask(request: rd.ModelRequest) -> Reply:
        return rd.reply("I count once more.", rd.use("word_count", name="a.txt"))

    return make_agent(model=scripted(ask), guards=rd.Guards(barren_turns=3))


def stripped() -> rd.Agent:
    """No tools at all, and a model that wants them."""

    def ask(_: int, request: rd.ModelRequest) -> Reply:
        return analyse(request)

    return rd.Agent(
        "notes-analyst", "1", rd.Contract(budget=rd.Budget(steps=8)), verifiers=VERIFIERS, model=rd.ScriptedModel(ask)
    )


def offline() -> rd.Agent:
    """The network is gone: no model answers."""

    def ask(turn: int, request: rd.ModelRequest) -> Reply:
        raise rd.ModelTrouble("unavailable", retryable=True)

    return make_agent(model=rd.ScriptedModel(ask))


def fixed() -> rd.Agent:
    """A fixed workflow: the names are known beforehand, so the calls are too."""
    counted = [rd.WorkflowStep(tool="word_count", arguments={"name": name}) for name in ("a.txt", "b.txt", "备忘.txt")]
    steps = (
        rd.WorkflowStep(tool="list_notes"),
        *counted,
        rd.WorkflowStep(tool="read_note", arguments={"name": "b.txt"}),
    )
    return make_agent(arm="workflow", workflow=steps)


def direct() -> rd.Agent:
    """One answer without any tool: nothing is established, and nothing succeeds."""
    return make_agent(model=scripted(lambda _: EARLY), arm="direct", done={})


def first(reply: Reply) -> Decide:
    """The plain script behind one other reply."""

    def decide(request: rd.ModelRequest) -> Reply:
        begun = any(message.role == "assistant" for message in request.messages)
        return analyse(request) if begun else reply

    return decide
