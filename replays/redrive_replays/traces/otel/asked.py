"""A model asked once: the span that says so, its words and tokens, and several spans of one request as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from redrive_events import Json, Usage
from redrive_replays.traces.bodies import TOKENS_MAX
from redrive_replays.traces.chat.exchanges import PARAMETERS
from redrive_replays.traces.exchanges import SIDE_BY_SIDE_MAX
from redrive_replays.traces.otel import gemini, names
from redrive_replays.traces.otel.content import ATTRIBUTES_MAX, Words, tools_of, words_of
from redrive_replays.traces.otel.kinds import kind_of
from redrive_replays.traces.otel.spans import Span, Tree
from redrive_replays.traces.otel.values import parsed
from redrive_replays.traces.trace import Meta

OUTER_ONLY: Final = "the steps inside (only the outer span is there)"


@dataclass(slots=True, eq=False)
class Asked:
    """What a span says of one request to a model; ``also`` are the other spans that tell of the same one."""

    span: Span
    words: Words
    tokens: dict[str, int]
    finish: str = ""
    model: str = ""
    request_model: str = ""
    response_id: str = ""
    cost_micros: int = 0
    parameters: dict[str, Json] = field(default_factory=dict)
    tools: list[Json] = field(default_factory=list)
    outer: bool = False
    system_above: bool = False
    also: list[Span] = field(default_factory=list)

    @property
    def broken(self) -> bool:
        """Whether some of its messages are not there."""
        words = self.words
        full = self.span.dropped > 0 or len(self.span.attributes) == ATTRIBUTES_MAX
        return words.cut or words.gaps > 0 or (words.numbered and full)

    @property
    def failed(self) -> bool:
        """Whether nothing came back."""
        return self.span.error is not None and not self.words.replied

    @property
    def worth(self) -> tuple[bool, bool, bool, int]:
        """How much of the content it has."""
        words = self.words
        return bool(words.replied), bool(words.asked), not self.broken, len(words.asked)

    def meta(self) -> Meta:
        """What stands beside the words of the reply."""
        return Meta(usage_of(self.tokens), self.finish, self.model, self.response_id, self.cost_micros)


def usage_of(tokens: Mapping[str, int]) -> Usage | None:
    """Tokens without double counting: those of the prompt contain the cached ones, unless there are fewer of them."""
    if not tokens:
        return None
    cached = tokens.get("cache_read", 0) + tokens.get("cache_write", 0)
    prompt, output = tokens.get("input", 0), tokens.get("output", 0)
    reasoning = tokens.get("reasoning", 0)
    # Thoughts are counted among the words, unless there are more of them.
    output += reasoning if reasoning > output else 0
    return Usage(
        input=prompt - cached if prompt >= cached else prompt,
        cache_read=tokens.get("cache_read", 0),
        cache_write=tokens.get("cache_write", 0),
        output=output,
        reasoning=reasoning,
    )


def asked_of(span: Span, *, outer: bool = False) -> Asked:
    """What one span says."""
    words = words_of(span)
    finish = span.first(*names.FINISH)
    if isinstance(finish, list):
        finish = finish[0] if finish else ""
    if isinstance(read := parsed(finish), list) and read:
        finish = read[0]
    return Asked(
        span,
        words,
        tokens_of(span),
        finish=finish if isinstance(finish, str) and finish else words.finish,
        model=span.text(*names.RESPONSE_MODEL),
        request_model=span.text(*names.REQUEST_MODEL),
        response_id=span.text(*names.RESPONSE_ID) or _id_in_output(span),
        cost_micros=_cost(span.first(*names.COST)),
        parameters=_parameters(span),
        tools=tools_of(span),
        outer=outer,
    )


def tokens_of(span: Span) -> dict[str, int]:
    """The tokens that a span counts, as it counts them."""
    found = gemini.tokens(span.attributes)
    for kind, keys in names.TOKENS.items():
        for key in keys:
            value = _count(span.attributes.get(key))
            if value is not None:
                found[kind] = max(value, found.get(kind, 0))
                break
    for name in names.COUNTED:
        for kind, value in _counted(parsed(span.attributes.get(name))).items():
            found.setdefault(kind, value)
    return found


def _counted(told: Json) -> dict[str, int]:
    """The counts of an object that holds all of them; Anthropic's own do not have the cached ones in the prompt's."""
    if isinstance(told, dict) and isinstance(told.get("usage"), dict):
        told = told["usage"]
    if not isinstance(told, dict):
        return {}
    inner = [held for name in names.COUNT_DETAILS if isinstance(held := told.get(name), dict)]
    found: dict[str, int] = {}
    for kind, keys in names.COUNTS.items():
        counts = (_count(one.get(key)) for one in (told, *inner) for key in keys)
        number = next((one for one in counts if one is not None), None)
        if number is not None:
            found[kind] = number
    if "cache_read_input_tokens" in told or "cache_creation_input_tokens" in told:
        found["input"] = found.get("input", 0) + found.get("cache_read", 0) + found.get("cache_write", 0)
    return found


def _count(value: Json) -> int | None:
    """A number of tokens; some writers have no whole numbers, others only text."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 17:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < TOKENS_MAX:
        return None
    return value


def _cost(value: Json) -> int:
    return round(value * 1_000_000) if isinstance(value, int | float) and 0 < value < 1_000_000 else 0


def _id_in_output(span: Span) -> str:
    output = span.attributes.get("output.value")
    read = parsed(output) if isinstance(output, str) and len(output) < 1_000_000 else None
    label = read.get("id") if isinstance(read, dict) else None
    return label if isinstance(label, str) else ""


def _parameters(span: Span) -> dict[str, Json]:
    found: dict[str, Json] = {}
    invoked = parsed(span.attributes.get("llm.invocation_parameters"))
    if isinstance(invoked, dict):
        found |= {key: value for key, value in invoked.items() if key in PARAMETERS and value is not None}
    for key, value in span.attributes.items():
        if key.startswith(names.PARAMETERS) and key not in names.NO_PARAMETERS and value not in (None, []):
            found[key.removeprefix(names.PARAMETERS)] = value
    return dict(sorted(found.items()))


def all_asked(tree: Tree) -> list[Asked]:
    """Every request that the spans tell of, once, in the order of time."""
    kinds = {id(span): kind_of(span) for span in tree.spans}
    found = {id(span): asked_of(span) for span in tree.spans if kinds[id(span)] == "model"}
    inside = _inside(tree, kinds)
    for span in tree.spans:
        if kinds[id(span)] in {"vercel", "agent"} and id(span) not in inside:
            one = asked_of(span, outer=True)
            if kinds[id(span)] == "vercel" and (one.words.asked or one.words.replied or one.tokens):
                found[id(span)] = one
    kept = _innermost(tree, kinds, found)
    return _by_response(_with_streams([kept[id(span)] for span in tree.spans if id(span) in kept]))


def _with_streams(asked: Iterable[Asked]) -> list[Asked]:
    """Logfire tells in a log of its own what was streamed: the reply to the request before it, which has none."""
    found: list[Asked] = []
    waiting: dict[tuple[str, str], int] = {}
    for one in asked:
        request = one.span.attributes.get("request_data")
        key = (one.span.trace, request if isinstance(request, str) else "")
        place = waiting.pop(key, None) if one.span.text("logfire.span_type") == "log" else None
        if place is not None:
            one.span.start = found[place].span.start
            found[place] = merged(found[place], one)
            continue
        if key[1] and not one.words.replied and not one.failed:
            waiting[key] = len(found)
        found.append(one)
    return found


def _inside(tree: Tree, kinds: Mapping[int, str]) -> set[int]:
    """The spans inside of which a model is asked."""
    found: set[int] = set()
    for span in tree.spans:
        if kinds[id(span)] == "model":
            found |= {id(up) for up in tree.above(span)}
    return found


def _innermost(tree: Tree, kinds: Mapping[int, str], found: dict[int, Asked]) -> dict[int, Asked]:
    """A request told of by a span and by another inside of it is one; an outer span of several is their sum."""
    inner: dict[int, list[Span]] = {}
    depth: dict[int, int] = {}
    for span in tree.spans:
        if id(span) not in found:
            continue
        above = list(tree.above(span))
        depth[id(span)] = len(above)
        nearest = next((up for up in above if kinds[id(up)] in {"model", "tool", "agent", "vercel"}), None)
        if nearest is not None and id(nearest) in found and kinds[id(nearest)] == "model":
            inner.setdefault(id(nearest), []).append(span)
    kept = dict(found)
    for outer in sorted(inner, key=lambda one: -depth[one]):
        within = [kept[id(one)] for one in inner[outer] if id(one) in kept]
        mine = kept.pop(outer)
        if len(within) == 1 or not any(one.words.replied for one in within):
            for one in within:
                kept.pop(id(one.span), None)
            whole = mine
            for one in within:
                whole = merged(one, whole)
            kept[id(whole.span)] = whole
        else:
            within[0].also.append(mine.span)
    return kept


def merged(first: Asked, second: Asked) -> Asked:
    """Two tellings of one request: the one that has more of its content, the first of equals, and the larger counts."""
    best, other = (second, first) if second.worth > first.worth else (first, second)
    best.tokens = {
        kind: max(best.tokens.get(kind, 0), other.tokens.get(kind, 0)) for kind in {**best.tokens, **other.tokens}
    }
    best.finish = best.finish or other.finish
    best.model = best.model or other.model
    best.request_model = best.request_model or other.request_model
    best.response_id = best.response_id or other.response_id
    best.cost_micros = max(best.cost_micros, other.cost_micros)
    best.parameters = {**other.parameters, **best.parameters}
    best.tools = best.tools or other.tools
    best.also += [other.span, *other.also]
    return best


def _by_response(asked: Iterable[Asked]) -> list[Asked]:
    """Spans of two instrumentors side by side: the same response at the same time is one request."""
    found: list[Asked] = []
    by_id: dict[str, list[int]] = {}
    for one in asked:
        places = by_id.setdefault(one.response_id, []) if one.response_id else []
        twin = next((at for at in places[-SIDE_BY_SIDE_MAX:] if _same_time(found[at].span, one.span)), None)
        if twin is None:
            places.append(len(found))
            found.append(one)
        else:
            found[twin] = merged(found[twin], one)
    return found


def _same_time(one: Span, other: Span) -> bool:
    if one.scope == other.scope or None in {one.start, one.end, other.start, other.end}:
        return False
    return one.start < other.end and other.start < one.end  # type: ignore[operator]
