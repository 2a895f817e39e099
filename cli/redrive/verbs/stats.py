"""Show where the bytes of the log go."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from redrive.options import LOG, JsonOption, LogOption
from redrive.terminal import columns, counted, say, say_json
from redrive_events import KindSize, Sizes, SqliteLog

KINDS = ("KIND", "EVENTS", "BYTES", "KEPT", "RATIO")
FILE = ("FILE", "BYTES")


def stats(log: LogOption = LOG, as_json: JsonOption = False) -> None:
    """Show where the bytes of the log go: by kind of event, content kept once, tables, indexes, free pages.

    BYTES are those of the canonical lines, KEPT what stands of them in the table of events. The log is read from end
    to end.
    """
    with closing(SqliteLog(log, must_exist=True)) as store:
        sizes = store.sizes()
    if as_json:
        kinds, contents = [one._asdict() for one in sizes.kinds], sizes.contents._asdict()
        say_json({"streams": sizes.streams, "kinds": kinds, "contents": contents, "file": sizes.file})
        return
    say(*columns([KINDS, *_kinds(sizes)], right={1, 2, 3, 4}), "", *_contents(sizes), "")
    parts = [*sizes.file.items(), ("all", sum(sizes.file.values()))]
    say(*columns([FILE, *([name, f"{size:,}"] for name, size in parts)], right={1}))


def _kinds(sizes: Sizes) -> Iterator[list[str]]:
    total = KindSize(
        "all",
        sum(one.events for one in sizes.kinds),
        sum(one.line_bytes for one in sizes.kinds),
        sum(one.kept_bytes for one in sizes.kinds),
    )
    for kind, events, line_bytes, kept_bytes in (*sizes.kinds, total):
        ratio = f"{kept_bytes / line_bytes:.2f}" if line_bytes else ""
        yield [kind, f"{events:,}", f"{line_bytes:,}", f"{kept_bytes:,}", ratio]


def _contents(sizes: Sizes) -> Iterator[str]:
    contents = sizes.contents
    yield counted(sizes.streams, "stream")
    if contents.pieces:
        pieces, references = counted(contents.pieces, "piece"), counted(contents.references, "reference")
        yield f"{pieces} of long content, {contents.content_bytes:,} bytes, kept in {contents.kept_bytes:,}"
        yield f"{references} to them: sharing saves {max(contents.referred_bytes - contents.content_bytes, 0):,} bytes"
