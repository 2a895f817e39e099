"""Where samples stand: in one JSON object, in a zip of one member each, or in chunks of their sequences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from redrive_events import BadInput, Json, parse_json
from redrive_replays.traces.archive import Archive
from redrive_replays.traces.inspect_logs.samples import Evaluation, traces_of
from redrive_replays.traces.lenient import lenient
from redrive_replays.traces.lines import Entry
from redrive_replays.traces.material import Diagnostic, Material, NoTrace
from redrive_replays.traces.trace import Trace

HEADER: Final = "header.json"
JOURNAL: Final = "_journal/start.json"
SHELL: Final = "/sample.json"
LOOKED_AT: Final = 64
NO_SAMPLES: Final = "an evaluation without samples: its summary only"
_SAMPLE: Final = re.compile(r"samples/.*_epoch_\d+\.json", re.DOTALL)
_CHUNK: Final = re.compile(r"(\d{1,18})\.json")
_SEQUENCES: Final = ("messages", "events", "calls", "attachments")


@dataclass(frozen=True, slots=True)
class _Source:
    """A sample that is read when it is its turn."""

    place: str
    read: Callable[[], Json]


def detect(material: Material) -> bool:
    """Whether the file is a log, a sample of one, or events of one."""
    if material.archive is not None:
        names = material.archive.names
        return HEADER in names or JOURNAL in names or any(_SAMPLE.fullmatch(name) for name in names)
    value = material.entries[0].value
    return _is_log(value) or _is_sample(value) or _is_events(value) or bool(_listed(material))


def read(material: Material) -> Iterator[Trace]:
    """Each sample as a run, and its sub-agents as runs of their own; a sample that is damaged is left out, with a note.

    Raises:
        BadInput: the log has no samples.
    """
    if material.archive is not None:
        head, sources = _archived(material.archive, material)
    else:
        head, sources = _in_json(material)
    if not sources:
        raise (BadInput if material.diagnostics else NoTrace)(NO_SAMPLES)
    evaluation = Evaluation(head, len(sources))
    for index, source in enumerate(sources):
        try:
            sample = source.read()
            if not isinstance(sample, dict):
                raise BadInput("no object")
            yield from traces_of(sample, index, evaluation)
        except BadInput as error:
            place = "" if error.problem.startswith(source.place) else f"{source.place}: "
            material.diagnostics.append(Diagnostic(f"{place}{error.problem}, left out"))


def _in_json(material: Material) -> tuple[Mapping[str, Json], list[_Source]]:
    if listed := _listed(material):
        return {}, listed
    value = material.entries[0].value
    if not _is_log(value):
        return {}, [_Source("sample", lambda: value)]
    samples = value.get("samples")
    head = {key: one for key, one in value.items() if key != "samples"}
    if not isinstance(samples, list):
        return head, []
    return head, [_Source(f"sample {index}", lambda one=one: one) for index, one in enumerate(samples)]  # type: ignore[misc]


def _listed(material: Material) -> list[_Source]:
    """The samples of a list, or of a file of lines; a list of events is those of one."""
    values = _values(material)
    if not values:
        return []
    if _is_sample(values[0].value):
        return [_Source(f"sample {one.index}", lambda one=one: _sample(one.value)) for one in values]  # type: ignore[misc]
    if not _are_events(values):
        return []
    return [_Source("events", lambda: {"events": [one.value for one in values]})]


def _values(material: Material) -> Sequence[Entry]:
    if material.lined:
        return material.entries
    value = material.entries[0].value
    return [Entry(index, one) for index, one in enumerate(value)] if isinstance(value, list) else []


def _are_events(values: Sequence[Entry]) -> bool:
    """Whether values are events, one of a model: other logs have an event and a time on each line too."""
    first = [one.value for one in values[:LOOKED_AT]]
    return _is_events({"events": first}) and any(one["event"] == "model" and "output" in one for one in first)


def _sample(value: Json) -> Json:
    if not _is_sample(value):
        raise BadInput("no sample")
    return value


def _archived(archive: Archive, material: Material) -> tuple[Mapping[str, Json], list[_Source]]:
    head: Json = {}
    if HEADER in archive:
        head = _document(archive, HEADER, material)
    elif JOURNAL in archive:
        head = _document(archive, JOURNAL, material)
        head = {"status": "started", **head} if isinstance(head, dict) else {}
        material.diagnostics.append(Diagnostic("no header: the evaluation did not end; read from its journal"))
    if archive.repeated:
        material.diagnostics.append(Diagnostic(f"{archive.repeated} members repeated: the last of each name is read"))
    sources = []
    for name in archive.names:
        if _SAMPLE.fullmatch(name):
            sources.append(_Source(name, lambda name=name: _document(archive, name, material)))  # type: ignore[misc]
        elif name.startswith("samples/") and name.endswith(SHELL):
            sources.append(_Source(name, lambda name=name: _chunked(archive, name, material)))  # type: ignore[misc]
    return head if isinstance(head, dict) else {}, sources


def _document(archive: Archive, name: str, material: Material) -> Json:
    """A member as JSON, with a note of each liberty it takes.

    Raises:
        BadInput: it is damaged, or no JSON.
    """
    try:
        data = archive.read(name)
    except BadInput as error:
        raise BadInput(f"{name}: {error.problem}") from error
    try:
        return parse_json(data)
    except BadInput as error:
        read = lenient(data)
        if read is None:
            raise BadInput(f"{name}: not JSON") from error
    value, notes = read
    material.diagnostics += (Diagnostic(f"{name}: {note}") for note in notes)
    return value


def _chunked(archive: Archive, shell: str, material: Material) -> Json:
    """A sample whose sequences stand in chunks, put together as it would stand in one member."""
    sample = _document(archive, shell, material)
    if not isinstance(sample, dict):
        return sample
    prefix = shell.removesuffix("sample.json")
    if (metadata := f"{prefix}metadata.json") in archive:
        sample["metadata"] = _document(archive, metadata, material)
    found = {key: _sequence(archive, f"{prefix}{key}/", material) for key in _SEQUENCES}
    refs = sample.pop("message_refs", None)
    sample["events_data"] = {"messages": found["messages"], "calls": found["calls"]}
    sample["events"] = found["events"]
    sample["attachments"] = {str(index): one for index, one in enumerate(found["attachments"])}
    sample["messages_refs"] = refs
    return sample


def _sequence(archive: Archive, prefix: str, material: Material) -> list[Json]:
    starts = {}
    for name in archive.names:
        if name.startswith(prefix) and (chunk := _CHUNK.fullmatch(name, len(prefix))):
            starts[int(chunk[1])] = name
    whole: list[Json] = []
    for start in sorted(starts):
        items = _document(archive, starts[start], material)
        if not isinstance(items, list) or start != len(whole):
            raise BadInput(f"{starts[start]}: a chunk is missing before it")
        whole += items
    return whole


def _is_log(value: Json) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("eval"), dict):
        return False
    return "status" in value and bool({"samples", "results", "plan"} & value.keys())


def _is_sample(value: Json) -> bool:
    return isinstance(value, dict) and {"id", "epoch", "input", "target", "messages"} <= value.keys()


def _is_events(value: Json) -> bool:
    events = value.get("events") if isinstance(value, dict) else None
    if not isinstance(events, list) or not events:
        return False
    return all(isinstance(one, dict) and isinstance(one.get("event"), str) and "timestamp" in one for one in events)
