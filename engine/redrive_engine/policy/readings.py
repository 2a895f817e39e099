"""Values as a verdict's readings hold them."""

from __future__ import annotations

from redrive_events import BadInput, Json, canonical
from redrive_projections import MISSING


def recordable(value: Json) -> Json:
    """``value`` as a reading holds it; None where there is none, or none that a record could spell."""
    if value is MISSING:
        return None
    # most values are of a kind that can always be spelled, and a verdict reads several
    if isinstance(value, str):
        if value.isascii():
            return value
    elif isinstance(value, int) and -(2**63) <= value < 2**63:
        return value
    try:
        canonical(value)
    except BadInput:
        return None
    return value
