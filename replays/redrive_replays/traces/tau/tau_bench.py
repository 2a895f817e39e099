"""tau-bench result files: a list of attempts at tasks, each with its conversation and its reward."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from redrive_events import BadInput, Json
from redrive_replays.traces.anthropic.messages import are_own
from redrive_replays.traces.anthropic.messages import said_of as turns_of
from redrive_replays.traces.chat.messages import are_messages, said_of
from redrive_replays.traces.conversation import NO_ERROR_FLAG, NO_TIMES, retell
from redrive_replays.traces.lines import LOOKED_AT
from redrive_replays.traces.material import Diagnostic, Material, NoTrace
from redrive_replays.traces.trace import Remark, Said, Trace

STOP: Final = "###STOP###"
NO_CONVERSATION: Final = "the conversation (the attempt crashed, and none was kept)"
_LABELS: Final = ("task_id", "trial")
_READ: Final = frozenset({"task_id", "trial", "traj", "reward", "info"})


def detect(material: Material) -> bool:
    """Whether the first attempt has a task, a reward and a conversation."""
    return any(_is_attempt(value) for _, value, _ in islice(_attempts(material), LOOKED_AT))


def detect_display(material: Material) -> bool:
    """Whether this is the benchmark's few-shot file."""
    value = material.entries[0].value
    return isinstance(value, dict) and isinstance(value.get("messages_display"), str)


def refuse_display(material: Material) -> Iterator[Trace]:
    """Few-shot files hold no messages.

    Raises:
        NoTrace: always.
    """
    raise NoTrace(
        "tau-bench few-shot examples: conversations as text for display, without calls, so there is nothing to drive",
        place=material.name,
    )


def read(material: Material) -> Iterator[Trace]:
    """Each attempt as a run; what is no attempt is left out, with a note."""
    for index, value, line in _attempts(material):
        try:
            if not _is_attempt(value):
                raise BadInput("not an attempt at a task")
            yield trace_of(value, index)
        except BadInput as error:
            place = "" if line else f"entry {index}: "
            material.diagnostics.append(Diagnostic(f"{place}{error.problem}, left out", line))


def trace_of(attempt: Mapping[str, Json], entry: int) -> Trace:
    """One attempt: the conversation as a run, its reward and all that is known of the task beside it.

    Raises:
        BadInput: a message is not what it should be.
    """
    trace = Trace(entry=entry, missing={NO_TIMES: 1})
    info = attempt.get("info")
    info = info if isinstance(info, dict) else {}
    task = info.get("task")
    task = task if isinstance(task, dict) else {}
    for name, value in (*((key, attempt.get(key)) for key in _LABELS), ("user_id", task.get("user_id"))):
        if isinstance(value, str | int):
            trace.labels[name] = str(value)
    if attempt.get("reward") is not None:
        trace.remarks.append(Remark("reward", attempt["reward"]))
    trace.remarks += (Remark(key, value) for key, value in info.items() if value is not None)
    trace.remarks += (Remark(key, value) for key, value in attempt.items() if key not in _READ and value is not None)
    if not attempt["traj"]:
        trace.grade = "view-only"
        trace.lacks(NO_CONVERSATION)
        return trace
    trace.lacks(NO_ERROR_FLAG)
    return retell(trace, _said(attempt["traj"]))


def _said(messages: list[Mapping[str, Json]]) -> list[Said]:
    if are_own(messages):
        said = [one for message in messages for one in turns_of(message)]
    else:
        said = [said_of(message) for message in messages]
    if said[-1].role == "user" and STOP in str(messages[-1].get("content")):
        said[-1].last = True
    return said


def _attempts(material: Material) -> Iterator[tuple[int, Json, int]]:
    first = material.entries[0].value
    if isinstance(first, dict) and isinstance(first.get("results"), list):
        first = first["results"]
    if isinstance(first, list):
        yield from ((index, value, 0) for index, value in enumerate(first))
    else:
        yield from ((entry.index, entry.value, entry.line) for entry in material.entries)


def _is_attempt(value: Json) -> bool:
    if not isinstance(value, dict) or not {"task_id", "traj"} <= value.keys() or not {"reward", "trial"} & value.keys():
        return False
    return value["traj"] == [] or are_messages(value["traj"]) or are_own(value["traj"])
