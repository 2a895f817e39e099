"""A run that waits for a person, told where it is driven; a person at the terminal answers it line by line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import anyio

from redrive.handing import handed_over
from redrive_engine import say
from redrive_events import BadInput, DecisionMade, EventLog, PersonAsked, text_of
from redrive_projections import RunState, evolve, harmless, one_line

LOOK_S = 0.05
PROMPT = "> "


class Talk:
    """What a person sees and says of one run, beside the worker that drives it.

    It knows what the log says and nothing else, so words from another process are seen here too. With ``reads`` each
    line of stdin is what the awaited person says, and its end is the last word.
    """

    def __init__(self, log: EventLog, path: Path, run_id: str, *, reads: bool) -> None:
        self._log, self._path, self._run_id = log, path, run_id
        self._stdin = _Lines(sys.stdin.fileno()) if reads else None
        self._state, self._said, self._told = RunState(), "", 0

    async def go_on(self) -> None:
        """Look at the log from time to time, until the run has ended or nobody drives it any more."""
        while self._state.end is None:
            await anyio.sleep(LOOK_S)
            self._look()
            for position, asked in self._awaited():
                if position != self._told:
                    self._told = position
                    self._tell(asked)
                if self._stdin is not None:
                    await self._answer(self._stdin, asked)

    def _look(self) -> None:
        if not self._path.exists():  # nothing is begun yet, and to look must not make a log
            return
        for record in self._log.read(self._run_id, after=self._state.position):
            evolve(self._state, record)
            if isinstance(record.event, DecisionMade):
                self._said = record.event.answer or text_of(self._state.messages[-1].content)

    def _awaited(self) -> Iterator[tuple[int, PersonAsked]]:
        if self._state.started is not None and not self._state.unheard:
            for position, request in list(self._state.requests.items()):
                if isinstance(request, PersonAsked):
                    yield position, request

    def _tell(self, asked: PersonAsked) -> None:
        if asked.handover is not None and self._stdin is not None:
            handed = handed_over(self._run_id, list(self._log.read(self._run_id)))
            words = "\n".join(map(str, handed.told()))
        else:
            words = one_line(asked.reason or self._said)
        if self._stdin is not None:
            _show(f"{words}\n{PROMPT}")
        else:
            how = f'redrive say {self._run_id} "…" answers'
            _show(f"redrive: run {self._run_id} waits for the {asked.actor}: {words} ({how})\n")

    async def _answer(self, stdin: _Lines, asked: PersonAsked) -> None:
        with anyio.move_on_after(LOOK_S):  # somebody else may answer meanwhile
            words = await stdin.next()
            with suppress(BadInput):  # the run has ended meanwhile
                say(
                    self._log,
                    self._run_id,
                    words or "",
                    at=datetime.now(UTC),
                    last=words is None,
                    actor=asked.actor,
                )


class _Lines:
    """The lines of a file as they come; what a person has typed so far is not waited for in a thread of its own."""

    def __init__(self, file: int) -> None:
        self._file, self._read, self._ended = file, b"", False

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
