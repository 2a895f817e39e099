"""Spans as runs: a conversation is a run, an agent inside of another's call a child of it, the rest stands beside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from redrive_events import Json
from redrive_replays.traces.conversation import NO_TIMES, retell
from redrive_replays.traces.otel import content, names
from redrive_replays.traces.otel.asked import OUTER_ONLY, Asked, all_asked, tokens_of
from redrive_replays.traces.otel.kinds import kind_of
from redrive_replays.traces.otel.linking import Conversation, Linking, Turn, agent_of, name_of, wordless
from redrive_replays.traces.otel.spans import Span, Tree
from redrive_replays.traces.otel.telling import (
    rest_of,
    said_by_tools,
    said_in_turns,
    said_without_words,
    with_tools,
)
from redrive_replays.traces.otel.tools import Call, Pairing, Tool, calls_in, unpaired
from redrive_replays.traces.trace import ASSISTANT, SYSTEM, Remark, Said, Trace

NO_WORDS: Final = "messages (the content was not captured; calls are those of the tools' spans, by the order of time)"
NO_REQUEST: Final = "the messages of the requests (only the replies were captured)"
NO_MODEL: Final = "the model's replies (only the tools' spans are there)"
NO_REPLY: Final = "the words of a reply"
SYSTEM_ABOVE: Final = "that the system's words were asked with (they stand on the agent's span alone)"
SYSTEM_CHANGED: Final = "the system's words of later requests (they changed)"
BROKEN: Final = "messages (attributes of the span were dropped or cut off)"
BY_TOOL: Final = "what the model was told of a result (it is the tool's own)"
NOT_PAIRED: Final = "the call of a tool's span (kept beside the run)"
BY_NAME: Final = "which call a tool's span is of (no id tells; paired by name, arguments and order)"
NO_HISTORY_TOKENS: Final = "the tokens of a reply (only a later request has it)"
HANDED_OVER: Final = "what another agent said before it handed over (that run has it too)"
ANEW: Final = "how it goes on from the same agent's run before (the request has other messages)"
FAILED: Final = "a reply of the model (the request failed)"


@dataclass(slots=True, eq=False)
class Plan:
    """A conversation on its way to be a run."""

    conversation: Conversation
    said: list[Said] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    tools: list[Tool] = field(default_factory=list)
    parent: tuple[int, int] | None = None
    anew: bool = False


class Runs:
    """The runs that the spans of a file tell of."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self.tree = Tree(spans)
        self.plans = [Plan(one) for one in self._conversations()]
        self._pair()

    def _conversations(self) -> list[Conversation]:
        linking = Linking(self.tree)
        failed: list[Asked] = []
        bare: list[Asked] = []
        for one in [*all_asked(self.tree), *self._told_by_agents()]:
            if one.failed:
                failed.append(one)
            elif one.words.asked:
                self._with_system(one)
                linking.add(one)
            else:
                bare.append(one)
        found = [*linking.found, *wordless(self.tree, bare)]
        by_agent = {(trace, id(one.agent)): one for one in reversed(found) for trace in one.traces()}
        for one in failed:
            self._keep_failed(found, by_agent, one)
        places = {id(span): place for place, span in enumerate(self.tree.spans)}
        return sorted(found, key=lambda one: places[id(one.first)])

    def _with_system(self, one: Asked) -> None:
        """The system's words stand on the agent's span where no request has them."""
        agent = agent_of(self.tree, one.span)
        if agent is None or any(said.role in SYSTEM for said in one.words.asked):
            return
        words = content.system_of(agent)
        one.words.asked = [*words, *one.words.asked]
        one.system_above = bool(words)

    def _told_by_agents(self) -> list[Asked]:
        """Whole conversations that agents' spans tell of, where no request to the model is there."""
        inner = {id(up) for span in self.tree.spans if kind_of(span) == "model" for up in self.tree.above(span)}
        found: list[Asked] = []
        for span in self.tree.spans:
            if kind_of(span) != "agent" or id(span) in inner:
                continue
            said = content.whole_conversation(span)
            told = None if said else content.words_of(span)
            said = [*told.asked, *told.replied] if told else said
            if said:
                replies = said[-1:] if said[-1].role == ASSISTANT else []
                words = content.Words(said[: len(said) - len(replies)], replies, told.finish if told else "")
                tokens = tokens_of(span) if told else {}
                found.append(Asked(span, words, tokens, model=span.text(*names.RESPONSE_MODEL), outer=True))
        return found

    def _keep_failed(
        self, found: list[Conversation], by_agent: dict[tuple[str, int], Conversation], one: Asked
    ) -> None:
        """A request that failed stands beside the conversation that tried again, or is one by itself."""
        agent = agent_of(self.tree, one.span)
        going = by_agent.get((one.span.trace, id(agent)))
        if going is None:
            going = Conversation([Turn(one)], agent, wordless=not one.words.asked)
            found.append(going)
            by_agent[one.span.trace, id(agent)] = going
        going.failed.append(one)

    def _pair(self) -> None:
        """Bring calls and tools' spans together."""
        for plan in self.plans:
            if not plan.conversation.wordless:
                plan.said = said_in_turns(plan.conversation)
                plan.calls = calls_in(plan.conversation, plan.said, plan.conversation.turns[-1].asked.span.trace)
        tools = [Tool(span) for span in self.tree.spans if kind_of(span) == "tool"]
        self.pairing = Pairing(self.tree, [call for plan in self.plans for call in plan.calls])
        left = list(unpaired(tools, self.pairing))
        self.tools = {id(tool.span): tool for tool in tools}
        self.left: dict[str, list[Tool]] = {}
        alone = self._left_over(left)
        for plan in self.plans:
            if plan.conversation.wordless:
                plan.said = said_without_words(plan.conversation, plan.tools)
                self._number(plan)
        for plan in alone:
            plan.said = list(said_by_tools(plan.tools))
            self._number(plan)
            self.plans.append(plan)

    def _left_over(self, left: Iterable[Tool]) -> list[Plan]:
        """Tools without a call belong to a conversation without words, stand beside one, or are a run by themselves."""
        alone: dict[tuple[str, int], Plan] = {}
        known = {trace for plan in self.plans for trace in plan.conversation.traces()}
        bare = {
            (trace, id(plan.conversation.agent)): plan
            for plan in reversed(self.plans)
            if plan.conversation.wordless
            for trace in plan.conversation.traces()
        }
        for tool in left:
            agent = agent_of(self.tree, tool.span)
            key = (tool.span.trace, id(agent))
            if key in bare:
                bare[key].tools.append(tool)
            elif tool.span.trace in known:
                self.left.setdefault(tool.span.trace, []).append(tool)
            else:
                plan = alone.setdefault(key, Plan(Conversation([], agent, wordless=True)))
                plan.tools.append(tool)
                plan.conversation.tools.append(tool.span)
        return list(alone.values())

    def _number(self, plan: Plan) -> None:
        plan.calls = calls_in(plan.conversation, plan.said, plan.conversation.first.trace)
        for call, tool in zip(plan.calls, plan.tools, strict=False):
            call.span = tool.span
            self.pairing.by_span[id(tool.span)] = call

    def traces(self) -> list[Trace]:
        """The runs, each behind the one that it is a child of."""
        self._find_parents()
        beside = self._beside()
        return [self._trace(entry, plan, beside) for entry, plan in enumerate(self.plans)]

    def _find_parents(self) -> None:
        entries = {id(plan.conversation): entry for entry, plan in enumerate(self.plans)}
        agents: dict[int, int] = {}
        taken: set[tuple[int, int]] = set()
        for entry, plan in enumerate(self.plans):
            found = self._parent(plan, entries, agents)
            if found is not None and found[1] and found in taken:
                # A call has one child; what else was begun by it is only known to be inside.
                found = (found[0], 0)
            if found is not None:
                taken.add(found)
            plan.parent = found
            if plan.conversation.agent is not None:
                plan.anew = id(plan.conversation.agent) in agents
                agents[id(plan.conversation.agent)] = entry

    def _handed_over(self, after: Conversation, entries: Mapping[int, int]) -> tuple[int, int] | None:
        """The run that handed over, and the call by which it did: its last, if that was its last reply's."""
        above = entries.get(id(after))
        if above is None:
            return None
        plan = self.plans[above]
        last = plan.said[-1] if plan.said else None
        return above, plan.calls[-1].number if last is not None and last.calls and plan.calls else 0

    def _parent(self, plan: Plan, entries: Mapping[int, int], agents: Mapping[int, int]) -> tuple[int, int] | None:
        """The run and the call inside of which this one was begun; ``agents`` are those of the runs before it."""
        entry = entries[id(plan.conversation)]
        for up in self.tree.above(plan.conversation.first):
            if (call := self.pairing.by_span.get(id(up))) is not None:
                above = entries.get(id(call.conversation), entry)
                if above < entry:
                    return above, call.number
            if up is not plan.conversation.agent and id(up) in agents:
                return agents[id(up)], 0
        after = plan.conversation.after
        found = self._handed_over(after, entries) if after is not None else None
        return found if found is not None and found[0] < entry else None

    def _beside(self) -> dict[str, list[Span]]:
        """The spans that are no part of a conversation, by their trace."""
        told = {id(one.span) for plan in self.plans for turn in plan.conversation.turns for one in (turn.asked,)}
        told |= {id(one) for plan in self.plans for turn in plan.conversation.turns for one in turn.asked.also}
        told |= set(self.pairing.by_span) | {id(one.span) for plan in self.plans for one in plan.conversation.failed}
        told |= {id(tool.span) for plan in self.plans for tool in plan.tools}
        found: dict[str, list[Span]] = {}
        for span in self.tree.spans:
            if id(span) not in told:
                found.setdefault(span.trace, []).append(span)
        return found

    def _trace(self, entry: int, plan: Plan, beside: dict[str, list[Span]]) -> Trace:
        one = plan.conversation
        trace = Trace(entry=entry, parent=plan.parent, agent=name_of(one.agent))
        trace.began = _began(one)
        spans = [turn.asked.span for turn in one.turns] or [tool.span for tool in plan.tools]
        trace.clock = "none" if not any(span.start or span.end for span in spans) else "utc"
        if trace.clock == "utc" and not all(span.zoned for span in spans):
            trace.clock = "naive"
        if trace.clock == "none":
            trace.lacks(NO_TIMES)
        _label(trace, spans)
        last = one.turns[-1].asked if one.turns else None
        trace.told = last.tools if last else ()
        said = self._said(trace, plan)
        model = last.request_model or last.model if last else ""
        retell(trace, said, model=model, parameters=dict(one.turns[0].asked.parameters) if one.turns else {})
        self._remark_tools(trace, one)
        self._remark(trace, one, beside)
        return trace

    def _said(self, trace: Trace, plan: Plan) -> list[Said]:
        one = plan.conversation
        if one.wordless:
            _grade_wordless(trace, one)
            return plan.said
        _grade(trace, one)
        if any(turn.asked.system_above for turn in one.turns):
            trace.lacks(SYSTEM_ABOVE)
        if plan.anew:
            trace.lacks(ANEW)
        if one.after is not None:
            trace.lacks(HANDED_OVER)
        said, from_tools = with_tools(plan.said, plan.calls, self.tools)
        for _ in range(from_tools):
            trace.lacks(BY_TOOL)
        for call in plan.calls:
            if call.span is not None and not (self.tools[id(call.span)].id and call.made.id):
                trace.lacks(BY_NAME)
        return said

    def _remark_tools(self, trace: Trace, one: Conversation) -> None:
        for tool in [tool for name in sorted(one.traces()) for tool in self.left.pop(name, ())]:
            trace.lacks(NOT_PAIRED)
            trace.remarks.append(Remark("tool_span", {"name": tool.name, **_as_it_is(tool.span)}))

    def _remark(self, trace: Trace, one: Conversation, beside: dict[str, list[Span]]) -> None:
        for failed in one.failed:
            trace.lacks(FAILED)
            trace.remarks.append(Remark("model_failed", {"error": failed.span.error, **rest_of(failed.span)}))
        for turn in one.turns:
            _scores(trace, turn.asked.span)
        spans = [span for name in sorted(one.traces() or {one.first.trace}) for span in beside.pop(name, ())]
        for span in spans:
            _scores(trace, span)
            kind = span.text(names.OPEN_INFERENCE).lower()
            name = kind if kind in {"guardrail", "evaluator"} else "agent_span" if kind_of(span) == "agent" else "span"
            counted: dict[str, Json] = dict(tokens_of(span)) if name == "agent_span" else {}
            trace.remarks.append(Remark(name, {**_as_it_is(span), **({"tokens": counted} if counted else {})}))


def _began(one: Conversation) -> datetime | None:
    if one.agent is not None and one.agent.start is not None:
        return min(filter(None, (one.agent.start, one.first.start)))
    return one.first.start


def _label(trace: Trace, spans: Sequence[Span]) -> None:
    first = spans[0]
    traces = list(dict.fromkeys(span.trace for span in spans if span.trace))
    if traces:
        trace.labels["trace"] = traces[0]
    if len(traces) > 1:
        trace.remarks.append(Remark("traces", list[Json](traces)))
    for name, keys in {"session": names.CONVERSATION, **names.LABELS}.items():
        if value := first.text(*keys):
            trace.labels[name] = value
    service = first.resource.get("service.name")
    if isinstance(service, str) and service and not service.startswith("unknown_service"):
        trace.labels["service"] = service
        trace.agent = trace.agent or service


def _grade_wordless(trace: Trace, one: Conversation) -> None:
    if cut := sum(turn.asked.words.cut for turn in one.turns):
        trace.missing[content.CUT] = cut
    if not one.turns:
        trace.grade = "verdicts-only"
        trace.lacks(NO_MODEL)
    elif all(turn.asked.words.replied for turn in one.turns):
        trace.grade = "model-only"
        trace.lacks(NO_REQUEST)
    else:
        trace.grade = "view-only"
        trace.lacks(NO_WORDS)


def _grade(trace: Trace, one: Conversation) -> None:
    """How much is there, and what is not."""
    first = content.prompt_of(one.turns[0].asked.words.asked)
    system = [said.content for said in first]
    known = sum(turn.asked.outer is False for turn in one.turns)
    for place, turn in enumerate(one.turns):
        asked = turn.asked
        replied = asked.words.replied or (place + 1 < len(one.turns) and one.turns[place + 1].replied)
        if not replied and not (asked.failed and place + 1 == len(one.turns)):
            trace.grade = "view-only"
            trace.lacks(NO_REPLY)
        if asked.broken:
            trace.grade = "view-only"
            trace.lacks(BROKEN)
        if [said.content for said in asked.words.asked if said.role in SYSTEM] != system and place:
            trace.grade = "view-only"
            trace.lacks(SYSTEM_CHANGED)
    outer = kind_of(one.first) in {"vercel", "agent"} and not content.whole_conversation(one.first)
    if known < len(one.turns) and trace.grade == "full" and outer:
        trace.grade = "model-only"
        trace.lacks(OUTER_ONLY)
    earlier = sum(said.role == ASSISTANT for said in one.turns[0].asked.words.asked)
    if earlier:
        trace.missing[NO_HISTORY_TOKENS] = earlier


def _scores(trace: Trace, span: Span) -> None:
    for event in span.events:
        if event.name.startswith("gen_ai.evaluation"):
            found = {key.removeprefix("gen_ai.evaluation."): value for key, value in event.attributes.items()}
            trace.remarks.append(Remark("evaluation", found))


def _as_it_is(span: Span) -> dict[str, Json]:
    """A span that is kept as it is, without the words that stand in the run."""
    found: dict[str, Json] = {"name": span.name, **rest_of(span), "parent": span.parent}
    if span.start:
        found["start"] = span.start.isoformat()
    if span.start and span.end:
        found["seconds"] = (span.end - span.start).total_seconds()
    return found
