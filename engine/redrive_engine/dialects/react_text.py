"""ReAct text: thought, action and input, or a final answer, under labels in English or Chinese."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from redrive_engine.dialects.reading import Decision, Proposal, Unreadable, summary_of
from redrive_events import BadInput, Content, Json, parse_json, text_of

# What may stand in front of a colon at the beginning of a line, and what it labels.
LABELS: Final = {
    "thought": "thought",
    "思考": "thought",
    "想法": "thought",
    "action": "action",
    "行动": "action",
    "动作": "action",
    "action input": "input",
    "input": "input",
    "行动输入": "input",
    "动作输入": "input",
    "输入": "input",
    "observation": "observation",
    "观察": "observation",
    "观察结果": "observation",
    "final answer": "answer",
    "最终答案": "answer",
    "最终回答": "answer",
    "最終答案": "answer",
    "unable": "unable",
    "无法完成": "unable",
    "escalate": "escalate",
    "转人工": "escalate",
}
_ENDS: Final[Mapping[str, Literal["finish", "unable", "escalate"]]] = {
    "answer": "finish",
    "unable": "unable",
    "escalate": "escalate",
}
# Markdown in front (`**`, `###`, `-`, `1.`), a number behind the label, a colon of either width, markdown again.
# Nothing that was taken is given back, so that a reply of a million blanks is read as fast as any.
_LABEL = re.compile(
    r"^[ \t\ufeff>*_#\-`]*+(?:\d++[.)][ \t]*+)?[*_`]*+("
    + "|".join(sorted(map(re.escape, LABELS), key=len, reverse=True))
    + r")[ \t]*+\d*+[ \t]*+[*_`]*+[ \t]*+[:：][*_]*",  # noqa: RUF001 - the colon of Chinese text
    re.IGNORECASE | re.MULTILINE,
)
# An input on the line of its action, which no label at the beginning of a line finds.
_INLINE = re.compile(r"(?<![ \t])[ \t]++(?:action input|行动输入|动作输入)[ \t]*[:：]", re.IGNORECASE)  # noqa: RUF001
_FENCE = re.compile(r"^\s*```[a-zA-Z]*[ \t]*\n?")
_HINT = 'Reply with "Thought:", then either "Action:" and "Action Input:" with a JSON object, or "Final Answer:".'


class _Section(NamedTuple):
    """A label's meaning and the text under it."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class ReActText:
    """The first action or final word counts; what comes behind it is dropped, as is any observation, and it is said so.

    ``Unable:`` and ``Escalate:`` are final words too, where the contract grants them.
    """

    name: str = "react"

    def read(self, content: Content) -> Decision | Unreadable:
        """The decision in a reply, whatever markdown is strewn over it."""
        sections = list(_sections(text_of(content)))
        place = next((at for at, one in enumerate(sections) if one.label == "action" or one.label in _ENDS), None)
        if place is None:
            return Unreadable("neither an action nor a final answer", f"No action and no final answer. {_HINT}")
        summary = summary_of(" ".join(one.text.strip("`*") for one in sections[:place] if one.label == "thought"))
        made_up = [one for one in sections[:place] if one.label == "observation"]
        if sections[place].label == "action":
            return _action(sections[place:], summary, made_up)
        if not (answer := _unwrapped(sections[place].text)):
            return Unreadable("an answer without words", f"The final answer is empty. {_HINT}")
        dropped = _dropped([*made_up, *sections[place + 1 :]])
        return Decision(_ENDS[sections[place].label], summary, answer=answer, dropped=dropped)


def _action(sections: list[_Section], summary: str, made_up: list[_Section]) -> Decision | Unreadable:
    name, *inline = _INLINE.split(sections[0].text, maxsplit=1)
    tool = name.strip().partition("\n")[0].strip("*_` \t\r")
    if not tool:
        return Unreadable("an action without a name", f"The action has no name. {_HINT}")
    behind = [one.text for one in sections[1:2] if one.label == "input"]
    try:
        arguments = _object(*(inline or behind or [""]))
    except BadInput as error:
        return Unreadable(error.problem, f"The action input is {error.problem}. {_HINT}")
    dropped = _dropped([*made_up, *sections[1 + len(behind) :]])
    return Decision("call", summary, (Proposal(tool, arguments=arguments),), dropped=dropped)


def _sections(text: str) -> Iterator[_Section]:
    """What stands under each label; an input is one only right behind an action, else it is a word like others."""
    found: list[re.Match[str]] = []
    for label in _LABEL.finditer(text):
        if LABELS[label[1].lower()] != "input" or (found and LABELS[found[-1][1].lower()] == "action"):
            found.append(label)
    ends = [*(behind.start() for behind in found[1:]), len(text)]
    for label, end in zip(found, ends, strict=False):
        yield _Section(LABELS[label[1].lower()], text[label.end() : end].strip())


def _dropped(sections: list[_Section]) -> tuple[str, ...]:
    """What nobody acts on, by its labels: what a reply said behind its decision, and observations it made up."""
    return tuple(dict.fromkeys(one.label for one in sections if one.label != "thought"))


def _unwrapped(text: str) -> str:
    """``text`` without the half of a pair of stars that stood around it and its label."""
    text = text.strip()
    return text.removesuffix("**").strip() if text.count("**") % 2 else text


def _object(text: str) -> Json:
    """The JSON object that ``text`` begins with, whatever follows it; nothing at all is no arguments."""
    text = _FENCE.sub("", text).strip().strip("`").strip()
    if not text:
        return {}
    try:
        _, end = json.JSONDecoder().raw_decode(text)
        value = parse_json(text[:end])
    except (ValueError, RecursionError, BadInput) as error:
        raise BadInput("not a JSON object") from error
    if not isinstance(value, dict):
        raise BadInput("not a JSON object")
    return value
