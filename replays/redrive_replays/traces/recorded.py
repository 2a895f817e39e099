"""Where recorders of requests keep what was asked and what came back, and the lists in which they keep them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from redrive_replays.traces.exchanges import Exchange, at
from redrive_replays.traces.lines import Entry

# Where a request stands: it is the value itself, or recorders of HTTP, gateways and data sets keep it under a key.
REQUESTS: Final = (
    *("", "request", "request.body", "request.body.string", "request.parsed_body", "request.json"),
    *("request.postData.text", "request.content", "body", "params", "kwargs", "data", "input"),
    *("request_body", "requestBody", "RequestBody", "raw_request", "responses_create_params"),
    *("proxy_server_request.body", "proxy_server_request"),
)
# Where the response to it stands; one that was streamed may stand apart, as its text.
RESPONSES: Final = (
    *("response", "response.body", "response.body.string", "response.parsed_body", "response.body_raw"),
    *("response.json", "response.content.text", "response.content", "response.text"),
    *("response_body", "responseBody", "ResponseBody", "raw_response", "result.message"),
    *("completion", "output", "body", "data"),
)
# The list of requests in one document.
LISTS: Final = ("log.entries", "entries", "logs", "requests", "records", "results", "rows", "calls", "data")


def listed(entries: Sequence[Entry], found: Callable[[Entry], Exchange | None]) -> Sequence[Entry]:
    """The entries of the list that a single document holds, where it is no exchange itself."""
    if len(entries) != 1 or not isinstance(value := entries[0].value, dict) or found(entries[0]) is not None:
        return entries
    for path in LISTS:
        held = at(value, path)
        inner = [Entry(index, one) for index, one in enumerate(held)] if isinstance(held, list) else []
        if any(found(one) is not None for one in inner):
            return inner
    return entries
