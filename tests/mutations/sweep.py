"""Each guarantee switched off in turn, in a copy of the sources, and whether the tests that are named for it fail."""

from __future__ import annotations

import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from tests.mutations.guarantee import ROOT, Guarantee

SOURCES: Final = ("events", "projections", "engine", "replays", "cli")
TREES: Final = (*SOURCES, "tests", "examples")
HASTY: Final = "tests.mutations.hasty"
# A test that hangs has not failed: it would hold up whoever runs it.
PATIENCE_S: Final = 180
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (\S+?::\w+)", re.MULTILINE)


class Verdict(NamedTuple):
    """What became of a guarantee; ``missed`` are the tests that did not fail although it was switched off."""

    guarantee: Guarantee
    missed: tuple[str, ...]
    said: str

    @property
    def killed(self) -> bool:
        """Whether each test that was named has failed."""
        return not self.missed


class Copy:
    """The sources and tests in a folder of their own, where a file can be changed and is put back."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._written_s = folder, 0
        for name in TREES:
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".hypothesis"))
        shutil.copy(ROOT / "pyproject.toml", folder)

    @contextmanager
    def without(self, guarantee: Guarantee) -> Iterator[None]:
        """The sources without it."""
        file = self.folder / guarantee.file
        text = file.read_text(encoding="utf-8")
        self._write(file, guarantee.switched_off(text))
        try:
            yield
        finally:
            self._write(file, text)

    def _write(self, file: Path, text: str) -> None:
        """Each time with a time of its own: two spellings within a second would be one for what Python has compiled."""
        file.write_text(text, encoding="utf-8")
        self._written_s += 10
        moment = file.stat().st_mtime + self._written_s
        os.utime(file, (moment, moment))

    def failed(self, tests: Sequence[str]) -> tuple[set[str], str]:
        """Those of the tests that fail here, and what was said."""
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-n",
            "0",
            "-p",
            "no:cacheprovider",
            "-p",
            HASTY,
            "--no-header",
            "-rfE",
        ]
        path = os.pathsep.join([str(self.folder), *(str(self.folder / name) for name in SOURCES)])
        around = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
        try:
            done = subprocess.run(
                [*command, "--tb=line", *(["-x"] if len(tests) == 1 else []), *tests],
                cwd=self.folder,
                env=around | {"PYTHONPATH": path},
                capture_output=True,
                text=True,
                check=False,
                timeout=PATIENCE_S,
            )
        except subprocess.TimeoutExpired:
            return set(), f"no end within {PATIENCE_S} s"
        last = done.stdout.strip().splitlines()[-1:] or [done.stderr.strip()[-200:]]
        found = set(_FAILED.findall(done.stdout)) if done.returncode in {0, 1} else set()
        return found, last[0] if done.returncode in {0, 1} else f"exit code {done.returncode}: {last[0]}"

    def uses_itself(self) -> bool:
        """Whether what is tested here is what stands here."""
        path = os.pathsep.join(str(self.folder / name) for name in SOURCES)
        script = "import redrive_engine as e, redrive_events as v; print(e.__file__); print(v.__file__)"
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        )
        return all(Path(line).is_relative_to(self.folder) for line in done.stdout.split())


def swept(guarantees: Sequence[Guarantee], *, workers: int) -> Iterator[Verdict]:
    """What becomes of each, as it comes; first of all the tests must pass where nothing is switched off.

    Raises:
        ValueError: one of them fails anyway, so that its failing would prove nothing.
    """
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(workers) as pool:
        copies: queue.Queue[Copy] = queue.Queue()
        for number in range(workers):
            (folder := Path(name).resolve() / str(number)).mkdir()
            copies.put(Copy(folder))
        _check(copies, sorted({test for one in guarantees for test in one.tests}))

        def tried(guarantee: Guarantee) -> Verdict:
            copy = copies.get()
            try:
                with copy.without(guarantee):
                    failed, said = copy.failed(guarantee.tests)
            finally:
                copies.put(copy)
            return Verdict(guarantee, tuple(test for test in guarantee.tests if test not in failed), said)

        yield from pool.map(tried, guarantees)


def _check(copies: queue.Queue[Copy], tests: Sequence[str]) -> None:
    copy = copies.get()
    copies.put(copy)
    if not copy.uses_itself():
        raise ValueError("the copy is not what its tests test")
    failed, said = copy.failed(tests)
    if failed or " passed" not in said:
        raise ValueError(f"these fail anyway: {', '.join(sorted(failed)) or said}")
