"""A relation of DuckDB's own, behind which what is kept of the history may be damaged and made anew."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from redrive_projections.history.segments import damaged

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation


class Relation:
    """All that a relation of DuckDB's has; ``again`` makes the same one over a history that was made anew.

    A relation reads its rows when they are fetched, so that only then is it seen whether they can be read.
    """

    def __init__(self, found: DuckDBPyRelation, again: Callable[[], DuckDBPyRelation]) -> None:
        # Once: only relations of one connection go together.
        self._found, self._again = found, cache(again)

    def __getattr__(self, name: str) -> Any:
        if name in {"_found", "_again"}:  # a copy that is being made has none yet
            raise AttributeError(name)
        value = self._asked(lambda found: getattr(found, name))
        if not callable(value):
            return value

        def called(*given: Any, **named: Any) -> Any:
            others = [one for one in (*given, *named.values()) if isinstance(one, Relation)]

            def asking(found: DuckDBPyRelation, *whole: DuckDBPyRelation) -> Any:
                left = iter(whole)

                def plain(one: Any) -> Any:
                    return next(left) if isinstance(one, Relation) else one

                return getattr(found, name)(*map(plain, given), **{key: plain(one) for key, one in named.items()})

            return self._asked(asking, *others)

        return called

    def __dir__(self) -> list[str]:
        return dir(self._found)

    def __len__(self) -> int:
        return int(self._asked(len))

    def __getitem__(self, name: str) -> Any:
        return self._asked(lambda found: found[name])

    def __contains__(self, name: str) -> bool:
        return bool(self._asked(lambda found: name in found))

    def __repr__(self) -> str:
        return str(self._asked(repr))

    def __str__(self) -> str:
        return str(self._asked(str))

    def _asked(self, asking: Callable[..., Any], *others: Relation) -> Any:
        """What DuckDB's relations say; one that follows from them can be made again as well."""
        import duckdb

        asked = (self, *others)
        try:
            value = asking(*(one._found for one in asked))
        except duckdb.Error as error:
            if not damaged(error):
                raise
            value = asking(*(one._renewed() for one in asked))
        if isinstance(value, duckdb.DuckDBPyRelation):
            return Relation(value, lambda: asking(*(one._renewed() for one in asked)))
        return value

    def _renewed(self) -> DuckDBPyRelation:
        self._found = self._again()
        return self._found
