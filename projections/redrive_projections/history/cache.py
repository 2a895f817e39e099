"""The file that keeps a history between questions: a cache, made anew whenever it is not what it should be."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from redrive_events import EventLog, Head, LogUnusable, canonical
from redrive_projections.history.sync import behind, create, foreign, sync
from redrive_projections.history.tables import schema
from redrive_projections.history.views import definitions

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Raised when the same columns are filled otherwise.
ROWS_VERSION = 5
SUFFIX = ".history.duckdb"

# Waiting for another process is worth no more than building without it.
RECORDS_PER_S = 30_000
WAIT_S_MAX = 5.0
PAUSE_S = 0.02

# Connections of one process share a database, and must not fill it at once.
_turn = threading.Lock()


class Unfit(Exception):
    """The file cannot serve: damaged, of another version, of another log, or no file can be made."""


class Busy(Exception):
    """Another process has the file."""


def beside(path: str | os.PathLike[str]) -> Path:
    """Where the history of the log at ``path`` is kept."""
    log = Path(path)
    return log.with_name(log.name + SUFFIX)


@contextmanager
def filled(file: Path, log: EventLog, *, anew: bool) -> Iterator[DuckDBPyConnection]:
    """The history in ``file``, brought up to the log; ``anew`` throws away what is there.

    Raises:
        Busy: another process has it.
        Unfit: it cannot serve.
    """
    import duckdb

    heads = list(log.runs())
    with _turn:
        try:
            db = _opened(file, heads, anew=anew)
            try:
                _fill(db, file, log, heads)
            except BaseException:
                db.close()
                raise
        except (duckdb.Error, OSError) as error:
            raise Unfit(str(error)) from error
    with db:
        yield db


@contextmanager
def in_memory(log: EventLog) -> Iterator[DuckDBPyConnection]:
    """A history of the whole log, for this once.

    Raises:
        LogUnusable: there is no room for it.
    """
    import duckdb

    with _connected(":memory:") as db:
        try:
            create(db, shape())
            sync(db, log)
        except duckdb.Error as error:
            raise LogUnusable("in memory", f"its history cannot be built: {first_line(error)}") from error
        yield db


def first_line(error: Exception) -> str:
    """What DuckDB says, without the picture below it."""
    return str(error).partition("\n")[0]


@cache
def shape() -> str:
    """What tells these tables from those of another version."""
    return hashlib.sha256(canonical([ROWS_VERSION, schema(), *definitions()])).hexdigest()


def _fill(db: DuckDBPyConnection, file: Path, log: EventLog, heads: Sequence[Head]) -> None:
    if db.execute("SELECT shape FROM inside.progress").fetchall() != [(shape(),)]:
        raise Unfit("another version made it")
    if foreign(db, log, heads):
        raise Unfit("it is the history of another log")
    sync(db, log, before_writing=lambda: _make_private(_wal(file)))
    if behind(db, heads):
        raise Unfit("it is the history of a log in another order")


def _opened(file: Path, heads: Sequence[Head], *, anew: bool) -> DuckDBPyConnection:
    if anew:
        for old in (_wal(file), file):
            old.unlink(missing_ok=True)
    if not file.exists():
        _make(file)
    patience_s = min(WAIT_S_MAX, sum(head.position for head in heads) / RECORDS_PER_S)
    while (db := _free(file)) is None:
        if patience_s <= 0:
            raise Busy(str(file))
        time.sleep(PAUSE_S)
        patience_s -= PAUSE_S
    return db


def _free(file: Path) -> DuckDBPyConnection | None:
    """A connection, unless somebody else has the file."""
    import duckdb

    try:
        return _connected(file)
    except duckdb.ConnectionException:  # this process has opened it in another way
        return None
    except duckdb.IOException as error:
        if "Could not set lock" in str(error):
            return None
        raise


def _connected(file: Path | str) -> DuckDBPyConnection:
    """A connection that reaches nothing but its own tables, and whose settings stay as they are."""
    import duckdb

    db = duckdb.connect(
        file,
        config={
            "enable_external_access": "false",
            "python_enable_replacements": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "temp_directory": _scratch(),
        },
    )
    ((locked,),) = db.execute("SELECT current_setting('lock_configuration')").fetchall()
    if not locked:
        db.execute("SET GLOBAL TimeZone = 'UTC'")
        db.execute("SET GLOBAL lock_configuration = true")
    return db


@cache
def _scratch() -> str:
    """Where what does not fit into memory may go: a folder that is its owner's alone, and gone with the process."""
    folder = tempfile.mkdtemp(prefix="redrive-history-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _make(file: Path) -> None:
    """Made where nobody else looks, so that it is its owner's alone from the beginning."""
    with tempfile.TemporaryDirectory(prefix=f".{file.name}.", dir=file.parent) as folder:
        new = Path(folder) / "new"
        with _connected(new) as db:
            create(db, shape())
        new.chmod(0o600)
        with suppress(FileExistsError):  # another process was faster
            os.link(new, file)


def _make_private(file: Path) -> None:
    """An empty file that is its owner's alone: DuckDB lets others read what it makes, but keeps the rights it finds."""
    with suppress(FileExistsError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _wal(file: Path) -> Path:
    return file.with_name(file.name + ".wal")
