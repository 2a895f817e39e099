"""What is known of the notes, each fact from an observation that answers what was asked."""

from __future__ import annotations

import redrive as rd
from notes_analyst.world import SHOWN_CHARS, Counted, Note


@rd.verifier("list_notes", commits=["notes", "counts", "longest"])
def all_notes(call: rd.Call, seen: list[str] | str, facts: rd.Facts) -> rd.Facts | rd.Refused:
    """The names; where there are none, nothing is left to be counted."""
    if isinstance(seen, list):
        return {"notes": seen}
    return {"notes": [], "counts": {}, "longest": None} if seen == "(empty)" else rd.Refused("shape: no list of names")


@rd.verifier("word_count", commits=["counts"])
def right_count(call: rd.Call, seen: Counted, facts: rd.Facts) -> rd.Facts | rd.Refused:
    """The count of the note that was asked for, beside those that are known."""
    if seen.name != call.arguments["name"]:
        return rd.Refused("origin: another note was counted")
    counts = {**facts.get("counts", {}), seen.name: seen.characters}
    return {"counts": rd.Supersedes(counts) if "counts" in facts else counts}


@rd.verifier("read_note", commits=["longest"])
def longest_note(call: rd.Call, seen: Note, facts: rd.Facts) -> rd.Facts | rd.Refused:
    """Once all notes are counted: the longest, when it is the one that was read and is as long as it was counted."""
    if seen.name != call.arguments["name"]:
        return rd.Refused("origin: another note was read")
    counts = facts.get("counts", {})
    if set(counts) != set(facts.get("notes", ())) or seen.name != max(counts, key=counts.__getitem__):
        return {}
    if len(seen.text) + seen.cut != counts[seen.name] or len(seen.text) > SHOWN_CHARS:
        return rd.Refused("evidence: the note is not as long as it was counted")
    return {"longest": seen.name}


VERIFIERS = (all_notes, right_count, longest_note)
