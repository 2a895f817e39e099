"""tau-bench: attempts that stand in a document, have no reward, or speak as Anthropic's models do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive_events import MemoryLog
from redrive_projections import fold, status
from redrive_replays.traces import import_bytes

ASKED = {"role": "user", "content": "Cancel my order."}
CALL = {"id": "c", "type": "function", "function": {"name": "cancel", "arguments": {"order": 7}}}
CHAT = [
    ASKED,
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c", "name": "cancel", "content": "cancelled"},
    {"role": "assistant", "content": "Done."},
    {"role": "user", "content": "###STOP###"},
]
BLOCKS = [
    ASKED,
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "cancel", "input": {"order": 7}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "cancelled"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
    {"role": "user", "content": "###STOP###"},
]


@pytest.mark.parametrize(
    "value",
    [
        {"results": [{"task_id": 0, "trial": 0, "reward": 1.0, "traj": CHAT}], "pass": 1.0},
        [{"task_id": 0, "trial": 0, "traj": CHAT}],
        [{"task_id": 0, "trial": 0, "reward": 1.0, "traj": BLOCKS}],
    ],
    ids=["in a document", "no reward", "blocks"],
)
def test_an_attempt_is_a_run(value: Any) -> None:
    """Its call, the result, and the end that the user gave it."""
    log = MemoryLog()
    report = import_bytes(json.dumps(value).encode(), "results.json", log)
    (run,) = report.runs
    assert (report.format, report.calls, report.results, report.unpaired) == ("tau-bench", 1, 1, 0)
    assert status(fold(log.read(run))) == "finished"
