"""mini-swe-agent trajectories: chat messages with notes on each, the oldest a bare list of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from redrive_events import BadInput, Json
from redrive_replays.traces.bodies import micros
from redrive_replays.traces.chat.messages import said_of
from redrive_replays.traces.chat.replies import completion_of, reply_of
from redrive_replays.traces.conversation import NO_ERROR_FLAG, NO_TIMES, retell
from redrive_replays.traces.lines import LOOKED_AT
from redrive_replays.traces.material import Diagnostic, Material, NoTrace
from redrive_replays.traces.responses.items import result_of
from redrive_replays.traces.responses.replies import reply_of as response_of
from redrive_replays.traces.times import Moment, clock_of, moment
from redrive_replays.traces.trace import ASSISTANT, NO_META, RESULTS, Meta, Remark, Said, Trace

FORMAT: Final = "mini-swe-agent"
SUBMITTED: Final = "Submitted"
NO_CALLS: Final = "calls as calls (actions stand in the replies' text, what came of them in the user's words)"
NO_MESSAGES: Final = "the conversation (it broke off before the first message)"
NO_EXIT: Final = "how it ended (a bare list of messages has no exit status)"
NO_TOOLS: Final = "the definitions of its tools"
_FENCE: Final = re.compile(r"```(?:mswea_)?(?:bash|bash_command)\s*\n.*?\n```", re.DOTALL)
_BARE: Final = frozenset({"role", "content", "timestamp", "extra"})
_BARE_ROLES: Final = frozenset({"system", "user", ASSISTANT})
# What a trajectory tells of itself beside how it ended.
_OF_INFO: Final = frozenset({"model_stats", "mini_version", "submission"})
# What a response says that is kept as what it means.
_READ: Final = frozenset({"choices", "usage", "model", "id", "object"})


def detect(material: Material) -> bool:
    """Whether the file is a trajectory, by what it calls itself, or a bare list of replies with one action each."""
    value = material.entries[0].value
    if isinstance(value, list):
        return _is_bare(value)
    return any(_is_trajectory(entry.value) for entry in material.entries[:LOOKED_AT])


def detect_predictions(material: Material) -> bool:
    """Whether this is the file of patches that a batch leaves beside its trajectories."""
    value = material.entries[0].value
    return isinstance(value, dict) and bool(value) and all(_is_prediction(one) for one in value.values())


def refuse_predictions(material: Material) -> Iterator[Trace]:
    """A file of patches has no messages.

    Raises:
        NoTrace: always.
    """
    raise NoTrace(
        "predictions: a patch for each task, and no messages; the trajectories are other files", place=material.name
    )


def read(material: Material) -> Iterator[Trace]:
    """The trajectory as a run; in a file of lines each."""
    value = material.entries[0].value
    if isinstance(value, list):
        trace = Trace()
        said, times = _said(trace, value)
        trace.clock = clock_of(times)
        trace.missing = {**({NO_TIMES: 1} if trace.clock == "none" else {}), NO_ERROR_FLAG: 1, NO_CALLS: 1, NO_EXIT: 1}
        yield retell(trace, said)
        return
    for entry in material.entries:
        try:
            if not _is_trajectory(entry.value):
                raise BadInput("no trajectory")
            yield trace_of(entry.value, entry.index)
        except BadInput as error:
            if not material.lined:
                raise
            material.diagnostics.append(Diagnostic(f"{error.problem}, left out", entry.line, entry.offset))


def trace_of(value: Mapping[str, Json], entry: int = 0) -> Trace:
    """One trajectory: its messages as a run, how it ended and what it was made with beside it.

    Raises:
        BadInput: a message is not what it should be.
    """
    trace = Trace(entry=entry)
    info = _dict(value.get("info"))
    if isinstance(instance := value.get("instance_id"), str):
        trace.labels["instance_id"] = instance
    beside = [*info.items(), *((key, one) for key, one in value.items() if key not in {"info", "messages"})]
    trace.remarks += (Remark(key, one) for key, one in beside if one is not None)
    said, times = _said(trace, value["messages"])
    trace.clock = clock_of(times)
    if trace.clock == "none":
        trace.lacks(NO_TIMES)
    if not said:
        trace.grade = "view-only"
        trace.lacks(NO_MESSAGES)
    elif not any(one.calls for one in said):
        trace.lacks(NO_CALLS)
        if said[-1].role == "user" and info.get("exit_status") == SUBMITTED:
            said[-1].last = True
    else:
        trace.lacks(NO_TOOLS)
    model = _dict(_dict(info.get("config")).get("model"))
    name, parameters = model.get("model_name"), _dict(model.get("model_kwargs"))
    return retell(trace, said, model=name if isinstance(name, str) else "", parameters=dict(parameters))


def _said(trace: Trace, messages: list[Json]) -> tuple[list[Said], list[Moment | None]]:
    """The messages up to the last, which only says how it ended."""
    said, times = [], []
    for index, message in enumerate(messages):
        if not isinstance(message, dict) or not (isinstance(message.get("role"), str) or _is_item(message)):
            raise BadInput(f"message {index}: not a message")
        if message.get("role") == "exit":
            trace.remarks.append(Remark("exit", {key: one for key, one in message.items() if key != "role"}))
            continue
        try:
            one, at = _one(message)
        except BadInput as error:
            raise BadInput(f"message {index}: {error.problem}") from error
        said.append(one)
        times.append(at)
    return said, times


def _one(message: Mapping[str, Json]) -> tuple[Said, Moment | None]:
    extra = message.get("extra")
    notes = dict(extra) if isinstance(extra, dict) else {} if extra is None else {"extra": extra}
    said = _item(_plain(message)) if _is_item(message) else said_of(_plain(message))
    at = moment(notes.pop("timestamp", None)) or moment(message.get("timestamp"))
    said.at = at.at if at else None
    if _is_item(message) and said.role == ASSISTANT:
        said.meta = said.meta._replace(cost_micros=micros(notes.pop("cost", None)))
        notes.pop("actions", None)  # the calls again, parsed
    elif said.role == ASSISTANT:
        said.meta = _meta(notes)
        if said.calls:
            notes.pop("actions", None)  # the calls again, parsed
    elif said.role in RESULTS:
        said.status = "error" if _failed(notes) else "ok"
        if isinstance(whole := notes.get("raw_output"), str) and whole in str(said.content):
            del notes["raw_output"]
    said.extras = {**said.extras, **{key: one for key, one in notes.items() if one not in (None, "", {}, [])}}
    return said, at


def _is_item(message: Mapping[str, Json]) -> bool:
    """Whether this is a whole response of OpenAI's Responses, or what came of a call in one."""
    return message.get("object") == "response" or message.get("type") == "function_call_output"


def _item(message: Mapping[str, Json]) -> Said:
    if message.get("object") != "response":
        return result_of(message)
    return response_of(message) or Said(ASSISTANT, ())


def _meta(notes: dict[str, Json]) -> Meta:
    """What the response says of the reply; the rest of it stays among the notes."""
    response, cost = completion_of(notes.get("response")), notes.pop("cost", None)
    if response is None:
        return Meta(cost_micros=micros(cost))
    notes["response"] = {key: one for key, one in response.items() if key not in _READ and one is not None}
    reply = reply_of(response, cost=cost)
    return reply.meta if reply else NO_META


def _failed(notes: Mapping[str, Json]) -> bool:
    """Whether the source says that a command failed: by an exception (a time-out is one), or by its return code."""
    return bool(notes.get("exception_info")) or notes.get("returncode") not in (0, None)


def _plain(message: Mapping[str, Json]) -> dict[str, Json]:
    return {key: one for key, one in message.items() if key not in {"extra", "timestamp"}}


def _is_trajectory(value: Json) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        return False
    name, info = value.get("trajectory_format"), value.get("info")
    if isinstance(name, str):
        return name.startswith(FORMAT)
    return isinstance(info, dict) and "exit_status" in info and not _OF_INFO.isdisjoint(info)


def _is_bare(value: list[Json]) -> bool:
    """A list of plain words, in which most replies have one action in a fence."""
    if not all(isinstance(one, dict) and one.keys() <= _BARE and str(one.get("role")) in _BARE_ROLES for one in value):
        return False
    replies = [one.get("content") for one in value if one["role"] == ASSISTANT]
    acting = sum(isinstance(said, str) and len(_FENCE.findall(said)) == 1 for said in replies)
    return bool(replies) and value[0]["role"] == "system" and 2 * acting >= len(replies)


def _is_prediction(value: Json) -> bool:
    return isinstance(value, dict) and {"instance_id", "model_patch"} <= value.keys()


def _dict(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}
