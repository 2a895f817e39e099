"""What stands beside a sample's run: scores, what scorers asked, and what the evaluation as a whole was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from redrive_events import Json
from redrive_replays.traces.inspect_logs.messages import meta_of, reply_of
from redrive_replays.traces.inspect_logs.pools import Pools
from redrive_replays.traces.trace import Remark

# Of the evaluation as a whole these stand beside every run, all else beside the first.
_EVERYWHERE: Final = ("eval", "status")
# Events that only structure others, or repeat what stands elsewhere.
QUIET: Final = frozenset({"span_begin", "span_end", "step", "state", "sample_init", "tool"})
_REPEATED: Final = frozenset({"event", "uuid", "span_id", "working_start", "input", "input_refs", "call", "tools"})


def scores(sample: Mapping[str, Json], pools: Pools) -> Iterator[Remark]:
    """Each score's value as ``score.NAME``, and how it came about beside it; a score of an old log is called score."""
    found = sample.get("scores")
    named = dict(found) if isinstance(found, dict) else {}
    if (old := sample.get("score")) is not None:
        named.setdefault("score", old)
    for name, score in named.items():
        if not isinstance(score, dict):
            yield Remark(f"score.{name}", pools.resolved(score))
            continue
        yield Remark(f"score.{name}", pools.resolved(score.get("value")))
        rest = {key: one for key, one in score.items() if key != "value" and one not in (None, {}, [])}
        if rest:
            yield Remark(f"score.{name}.told", pools.resolved(rest))


def gradings(asked: Iterable[tuple[str, Mapping[str, Json], Sequence[Json]]], pools: Pools) -> Iterator[Remark]:
    """What a scorer asked a model, and what it said: no part of the run."""
    for scorer, event, request in asked:
        reply, meta = reply_of(event), meta_of(event)
        value = {
            "scorer": scorer,
            "model": event.get("model"),
            "request": list(request),
            "reply": pools.resolved(reply),
        }
        output = event.get("output")
        usage = output.get("usage") if isinstance(output, dict) else None
        value |= {
            "finish": meta.finish,
            "usage": usage,
            "timestamp": event.get("timestamp"),
            "error": event.get("error"),
        }
        yield Remark("grading", {key: one for key, one in value.items() if one})


def evaluated(head: Mapping[str, Json], *, first: bool) -> Iterator[Remark]:
    """The evaluation that a sample is part of."""
    for key, value in head.items():
        if value in (None, {}, []):
            continue
        if key in _EVERYWHERE:
            yield Remark(key, value)
        elif first:
            yield Remark(f"eval.{key}", value)


def noted(pairs: Iterable[tuple[str, Json]]) -> Iterator[Remark]:
    """What has no place of its own, under the name that it has in the log."""
    return (Remark(name, value) for name, value in pairs)


def event_of(event: Mapping[str, Json], pools: Pools) -> tuple[str, Json] | None:
    """An event that is no message, as name and value; None if it is told otherwise.

    An approval keeps its name: it is the source's verdict, and none of ours. A request that failed is a model_error.
    """
    kind = event.get("event")
    if not isinstance(kind, str) or kind in QUIET:
        return None
    read = _REPEATED if kind == "model" else frozenset({"event"})
    kept = {key: one for key, one in event.items() if key not in read and one is not None}
    return "model_error" if kind == "model" else kind, pools.resolved(kept)
