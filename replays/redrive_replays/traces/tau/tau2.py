"""tau2-bench simulations: an agent and a user, both with tools, in one file, in a file each, or as a bare list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from redrive_events import BadInput, Json
from redrive_replays.traces.conversation import retell
from redrive_replays.traces.lines import LOOKED_AT
from redrive_replays.traces.material import Diagnostic, Material, NoTrace
from redrive_replays.traces.tau.tau2_messages import said_of
from redrive_replays.traces.times import clock_of, moment
from redrive_replays.traces.trace import Remark, Said, Trace

STOPS: Final = ("###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###")
NO_CONVERSATION: Final = "the conversation (the simulation broke off, and none was kept)"
NO_TURNS: Final = "the conversation (full-duplex speech has no turns; ticks with words or calls stand beside the run)"
NO_PROMPT: Final = "the agent's system prompt (the file has the policy in it, beside the run)"
NO_AGENT: Final = "the agent and its model (they stand in results.json)"
NOT_SEEN: Final = "that the model was not shown the user's own calls (inferred; they stand in its transcript)"
_LABELS: Final = ("task_id", "trial")
_READ: Final = frozenset({"messages", "ticks", "reward_info", *_LABELS})
# Of these each simulation has one at least.
_OF_SIMULATIONS: Final = frozenset({"termination_reason", "agent_cost", "user_cost"})
# What a speech tick has beside words and calls is sound and silence.
_SOUND: Final = frozenset({"audio_content", "audio_script_gold", "audio_format", "speech_effects", "source_effects"})


@dataclass(frozen=True, slots=True)
class _File:
    """What stands around the simulations of a file."""

    info: Mapping[str, Json] = field(default_factory=dict)
    tasks: Mapping[str, Json] = field(default_factory=dict)

    def told(self, key: str, inner: str) -> Json:
        """Something that stands two levels down, None if it does not."""
        return _dict(self.info.get(key)).get(inner)


def detect(material: Material) -> bool:
    """Whether the file is, or holds, simulations of tau2, or is the half of a result without them."""
    value = material.entries[0].value
    if isinstance(value, dict) and {"info", "tasks", "timestamp"} <= value.keys():
        return isinstance(value.get("simulations", []), list | dict)
    return any(_is_simulation(one) for _, one, _ in islice(_simulations(material), LOOKED_AT))


def detect_submission(material: Material) -> bool:
    """Whether this is an entry of the leaderboard."""
    value = material.entries[0].value
    return isinstance(value, dict) and {"model_name", "submission_date", "results"} <= value.keys()


def refuse_submission(material: Material) -> Iterator[Trace]:
    """An entry of the leaderboard holds figures.

    Raises:
        NoTrace: always.
    """
    raise NoTrace("an entry of the tau2 leaderboard: figures only; its runs are other files", place=material.name)


def read(material: Material) -> Iterator[Trace]:
    """Each simulation as a run; what is none is left out, with a note.

    Raises:
        BadInput: the file has no simulations, since each is a file of its own.
    """
    value = material.entries[0].value
    file = _File()
    if isinstance(value, dict) and {"tasks", "simulations"} & value.keys():
        if not value.get("simulations"):
            raise NoTrace("tau2 results without simulations: each of them is a file of its own, import those")
        tasks = held if isinstance(held := value.get("tasks"), list) else ()
        file = _File(
            _dict(value.get("info")), {str(one["id"]): one for one in tasks if _dict(one).get("id") is not None}
        )
    for index, simulation, line in _simulations(material):
        try:
            if not _is_simulation(simulation):
                raise BadInput("not a simulation")
            yield trace_of(simulation, index, file)
        except BadInput as error:
            place = "" if line else f"entry {index}: "
            material.diagnostics.append(Diagnostic(f"{place}{error.problem}, left out", line))


def trace_of(simulation: Mapping[str, Json], entry: int, file: _File) -> Trace:
    """One simulation: the conversation as a run, its reward, its end and its task beside it.

    Raises:
        BadInput: a message is not what it should be.
    """
    trace = Trace(entry=entry)
    _head(trace, simulation, file)
    if messages := simulation.get("messages"):
        return _talk(trace, messages, file)
    trace.grade = "view-only"
    ticks = simulation.get("ticks")
    trace.lacks(NO_TURNS if ticks else NO_CONVERSATION)
    for tick in ticks if isinstance(ticks, list) else ():
        _spoken(trace, tick)
    return trace


def _head(trace: Trace, simulation: Mapping[str, Json], file: _File) -> None:
    """Who ran on what task and when, and all that stands beside the conversation."""
    labels = {"domain": file.told("environment_info", "domain_name"), **{key: simulation.get(key) for key in _LABELS}}
    trace.labels = {key: str(value) for key, value in labels.items() if isinstance(value, str | int)}
    began, messages = moment(simulation.get("start_time")), simulation.get("messages")
    times = [moment(_dict(one).get("timestamp")) for one in (messages if isinstance(messages, list) else ())]
    trace.began, trace.clock = (began.at if began else None), clock_of([began, *times])
    trace.remarks += _remarks(simulation, file)
    tools = file.told("environment_info", "tool_defs")
    trace.told = tools if isinstance(tools, list) else ()
    agent = file.told("agent_info", "implementation")
    trace.agent = agent if isinstance(agent, str) else ""
    if not file.info:
        trace.lacks(NO_AGENT)


def _talk(trace: Trace, messages: Json, file: _File) -> Trace:
    said = _said(messages)
    trace.lacks(NO_PROMPT)
    if any(one.by for one in said):
        trace.lacks(NOT_SEEN)
    model = file.told("agent_info", "llm")
    parameters = dict(_dict(file.told("agent_info", "llm_args")))
    return retell(trace, said, model=model if isinstance(model, str) else "", parameters=parameters)


def _said(messages: Json) -> list[Said]:
    if not isinstance(messages, list):
        raise BadInput("messages is no list")
    said, flat = [], list(_flat(messages))
    for index, message in enumerate(flat):
        try:
            said.append(said_of(message))
        except BadInput as error:
            raise BadInput(f"message {index}: {error.problem}") from error
    if said and said[-1].role == "user" and any(stop in str(flat[-1].get("content")) for stop in STOPS):
        said[-1].last = True
    return said


def _flat(messages: list[Json]) -> Iterator[Json]:
    """The messages; several results that were kept together are one each."""
    for message in messages:
        together = _dict(message).get("tool_messages")
        yield from together if isinstance(together, list) else (message,)


def _remarks(simulation: Mapping[str, Json], file: _File) -> Iterator[Remark]:
    """Reward, end and costs as the file has them, then the task, and what the whole file was made with."""
    judged = simulation.get("reward_info")
    if isinstance(judged, dict):
        yield Remark("reward", judged.get("reward"))
        yield Remark(
            "reward_info", {key: value for key, value in judged.items() if key != "reward" and value is not None}
        )
    elif judged is not None:
        yield Remark("reward_info", judged)
    for key, value in simulation.items():
        if key not in _READ and value is not None:
            # Another reward beside the judged one is no second verdict.
            yield Remark("simulation.reward" if key == "reward" and isinstance(judged, dict) else key, value)
    if (task := file.tasks.get(str(simulation.get("task_id")))) is not None:
        yield Remark("task", task)
    yield from (
        Remark(key, value) for key, value in file.info.items() if key != "environment_info" and value is not None
    )
    environment = _dict(file.info.get("environment_info"))
    yield from (Remark(key, value) for key, value in environment.items() if key != "tool_defs" and value is not None)


def _spoken(trace: Trace, tick: Json) -> None:
    """A tick of speech in which something was said or done; the sound is left out."""
    if not isinstance(tick, dict):
        return
    kept = {key: _words(value) for key, value in tick.items() if key not in _SOUND}
    for side in ("agent", "user"):
        for key, amount in ((f"{side}_tool_calls", "calls"), (f"{side}_tool_results", "results")):
            if isinstance(done := tick.get(key), list):
                setattr(trace, amount, getattr(trace, amount) + len(done))
    if any(value for key, value in kept.items() if key not in {"tick_id", "timestamp"}):
        trace.remarks.append(Remark("tick", kept))


def _words(value: Json) -> Json:
    if not isinstance(value, dict):
        return value
    kept = {key: one for key, one in value.items() if key not in _SOUND and one}
    return kept if kept.keys() - {"role", "turn_taking_action"} else None


def _simulations(material: Material) -> Iterator[tuple[int, Json, int]]:
    value = material.entries[0].value
    held = value.get("simulations") if isinstance(value, dict) else None
    if isinstance(held, list | dict):
        value = list(held.values()) if isinstance(held, dict) else held
    if isinstance(value, list):
        yield from ((index, one, 0) for index, one in enumerate(value))
    else:
        yield from ((entry.index, entry.value, entry.line) for entry in material.entries)


def _is_simulation(value: Json) -> bool:
    if not isinstance(value, dict) or "task_id" not in value:
        return False
    if _OF_SIMULATIONS.isdisjoint(value) and not isinstance(value.get("reward_info"), dict):
        return False
    return "messages" in value or "ticks" in value


def _dict(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}
