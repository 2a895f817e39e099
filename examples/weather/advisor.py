"""The agent that advises on clothing: what it may ask, what watches over it, and how it is to reply."""

from __future__ import annotations

from typing import Any, Final

import redrive as rd
from weather.evidence import VERIFIERS
from weather.script import PLAIN
from weather.world import TOOLS

GOAL: Final = "How is the weather in Shenzhen for the next three days, and what should I wear?"

TAUGHT: Final = "\n".join(
    f"{tool.declaration.name}({', '.join(tool.arguments.names)}): {tool.declaration.description}" for tool in TOOLS
)
PROMPT: Final = f"""\
You advise on clothing for the weather, with these tools:
{TAUGHT}

Reply with one of these, and nothing behind it:

Thought: one sentence of what you make of what you know, and what you intend
Action: the name of a tool
Action Input: a JSON object

Thought: one sentence
Final Answer: the weather and the clothing, in the language of the question
"""


def contract(**terms: Any) -> rd.Contract:
    """Six steps, and all guards; ``terms`` are said otherwise."""
    return rd.Contract(
        **{
            "tools": {"weather_forecast": {"days": {"at_most": 3}}, "clothing_guide": {}},
            "done": {"forecast": rd.ANY, "advice": rd.ANY},
            "budget": rd.Budget(steps=6),
            "guards": rd.Guards(
                repeats=rd.Repeats(times=2, window=4),
                stagnation=rd.Stagnation(thoughts=2, similarity_percent=85),
                warn=True,
                last_step=True,
            ),
            "dialect": "react",
            "partial": "The next three days: {outlook}.\n{advice}\nMore is not known.",
            **terms,
        }
    )


def make_agent(*, model: rd.Model | None = None, **terms: Any) -> rd.Agent:
    """The agent, with the scripted model unless another is given."""
    return rd.Agent(
        "weather",
        "1",
        contract(**terms),
        tools=TOOLS,
        verifiers=VERIFIERS,
        model=model or rd.ScriptedModel(PLAIN),
        prompt=PROMPT,
    )


agent = make_agent()
