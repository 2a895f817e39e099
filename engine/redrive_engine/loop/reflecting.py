"""Lessons from what failed: by a rule, or in the model's own words."""

from __future__ import annotations

from typing import Final

from redrive_events import ModelReplied, ObservationReceived, ReflectionNoted, text_of
from redrive_projections import Call, RunState, called_as, one_line

LESSON_CHARS_MAX: Final = 400
RULE: Final = "a tool failed"
WORDS: Final = (
    "The last action failed. Do not act yet. Say in one sentence what is to be learnt from it for the next try."
)


def by_rule(s: RunState, call: Call, event: ObservationReceived) -> ReflectionNoted:
    """The lesson that needs no model: what was tried, what came of it, and not to do it again as it was."""
    problem = one_line(text_of(event.content), LESSON_CHARS_MAX // 2).rstrip(".")
    lesson = f"Lesson: {called_as(call.tool, call.arguments)} failed ({problem}). Do not repeat it unchanged."
    return ReflectionNoted(lesson=lesson, window=tuple(s.failures), rule=RULE)


def noted(s: RunState, event: ModelReplied) -> ReflectionNoted:
    """The model's own lesson, shortened to what is worth being told again."""
    lesson = one_line(text_of(event.content), LESSON_CHARS_MAX)
    return ReflectionNoted(lesson=f"Lesson: {lesson}" if lesson else "", window=tuple(s.failures))
