"""The one table of importers: what each reads, how it is told by content, and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

from redrive_events import BadInput
from redrive_replays.traces import anthropic, chat, claude_code, codex, inspect_logs, otel, recordings, responses
from redrive_replays.traces.material import Material, NoTrace
from redrive_replays.traces.opened import opened
from redrive_replays.traces.swe import mini_swe_agent, swe_agent
from redrive_replays.traces.tau import tau2, tau_bench
from redrive_replays.traces.trace import Trace
from redrive_replays.traces.unread import told_by_value


@dataclass(frozen=True, slots=True)
class Importer:
    """One format: its name, what is read in a person's words, the test of its content, and the reading."""

    name: str
    reads: str
    detect: Callable[[Material], bool]
    read: Callable[[Material], Iterator[Trace]]


# The first that recognises a file reads it, so what is told by more stands above what is told by less.
IMPORTERS: Final = (
    Importer("inspect", "Inspect logs (.eval, .json, a sample, events)", inspect_logs.detect, inspect_logs.read),
    Importer("tau-bench", "tau-bench results (a list of task, reward, traj)", tau_bench.detect, tau_bench.read),
    Importer(
        "tau-bench-display",
        "tau-bench few-shot examples (refused: text only)",
        tau_bench.detect_display,
        tau_bench.refuse_display,
    ),
    Importer(
        "tau2-bench",
        "tau2-bench simulations (one file, a file each, or a list)",
        tau2.detect,
        tau2.read,
    ),
    Importer(
        "tau2-submission",
        "tau2-bench leaderboard entries (refused: figures only)",
        tau2.detect_submission,
        tau2.refuse_submission,
    ),
    Importer(
        "mini-swe-agent",
        "mini-swe-agent trajectories (.traj.json, the oldest a bare list)",
        mini_swe_agent.detect,
        mini_swe_agent.read,
    ),
    Importer(
        "mini-swe-agent-predictions",
        "mini-swe-agent predictions (refused: patches only)",
        mini_swe_agent.detect_predictions,
        mini_swe_agent.refuse_predictions,
    ),
    Importer(
        "swe-agent", "SWE-agent trajectories (.traj, the history or the steps alone)", swe_agent.detect, swe_agent.read
    ),
    *(Importer(row.name, row.reads, row.detect, row.read) for row in otel.importers()),
    Importer("adk-eval-set", otel.EVAL_SET, otel.detect_eval_set, otel.refuse_eval_set),
    Importer("codex", "Codex sessions (old, new, and what codex exec prints)", codex.detect, codex.read),
    Importer(
        "claude-code",
        "Claude Code sessions (files of a session or a sub-agent, stream-json, loglines)",
        claude_code.detect,
        claude_code.read,
    ),
    Importer(
        "claude-code-meta",
        "Claude Code's notes on a sub-agent (refused: no messages)",
        claude_code.detect_meta,
        claude_code.refuse_meta,
    ),
    Importer(
        "openai-responses",
        "OpenAI Responses (items, a request, a response, both, a stream, chains and lines of these)",
        responses.detect,
        responses.read,
    ),
    Importer(
        "anthropic",
        "Anthropic messages (a request, a response, both, a stream, lines of these)",
        anthropic.detect,
        anthropic.read,
    ),
    Importer(
        "openai-chat",
        "OpenAI chat messages (a list, a request, a request with its response, lines of these)",
        chat.detect,
        chat.read,
    ),
)

# The last of them read messages of any kind.
MESSAGES: Final = 3


def importer_of(material: Material) -> tuple[Importer, Material]:
    """The importer that recognises the file's content (its name does not count), and the file as it is read by it.

    What is wrapped is taken out if nothing else is recognised but messages, of which any trace is made.

    Raises:
        NoTrace: none does.
    """
    messages = IMPORTERS[-MESSAGES:]
    for importers, by_name in ((IMPORTERS[:-MESSAGES], True), (messages, False)):
        for view in chain([material], opened(material, by_name=by_name)):
            for importer in importers:
                if importer.detect(view):
                    return importer, view
    if what := told_by_value(material.entries[0].value):
        raise NoTrace(f"{what}, which is not read", place=material.name)
    raise NoTrace("no trace that is known here", hint=f"read are: {readable()}", place=material.name)


def importer_named(name: str) -> Importer:
    """The importer of this name, whatever the content.

    Raises:
        BadInput: there is none.
    """
    for importer in IMPORTERS:
        if importer.name == name:
            return importer
    known = ", ".join((recordings.NAME, *(importer.name for importer in IMPORTERS)))
    raise BadInput(f"no format is called {name!r}; there are: {known}")


def readable() -> str:
    """What can be read, in one line."""
    return "; ".join((recordings.READS, *(importer.reads for importer in IMPORTERS)))
