"""The `redrive` command: finds the verb, and turns whatever goes wrong into one line and an exit code."""

from __future__ import annotations

import errno
import functools
import importlib
import io
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typer import Typer

GENERAL = ("--help", "-h", "--version")
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
FINE, FOUND, REFUSED, NO_REPLAY, INTERRUPTED = 0, 1, 2, 3, 130

# What each verb is for, so that the list of them is shown without loading any; the rest of its help is with the verb.
VERBS = {
    "demo": "See it all at work on one recorded incident.",
    "import": "Bring traces of other tools into the log, each as runs.",
    "runs": "List the runs in the log, the latest first.",
    "show": "Show what happened in a run, or its state after an event.",
    "policy": "Check rules, and explain why a call was judged as it was.",
    "replay": "Drive recorded runs again: the same, or where do they part?",
    "diff": "Lay two runs side by side: where and why do they part?",
    "whatif": "Drive a recorded run again with something changed.",
    "fork": "Let a run go on from an event of another one.",
    "backtest": "Say what another policy would have done to recorded runs.",
    "shrink": "Find the smallest run that still shows a failure.",
    "freeze": "Make a test of a run, without personal data.",
    "bisect": "Find the input by which a good run becomes a bad one.",
    "faults": "Put faults into an agent's world: which promises hold?",
    "verify": "Check that every stored event is the one that was written.",
    "heads": "List the heads of all runs, to check the log against later.",
    "rebuild": "Fold all runs again: do they come to what was recorded?",
    "stats": "Show where the bytes of the log go.",
    "sql": "Ask about all runs in SQL.",
    "export": "Write runs as a portable recording.",
    "check": "Check an agent's contract before a run.",
    "run": "Set an agent upon a goal, or go on with its run.",
    "say": "Say something to a run, as the person it waits for.",
    "cancel": "Ask a run to stop before its next action.",
    "effects": "List what runs did to the world, and what is in doubt.",
    "approvals": "List what waits for a person's approval, with what would happen.",
    "approve": "Allow a call that waits for an approval.",
    "deny": "Refuse a call that waits for an approval.",
}
MODULES = {"import": "bring"}  # a module cannot be called `import`

HELP = """\
Usage: redrive VERB [ARGUMENTS]...

Record agent runs as immutable events, rebuild them from those alone, and
drive them again to the byte.

Verbs:
{verbs}

Options:
  --help     With a verb: what it does, and its options.
  --version  Show the version.

The log is the file that --log or REDRIVE_LOG names, else redrive.db.
Exit codes: 0 fine, 1 a finding, 2 a bad request or input, 3 cannot be replayed.
"""


class _NobodyReads(Exception):
    """What was printed went into a pipe that is closed."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _speak_utf8()
    try:
        code = _general(arguments[:1]) if not arguments or arguments[0] in GENERAL else _particular(arguments)
        sys.stdout.flush()
    except (BrokenPipeError, _NobodyReads):
        _close_stdout()
        return FINE
    except KeyboardInterrupt:
        return INTERRUPTED
    except _ours() as error:
        return _told(error)
    except OSError as error:
        if error.errno not in NO_ROOM or error.filename:
            raise
        _close_stdout()  # what could not be written is not tried again
        return _told(error)
    return code


def _general(option: Sequence[str]) -> int:
    """Help and version: they load nothing, not even what reads a command line."""
    if option == ["--version"]:
        from importlib.metadata import version

        print(f"redrive {version('redrive')}")
    else:
        print(HELP.format(verbs="\n".join(f"  {verb:9} {caption}" for verb, caption in VERBS.items())), end="")
    return FINE


def _particular(arguments: Sequence[str]) -> int:
    return int(_app(arguments)(arguments, standalone_mode=False, prog_name="redrive") or FINE)


def _app(arguments: Sequence[str]) -> Typer:
    """The verbs; only the one that is asked for is loaded."""
    import typer

    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.callback()(_unloaded)
    for verb, caption in VERBS.items():
        found = _loaded(verb) if verb == arguments[0] else _unloaded
        if isinstance(found, Mapping):
            group = typer.Typer(rich_markup_mode=None, help=caption)
            for name, function in found.items():
                group.command(name)(function)
            app.add_typer(group, name=verb)
        else:
            app.command(verb)(found)
    return app


def _unloaded() -> None:
    """A verb that is not asked for."""


def _loaded(verb: str) -> Callable[..., int] | Mapping[str, Callable[..., int]]:
    """What a verb does; several things by name, if its module has `VERBS`."""
    name = MODULES.get(verb, verb)
    module = importlib.import_module(f"redrive.verbs.{name}")
    several: Mapping[str, Callable[..., int]] | None = getattr(module, "VERBS", None)
    if several is not None:
        return {inner: _heard(function) for inner, function in several.items()}
    return _heard(getattr(module, name))


def _heard(function: Callable[..., int]) -> Callable[..., int]:
    @functools.wraps(function)
    def heard(*arguments: object, **options: object) -> int:
        try:
            return function(*arguments, **options)
        except BrokenPipeError:
            raise _NobodyReads from None  # typer would make an exit code of it that means something else here

    return heard


def _ours() -> tuple[type[Exception], ...]:
    """The errors that are told in one line; looked up once there is one, so that `--help` loads nothing for it."""
    import typer

    from redrive_events import RedriveError

    return RedriveError, typer.TyperException


def _told(error: Exception) -> int:
    """Say what is wrong in one line; the exit code."""
    import typer

    from redrive_events import BrokenChain, CannotReplay, UnknownEvent
    from redrive_projections import one_line

    words = str(error)
    if isinstance(error, OSError):
        words = f"what it says cannot be written: {(error.strerror or '').lower()}"
    if isinstance(error, typer.TyperException):
        words = error.format_message().replace(": Value error, ", ": ")  # pydantic's own words before a choice's
    print(f"redrive: {one_line(words, 1000)}", file=sys.stderr)
    if isinstance(error, CannotReplay):
        return NO_REPLAY
    return FOUND if isinstance(error, BrokenChain | UnknownEvent) else REFUSED


def _speak_utf8() -> None:
    """One encoding for what is said, whatever the surroundings claim; what it cannot spell is shown escaped."""
    # A stream that was closed before the start is none at all; nothing is read, or shown, where it was.
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115 - open to the end
    sys.stdout = sys.stdout or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    sys.stderr = sys.stderr or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _close_stdout() -> None:
    """Nobody reads any more: leave nothing that the interpreter would try to flush."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
