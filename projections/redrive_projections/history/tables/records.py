"""What a row says of a record, and of what was said beside the run."""

from __future__ import annotations

from typing import Annotated

from redrive_projections.history.tables.columns import JsonText, Moment, Row


class EventRow(Row, kw_only=True):
    """One row for each record of a run; what was said beside it is in annotations."""

    position: Annotated[int, "Its place in the run, counted from 1."]
    happened_at: Annotated[Moment | None, "When it was written; NULL, like all times, if the run has no clock."]
    cause: Annotated[int, "The position it follows from; 0 where nothing in the run caused it."]
    remaining: Annotated[int, "How many records of the same append were still to come."]
    kind: Annotated[str, "What happened: tool_called, verdict_given and so on."]
    call: Annotated[int | None, "The call that it is about; NULL if it is about none."] = None
    problem: Annotated[str | None, "Why it cannot be read; its kind is then quarantined."] = None


class PayloadRow(Row, kw_only=True):
    """One row for each record that is JSON: the event itself, apart from events since it may be long."""

    position: Annotated[int, "Its place in the run, counted from 1."]
    payload: Annotated[JsonText, "The event as it is stored."]


class AnnotationRow(Row, kw_only=True):
    """One row for each remark about a run: rewards, scores, labels."""

    note: Annotated[int, "Its place among the remarks on this run, counted from 1."]
    annotated_at: Annotated[Moment, "When it was made."]
    position: Annotated[int | None, "The position in the run that it is about; NULL means the whole run."]
    name: Annotated[str, "What is remarked on."]
    value: Annotated[JsonText, "The value."]
    value_number: Annotated[float | None, "The value if it is a number; true is 1 and false is 0."]
    value_text: Annotated[str | None, "The value if it is text."]
    source: Annotated[str, "Who says so."]


class DivergenceRow(Row, kw_only=True):
    """One row for each remark `divergence`: where a replay parted from the run, told by an object with these names."""

    note: Annotated[int, "The remark's place among those on this run, counted from 1."]
    found_at: Annotated[Moment, "When it was kept."]
    position: Annotated[int | None, "Where the two part."] = None
    cause: Annotated[str | None, "What it comes from: prompt, model, policy, tool result and so on."] = None
    kind: Annotated[str | None, "What had happened there: the recorded event's kind."] = None
    pointer: Annotated[str | None, "The first field that differs, as a JSON pointer."] = None
    recorded: Annotated[JsonText | None, "What was recorded there."] = None
    replayed: Annotated[JsonText | None, "What the replay had in its place."] = None
    detail: Annotated[JsonText, "All that was kept of it."]
    source: Annotated[str, "Who says so."]
