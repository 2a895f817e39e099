"""SWE-agent trajectories: the history is the conversation, the steps tell what the shell did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Final

from redrive_events import BadInput, Json, parse_json, text_of
from redrive_replays.traces.chat.messages import said_of
from redrive_replays.traces.conversation import NO_ERROR_FLAG, NO_TIMES, retell
from redrive_replays.traces.lines import LOOKED_AT
from redrive_replays.traces.material import Diagnostic, Material
from redrive_replays.traces.swe.steps import OBSERVED, REQUESTS, are_steps, request_of, retold
from redrive_replays.traces.trace import ASSISTANT, Remark, Said, Trace

NO_CALLS: Final = "calls as calls (actions stand in the replies' text, what came of them in the user's words)"
NO_HISTORY: Final = "the conversation (it broke off before the first message)"
STEPS_ONLY: Final = "what the model was asked with (only the steps were kept)"
NO_STEPS: Final = "how it ended and what it cost (only the history was kept)"
UNPLACED: Final = "the reply of a step (the history has none; the step stands beside the run)"
SHORTENED: Final = "how the history was shortened for the model (its own requests stand in the steps)"
SEVERAL: Final = "which agent said what (several share the history)"
_MARKS: Final = frozenset({"agent", "message_type", "action", "tags", "is_demo"})
_AI: Final = "ai"
_ELIDED: Final = "Old environment output: ("


def detect(material: Material) -> bool:
    """Whether the file is a trajectory, or the history alone, as demonstrations are kept."""
    return any(_is_trajectory(entry.value) for entry in material.entries[:LOOKED_AT])


def read(material: Material) -> Iterator[Trace]:
    """The trajectory as a run; in a file of lines each, and each attempt of one that was tried again."""
    further = count(len(material.entries))
    for entry in material.entries:
        try:
            if not _is_trajectory(entry.value):
                raise BadInput("no trajectory")
            if _is_row(entry.value):
                yield _row(entry.value, entry.index)
            elif attempts := _attempts(entry.value):
                numbers = chain([entry.index], further)
                yield from (_attempt(entry.value, index, one, next(numbers)) for index, one in enumerate(attempts))
            else:
                yield trace_of(entry.value, entry.index)
        except BadInput as error:
            if not material.lined:
                raise
            material.diagnostics.append(Diagnostic(f"{error.problem}, left out", entry.line, entry.offset))


def _is_row(value: Json) -> bool:
    """Whether this is a row of a data set: the words of each turn in a field of their own, the model is the AI."""
    turns = value.get("trajectory") if isinstance(value, dict) else None
    if not isinstance(turns, list) or not all(isinstance(one, dict) and "text" in one for one in turns):
        return False
    return any(one.get("role") == _AI for one in turns)


def _row(value: Mapping[str, Json], entry: int) -> Trace:
    """A row as a run; the prompt of its system is a field of its own too."""
    trace = Trace(entry=entry, missing={NO_TIMES: 1, NO_ERROR_FLAG: 1, NO_CALLS: 1})
    trace.remarks += (Remark(key, one) for key, one in value.items() if key != "trajectory" and one is not None)
    history = []
    for turn in value["trajectory"]:
        rest = {key: one for key, one in turn.items() if key not in {"role", "text", "system_prompt"}}
        words = turn["text"] if turn["text"] is not None else turn.get("system_prompt")
        history.append({**rest, "role": ASSISTANT if turn.get("role") == _AI else turn.get("role"), "content": words})
    name = value.get("model_name")
    return retell(trace, list(_said(history)), model=name if isinstance(name, str) else "")


def _attempts(value: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    """The attempts at a task that was tried again; what stands around them repeats the one that was chosen."""
    attempts = value.get("attempts")
    held = attempts if isinstance(attempts, list) else []
    return held if all(isinstance(one, dict) and isinstance(one.get("history"), list) for one in held) else []


def _attempt(value: Mapping[str, Json], index: int, attempt: Mapping[str, Json], entry: int) -> Trace:
    """One attempt as a run; what the choice cost, and why it was made, beside the chosen one."""
    trace = trace_of(attempt, entry)
    trace.labels["attempt"] = str(index)
    info, own = _dict(value.get("info")), _dict(attempt.get("info"))
    if info.get("best_attempt_idx") == index:
        trace.remarks += (Remark(f"chosen.{key}", one) for key, one in info.items() if one != own.get(key))
    return trace


def trace_of(value: Mapping[str, Json], entry: int = 0) -> Trace:
    """One trajectory: its history as a run, how it ended and what it was made with beside it.

    Raises:
        BadInput: a message is not what it should be.
    """
    trace = Trace(entry=entry, missing={NO_TIMES: 1, NO_ERROR_FLAG: 1})
    steps = value.get("trajectory")
    history, whole = _list(value.get("history")), True
    if not history and are_steps(steps):
        history, whole = retold(_list(steps))
    said = list(_said(history))
    if not whole:
        trace.grade = "view-only"
        trace.lacks(STEPS_ONLY)
        for one in said:
            one.by = "tool" if one.extras.get("message_type") == OBSERVED else ""
    if not said:
        trace.grade = "view-only"
        trace.lacks(NO_HISTORY)
    elif not any(one.calls for one in said):
        trace.lacks(NO_CALLS)
    if len({one.extras.get("agent") for one in said if isinstance(one.extras.get("agent"), str)}) > 1:
        trace.lacks(SEVERAL)
    info = _dict(value.get("info"))
    trace.remarks += (Remark(key, one) for key, one in info.items() if one is not None)
    if isinstance(steps, list):
        _place(trace, said, steps)
    else:
        trace.lacks(NO_STEPS)
    config = _config(value.get("replay_config"))
    beside = {**value, "replay_config": config}
    trace.remarks += (
        Remark(key, one)
        for key, one in beside.items()
        if one is not None and key not in {"history", "trajectory", "info"}
    )
    model, parameters = _model(_dict(config))
    return retell(trace, said, model=model, parameters=parameters)


def _said(history: Sequence[Json]) -> Iterator[Said]:
    for index, message in enumerate(history):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise BadInput(f"message {index}: not a message")
        try:
            said = said_of(message)
        except BadInput as error:
            raise BadInput(f"message {index}: {error.problem}") from error
        extras = dict(said.extras)
        words = message.get("content")
        if isinstance(thought := extras.get("thought"), str) and thought in str(words):
            del extras["thought"]  # the reply again, parsed
        said.extras = extras
        said.given = message.get("is_demo") is True
        yield said


def _place(trace: Trace, said: Sequence[Said], steps: Sequence[Json]) -> None:
    """Each step beside its reply: the state of the shell, how long it took, and what nobody was shown."""
    replies = [index for index, one in enumerate(said) if one.role == ASSISTANT and not one.given]
    if any(_is_shortened(_dict(step)) for step in steps):
        trace.lacks(SHORTENED)
    in_order = len(replies) == len(steps)
    for step in steps:
        words = _dict(step).get("response")
        same = (place for place, index in enumerate(replies) if in_order or text_of(said[index].content) == words)
        place = next(same, None)
        if isinstance(step, dict) and place is not None:
            index = replies[place]
            del replies[: place + 1]
            _put(said[index], step, said[index + 1 : index + 2])
        else:
            trace.remarks.append(Remark("step", _unasked(step) if isinstance(step, dict) else step))
            trace.lacks(UNPLACED)


def _put(reply: Said, step: Mapping[str, Json], answers: Sequence[Said]) -> None:
    words = (text_of(reply.content), reply.extras.get("action"), "")
    repeated = {key for key in ("thought", "response", "action") if step.get(key) in words}
    if isinstance(seen := step.get("observation"), str) and any(seen in text_of(one.content) for one in answers):
        repeated.add("observation")
    kept = {key: one for key, one in _unasked(step).items() if key not in repeated and one not in (None, {}, [])}
    if kept:
        reply.extras = {**reply.extras, "step": kept}


def _unasked(step: Mapping[str, Json]) -> dict[str, Json]:
    """A step without its request, which repeats all that was said before; the state as data."""
    kept = {key: one for key, one in step.items() if key not in REQUESTS}
    if isinstance(state := kept.get("state"), str):
        kept["state"] = _parsed(state)
    return kept


def _is_shortened(step: Mapping[str, Json]) -> bool:
    """Whether observations were elided from what the model was asked with."""
    return any(_ELIDED in str(_dict(one).get("content"))[:80] for one in request_of(step))


def _config(config: Json) -> Json:
    return _parsed(config) if isinstance(config, str) else config


def _parsed(text: str) -> Json:
    try:
        return parse_json(text)
    except BadInput:
        return text


def _model(config: Mapping[str, Json]) -> tuple[str, dict[str, object]]:
    """The model and its settings, as the newer and the older configuration have them."""
    model = _dict(_dict(config.get("agent")).get("model"))
    name = model.get("name", model.get("model_name"))
    keys = ("temperature", "top_p")
    return name if isinstance(name, str) else "", {key: model[key] for key in keys if model.get(key) is not None}


def _is_trajectory(value: Json) -> bool:
    if not isinstance(value, dict):
        return False
    if attempts := _attempts(value):
        return any(_is_trajectory(one) for one in attempts)
    return _is_row(value) or _has_history(value) or (not value.get("history") and are_steps(value.get("trajectory")))


def _has_history(value: Mapping[str, Json]) -> bool:
    history = value.get("history")
    if not isinstance(history, list):
        return False
    if isinstance(value.get("trajectory"), list) and ("info" in value or "environment" in value):
        return True
    return bool(history) and all(isinstance(one, dict) and "role" in one and _MARKS & one.keys() for one in history)


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else ()


def _dict(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}
