"""What earlier runs of an agent have learnt, for a later one to begin with."""

from __future__ import annotations

from itertools import islice

from redrive_events import NOTES, EventLog, ReflectionNoted, RunStarted

LESSONS_MAX = 5


def lessons(log: EventLog, agent: str, goal: str, *, most: int = LESSONS_MAX) -> tuple[str, ...]:
    """The lessons that the last runs of ``agent`` upon this ``goal`` have noted, each once, the latest last.

    What a child run has learnt is a lesson of the run that it did a step for.
    """
    found: dict[str, None] = {}
    for head in reversed([head for head in log.runs() if not head.run_id.endswith(NOTES)]):
        root = head.run_id.partition("/")[0]
        started = next((record.event for record in islice(log.read(root), 1)), None)
        if isinstance(started, RunStarted) and (started.agent, started.goal) == (agent, goal):
            own = (one.event for one in log.read(head.run_id) if one.run_id == head.run_id)
            noted = [event.lesson for event in own if isinstance(event, ReflectionNoted)]
            found |= dict.fromkeys(lesson for lesson in reversed(noted) if lesson)
        if len(found) >= most:
            break
    return tuple(reversed(list(found)[:most]))
