"""A sample as runs: its agent's conversation, those of its sub-agents, and scores, approvals and errors beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from redrive_events import BadInput, Json, ModelReplied, calls_of
from redrive_replays.traces.conversation import retell
from redrive_replays.traces.inspect_logs.beside import evaluated, event_of, gradings, noted, scores
from redrive_replays.traces.inspect_logs.messages import said_of
from redrive_replays.traces.inspect_logs.pools import Pools
from redrive_replays.traces.inspect_logs.spans import placed
from redrive_replays.traces.inspect_logs.spoken import said_in
from redrive_replays.traces.inspect_logs.threads import Thread, Told, told
from redrive_replays.traces.times import clock_of, moment
from redrive_replays.traces.trace import ASSISTANT, Trace

FINAL_ONLY: Final = "requests as the model had them (no events: only the messages at the end)"
NO_REQUEST: Final = "the conversation (no reply is on record)"
ANOTHER: Final = "how this conversation follows from the sample's main one (the model was asked with another history)"
FAILED: Final = "the reply (the request failed, or was given up)"
_READ: Final = frozenset(
    {
        *("messages", "messages_refs", "events", "events_data", "attachments", "transcript", "scores", "score"),
        *("id", "epoch", "input"),
    }
)


@dataclass(slots=True)
class Evaluation:
    """What stands around the samples; runs that are not a sample's own are numbered behind those."""

    head: Mapping[str, Json]
    samples: int
    further: int = 0

    def number(self) -> int:
        """The next number for a run that is not a sample's own."""
        self.further += 1
        return self.samples + self.further - 1

    @property
    def labels(self) -> dict[str, str]:
        """The task."""
        task = _dict(self.head.get("eval")).get("task")
        return {"task": task} if isinstance(task, str) else {}


@dataclass(slots=True)
class _Begun:
    """Runs of a sample so far: by their thread, and the calls that began one."""

    runs: dict[int, Trace] = field(default_factory=dict)
    calls: set[tuple[int, int]] = field(default_factory=set)


def traces_of(sample: Mapping[str, Json], index: int, evaluation: Evaluation) -> Iterator[Trace]:
    """The runs of one sample, its own agent's first.

    Raises:
        BadInput: a message is not what it should be.
    """
    pools = Pools(sample)
    events = sample.get("events") or _dict(sample.get("transcript")).get("events")
    found = told(list(placed(events if isinstance(events, list) else [])), pools)
    messages = _final(sample, pools)
    main = found.threads[0] if found.threads and not found.threads[0].owner.key else None
    trace = _own(sample, index, evaluation, pools, found)
    if main:
        _tell(trace, main, pools, messages)
    else:
        _tell_messages(trace, messages, found, pools)
    begun = _Begun({id(main): trace})
    traces = [trace]
    for thread in found.threads:
        if thread is not main:
            traces.append(_further(thread, evaluation, trace, begun, found, pools))
            begun.runs[id(thread)] = traces[-1]
    yield from traces


def _own(sample: Mapping[str, Json], index: int, evaluation: Evaluation, pools: Pools, found: Told) -> Trace:
    """The sample's own run, with all that is known of it but the conversation."""
    trace = Trace(entry=index, labels=dict(evaluation.labels))
    labels = {"sample": sample.get("id"), "epoch": sample.get("epoch")}
    trace.labels |= {key: str(value) for key, value in labels.items() if isinstance(value, str | int)}
    trace.remarks += scores(sample, pools)
    kept = {key: one for key, one in sample.items() if key not in _READ and one not in (None, {}, [])}
    trace.remarks += noted(pools.resolved(kept).items())
    trace.remarks += evaluated(evaluation.head, first=index == 0)
    trace.remarks += gradings(found.grading, pools)
    trace.remarks += noted(one for event in found.loose if (one := event_of(event, pools)))
    began = moment(sample.get("started_at"))
    trace.began = began.at if began else None
    trace.clock = clock_of([began])
    return trace


def _tell(trace: Trace, thread: Thread, pools: Pools, messages: Sequence[Json]) -> Trace:
    """A conversation as a run."""
    said, times = said_in(thread, pools, messages)
    trace.clock = clock_of([*times, moment(trace.began.isoformat()) if trace.began else None])
    trace.began = trace.began or next((one.at for one in times if one), None)
    first = thread.turns[0].event
    tools, config, model = pools.resolved(first.get("tools")), first.get("config"), first.get("model")
    trace.told = tools if isinstance(tools, list) else ()
    parameters = {key: one for key, one in _dict(config).items() if one is not None}
    if first.get("tool_choice") not in (None, "auto"):
        parameters["tool_choice"] = first["tool_choice"]
    return retell(trace, said, model=model if isinstance(model, str) else "", parameters=parameters)


def _tell_messages(trace: Trace, messages: Sequence[Json], found: Told, pools: Pools) -> None:
    """A run without a reply on record: the request that failed, else the messages at the end, if those are there."""
    failed = next((event for event in reversed(found.loose) if event.get("event") == "model"), None)
    asked = pools.request(failed) if failed else []
    said = [said_of(one) for one in asked or messages]
    if not any(one.role == ASSISTANT for one in said) and not asked:
        trace.grade = "view-only"
        trace.lacks(NO_REQUEST)
    else:
        trace.lacks(FAILED if asked else FINAL_ONLY)
    at = moment(failed.get("timestamp")) if failed else None
    if at and trace.clock == "none":
        trace.began, trace.clock = at.at, clock_of([at])
    if said:
        retell(trace, said)


def _further(thread: Thread, evaluation: Evaluation, main: Trace, begun: _Begun, found: Told, pools: Pools) -> Trace:
    """A sub-agent's run, linked to the call that began it; or the sample's own agent with a history that is another."""
    trace = Trace(entry=evaluation.number(), labels=dict(main.labels), agent=thread.owner.name)
    if thread.owner.key:
        trace.parent = _parent(thread, main, begun, found)
    else:
        trace.parent = (main.entry, 0)
        trace.lacks(ANOTHER)
    return _tell(trace, thread, pools, ())


def _parent(thread: Thread, main: Trace, begun: _Begun, found: Told) -> tuple[int, int]:
    """The run that made the call, and the call's number in it, which only the first run that it begins has."""
    for other in found.threads:
        trace = begun.runs.get(id(other))
        number = _number(trace, thread.owner.call) if trace and other is not thread else 0
        if trace and number:
            place = (trace.entry, number)
            if place in begun.calls:
                return (trace.entry, 0)
            begun.calls.add(place)
            return place
    return (main.entry, 0)


def _number(trace: Trace, label: str) -> int:
    """The number of the last call with this label."""
    replies = (one for one in trace.inputs if type(one) is ModelReplied)
    labels = [call.id for reply in replies for _, call in calls_of(reply.content)]
    return max((number for number, one in enumerate(labels, start=1) if label and one == label), default=0)


def _final(sample: Mapping[str, Json], pools: Pools) -> Sequence[Json]:
    """The messages at the end."""
    messages = sample.get("messages")
    if messages is None and "messages_refs" in sample:
        return pools.pooled(sample["messages_refs"])
    if messages is not None and not isinstance(messages, list):
        raise BadInput("messages is no list")
    return [pools.resolved(one) for one in messages or ()]


def _dict(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}
