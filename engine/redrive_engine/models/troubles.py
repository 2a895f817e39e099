"""What goes wrong with a provider, as the engine records it: a class, and whether asking again may help."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from pydantic_ai import exceptions as theirs

from redrive_engine.models.port import ModelTrouble, Trouble

# The first that fits. What was not sent, or was turned away unread, may pass; so may a reply that did not arrive whole.
KINDS: Final[tuple[tuple[type[Exception], Trouble, bool], ...]] = (
    (theirs.ModelRateLimitError, "rate_limited", True),
    (theirs.ModelQuotaExceededError, "refused", False),
    (theirs.ModelRequestRejectedError, "refused", False),
    (theirs.ModelUnavailableError, "unavailable", True),
    (theirs.ModelServerError, "unavailable", True),
    (theirs.ModelTimeoutError, "timeout", True),
    (theirs.ModelRequestTimeout, "timeout", True),
    (theirs.ModelHTTPError, "refused", False),
    (theirs.ModelAPIError, "broken", True),
    (theirs.UnexpectedModelBehavior, "broken", True),
    (theirs.UserError, "refused", False),
    # The layer takes some of what it should not have been sent for what it should, and trips over it.
    (LookupError, "broken", True),
    (TypeError, "broken", True),
    (AttributeError, "broken", True),
    (ValueError, "broken", True),
)
# Statuses that say: again. The layer knows no more of them than that they are errors.
AGAIN: Final[Mapping[int, Trouble]] = {408: "timeout", 409: "unavailable", 425: "unavailable"}
EXPECTED: Final = tuple(kind for kind, _, _ in KINDS)


def trouble_of(error: Exception) -> ModelTrouble:
    """The trouble that an error of the layer stands for, one of those `EXPECTED`."""
    kind, retryable = next((kind, retryable) for one, kind, retryable in KINDS if isinstance(error, one))
    if isinstance(error, theirs.ModelConnectionError) and error.phase in {"pool", "connect"}:
        kind = "timeout" if isinstance(error, theirs.ModelTimeoutError) else "unavailable"
    status = getattr(error, "status_code", 0)
    if status in AGAIN:
        kind, retryable = AGAIN[status], True
    after = getattr(error, "retry_after", None)
    return ModelTrouble(
        kind,
        retryable=retryable,
        retry_after_ms=None if after is None else math.ceil(after * 1000),
        status=status,
    )
