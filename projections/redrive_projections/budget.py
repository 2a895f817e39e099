"""What a run has used of its budget, and what is left."""

from __future__ import annotations

from redrive_events import Dimension, Limits
from redrive_projections.state import RunState


def used(state: RunState) -> dict[Dimension, int]:
    """What the run and its children have used so far, by dimension: wall time in milliseconds, cost in millionths."""
    return {
        "steps": state.steps,
        "tokens": state.tokens + state.child_tokens,
        "wall_time": state.wall_us // 1000,
        "tool_calls": state.tool_calls + state.child_tool_calls,
        "cost": state.cost_micros + state.child_cost_micros,
    }


def limits(budget: Limits) -> dict[Dimension, int | None]:
    """The limits by dimension, in the units of `used`; None is no limit."""
    return {
        "steps": budget.steps,
        "tokens": budget.tokens,
        "wall_time": budget.wall_time_ms,
        "tool_calls": budget.tool_calls,
        "cost": budget.cost_micros,
    }


def left(budget: Limits, state: RunState) -> dict[Dimension, int | None]:
    """What is left, never below 0; None is no limit."""
    spent = used(state)
    return {name: None if limit is None else max(0, limit - spent[name]) for name, limit in limits(budget).items()}


def exhausted(budget: Limits, state: RunState) -> Dimension | None:
    """The first dimension of which nothing is left for another step; tool calls run out only at a call."""
    # Asked before every step, so without the tables of `used` and `limits`.
    if budget.steps is not None and budget.steps <= state.steps:
        return "steps"
    if budget.tokens is not None and budget.tokens <= state.tokens + state.child_tokens:
        return "tokens"
    if budget.wall_time_ms is not None and budget.wall_time_ms <= state.wall_us // 1000:
        return "wall_time"
    if budget.cost_micros is not None and budget.cost_micros <= state.cost_micros + state.child_cost_micros:
        return "cost"
    return None
