"""What an answer states that a model could have made up, and where in the run it is borne out."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from typing import Final, NamedTuple, TypeAlias

from redrive_engine.occurrence import occurs
from redrive_events import Claim, Json, canonical, text_of
from redrive_projections import RunState

Positions: TypeAlias = tuple[int, ...]

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"(?:{'|'.join(_MONTHS)})[a-z]{{0,6}}\.?"
# Years, months and days as they are written: 2026-10-02, 2026年10月2日, 10月2日, October 2nd, 2026, 2 Oct 2026.
_DATE = (
    r"(?<!\d)(?P<y1>\d{4})[ ]?[-/.年][ ]?(?P<m1>\d{1,2})[ ]?[-/.月][ ]?(?P<d1>\d{1,2})(?!\d)日?"
    r"|(?<!\d)(?P<m2>\d{1,2})月(?P<d2>\d{1,2})日"
    rf"|\b(?P<m3>{_MONTH})[ ](?P<d3>\d{{1,2}})(?:st|nd|rd|th)?(?:,?[ ](?P<y3>\d{{4}}))?(?!\d)"
    rf"|(?<!\d)(?P<d4>\d{{1,2}})(?:st|nd|rd|th)?[ ](?P<m4>{_MONTH})(?:,?[ ](?P<y4>\d{{4}}))?(?![a-z\d])"
)
_TIME = r"(?<!\d)(?<!\d:)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?!\d)"
_NUMBER = r"(?<![a-z0-9_.])(?<![a-z_]-)(?P<number>-?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?)(?P<percent>[ ]?%)?"
_MOMENT = re.compile(f"{_DATE}|{_TIME}", re.IGNORECASE)
_NUMBERING = re.compile(r"^[ \t]*\d{1,2}[.)][ \t]", re.MULTILINE)  # a list's own numbers state nothing
_SIDE_BY_SIDE = re.compile(r"\d+(?:[ .\-]\d+)+")
# The most telling spelling first: a quotation, an address, a date, a code of letters and digits, a telephone number.
_CLAIM = re.compile(
    r"""
      "(?P<q1>[^"\n]{1,200})" | “(?P<q2>[^”\n]{1,200})” | `(?P<q3>[^`\n]{1,200})` | (?<!\w)'(?P<q4>[^'\n]{1,200})'(?!\w)
    | «(?P<q5>[^»\n]{1,200})» | 「(?P<q6>[^」\n]{1,200})」 | 『(?P<q7>[^』\n]{1,200})』 | 《(?P<q8>[^》\n]{1,200})》
    | https?://[^\s<>"'`“”，。；、）】」』》]+
    | (?<![a-z0-9_.+-])[a-z0-9_.+-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+
    """  # noqa: RUF001 - an address ends at the signs of Chinese text
    + rf"| {_DATE} | {_TIME}"
    + r"""
    | (?<![a-z0-9_])(?:[a-z_][a-z0-9_-]*\d|\d[\d-]*[a-z_][a-z0-9_-]*\d)(?:[a-z0-9_-]*[a-z0-9])?
    | (?<![a-z0-9_.])\+?\(?\d(?:(?:[ .\-]|\)[ ]?|[ ]?\()?\d){6,}(?![a-z0-9_%])(?!,\d)
    """
    + rf"| {_NUMBER}",
    re.VERBOSE | re.IGNORECASE,
)


class _Moment(NamedTuple):
    """A date or a time of day, as far as it is told."""

    year: int | None
    month: int
    day: int


class _Source(NamedTuple):
    """Words that may bear something out, the positions they come from, and, of a list, how many it holds."""

    words: str
    positions: Positions
    holds: int | None = None


def stated(s: RunState, text: str) -> tuple[Claim, ...]:
    """What ``text`` states that could be made up, each with the positions that bear it out, if any do.

    These are numbers, dates, times, codes, addresses, and what stands in quotation marks. They are borne out by the
    goal, by what people said, by facts, and by observations that a verifier accepted. A number that was worked out is
    borne out only as a fact; but of a list that is a fact, it is known how many it holds.
    """
    sources = list(_sources(s))
    found: dict[str, Positions] = {}
    for claim in _CLAIM.finditer(unicodedata.normalize("NFKC", _NUMBERING.sub("", text))):
        said = _said(claim)
        if said and said not in found:
            found[said] = _where(claim, said, sources) or _piecewise(said, sources)
    return tuple(Claim(text=said, evidence=evidence) for said, evidence in found.items())


def _said(claim: re.Match[str]) -> str:
    quoted = next((one for name, one in claim.groupdict().items() if name[0] == "q" and one), None)
    return (quoted or claim[0]).strip(" .,;:!?。，；：！？")  # noqa: RUF001 - the signs of Chinese text


def _where(claim: re.Match[str], said: str, sources: list[_Source]) -> Positions:
    moment = _moment(claim)
    number = Decimal(claim["number"].replace(",", "")) if claim["number"] else None
    ratio = number / 100 if number is not None and claim["percent"] else None
    bearing = (
        source.positions
        for source in sources
        if (moment and any(_same(moment, one) for one in _moments(source.words)))
        or (number is not None and _counts(number, ratio, source))
        or (not moment and number is None and occurs(said, source.words))
    )
    return _all(bearing)


def _counts(number: Decimal, ratio: Decimal | None, source: _Source) -> bool:
    """Whether a number is told, with or without its sign, as a percentage or a ratio, as a year, or as how many."""
    if number == source.holds or any(number == moment.year for moment in _moments(source.words)):
        return True
    return any(occurs(one, source.words) for one in (number, -number, ratio) if one is not None)


def _piecewise(said: str, sources: list[_Source]) -> Positions:
    """Numbers side by side may be one in groups, or several."""
    if not _SIDE_BY_SIDE.fullmatch(said):
        return ()
    pieces = [
        _all(source.positions for source in sources if _counts(Decimal(piece), None, source))
        for piece in set(re.findall(r"\d+", said))
    ]
    return _all(pieces) if all(pieces) else ()


def _all(found: Iterator[Positions] | list[Positions]) -> Positions:
    return tuple(sorted({position for positions in found for position in positions}))


def _sources(s: RunState) -> Iterator[_Source]:
    for position, content in s.watch.grounds.items():
        yield _Source(text_of(content), (position,))
    for fact in s.facts.values():
        value = fact.value
        words = value if isinstance(value, str) else canonical(value).decode()
        yield _Source(words, (fact.position, *fact.evidence), _count(value))


def _count(value: Json) -> int | None:
    return len(value) if isinstance(value, list | tuple) else None


def _moments(words: str) -> Iterator[_Moment]:
    for found in _MOMENT.finditer(unicodedata.normalize("NFKC", words)):
        if moment := _moment(found):
            yield moment


def _moment(found: re.Match[str]) -> _Moment | None:
    """The date, or the time of day in a year that there is not."""
    if found["hour"]:
        return _Moment(-1, int(found["hour"]), int(found["minute"]))
    told = {name[0]: part for name, part in found.groupdict().items() if part and re.fullmatch(r"[ymd]\d", name)}
    if not told:
        return None
    month = told["m"]
    number = int(month) if month.isdigit() else _MONTHS.index(month[:3].lower()) + 1
    return _Moment(int(told["y"]) if "y" in told else None, number, int(told["d"]))


def _same(claimed: _Moment, told: _Moment) -> bool:
    """Whether a told moment bears a claimed one out: without its year, only if none is claimed."""
    same_year = claimed.year == told.year or (claimed.year is None and told.year != -1)
    return same_year and claimed[1:] == told[1:]
