"""A run that waits for a person, told where it is driven; a person at the terminal answers it line by line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import anyio

from redrive.handing import handed_over
from redrive.questions import DIGEST_CHARS, approval_told, waiting_in
from redrive_engine import Landing, Mask, approve, say, state_outcome
from redrive_events import ApprovalAsked, BadInput, DecisionMade, EventLog, PersonAsked, ToolCalled, parse_json, text_of
from redrive_projections import RunState, called_as, evolve, harmless, one_line

LOOK_S = 0.05
PROMPT = "> "
HOW = "yes, no, or edit and all arguments as JSON"
LANDINGS = "landed, or not-landed, and how that is known "


@dataclass
class _Watched:
    """A run as its log has it, and the last words of its model."""

    run_id: str
    state: RunState = field(default_factory=RunState)
    said: str = ""

    def look(self, log: EventLog) -> None:
        """Read on."""
        for record in log.read(self.run_id, after=self.state.position):
            evolve(self.state, record)
            if isinstance(record.event, DecisionMade):
                self.said = record.event.answer or text_of(self.state.messages[-1].content)

    def children(self) -> Iterator[str]:
        """The child runs under way, which are driven with it."""
        for request in self.state.requests.values():
            if isinstance(request, ToolCalled) and request.effect == "run":
                yield f"{self.run_id}/{request.call}"


@dataclass(frozen=True)
class _Waits:
    """A person who is waited for: in which run, since which event, for what."""

    of: _Watched
    position: int
    asked: PersonAsked | ApprovalAsked


class Talk:
    """What a person sees and says of one run and its children, beside the worker that drives them.

    It knows what the log says and nothing else, so words from another process are seen here too. With ``reads`` each
    line of stdin is what the awaited person says, and its end is the last word; a call is then allowed or denied there.
    """

    def __init__(self, log: EventLog, path: Path, run_id: str, *, reads: bool, mask: Mask | None = None) -> None:
        self._log, self._path, self._mask = log, path, mask
        self._stdin = _Lines(sys.stdin.fileno()) if reads else None
        self._root = _Watched(run_id)
        self._watched = {run_id: self._root}
        self._told: set[tuple[str, int]] = set()

    async def go_on(self) -> None:
        """Look at the log from time to time, until the run has ended or nobody drives it any more."""
        while self._root.state.end is None:
            await anyio.sleep(LOOK_S)
            self._look()
            waits = list(self._waits())
            for one in waits if self._stdin is None else waits[:1]:
                if (one.of.run_id, one.position) not in self._told:
                    self._told.add((one.of.run_id, one.position))
                    self._tell(one)
                if self._stdin is not None:
                    await self._answer(self._stdin, one)

    def _look(self) -> None:
        if not self._path.exists():  # nothing is begun yet, and to look must not make a log
            return
        looked_at = list(self._watched.values())
        for one in looked_at:
            one.look(self._log)
            for child in one.children():
                if child not in self._watched:
                    self._watched[child] = _Watched(child)
                    looked_at.append(self._watched[child])

    def _waits(self) -> Iterator[_Waits]:
        for one in self._watched.values():
            if one.state.started is not None and not one.state.unheard:
                for position, request in list(one.state.requests.items()):
                    if isinstance(request, PersonAsked | ApprovalAsked):
                        yield _Waits(one, position, request)

    def _tell(self, one: _Waits) -> None:
        run_id, asked = one.of.run_id, one.asked
        if isinstance(asked, ApprovalAsked):
            self._tell_approval(one, asked)
            return
        if asked.handover is not None and self._stdin is not None:
            handed = handed_over(run_id, list(self._log.read(run_id)))
            words = "\n".join(map(str, handed.told()))
        else:
            words = one_line(asked.reason or one.of.said)
        if self._stdin is not None and not (asked.effect and self._stdin.ended):
            _show(f"{words}\n{LANDINGS if asked.effect else ''}{PROMPT}")
        else:
            resolve = f"redrive effects --resolve {run_id} {asked.effect} landed|not-landed"
            how = resolve if asked.effect else f'redrive say {run_id} "…" answers'
            _show(f"redrive: run {run_id} waits for the {asked.actor}: {words} ({how})\n")

    def _tell_approval(self, one: _Waits, asked: ApprovalAsked) -> None:
        run_id = one.of.run_id
        for shown in waiting_in(self._log, run_id):
            if shown.position != one.position:
                continue
            if self._stdin is not None and not self._stdin.ended:
                words = "\n".join(map(str, approval_told(shown, datetime.now(UTC))))
                _show(f"{words}\n{HOW} {PROMPT}")
                return
            what = f"call {asked.call}: {called_as(shown.tool, shown.arguments)}"
            how = f"redrive approve {run_id} {asked.call} --digest {asked.digest[:DIGEST_CHARS]}"
            _show(f"redrive: run {run_id} waits for an approval of {what} ({how})\n")

    async def _answer(self, stdin: _Lines, one: _Waits) -> None:
        asked = one.asked
        if stdin.ended and (isinstance(asked, ApprovalAsked) or asked.effect):  # whoever is elsewhere can still answer
            return
        with anyio.move_on_after(LOOK_S):  # somebody else may answer meanwhile
            words = await stdin.next()
            if isinstance(asked, ApprovalAsked):
                self._approve(one, asked, words)
            elif asked.effect:
                self._state(one, asked, asked.effect, words)
            else:
                self._say(one, asked, words)

    def _state(self, one: _Waits, asked: PersonAsked, effect: int, words: str | None) -> None:
        """A line says what became of an effect, or the question stays; behind the last line it is told elsewhere."""
        if words is None:
            self._tell(one)
            return
        word, _, reason = words.partition(" ")
        try:
            if (outcome := _LANDINGS.get(word.lower())) is None:
                raise BadInput(LANDINGS.strip())
            state_outcome(
                self._log,
                one.of.run_id,
                effect,
                outcome,
                by=asked.actor,
                at=datetime.now(UTC),
                reason=reason.strip(),
                mask=self._mask,
            )
        except BadInput as error:
            _show(f"{error}\n{PROMPT}")

    def _say(self, one: _Waits, asked: PersonAsked, words: str | None) -> None:
        with suppress(BadInput):  # the run has ended meanwhile
            say(
                self._log,
                one.of.run_id,
                words or "",
                at=datetime.now(UTC),
                last=words is None,
                actor=asked.actor,
                mask=self._mask,
            )

    def _approve(self, one: _Waits, asked: ApprovalAsked, words: str | None) -> None:
        """A line is an answer to what was shown, or the question stays; behind the last line it is told elsewhere."""
        if words is None:
            self._tell_approval(one, asked)
            return
        word, _, rest = words.partition(" ")
        try:
            answer = _ANSWERS.get(word.lower())
            if answer is None:
                raise BadInput(HOW)
            approve(
                self._log,
                one.of.run_id,
                asked.call,
                by="user",
                at=datetime.now(UTC),
                answer=answer,
                arguments=parse_json(rest) if answer == "edit" else None,
                reason="" if answer == "edit" else rest.strip(),
                digest=asked.digest,
                mask=self._mask,
            )
        except BadInput as error:
            _show(f"{error}\n{PROMPT}")


_LANDINGS: dict[str, Landing] = {"landed": "landed", "not-landed": "not_landed"}
_ANSWERS: dict[str, Literal["grant", "refuse", "edit"]] = {
    **dict.fromkeys(("y", "yes"), "grant"),
    **dict.fromkeys(("n", "no"), "refuse"),
    "edit": "edit",
}


class _Lines:
    """The lines of a file as they come; what a person has typed so far is not waited for in a thread of its own."""

    def __init__(self, file: int) -> None:
        self._file, self._read, self._ended = file, b"", False

    @property
    def ended(self) -> bool:
        """Whether nothing more is to come."""
        return self._ended and not self._read

    async def next(self) -> str | None:
        """The next line that says something; None at the end."""
        while True:
            line, found, rest = self._read.partition(b"\n")
            if found or self._ended:
                self._read = rest
                if words := line.decode("utf-8", "replace").strip():
                    return words
                if self._ended and not rest:
                    return None
                continue
            with suppress(OSError):  # a plain file is always ready, and cannot be waited for
                await anyio.wait_readable(self._file)
            more = os.read(self._file, 1 << 16)
            self._read, self._ended = self._read + more, not more


def _show(words: str) -> None:
    print("\n".join(map(harmless, words.split("\n"))), end="", file=sys.stderr, flush=True)
