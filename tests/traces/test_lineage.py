"""Agents that others began, in files of their own: child runs of the calls, in whichever order the files come."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from redrive_events import Lineage, MemoryLog, RunStarted
from redrive_projections.history import ask
from redrive_replays import recording_of, replay
from redrive_replays.traces import FileReport, import_file, import_files, workers
from tests.traces.shared import AT_HAND, SHARED

ELSEWHERE = "the run that began this one (it is in another file)"
BY_PROMPT = "which call began this run (found by its prompt)"
WHICH_CALL = "which call began this run"
USAGE = {"input_tokens": 3, "output_tokens": 2}
Lines = list[dict[str, Any]]


def claude(session: str, *said: dict[str, Any], agent: str = "") -> Lines:
    """The lines of a session, or of a sub-agent of it."""
    whose = {"isSidechain": True, "agentId": agent} if agent else {"isSidechain": False}
    lines, above = [], None
    for number, one in enumerate(said):
        name = f"{session}-{agent}-{number}"
        at = {"uuid": name, "parentUuid": above, "sessionId": session, "timestamp": f"2026-01-01T00:00:{number:02}Z"}
        lines.append({**at, **whose, **one})
        above = name
    return lines


def asks(words: str) -> dict[str, Any]:
    """A person, or an agent, speaks."""
    return {"type": "user", "message": {"role": "user", "content": words}}


def says(*blocks: Any) -> dict[str, Any]:
    """The model replies."""
    return {
        "type": "assistant",
        "message": {"role": "assistant", "model": "m", "content": list(blocks), "usage": USAGE},
    }


def task(label: str, prompt: str) -> dict[str, Any]:
    """A call that begins an agent."""
    given = {"description": "d", "prompt": prompt, "subagent_type": "miller"}
    return {"type": "tool_use", "id": label, "name": "Task", "input": given}


def done(label: str, **result: Any) -> dict[str, Any]:
    """What came of it."""
    content = [{"type": "tool_result", "tool_use_id": label, "content": "flour"}]
    return {"type": "user", "message": {"role": "user", "content": content}, "toolUseResult": result or "flour"}


WORDS = {"type": "text", "text": "Done."}
SESSION = claude(
    "s-1",
    asks("Bake."),
    says(task("t1", "Mill rye."), task("t2", "Mill oats.")),
    done("t1", agentId="rye"),
    done("t2", agentId="oats"),
    says(WORDS),
)
RYE = claude("s-1", asks("Mill rye."), says(task("t3", "Sift.")), done("t3", agentId="sieve"), says(WORDS), agent="rye")
OATS = claude("s-1", asks("Mill oats."), says(WORDS), agent="oats")
SIEVE = claude("s-1", asks("Sift."), says(WORDS), agent="sieve")


def codex(kind: str, **payload: Any) -> dict[str, Any]:
    """A line of a Codex session."""
    return {"timestamp": "2026-01-01T00:00:01Z", "type": kind, "payload": payload}


def words(role: str, text: str) -> dict[str, Any]:
    """A message in one."""
    part = {"type": "input_text" if role == "user" else "output_text", "text": text}
    return codex("response_item", type="message", role=role, content=[part])


def spawn(call: str, agent: str) -> Lines:
    """A call that begins another session, and its result."""
    made = {"type": "function_call", "name": "spawn_agent", "arguments": '{"message": "Mill."}', "call_id": call}
    result = {"type": "function_call_output", "call_id": call, "output": json.dumps({"agent_id": agent})}
    return [codex("response_item", **made), codex("response_item", **result)]


def thread(name: str, above: str = "") -> dict[str, Any]:
    """The head of a session."""
    source = {"subagent": {"thread_spawn": {"parent_thread_id": above, "depth": 1}}} if above else "cli"
    return codex("session_meta", id=name, timestamp="2026-01-01T00:00:00Z", source=source)


CODEX = [thread("c-1"), words("user", "Bake."), *spawn("k1", "c-2"), words("assistant", "Baked.")]
MILLER = [thread("c-2", "c-1"), words("user", "Mill."), words("assistant", "Milled.")]


def written(folder: Path, **files: Sequence[dict[str, Any]]) -> dict[str, Path]:
    """Files of lines."""
    paths = {name: folder / f"{name}.jsonl" for name in files}
    for name, lines in files.items():
        paths[name].write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return paths


def started(log: MemoryLog, run: str) -> RunStarted:
    """How a run began."""
    event = next(log.read(run)).event
    assert isinstance(event, RunStarted)
    return event


def parents(log: MemoryLog) -> list[tuple[str, str, int]]:
    """Who began whom, as SQL has it."""
    found = ask(log, "SELECT run_id, parent, parent_call FROM runs WHERE parent IS NOT NULL ORDER BY ALL")
    return [(*row,) for row in found.rows]


def missing(log: MemoryLog, run: str) -> tuple[str, ...]:
    """What a run lacks."""
    source = started(log, run).source
    assert source is not None
    return source.missing


@pytest.mark.parametrize("order", list(permutations(["session", "rye", "oats", "sieve"])), ids="-".join)
def test_together_they_are_a_tree_in_any_order(order: Sequence[str], tmp_path: Path) -> None:
    """Each with its call, though the files come as they come; the reports stand in that order."""
    files = written(tmp_path, session=SESSION, rye=RYE, oats=OATS, sieve=SIEVE)
    log = MemoryLog()
    reports = dict(zip(order, import_files([files[name] for name in order], log), strict=True))
    ids = {name: report.runs[0] for name, report in reports.items()}
    assert [report.path for report in reports.values()] == [str(files[name]) for name in order]
    assert started(log, ids["rye"]).parent == Lineage(run_id=ids["session"], call=1)
    assert started(log, ids["oats"]).parent == Lineage(run_id=ids["session"], call=2)
    assert started(log, ids["sieve"]).parent == Lineage(run_id=ids["rye"], call=1)
    assert all(ELSEWHERE not in (*missing(log, run), *reports[name].missing) for name, run in ids.items())
    assert all(replay(recording_of(log, run)).same for run in ids.values())
    assert sum(report.added for report in import_files([tmp_path], log)) == 0


@pytest.mark.parametrize("order", list(permutations(["session", "rye", "oats", "sieve"])), ids="-".join)
def test_one_after_the_other_the_tree_is_the_same(order: Sequence[str], tmp_path: Path) -> None:
    """What came before the run that began it keeps its bytes and its id: the link stands beside it."""
    files = written(tmp_path, session=SESSION, rye=RYE, oats=OATS, sieve=SIEVE)
    together, apart = MemoryLog(), MemoryLog()
    import_files(files.values(), together)
    ids = {name: import_file(files[name], apart).runs[0] for name in order}
    assert parents(apart) == parents(together) != []
    assert sorted(ids.values()) == [head.run_id for head in sorted(together.runs()) if "@" not in head.run_id]
    first = list(apart.runs())
    assert [import_file(files[name], apart).added for name in order] == [0] * 4
    assert list(apart.runs()) == first


def test_alone_it_says_so(tmp_path: Path) -> None:
    """A label has its session, and that the run that began it is not there is told."""
    log = MemoryLog()
    report = import_file(written(tmp_path, rye=RYE)["rye"], log)
    (run,) = report.runs
    assert (started(log, run).parent, report.missing[ELSEWHERE]) == (None, 1)
    assert (started(log, run).labels["session"], started(log, run).labels["agent_id"]) == ("s-1", "rye")


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("order", list(permutations(["session", "miller"])), ids="-".join)
def test_a_session_that_another_began(order: Sequence[str], together: bool, tmp_path: Path) -> None:
    """By the result of the call, which names it."""
    files = written(tmp_path, session=CODEX, miller=MILLER)
    log = MemoryLog()
    paths = [files[name] for name in order]
    reports = import_files(paths, log) if together else [import_file(path, log) for path in paths]
    ids = {name: report.runs[0] for name, report in zip(order, reports, strict=True)}
    assert parents(log) == [(ids["miller"], ids["session"], 1)]


NOTED = {"type": "collab_agent_spawn_end", "call_id": "k1", "sender_thread_id": "c-1", "new_thread_id": "c-2"}
ITEM = {
    "type": "item_completed",
    "item": {"type": "CollabAgentToolCall", "id": "k1", "tool": "spawnAgent", "receiver_thread_ids": ["c-2"]},
}


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([spawn("k1", "c-2")[0], codex("event_msg", **NOTED)], id="an event, and no result"),
        pytest.param([*spawn("k1", ""), codex("event_msg", **ITEM)], id="an item, and a result that names nobody"),
        pytest.param([*spawn("k0", "c-9"), *spawn("k1", "")], id="by the words of the second call"),
    ],
)
def test_what_was_noted_beside_a_call_tells_too(lines: Lines, tmp_path: Path) -> None:
    """Or, told as inferred, the words that were handed over."""
    files = written(tmp_path, miller=MILLER, session=[*CODEX[:2], *lines, CODEX[-1]])
    log = MemoryLog()
    miller, session = import_files(files.values(), log)
    assert [row[:2] for row in parents(log)] == [(miller.runs[0], session.runs[0])]


def guessed(folder: Path, *names: str) -> tuple[MemoryLog, dict[str, FileReport]]:
    """A session whose calls name no agent, with some that they began."""
    lines = [{key: value for key, value in line.items() if key != "toolUseResult"} for line in SESSION]
    other = claude("s-1", asks("Knead."), says(WORDS), agent="kneader")
    files = written(folder, again=RYE[:1] + RYE[-1:], rye=RYE, kneader=other, session=lines)
    log = MemoryLog()
    return log, dict(zip(names, import_files([files[name] for name in names], log), strict=True))


def test_a_call_is_found_by_the_words_too(tmp_path: Path) -> None:
    """That this was inferred is told; a call begins one run, so the next with the same words has no known call."""
    log, reports = guessed(tmp_path, "rye", "again", "kneader", "session")
    session = reports["session"].runs[0]
    assert [(parent, call) for _, parent, call in parents(log)].count((session, 1)) == 1
    assert sorted((call or 0) for _, _, call in parents(log)) == [0, 0, 1]
    assert (reports["rye"].missing[BY_PROMPT], reports["kneader"].missing[WHICH_CALL]) == (1, 1)
    assert BY_PROMPT in missing(log, reports["rye"].runs[0])


def test_the_last_import_of_a_session_knows_most(tmp_path: Path) -> None:
    """A session that grew is there twice; the agent is a child of the one that has its call."""
    files = written(tmp_path, short=SESSION[:2], whole=SESSION, rye=RYE)
    log = MemoryLog()
    for name in ("short", "whole", "rye"):
        import_file(files[name], log)
    assert [row[1] for row in parents(log)] == [import_file(files["whole"], log).runs[0]]


def test_in_several_processes_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was built elsewhere waits as well."""
    monkeypatch.setattr(workers, "WORTH_BYTES", 0)
    files = written(tmp_path, oats=OATS, rye=RYE, sieve=SIEVE, session=SESSION)
    one, several = MemoryLog(), MemoryLog()
    assert import_files(files.values(), several, processes=2) == import_files(files.values(), one)
    assert parents(several) == parents(one) != []


def test_what_the_model_was_told_of_an_agent_names_it(tmp_path: Path) -> None:
    """Newer versions say it in the result itself, and nowhere else."""
    said = [{"type": "text", "text": "flour"}, {"type": "text", "text": "agentId: rye (use SendMessage to go on)\n"}]
    result = {"type": "tool_result", "tool_use_id": "t1", "content": said}
    told = {"type": "user", "message": {"role": "user", "content": [result]}}
    files = written(tmp_path, rye=RYE, session=claude("s-1", asks("Bake."), says(task("t1", "Else.")), told))
    log = MemoryLog()
    rye, session = import_files(files.values(), log)
    assert parents(log) == [(rye.runs[0], session.runs[0], 1)]


def test_a_folder_tells_the_session_that_its_agents_do_not_name(tmp_path: Path) -> None:
    """By which call is not known then."""
    folder = tmp_path / "s-1" / "subagents"
    folder.mkdir(parents=True)
    written(folder, agent=claude("agent-rye", asks("Sing."), says(WORDS), agent="rye"))
    written(tmp_path, session=claude("s-1", asks("Bake."), says(task("t1", "Mill.")), done("t1")))
    log = MemoryLog()
    agent, session = import_files([tmp_path], log)
    assert started(log, agent.runs[0]).parent == Lineage(run_id=session.runs[0])
    assert (agent.missing[WHICH_CALL], agent.missing.get(ELSEWHERE)) == (1, None)


@AT_HAND
def test_the_real_sessions_have_their_agents() -> None:
    """Those whose session is at hand, each by its call; of the agents that no call began, the session is known."""
    log = MemoryLog()
    reports = import_files([SHARED / "claude-code"], log)
    found = [started(log, run) for report in reports for run in report.runs if report.format == "claude-code"]
    agents = [one for one in found if ELSEWHERE in (one.source.missing if one.source else ()) or one.parent]
    alone = [one.labels["agent_id"] for one in agents if one.parent is None]
    by_call = {one.labels["agent_id"]: one.parent.call for one in agents if one.parent and "agent_id" in one.labels}
    assert by_call == {
        **{"cccc333": 1, "e1c84ba5": 1, "a2271d1": 1, "aaaa111111111111": 5, "bbbb222222222222": 6},
        **{"3430b97e": 0, "388fb764": 0, "88061e52": 0, "8d27fe83": 0, "a0ad4f44468bdf20d": 0},
    }
    assert len(alone) == 9
