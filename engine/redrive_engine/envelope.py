"""The envelope of an observation: whose it is, from where and when, and what a tool lets in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final, Generic, Literal, TypeAlias, TypeVar

from redrive_events import Json

T = TypeVar("T")
Trust: TypeAlias = Literal["untrusted", "trusted"]

DEPTH_MAX: Final = 64
REDIRECTS_MAX: Final = 5


@dataclass(frozen=True, slots=True)
class Observed(Generic[T]):
    """A result with what its source says of it; what is left empty is as the tool declares it.

    ``as_of`` is the moment the data shows, ``redirects`` how often the request for it was sent elsewhere.

    Raises:
        ValueError: ``as_of`` has no time zone, or ``redirects`` is less than 0.
    """

    value: T
    source: str = ""
    tenant: str = ""
    as_of: datetime | None = None
    schema_version: str = ""
    media_type: str = ""
    redirects: int = 0

    def __post_init__(self) -> None:
        """Refuse what nobody could judge."""
        if self.as_of is not None and self.as_of.tzinfo is None:
            raise ValueError("as_of has no time zone")
        if self.redirects < 0:
            raise ValueError(f"redirects are counted from 0, not {self.redirects}")


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a tool lets in beside its bytes; ``media_types`` empty is any, ``text/*`` any text, ``rows_max`` None all.

    Raises:
        ValueError: a limit that nothing could keep.
    """

    media_types: tuple[str, ...] = ()
    depth_max: int = DEPTH_MAX
    rows_max: int | None = None
    redirects_max: int = REDIRECTS_MAX

    def __post_init__(self) -> None:
        """Refuse a limit that lets nothing in."""
        if self.depth_max < 1 or (self.rows_max is not None and self.rows_max < 1):
            raise ValueError("depth_max and rows_max are at least 1")
        if self.redirects_max < 0:
            raise ValueError("redirects_max is at least 0")
        if any("/" not in one for one in self.media_types):
            raise ValueError(f"a media type is written like text/plain or text/*, not {', '.join(self.media_types)}")

    @property
    def data(self) -> dict[str, Json]:
        """Those that are set, as plain data."""
        usual = Bounds()
        names = ("media_types", "depth_max", "rows_max", "redirects_max")
        return {name: getattr(self, name) for name in names if getattr(self, name) != getattr(usual, name)}

    def problem(self, media_type: str, redirects: int, plain: Json) -> str:
        """Why a result is not let in, with what is allowed; empty if it is."""
        kind = media_type.partition(";")[0].strip().lower()
        if self.media_types and not any(_covers(one.lower(), kind) for one in self.media_types):
            return f"the result is {kind}, and only {', '.join(self.media_types)} is allowed"
        if redirects > self.redirects_max:
            return f"the request was redirected {redirects} times, and at most {self.redirects_max} are allowed"
        if _is_deeper(plain, self.depth_max):
            return f"the result is nested too deeply: at most {self.depth_max} levels are allowed"
        return ""

    def rows(self, plain: Json) -> Json:
        """A list without what is too much; anything else as it is."""
        return plain[: self.rows_max] if isinstance(plain, list) and self.rows_max is not None else plain


@lru_cache(maxsize=256)
def is_json(media_type: str) -> bool:
    """Whether something of this type is read as JSON."""
    kind = media_type.partition(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json")


def _covers(allowed: str, kind: str) -> bool:
    return kind == allowed or (allowed.endswith("/*") and kind.startswith(allowed[:-1])) or allowed == "*/*"


def _is_deeper(plain: Json, levels: int) -> bool:
    """Whether lists and objects stand in each other more than ``levels`` deep; by a list, however deep that is."""
    here: Sequence[Json] = [plain]
    for _ in range(levels):
        here = [one for value in here for one in _inside(value)]
        if not here:
            return False
    return any(isinstance(one, dict | list) for one in here)


def _inside(value: Json) -> Sequence[Json]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else ()
