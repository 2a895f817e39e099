"""What a model may answer: a log can hold all of it, or it is the adapter's mistake and says so."""

from __future__ import annotations

from typing import Any

import pytest

import redrive as rd
from redrive_events import MemoryLog, ModelReplied, Text


def replying(reply: Any) -> rd.Agent:
    """An agent whose model gives this reply, whatever it is."""
    return rd.Agent("clerk", "1", rd.Contract(tools={}), model=rd.ScriptedModel(lambda *_: reply))


def test_half_a_character_in_a_reply_becomes_the_sign_for_a_broken_one() -> None:
    """A stream that is cut in two may end so, and no log can spell it."""
    run = replying(rd.ModelReplied(content=(Text(text="深\ud83d"),))).run("Say.", log=MemoryLog())
    assert run.status == "finished"
    assert [one.event for one in run.records() if isinstance(one.event, ModelReplied)] == [
        ModelReplied(content=(Text(text="深\ufffd"),))
    ]


@pytest.mark.parametrize("reply", [None, 5, {"content": "hi"}])
def test_what_is_no_reply_names_the_culprit(reply: Any) -> None:
    """An adapter's mistake is no failure of the model: it comes out, and the run can be gone on with."""
    with pytest.raises(TypeError, match="a model answers with a ModelReplied, not with"):
        replying(reply).run("Say.", log=MemoryLog())
