"""A list of messages as what happened to a run, so that the model is asked with the list's own words at every turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count, pairwise

import msgspec

from redrive_events import (
    Content,
    EffectReconciled,
    Input,
    LeaseGranted,
    Limits,
    MessageReceived,
    ModelReplied,
    ObservationReceived,
    Quotas,
    SignalsHeard,
    Terms,
    Text,
    ToolUse,
    blocks_of,
    calls_of,
)
from redrive_replays.traces.trace import ASSISTANT, RESULTS, SYSTEM, Said, Trace

NO_ERROR_FLAG = "whether a result is an error (the format has no flag)"
NO_TIMES = "times"
BY_ORDER = "which call a result answers (it names none; paired by name and order)"
GO_ON = "what made the model go on after a reply without a call"
JOINED = "where one reply ends (it stood in several messages)"
UNANSWERED = "the result of a call"
WITHOUT_CALL = "the call of a result (kept as a message)"
NO_ROLE = "what a message of an unknown role means (kept as the operator's)"

_ACTORS = {"user": "user", ASSISTANT: "agent", "tool": "tool", "function": "tool"}
_EMPTY: Content = (Text(text=""),)


def terms_of(*, dialogue: bool, model: str = "", parameters: dict[str, object] | None = None) -> Terms:
    """The contract of an import: everything is granted, nothing runs out, and what was said stands as it was said."""
    return Terms(
        budget=Limits(),
        quotas=Quotas(unreadable=None, model_failed=None),
        on_denied="tell",
        on_doubt="tell",
        dialect="recorded",
        view="recorded",
        dialogue=dialogue,
        model=model,
        parameters=parameters or {},
    )


def retell(
    trace: Trace, said: Sequence[Said], *, model: str = "", parameters: dict[str, object] | None = None
) -> Trace:
    """Fill ``trace`` from what was said.

    A run with one reply without a call, which is its end, has finished with it; else each such reply is said to a
    person, and the run goes on.
    """
    said = list(_joined(trace, said))
    talk = said[_opened(trace, said) :]
    replies = [index for index, one in enumerate(talk) if one.replied]
    closing = [index for index in replies if not talk[index].calls]
    answered = len(closing) == 1 and closing[0] == len(talk) - 1
    trace.terms = terms_of(dialogue=bool(closing) and not answered, model=model, parameters=parameters)
    first = replies[0] if replies else len(talk)
    telling = _Telling(trace)
    for one in talk[:first]:
        telling.message(one)
    telling.happens(LeaseGranted(worker="import", epoch=1))
    for start, end in pairwise([*replies, len(talk)]):
        telling.turn(talk[start], talk[start + 1 : end], final=end == len(talk))
    return trace


def _opened(trace: Trace, said: Sequence[Said]) -> int:
    """How many messages the run begins with: the prompt, the goal, and the agent's greeting."""
    after = next((index for index, one in enumerate(said) if not (one.role in SYSTEM or one.given)), len(said))
    for one in said[:after]:
        label = {"call_id": one.answers[0]} if one.role in RESULTS and one.answers else {}
        trace.prompt.append({"role": one.role, "content": msgspec.to_builtins(one.content), **label})
        trace.remark(one, 0)
    first = said[after] if after < len(said) else None
    if first and first.role == "user" and isinstance(first.content, str) and first.content and not first.last:
        trace.goal = first.content
        trace.began = trace.began or first.at
        trace.remark(first, 0)
        return after + 1
    greeted = next((index for index, one in enumerate(said[after:], after) if not one.replied or one.calls), None)
    if greeted is not None and greeted > after and said[greeted].role == "user" and not said[greeted].by:
        # A greeting that nobody asked for: the model was not asked before a user spoke.
        for one in said[after:greeted]:
            _Telling(trace).message(one)
        return greeted
    return after


def _joined(trace: Trace, said: Sequence[Said]) -> Iterator[Said]:
    """Replies that stand in several messages as one: with a call open, the model could not have been asked again."""
    before: Said | None = None
    for index, one in enumerate(said):
        if before is None or not one.replied or not _answered_after(before, said, index):
            if before is not None:
                yield before
            before = one
            continue
        trace.lacks(JOINED)
        blocks = [block for each in (before, one) for block in blocks_of(each.content) if block != Text(text="")]
        before = Said(
            ASSISTANT,
            tuple(blocks),
            meta=one.meta,
            at=one.at or before.at,
            extras={**before.extras, **one.extras},
            beside=[*before.beside, *one.beside],
        )
    if before is not None:
        yield before


def _answered_after(before: Said, said: Sequence[Said], index: int) -> bool:
    """Whether a call of ``before`` is answered behind the reply at ``index``, in the same turn."""
    ids = {call.id for _, call in calls_of(before.content) if call.id} if before.replied else None
    if not ids:
        return False
    behind = next((at for at in range(index, len(said)) if said[at].role != ASSISTANT), len(said))
    for one in said[behind:]:
        if one.role == ASSISTANT:
            return False
        if not ids.isdisjoint(one.answers):
            return True
    return False


class _Telling:
    """Inputs as they are added to a trace."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.numbers = count(1)

    def happens(self, event: Input, said: Said | None = None) -> None:
        """One more input; what else the source has on it stands beside the run."""
        self.trace.inputs.append(event)
        self.trace.times.append(said.at if said is not None else None)
        if said is not None:
            self.trace.remark(said, len(self.trace.inputs))  # the start of the run is the input before the first

    def message(self, said: Said, *, before: int = 0) -> None:
        """Words that nobody had to answer for, kept in their role."""
        actor = _ACTORS.get(said.role, "operator")
        if said.by == "agent":
            actor = "agent" if said.role == ASSISTANT else "tool"
        elif said.by:
            actor = said.by
            self.trace.calls += sum(1 for _ in calls_of(said.content))
            self.trace.results += said.role in RESULTS
        elif said.role in RESULTS:
            self.trace.lacks(WITHOUT_CALL)
            self.trace.results += 1
            self.trace.unpaired += 1
            names = {"tool_call_id": ", ".join(said.answers), "name": said.name}
            said.extras = {**{key: value for key, value in names.items() if value}, **said.extras}
        elif actor == "operator" and said.role not in SYSTEM:
            self.trace.lacks(NO_ROLE)
        role = "" if said.role in {"user", "system", ASSISTANT, "tool"} else said.role
        event = MessageReceived(
            actor=actor,  # type: ignore[arg-type]
            content=said.content or _EMPTY,
            last=said.last,
            role=role,
            before=before,
        )
        self.happens(event, said)

    def turn(self, reply: Said, after: Sequence[Said], *, final: bool) -> None:
        """A reply, and what came before the next one."""
        meta = reply.meta
        event = ModelReplied(
            content=reply.content,
            finish=meta.finish,
            model=meta.model,
            response_id=meta.response_id,
            usage=meta.usage,
            cost_micros=meta.cost_micros or None,  # a trace that says 0 says that it did not count
        )
        self.happens(event, reply)
        calls = {next(self.numbers): call for _, call in calls_of(reply.content)}
        if calls:
            self._acted(calls, after, final=final)
        else:
            self._talked(after, final=final)

    def _talked(self, after: Sequence[Said], *, final: bool) -> None:
        for one in after:
            self.message(one)
        if not after and not final:
            self.trace.lacks(GO_ON)
            self.happens(MessageReceived(actor="operator", content=""))
        if after or not final:
            self.happens(SignalsHeard())

    def _acted(self, calls: dict[int, ToolUse], after: Sequence[Said], *, final: bool) -> None:
        """Results in the order in which they came; the last waits for the words behind it, as the model did."""
        self.trace.calls += len(calls)
        open_calls = dict(calls)
        answers = [self._answered(open_calls, one) if one.answered else 0 for one in after]
        held = None if open_calls else max(index for index, number in enumerate(answers) if number)
        for index, one in enumerate(after):
            if not answers[index]:
                self.message(one, before=next((number for number in answers[index:] if number), 0))
            elif index != held:
                self._observed(answers[index], one)
        if held is not None:
            self._observed(answers[held], after[held])
        if open_calls:
            self.trace.missing[UNANSWERED] = self.trace.missing.get(UNANSWERED, 0) + len(open_calls)
        if not final:
            self._unknown(open_calls)

    def _unknown(self, open_calls: Iterable[int]) -> None:
        """The run went on without these results, and nobody can say what came of the calls."""
        for number in open_calls:
            self.happens(ObservationReceived(call=number, status="unknown"))
        for number in open_calls:
            self.happens(EffectReconciled(call=number, outcome="unknown"))

    def _answered(self, open_calls: dict[int, ToolUse], result: Said) -> int:
        """The oldest open call that ``result`` answers, which is closed by it; 0 if there is none."""
        named = [number for number, call in open_calls.items() if call.id and call.id in result.answers]
        if not named:
            nameless = [number for number, call in open_calls.items() if not (result.answers and call.id)]
            named = [number for number in nameless if open_calls[number].name == result.name] or (
                nameless if not result.name else []
            )
            if named:
                self.trace.lacks(BY_ORDER)
        if not named:
            return 0
        del open_calls[named[0]]
        return named[0]

    def _observed(self, number: int, result: Said) -> None:
        self.trace.results += 1
        content = result.content
        size = len(content.encode()) if isinstance(content, str) else 0
        event = ObservationReceived(call=number, status=result.status, content=content, size_bytes=size)
        self.happens(event, result)
