"""What becomes fact: each observation is checked for its origin, its shape, and evidence from another source."""

from __future__ import annotations

import re

import redrive as rd
from login_redirect.world import CALLBACK, FILES, KEY_TEST, LOGIN, REDIRECT_TEST, Found, RanTest, SourceFile

# What was reported: a page was asked for, and the user lands on the default.
_REPORTED = re.compile(r"FAILED: expected '/[^']+', got '/'")
_MISMATCH = re.compile(r"FAILED: producer '([^']+)' != consumer '([^']+)'")

# The callback's own default is a part of what is looked for: the answer names it.
_KEYS = {
    LOGIN: ("producer_key", re.compile(r"session\['(\w+)'\] = ")),
    CALLBACK: ("consumer_key", re.compile(r"session\['(\w+)'\] \?\? '/'")),
}


@rd.verifier("run_test", commits=["reproduced", "contract_mismatch"])
def right_test(call: rd.Call, seen: RanTest, facts: rd.Facts) -> rd.Facts | rd.Refused:
    """The test that was asked for ran, and its exit code and its output tell the same story."""
    if seen.test != call.arguments["test"]:
        return rd.Refused("origin: another test ran")
    if (seen.exit_code != 0) != seen.output.startswith("FAILED"):
        return rd.Refused("evidence: exit code and output disagree")
    if seen.test == REDIRECT_TEST:
        return {"reproduced": rd.Supersedes(bool(_REPORTED.match(seen.output)))}
    if seen.test == KEY_TEST and (said := _MISMATCH.match(seen.output)):
        return _mismatch(said[1], said[2], facts)
    return {}


def _mismatch(producer: str, consumer: str, facts: rd.Facts) -> rd.Facts | rd.Refused:
    """What the test says of the keys is believed once both were read in the sources, and are the same."""
    read = facts.get("producer_key"), facts.get("consumer_key")
    if None in read:
        return {}
    if read != (producer, consumer):
        return rd.Refused("evidence: the sources have other keys than the test names")
    return {"contract_mismatch": producer != consumer}


@rd.verifier("search_code", commits=["search_completed", "search_matches"])
def right_search(call: rd.Call, seen: Found, facts: rd.Facts) -> rd.Facts | rd.Refused:
    """The hits are of this query: each lies in a known file and has a word of the query."""
    query = call.arguments["query"]
    if seen.query != query:
        return rd.Refused("origin: another query was searched for")
    for hit in seen.hits:
        if hit.path not in FILES or not any(word in hit.text for word in query.split()):
            return rd.Refused(f"evidence: no hit for this query at {hit.path}:{hit.line}")
    return {"search_completed": True, "search_matches": rd.Supersedes([hit.model_dump() for hit in seen.hits])}


@rd.verifier("read_file", commits=["files_read", "producer_key", "consumer_key"])
def right_file(call: rd.Call, seen: SourceFile, facts: rd.Facts) -> rd.Facts | rd.Refused:
    """The file that was asked for, in which the search's hits stand where the search found them."""
    if seen.path != call.arguments["path"]:
        return rd.Refused("origin: another file was read")
    lines = dict(enumerate(seen.text.splitlines(), start=1))
    for hit in facts.get("search_matches", ()):
        if hit["path"] == seen.path and lines.get(hit["line"]) != hit["text"]:
            return rd.Refused(f"evidence: line {hit['line']} is not what the search found")
    files = facts.get("files_read", [])
    found: dict[str, object] = {"files_read": rd.Supersedes([*files, seen.path] if seen.path not in files else files)}
    key, pattern = _KEYS[seen.path]
    if said := pattern.search(seen.text):
        found[key] = said[1]
    return found


VERIFIERS = (right_test, right_search, right_file)
