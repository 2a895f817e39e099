"""Claude Code's rarer lines: types of later versions, what was replaced or queued, bare lines, and an end alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive_events import MemoryLog, ModelReplied, RunStarted
from redrive_replays import recording_of, replay
from redrive_replays.traces import FileReport, import_bytes
from redrive_replays.traces.material import NoTrace
from tests.traces.test_codex import events, remarks

FORGOT = "what the model was shown after a compaction (the run keeps all that was said before)"
UNKNOWN = "what a record of an unknown type means (kept as it came)"
SAID = {"role": "user", "content": "Bake."}
REPLY: dict[str, Any] = {"role": "assistant", "model": "claude-x", "content": [{"type": "text", "text": "Baked."}]}


def imported(*lines: Any) -> tuple[MemoryLog, FileReport]:
    """Lines in a log of their own, each run of which replays."""
    log = MemoryLog()
    report = import_bytes("\n".join(map(json.dumps, lines)).encode(), "inline", log)
    assert all(replay(recording_of(log, run)).same for run in report.runs)
    return log, report


def line(kind: str, label: str, follows: str | None = None, **rest: Any) -> dict[str, Any]:
    """A line in the tree of a session."""
    place = {"parentUuid": follows, "isSidechain": False, "sessionId": "s-1", "type": kind, "uuid": label}
    return {**place, "timestamp": "2026-01-01T00:00:00.000Z", **rest}


def test_a_session_of_a_later_version_is_known_by_its_messages() -> None:
    """However many lines of types that nobody knew stand before them."""
    later = [{"type": f"later-{number}", "sessionId": "s-1"} for number in range(9)]
    log, report = imported(*later, line("user", "u1", message=SAID), line("assistant", "a1", "u1", message=REPLY))
    assert (report.format, report.missing[UNKNOWN]) == ("claude-code", 9)
    assert events(log, report.runs[0], RunStarted)[0].goal == "Bake."


@pytest.mark.parametrize("kind", ["agent-setting", "tag", "file-history-delta", "cost-state", "ended-by-model"])
def test_lines_that_are_known_to_be_no_messages(kind: str) -> None:
    """They stand beside the run, and nothing is said to be unknown."""
    _, report = imported({"type": kind, "sessionId": "s-1"}, line("user", "u1", message=SAID))
    assert UNKNOWN not in report.missing


@pytest.mark.parametrize(
    "note",
    [
        line("system", "n1", "u1", subtype="microcompact_boundary", content="x"),
        {"type": "content-replacement", "sessionId": "s-1", "replacements": []},
        {"type": "marble-origami-commit", "sessionId": "s-1", "collapseId": "1"},
    ],
)
def test_what_was_replaced_for_the_model_is_said_to_be_missing(note: dict[str, Any]) -> None:
    """It was not shown all that was said before."""
    _, report = imported(line("user", "u1", message=SAID), note, line("assistant", "a1", "u1", message=REPLY))
    assert (report.missing[FORGOT], UNKNOWN in report.missing) == (1, False)


def test_words_said_while_the_model_worked_stand_beside_and_that_is_told() -> None:
    """Those of a person only: what a task notes of itself is no word of hers."""
    queued = {"type": "queued_command", "prompt": "Rye too.", "commandMode": "prompt", "origin": {"kind": "human"}}
    notice = {"type": "queued_command", "prompt": "Done.", "commandMode": "task-notification"}
    log, report = imported(
        line("user", "u1", message=SAID),
        *(line("attachment", f"n{number}", "u1", attachment=one) for number, one in enumerate((queued, notice))),
    )
    assert report.missing["how the model was shown what a person said while it worked (kept beside)"] == 1
    assert remarks(log, report.runs[0], "queued_command")[0]["attachment"] == queued


def test_lines_with_nothing_but_their_messages() -> None:
    """As they stand in examples; a message with other parts is another program's."""
    log, report = imported({"type": "user", "message": SAID}, {"type": "assistant", "message": REPLY})
    assert (report.format, len(events(log, report.runs[0], ModelReplied))) == ("claude-code", 1)
    other = {"uuid": "u1", "parentUuid": None, "sessionId": "s-1", "type": "user"}
    with pytest.raises(NoTrace):
        imported(*(other | {"uuid": label, "message": {"role": "user", "parts": [{"text": "Hi"}]}} for label in "ab"))


def test_the_end_of_a_session_alone_has_the_last_words() -> None:
    """With their tokens and cost; an error that stands there is no word of the model's."""
    end = {"type": "result", "subtype": "success", "is_error": False, "session_id": "s-1", "result": "Baked."}
    used = {"usage": {"input_tokens": 3, "output_tokens": 4}, "total_cost_usd": 0.25}
    log, report = imported({**end, **used})
    (reply,) = events(log, report.runs[0], ModelReplied)
    assert (reply.content, reply.usage.output, reply.cost_micros) == ("Baked.", 4, 250_000)
    assert report.grades == {"model-only": 1}
    _, report = imported({**end, "is_error": True, "result": "API Error"})
    assert report.grades == {"view-only": 1}


def test_a_local_text_names_no_model() -> None:
    """The run's model is that of the first reply that a model gave."""
    local = REPLY | {"model": "<synthetic>", "id": "m0"}
    log, report = imported(
        line("assistant", "a0", message=local, isApiErrorMessage=True),
        line("user", "u1", "a0", message=SAID),
        line("assistant", "a1", "u1", message=REPLY | {"id": "m1"}),
    )
    assert events(log, report.runs[0], RunStarted)[0].contract.model == "claude-x"


def test_a_result_that_names_a_sub_agent_says_which_call_began_it() -> None:
    """The session is not labelled with the agent whose words came back."""
    call = {"type": "tool_use", "id": "t1", "name": "Task", "input": {"prompt": "Mill."}}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "Milled."}]}
    log, report = imported(
        line("user", "u1", message=SAID),
        line("assistant", "a1", "u1", message=REPLY | {"content": [call]}),
        line("user", "u2", "a1", message=result, agentId="e1"),
        line("assistant", "b1", message=REPLY, isSidechain=True, agentId="e1"),
    )
    main, below = report.runs
    assert below == f"{main}/1"
    assert "agent_id" not in events(log, main, RunStarted)[0].labels


def test_notes_of_one_name_that_say_different_things_are_all_kept() -> None:
    """Only what is the same in all stands there twice."""
    notes = [{"type": "system", "subtype": "status", "session_id": "s-1", "uuid": "n1", "status": one} for one in "aab"]
    log, report = imported(line("user", "u1", message=SAID), *notes)
    assert [one["status"] for one in remarks(log, report.runs[0], "status")] == ["a", "b"]
