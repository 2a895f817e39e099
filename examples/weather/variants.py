"""The same agent with models that repeat themselves, stand still, ramble, run out of steps, and learn."""
# ruff: noqa: RUF001 - the colons of Chinese text

from __future__ import annotations

import redrive as rd
from weather.advisor import make_agent
from weather.script import ANSWER, CHINESE, FORECAST, GUIDE, PLAIN, act, answer

MADE_UP = "30 °C and sunny"
UNSURE = "I should think about what this weather means for the clothing before I go on."
UNSURE_AGAIN = "I should think about what this weather means for clothing, before I go on…"
UNSURE_CHINESE = ("思考：我需要先想一想这样的天气该穿什么衣服。", "思考：我需要先想一想，这样的天气应该穿什么衣服。")
FACED = "The question is open."


def speaking(*replies: str, **terms: object) -> rd.Agent:
    """A model that says these replies, turn by turn."""
    return make_agent(model=rd.ScriptedModel(replies), **terms)


def chinese() -> rd.Agent:
    """Thoughts, actions and answer in Chinese, with full-width colons and stray markdown."""
    return speaking(*CHINESE)


def repeating() -> rd.Agent:
    """The model asks three times for the same forecast, with another reason each time."""
    return speaking(
        FORECAST,
        act("Did I read that right? Better to look once more.", "weather_forecast", days=3, city="Shenzhen"),
        act("A drop of nine degrees seems large; a third look will tell.", "weather_forecast", city="Shenzhen", days=3),
        GUIDE,
        ANSWER,
    )


def stagnating() -> rd.Agent:
    """The model thinks the same twice, and does nothing."""
    return speaking(FORECAST, f"Thought: {UNSURE}", f"Thought: {UNSURE_AGAIN}", GUIDE, ANSWER)


def stagnating_in_chinese() -> rd.Agent:
    """The same in Chinese, where no spaces part the words."""
    return speaking(CHINESE[0], *UNSURE_CHINESE, *CHINESE[1:])


def wavering() -> rd.Agent:
    """The model thinks something else each time, so it is only told how to reply."""
    return speaking(FORECAST, f"Thought: {UNSURE}", "Thought: Rain is what matters most here.", GUIDE, ANSWER)


def endless() -> rd.Agent:
    """The model always has one more question, on its last step too."""
    asks = [("Shenzhen", 1), ("Shenzhen", 2), ("Shenzhen", 3), ("Guangzhou", 3), ("Foshan", 3), ("Zhuhai", 3)]
    return speaking(*(act(f"And {city} for {days}?", "weather_forecast", city=city, days=days) for city, days in asks))


def warned() -> rd.Agent:
    """The model dawdles until it is told that one step is left, and then answers."""
    asks = [("Shenzhen", 1), ("Shenzhen", 2), ("Shenzhen", 3), ("Foshan", 3)]
    dawdle = [act(f"And {city} for {days}?", "weather_forecast", city=city, days=days) for city, days in asks]
    return speaking(*dawdle, GUIDE, ANSWER)


def rambling() -> rd.Agent:
    """The model goes on behind its action: it makes up what was observed, acts again, and answers."""
    more = f"Observation: {MADE_UP}\nThought: Fine.\n{GUIDE}\nObservation: shorts\nFinal Answer: Wear shorts."
    return speaking(f"{FORECAST}\n{more}", GUIDE, ANSWER)


def hasty() -> rd.Agent:
    """The model answers first and acts behind it, which is too late."""
    return speaking(f"{answer(FACED, 'Wear what you like.')}\n{FORECAST}", *PLAIN)


def mumbling() -> rd.Agent:
    """The model says something that is neither an action nor an answer, then what it should."""
    return speaking("It will surely be fine.", *PLAIN)


def learning() -> rd.Agent:
    """The model misspells the city, and is given a lesson from that for its next try."""
    wrong = act("I ask for the forecast.", "weather_forecast", city="Shenzen", days=3)
    return speaking(wrong, *PLAIN, reflection="rule")
