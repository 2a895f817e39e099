"""A run through which a credential and an address pass on every way that there is, and all that is left of it."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import anyio
import duckdb
import zstandard

import redrive as rd
from redrive_engine.models import reply, use
from redrive_engine.stating import state_outcome
from redrive_events import AnnotationMade, EventLog, Json
from redrive_projections import RunState, fold

RUN, CANCELLED = "run", "cancelled"
PATIENT: Final = rd.Patience(model_s=30, grace_s=0.2, lease_s=5, look_s=0.01, pause_s=0.01)
# Every way on which words come into a run.
WAYS: Final = (
    *("goal", "label", "lesson", "environment", "words", "edit", "approval", "cancel", "outcome", "stated", "remark"),
    *("reply", "argument", "result", "name", "blob", "error", "source", "type", "version"),
)


def credential(way: str) -> str:
    """What looks like one, and is none; no scanner takes this line for one."""
    return "gh" + "p_" + (f"Via0{way}" + "Fake" * 9)[:36]


def address(way: str) -> str:
    """One that nobody has."""
    return f"via-{way}@mail.example"


def said(way: str) -> str:
    """Words with both."""
    return f"It is {credential(way)}, or ask {address(way)}."


class Story:
    """``given`` is what tools were given, ``read`` what the model read."""

    def __init__(self, log: EventLog, mask: rd.Mask | None) -> None:
        self.log, self.mask = log, mask
        self.given: list[Json] = []
        self.read: list[str] = []

    def run(self) -> None:
        """All of it, with the replies in pieces, as a provider streams them."""
        script = rd.ScriptedModel(self._say)
        with rd.Loopback(script) as server:
            model = rd.ProviderModel("openai-chat:loopback", base_url=server.url, stream=True)
            anyio.run(self._told, self.agent(model))
        anyio.run(self._cancelled, self.agent(rd.ScriptedModel([reply("", use("pay", to="nobody"))])))

    def _say(self, turn: int, request: rd.ModelRequest) -> Any:
        self.read.append(repr(request))
        return [
            reply(f"I see. {said('reply')}", use("look", where=said("argument"))),
            reply("", use("fail")),
            reply("", use("pay", to="somebody")),
            reply(f"All is done. {said('reply')}"),
        ][turn - 1]

    def agent(self, model: Any) -> rd.Agent:
        """The agent of the story."""

        @rd.tool(effect="read")
        def look(where: str) -> rd.Observed[dict[str, Json]]:
            """Look."""
            self.given.append(where)
            found = {"note": said("result"), said("name"): 1, "long": "so it goes on; " * 300 + said("blob")}
            return rd.Observed(
                found,
                source=f"https://{credential('source')}@host.example/",
                media_type=f"application/json; by={said('type')}",
                schema_version=said("version"),
            )

        @rd.tool(effect="read")
        def fail() -> None:
            """Fail."""
            raise rd.ToolError(said("error"))

        @rd.tool(effect="write", timeout="10s")
        def pay(to: str) -> None:
            """Pay; nobody knows whether it did."""
            self.given.append(to)
            raise RuntimeError(said("error"))

        @rd.policy
        def asks(question: rd.Question) -> rd.Ruling:
            return rd.ask("It costs money.") if question.tool == "pay" else rd.allow()

        contract = rd.Contract(on_doubt="wait")
        return rd.Agent("story", "1", contract, tools=[look, fail, pay], policy=asks, model=model, mask=self.mask)

    async def _told(self, agent: rd.Agent) -> None:
        around = rd.Surroundings(environment=lambda: {"shell": said("environment")})
        async with anyio.create_task_group() as group:
            with anyio.fail_after(60):
                group.start_soon(self._person)
                await agent.arun(
                    said("goal"),
                    tenant="t1",
                    log=self.log,
                    run_id=RUN,
                    labels={"about": said("label")},
                    lessons=[said("lesson")],
                    patience=PATIENT,
                    surroundings=around,
                )

    async def _person(self) -> None:
        await self._until(RUN, lambda _: bool(rd.open_approvals(self.log, RUN)))
        rd.approve(
            self.log,
            RUN,
            3,
            by="bo",
            at=now(),
            answer="edit",
            arguments={"to": said("edit")},
            reason=said("approval"),
            mask=self.mask,
        )
        await self._until(RUN, lambda state: any(getattr(one, "effect", None) == 3 for one in state.requests.values()))
        rd.say(self.log, RUN, said("words"), at=now(), mask=self.mask)
        remark = AnnotationMade(name="remark", value=said("remark"), source="bo")
        rd.annotate(self.log, RUN, remark, at=now(), mask=self.mask)
        state_outcome(
            self.log,
            RUN,
            3,
            "landed",
            by="bo",
            at=now(),
            content=said("outcome"),
            reason=said("stated"),
            mask=self.mask,
        )

    async def _cancelled(self, agent: rd.Agent) -> None:
        async with anyio.create_task_group() as group:
            with anyio.fail_after(60):
                group.start_soon(lambda: agent.arun("Pay", log=self.log, run_id=CANCELLED, patience=PATIENT))
                await self._until(CANCELLED, lambda _: bool(rd.open_approvals(self.log, CANCELLED)))
                rd.cancel(self.log, CANCELLED, by="bo", at=now(), reason=said("cancel"), mask=self.mask)

    async def _until(self, run_id: str, what: Callable[[RunState], bool]) -> None:
        while not (self.log.head(run_id).position and what(fold(self.log.read(run_id)))):
            await anyio.sleep(0.02)


def now() -> datetime:
    """The moment it is."""
    return datetime.now(UTC)


def ways_in(data: bytes) -> set[str]:
    """The ways of which the credential or the address is in ``data``, also if it is written in UTF-16."""
    texts = (data, data.replace(b"\0", b""))
    return {way for way in WAYS for text in texts for one in (credential(way), address(way)) if one.encode() in text}


def left_in(folder: Path, *but: str) -> set[str]:
    """The ways of which something is in any file, packed or not; ``but`` are names of files that are not looked at."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in but]
    return set().union(*(ways_in(piece) for path in files for piece in _pieces(path)))


def _pieces(path: Path) -> Iterator[bytes]:
    data = path.read_bytes()
    yield data
    for frame in re.finditer(re.escape(b"\x28\xb5\x2f\xfd"), data):
        yield _unpacked(data[frame.start() :])
    if data.startswith(b"SQLite format 3\0"):
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as file:
            tables = [name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for row in (row for table in tables for row in file.execute(f'SELECT * FROM "{table}"')):
                for cell in row:
                    yield cell if isinstance(cell, bytes) else str(cell).encode()
                    yield _unpacked(cell) if isinstance(cell, bytes) else b""
    elif path.suffix == ".parquet":
        yield repr(duckdb.execute("FROM read_parquet($1)", [str(path)]).fetchall()).encode()
    elif path.suffix == ".duckdb":
        with duckdb.connect(str(path), read_only=True) as history:
            names = history.execute("SELECT schema_name, table_name FROM duckdb_tables()").fetchall()
            for schema, table in names:
                yield repr(history.execute(f'FROM "{schema}"."{table}"').fetchall()).encode()


def _unpacked(data: bytes) -> bytes:
    """What a packed piece holds, as far as it can be read."""
    reader = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=False)
    try:
        return bytes(reader.read(10_000_000))
    except zstandard.ZstdError:
        return b""
