"""A history that is open: what is kept of it in files, and what is newer in memory, as one table each."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, NamedTuple

from redrive_events import EventLog, Head, LogUnusable, MemoryLog
from redrive_projections.history.deadline import NEVER, Deadline
from redrive_projections.history.filling import Growth, Place, Stream, create, growth, streams_of
from redrive_projections.history.scratch import scratch
from redrive_projections.history.segments import (
    Segment,
    Unfit,
    all_streams,
    attach,
    beside,
    damaged,
    discard,
    locked,
    seal,
    segments,
)
from redrive_projections.history.tables import ROWS
from redrive_projections.history.views import definitions, wanted

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# More records than these are written into a segment when a history is opened; fewer are read anew each time.
TAIL_RECORDS_MAX = 4_000
# Of so many runs that go on it is remembered how far they have come.
LIVE_MAX = 256
# So often the segments are looked up again that another process has joined meanwhile.
TRIES = 20


class Reach(NamedTuple):
    """What SQL may reach beside the tables: these files, what is in these folders, or everything there is."""

    files: tuple[Path, ...] = ()
    folders: tuple[Path, ...] = ()
    everything: bool = False


NOTHING: Final = Reach()


class History:
    """Every run of ``log`` as tables, in the DuckDB connection ``db``: all that the log held at the last `refresh`.

    ``path`` is the file of the log: what is kept of its history stands beside it, in segments that are written once and
    then only read, so that nobody who reads waits for another reader or keeps anybody from recording. What is newer is
    in the memory of this process. Without a path, for a log in memory, or where nothing can be written, all of it is.
    ``anew`` throws away what is kept; ``reach`` is what SQL may reach beside the tables; ``within`` is until when all
    has to be there.

    Raises:
        LogUnusable: there is no room for it in memory.
        TimeOver: it is not there in time; what is kept by then is gone on with by the next one.
    """

    db: DuckDBPyConnection

    def __init__(
        self,
        log: EventLog,
        path: str | os.PathLike[str] | None = None,
        *,
        anew: bool = False,
        reach: Reach = NOTHING,
        within: Deadline = NEVER,
    ) -> None:
        self._log = log
        self._reach = reach
        self._turn = threading.Lock()
        self._defined: set[str] = set()
        folder = beside(path) if path is not None and not isinstance(log, MemoryLog) else None
        if folder is not None and self._kept(folder, anew=anew, within=within):
            return
        self._start((), within)

    def __enter__(self) -> History:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of files and memory."""
        self._tail.close()
        self.db.close()

    def define(self, query: str | None = None) -> None:
        """Make the views and macros that a query speaks of, or all there are, unless they are made."""
        names = None if query is None else wanted(query)
        for name, statement, _ in definitions():
            if name not in self._defined and (names is None or name in names):
                self.db.execute(statement)
                self._defined.add(name)

    def refresh(self, within: Deadline = NEVER) -> None:
        """Bring the tables up to the log as it is now.

        Raises:
            LogUnusable: there is no room for it in memory.
            Unfit: what is kept turns out to be damaged.
            TimeOver: they are not there in time; the next one goes on.
        """
        with self._turn:
            grown = growth(self._log, self._watermark, within)
            if grown.records:
                self._take_in(grown, within)

    def _kept(self, folder: Path, *, anew: bool, within: Deadline) -> bool:
        """Start from what is kept, whatever can be; False if that is of no use."""
        for again in (anew, True):
            try:
                _bring_up(folder, self._log, anew=again, within=within)
                for _ in range(TRIES):
                    with suppress(FileNotFoundError):
                        self._start(segments(folder), within)
                        return True
            except Unfit:
                continue
        return False

    def _start(self, chain: Sequence[Segment], within: Deadline) -> None:
        import duckdb

        self.db = _connected(self._reach)
        try:
            self._begin(chain, within)
        except duckdb.Error as error:
            self.db.close()
            raise Unfit(str(error)) from error
        except BaseException:
            self.db.close()
            raise

    def _begin(self, chain: Sequence[Segment], within: Deadline) -> None:
        attach(self.db, chain)
        _lock_down(self.db, self._reach)
        self._streams = all_streams(len(chain)) if chain else ""
        self._segments = range(1, len(chain) + 1)
        self._watermark = chain[-1].watermark if chain else 0
        self.db.execute("BEGIN")
        self.db.execute("CREATE SCHEMA tail")
        create(self.db, "tail")
        for number in self._segments:
            later = " UNION ".join(f"SELECT run FROM s{n}.inside.streams" for n in self._segments if n > number)
            self.db.execute(f"CREATE TABLE inside.gone_{number} AS {later or 'SELECT 0::BIGINT AS run WHERE false'}")
        for table in ROWS:
            self.db.execute(f"CREATE VIEW {table} AS {self._whole(table)}")
        self.db.execute("COMMIT")
        heads = list(self._log.runs()) if chain else []
        grown = growth(self._log, self._watermark, within)
        last_run = 0
        if chain:
            ((last_run,),) = self.db.execute(f"SELECT max(run) FROM {self._streams}").fetchall()
            self._believe(heads, grown)
        self._tail = self._tail_of(last_run)
        self._take_in(grown, within)

    def _whole(self, table: str) -> str:
        """All rows of a table: those of each segment whose runs are in no later one, and those in memory."""
        kept = (f"FROM s{number}.main.{table} ANTI JOIN inside.gone_{number} USING (run)" for number in self._segments)
        return " UNION ALL ".join([*kept, f"FROM tail.{table}"])

    def _believe(self, heads: Sequence[Head], grown: Growth) -> None:
        """See that what is kept is this log's: its streams in these positions, and all else behind the watermark.

        A run that has grown is read anew, from its beginning.
        """
        rows = self.db.execute(f"SELECT run_id, position, digest FROM {self._streams}").fetchall()
        streams = {run_id: (position, digest) for run_id, position, digest in rows}
        for run_id, position, digest in heads:
            kept, sealed = streams.pop(run_id, (0, b""))
            if kept > position or (kept == position and digest != sealed):
                raise Unfit("it is the history of another log")
            if kept < position > grown.reach.get(run_id, 0):
                raise Unfit("it is the history of a log in another order")
        if streams:
            raise Unfit("it is the history of another log")

    def _take_in(self, grown: Growth, within: Deadline) -> None:
        """Put what has grown into memory, in place of what was known of these runs."""
        import duckdb

        try:
            self._tail.fill(self._log, grown, within)
        except duckdb.OutOfMemoryException as error:
            raise LogUnusable("in memory", f"its history cannot be built: {first_line(error)}") from error
        except duckdb.Error as error:
            if damaged(error):
                raise Unfit(str(error)) from error
            raise
        self._watermark = grown.offset

    def _tail_of(self, last_run: int) -> Place:
        """What is newer than the segments, in memory."""
        db = self.db.cursor()

        def earlier(run_ids: list[str]) -> Mapping[str, Stream]:
            return streams_of(db, run_ids, self._streams) if self._segments else {}

        def moved(runs: Sequence[int]) -> None:
            for number in self._segments if runs else ():
                db.execute(f"INSERT INTO inside.gone_{number} VALUES {', '.join(f'({run})' for run in runs)}")

        return Place(db, "tail", earlier=earlier, last_run=last_run, moved=moved, live_max=LIVE_MAX)


def rebuilt(folder: Path, log: EventLog) -> None:
    """Write all of a history anew.

    Raises:
        OSError, duckdb.Error: it cannot be written.
    """
    if folder.is_file():
        folder.unlink()
    with locked(folder):
        discard(folder)
        seal(folder, log, growth(log, 0))


def first_line(error: Exception) -> str:
    """What DuckDB says, without the picture below it."""
    return str(error).partition("\n")[0]


def _bring_up(folder: Path, log: EventLog, *, anew: bool, within: Deadline) -> None:
    """Write what is too much to be read each time; where that cannot be, what is there serves as far as it goes.

    Raises:
        Unfit: what is there is not what it should be, or was to be thrown away and cannot be.
        TimeOver: it is not written in time.
    """
    import duckdb

    try:
        if anew and folder.exists():
            with locked(folder, within):
                discard(folder)
        if _behind(folder, log, within).records > TAIL_RECORDS_MAX:
            with locked(folder, within):
                grown = _behind(folder, log, within)  # another process may have written it meanwhile
                if grown.records > TAIL_RECORDS_MAX:
                    seal(folder, log, grown, within)
    except (OSError, duckdb.Error) as error:
        if anew:
            raise Unfit(str(error)) from error


def _behind(folder: Path, log: EventLog, within: Deadline) -> Growth:
    """What the log holds behind the segments."""
    chain = segments(folder)
    return growth(log, chain[-1].watermark if chain else 0, within)


def _connected(reach: Reach) -> DuckDBPyConnection:
    import duckdb

    return duckdb.connect(
        ":memory:",
        config={
            "python_enable_replacements": "false",
            "autoinstall_known_extensions": reach.everything,
            "autoload_known_extensions": reach.everything,
            "temp_directory": scratch(),
        },
    )


def _lock_down(db: DuckDBPyConnection, reach: Reach) -> None:
    """From here on it reaches nothing but its own tables and what it may, and its settings stay as they are."""
    db.execute("SET GLOBAL TimeZone = 'UTC'")
    db.execute("SET enable_progress_bar = false")  # it is drawn on stdout, among the rows
    if reach.everything:
        return
    db.execute("SET GLOBAL allowed_paths = $files", {"files": [str(file) for file in reach.files]})
    db.execute("SET GLOBAL allowed_directories = $folders", {"folders": [f"{folder}/" for folder in reach.folders]})
    db.execute("SET GLOBAL enable_external_access = false")
    db.execute("SET GLOBAL lock_configuration = true")
