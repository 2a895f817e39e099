"""What is given for a call, in the envelope in which its tool would have returned it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from redrive_engine import Declaration, as_returned, is_json
from redrive_events import BadInput, Content, ObservationReceived, Record, ToolCalled, parse_json, text_of

_TEXT: Final = "text/plain"
_DATA: Final = "application/json"


class Envelopes:
    """How what is given comes in, by what ``tools`` say that they return, and by what of them is recorded."""

    def __init__(self, tools: Mapping[str, Declaration], records: Iterable[Record]) -> None:
        self._tools = tools
        self._seen: dict[str, set[str]] = defaultdict(set)
        asked = dict[int, str]()
        for one in records:
            event = one.event
            if isinstance(event, ToolCalled):
                asked[event.call] = event.tool
            elif isinstance(event, ObservationReceived) and event.call in asked and _went_well(event):
                self._seen[asked[event.call]].add(event.media_type)

    def observed(
        self, said: Content | ObservationReceived, request: ToolCalled, answer: ObservationReceived | None
    ) -> ObservationReceived:
        """What is said in answer to a call, and in place of the recorded ``answer``, if there is one.

        Content alone is that of a call that went well: it has the envelope of the recorded answer if that went well,
        and else the one that its tool declares. It is data or text as the tool says that it returns.
        """
        if isinstance(said, ObservationReceived):
            return replace(said, call=request.call)
        before = answer if answer is not None and _went_well(answer) else None
        declared = None if request.compensates is not None else self._tools.get(request.tool)
        text = text_of(said)
        known = declared or Declaration(request.tool, "", {})
        came = as_returned(known, text, self._media_type(text, request, known.returns, before))
        content = said if came.content == text else came.content or ""
        if before is not None:
            return replace(
                before,
                call=request.call,
                content=content,
                media_type=came.media_type,
                size_bytes=came.size_bytes,
                cut=came.cut,
                returned=None,
            )
        return ObservationReceived(
            call=request.call,
            status="ok",
            content=content,
            media_type=came.media_type,
            size_bytes=came.size_bytes,
            cut=came.cut,
            source=came.source,
            trust=came.trust,
            schema_version=came.schema_version,
            started=answer.started if answer is not None else None,
        )

    def _media_type(self, text: str, request: ToolCalled, declared: str, before: ObservationReceived | None) -> str:
        """What the tool says it returns; of its kind as recorded. Where that says nothing, the words themselves do."""
        if before is not None and (not declared or is_json(before.media_type) == is_json(declared)):
            return before.media_type
        if declared:
            return declared
        seen = self._seen.get(request.tool, set())
        if len(seen) == 1:
            return next(iter(seen))
        if request.effect == "run":  # a child run answers in words
            return _TEXT
        try:
            parse_json(text)
        except BadInput:
            return _TEXT
        return _DATA


def _went_well(seen: ObservationReceived) -> bool:
    """Whether a tool returned this, and it was let in."""
    return seen.status == "ok" and not seen.error
