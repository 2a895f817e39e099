"""A million inputs for the readers: `python -m tests.fuzz [--seed SEED] [--inputs N] [--target NAME] [--plain]`."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from random import Random

from tests.fuzz.mutations import SIZE_MAX, inputs

INPUTS = 1_200_000
# Those that read a file have fewer inputs, since each takes as long as ten of the others.
SHARES = {"record": 0.23, "json": 0.23, "arguments": 0.23, "store": 0.23, "portable": 0.04, "heads": 0.04}
# Memory, where there is some.
FOLDER = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
HANG_S, MEMORY_MIB_MAX = 10, 2_048


def main() -> int:
    """Every target in a process of its own, so that a hang or hunger for memory ends that one alone."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--inputs", type=int, default=INPUTS)
    parser.add_argument("--target", choices=SHARES)
    parser.add_argument("--plain", action="store_true", help="without atheris, also where it is there")
    chosen = parser.parse_args()
    guided = not chosen.plain and importlib.util.find_spec("atheris") is not None
    if chosen.target:
        (_guided if guided else _plain)(chosen.target, chosen.seed, chosen.inputs)
        return 0
    failed, total, began = list[str](), 0, time.monotonic()
    for name, part in SHARES.items():
        started, share = time.monotonic(), int(chosen.inputs * part)
        total += share
        arguments = ["--seed", str(chosen.seed), "--inputs", str(share), "--target", name]
        command = [sys.executable, "-m", "tests.fuzz", *arguments, *(["--plain"] if chosen.plain else [])]
        with tempfile.TemporaryDirectory(prefix="fuzz-", dir=FOLDER) as folder:  # libfuzzer leaves all as it is
            surroundings = os.environ | {"TMPDIR": folder}
            done = subprocess.run(
                command, env=surroundings, stderr=subprocess.PIPE, text=True, errors="replace", check=False
            )
        print(f"{name}: {share:,} inputs in {time.monotonic() - started:.0f} s", flush=True)
        if done.returncode:
            failed.append(name)
            print(f"{done.stderr[-4_000:]}\n{name} failed; again: {' '.join(command[1:])}", flush=True)
    how = "guided by coverage" if guided else "without a guide"
    print(f"{total:,} inputs, {how}, in {time.monotonic() - began:.0f} s: {len(failed)} targets failed")
    return 1 if failed else 0


def _plain(name: str, seed: int, many: int) -> None:
    """Mutations of the seeds, and no idea which of them led anywhere new."""
    targets = importlib.import_module("tests.fuzz.targets")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MIB_MAX << 20, MEMORY_MIB_MAX << 20))
    signal.signal(signal.SIGALRM, _hang)
    target = targets.TARGETS[name]
    for data in islice(inputs(targets.seeds(name), Random(f"{seed}:{name}")), many):
        signal.alarm(HANG_S)
        try:
            target(data)
        except BaseException:
            sys.stderr.write(f"input: {data!r}\n")
            raise


def _hang(*_: object) -> None:
    raise TimeoutError(f"not done in {HANG_S} s")


def _guided(name: str, seed: int, many: int) -> None:
    """Libfuzzer's mutations, of what led somewhere new; it leaves the process itself."""
    atheris = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["redrive_events"]):
        targets = importlib.import_module("tests.fuzz.targets")
    seeds = targets.seeds(name)

    def mutated(data: bytes, size_max: int, number: int) -> bytes:
        """Half of them in our way, and from the seeds: what C reads leaves no trace, and libfuzzer forgets them."""
        if number % 2:
            return bytes(atheris.Mutate(data, size_max))
        return next(islice(inputs([data, *seeds], Random(number)), 1 + len(seeds), None))[:size_max]

    with tempfile.TemporaryDirectory(prefix="corpus-") as folder:
        for number, data in enumerate(seeds):
            (Path(folder) / str(number)).write_bytes(data)
        limits = [f"-runs={many}", f"-seed={seed}", f"-max_len={SIZE_MAX}", f"-timeout={HANG_S}"]
        limits += [f"-rss_limit_mb={MEMORY_MIB_MAX}", f"-artifact_prefix={folder}-"]
        atheris.Setup([sys.argv[0], *limits, folder], targets.TARGETS[name], custom_mutator=mutated)
        atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
