"""How a log grows while a run's context does, and what real traces come to: `python -m benchmarks.growth -h`."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from random import Random
from typing import NamedTuple

import redrive as rd
from redrive_events import BadInput, ModelAsked, SqliteLog, canonical
from redrive_projections import requests
from redrive_replays.traces import import_file

TURNS = (100, 200, 400, 700, 1_000)
TOKENS_A_TURN = 2_000  # a hundred turns come to a context of 200,000
CHARS_A_TOKEN = 4
SOURCE_BYTES_MIN = 100_000  # beside less than that, the empty tables of a file weigh too much
WIDTH, HEIGHT, MARGIN = 640, 360, 50


class Growth(NamedTuple):
    """What a run of so many turns takes in its log, and what its requests would take if each were written whole."""

    turns: int
    log_bytes: int
    requests_bytes: int


def grown(folder: Path, turns: int) -> Growth:
    """A run in which every turn looks up 2,000 tokens of text that no other turn has."""
    words, number = _words(), count(1)

    @rd.tool(effect="read", source="shelf")
    def look_up(page: int) -> str:
        """A page."""
        chosen = Random(page).choices(words, k=TOKENS_A_TURN)
        return " ".join(chosen)[: TOKENS_A_TURN * CHARS_A_TOKEN]

    script = [rd.reply("Next page.", rd.use("look_up", page=next(number))) for _ in range(turns - 1)]
    contract = rd.Contract(tools={"look_up": {}}, budget=rd.Budget(steps=turns + 1))
    agent = rd.Agent("reader", "1", contract, tools=[look_up], model=rd.ScriptedModel([*script, "That is all."]))
    path = folder / f"growth-{turns}.db"
    with closing(SqliteLog(path, durability="os")) as log:
        records = agent.run("Read on.", log=log).records()
    assert sum(isinstance(record.event, ModelAsked) for record in records) == turns
    *_, last = requests(records)
    sizes = [len(canonical(message.data())) for message in last.messages]
    # A turn adds two messages, so the n-th request holds the first 2n - 1.
    return Growth(turns, path.stat().st_size, sum(sum(sizes[: 2 * turn - 1]) for turn in range(1, turns + 1)))


def sources(folder: Path, traces: Path) -> Iterator[tuple[Path, float]]:
    """For each larger file that can be imported, the size of a log of its own as a multiple of the file's."""
    for number, path in enumerate(sorted(traces.rglob("*"))):
        if path.is_file() and (size := path.stat().st_size) >= SOURCE_BYTES_MIN:
            store = folder / f"source-{number}.db"
            try:
                with closing(SqliteLog(store, durability="os")) as log:
                    import_file(path, log)
            except BadInput:
                continue
            yield path, store.stat().st_size / size


def plotted(found: Sequence[Growth]) -> str:
    """The sizes as an SVG, beside the straight line from nothing to the last of them."""
    last, right, bottom = found[-1], WIDTH - MARGIN, HEIGHT - MARGIN

    def place(turns: int, size: float) -> tuple[float, float]:
        x = MARGIN + (right - MARGIN) * turns / last.turns
        return round(x, 1), round(bottom - (bottom - MARGIN) * size / last.log_bytes, 1)

    x_last, y_last = place(last.turns, last.log_bytes)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
        f'<text x="{MARGIN}" y="28">A log, while its context grows by 2,000 tokens a turn</text>',
        f'<path d="M{MARGIN} {MARGIN}V{bottom}H{right}" fill="none" stroke="gray"/>',
        f'<path d="M{MARGIN} {bottom}L{x_last} {y_last}" fill="none" stroke="silver"/>',
    ]
    for turns, size, _ in found:
        x, y = place(turns, size)
        lines.append(f'<circle cx="{x}" cy="{y}" r="4"/>')
        lines.append(f'<text x="{x}" y="{y - 10:.1f}" text-anchor="end">{turns:,} turns, {size / 1e6:.1f} MB</text>')
    return "\n".join([*lines, "</svg>\n"])


def _words() -> list[str]:
    """Words as text has them: few are frequent, many are rare, and all are made up."""
    chance = Random(1)
    made = ["".join(chance.choices("etaoinshrdlu", k=chance.randint(2, 9))) for _ in range(3_000)]
    return [word for rank, word in enumerate(made, start=1) for _ in range(1 + 300 // rank)]


def main() -> None:
    """Print both tables, and write the plot where it is wanted."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--svg", type=Path, help="where to write the plot")
    parser.add_argument("--traces", type=Path, help="a folder with traces of other tools")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, found = Path(name), list[Growth]()
        for turns in TURNS:
            found.append(one := grown(folder, turns))
            size, each, whole = one.log_bytes / 1e6, one.log_bytes / turns / 1e3, one.requests_bytes / 1e6
            print(f"{turns:>5} turns  {size:>6.2f} MB  {each:>6.2f} kB a turn  (requests whole: {whole:,.0f} MB)")
        if arguments.svg:
            arguments.svg.write_text(plotted(found), encoding="utf-8")
        if arguments.traces:
            for path, ratio in sources(folder, arguments.traces):
                print(f"{ratio:>5.2f} x  {path.relative_to(arguments.traces)}")


if __name__ == "__main__":
    main()
