"""All guarantees of the production controls, by what they are of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.mutations.guarantee import Guarantee
from tests.mutations.of_data import ENVELOPE, MASKING
from tests.mutations.of_effects import CANCELLATION, EFFECTS, LEASES
from tests.mutations.of_forks import FORKS
from tests.mutations.of_policy import APPROVALS, EGRESS, POLICY

AREAS: Final[Mapping[str, tuple[Guarantee, ...]]] = {
    "policy": POLICY,
    "egress": EGRESS,
    "approvals": APPROVALS,
    "effects": EFFECTS,
    "leases": LEASES,
    "cancellation": CANCELLATION,
    "envelope": ENVELOPE,
    "masking": MASKING,
    "forks": FORKS,
}
GUARANTEES: Final = tuple(guarantee for area in AREAS.values() for guarantee in area)
