"""The history that a server of Temporal would keep of the workflow in `looking`: made by hand, without a server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio.api.common.v1 import ActivityType, Payloads, WorkflowType
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import History, HistoryEvent
from temporalio.api.sdk.v1 import WorkflowTaskCompletedMetadata
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.converter import DataConverter

from benchmarks.stepping import DONE, GOAL, THOUGHT

# What the core of the SDK notes with the first task of a run: with it types and ids of commands are compared, too.
CHECKED = WorkflowTaskCompletedMetadata(core_used_flags=[1, 2, 3], lang_used_flags=[1])
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
QUEUE = TaskQueue(name="looking")


def history_of(steps: int) -> bytes:
    """The stored bytes of a run of so many steps: a model ask and a call in each, and the ask that ends it."""
    history, said = _Written(), GOAL
    history.add(
        "WORKFLOW_EXECUTION_STARTED",
        workflow_type=WorkflowType(name="Looker"),
        task_queue=QUEUE,
        input=_payloads(GOAL),
        original_execution_run_id="run",
        first_execution_run_id="run",
        attempt=1,
    )
    history.task(sdk_metadata=CHECKED)
    for number in range(1, steps + 1):
        call = {"number": number}
        history.activity("ask", said, {"text": THOUGHT, "call": call, "last": number == steps})
        said = f"{number} is there"
        history.activity("look", call, said)
    history.activity("ask", said, {"text": DONE})
    history.add(
        "WORKFLOW_EXECUTION_COMPLETED", result=_payloads(DONE), workflow_task_completed_event_id=history.completed
    )
    return History(events=history.events).SerializeToString()


class _Written:
    """Events as they come, each with the next number and a second later."""

    def __init__(self) -> None:
        self.events: list[HistoryEvent] = []
        self.completed, self.activities = 0, 0

    def add(self, kind: str, **attributes: Any) -> int:
        """One event; its number."""
        number = len(self.events) + 1
        told: dict[str, Any] = {f"{kind.lower()}_event_attributes": attributes}
        told["event_time"] = BEGAN + timedelta(seconds=number)
        self.events.append(
            HistoryEvent(
                event_id=number,
                task_id=number,
                event_type=EventType.Value(f"EVENT_TYPE_{kind}"),
                **told,
            )
        )
        return number

    def task(self, **attributes: Any) -> None:
        """A worker takes the run one task further."""
        scheduled = self.add("WORKFLOW_TASK_SCHEDULED", task_queue=QUEUE, attempt=1)
        places = {"scheduled_event_id": scheduled}
        places["started_event_id"] = self.add("WORKFLOW_TASK_STARTED", **places, request_id=str(scheduled))
        self.completed = self.add("WORKFLOW_TASK_COMPLETED", **places, **attributes)

    def activity(self, name: str, given: object, result: object) -> None:
        """An activity, and the task by which the workflow takes its result."""
        self.activities += 1
        scheduled = self.add(
            "ACTIVITY_TASK_SCHEDULED",
            activity_id=str(self.activities),
            activity_type=ActivityType(name=name),
            task_queue=QUEUE,
            input=_payloads(given),
            workflow_task_completed_event_id=self.completed,
        )
        places = {"scheduled_event_id": scheduled}
        places["started_event_id"] = self.add("ACTIVITY_TASK_STARTED", **places, attempt=1)
        self.add("ACTIVITY_TASK_COMPLETED", **places, result=_payloads(result))
        self.task()


def _payloads(value: object) -> Payloads:
    return Payloads(payloads=DataConverter.default.payload_converter.to_payloads([value]))
