"""The language model's double: what it says, turn by turn, in English and Chinese."""
# ruff: noqa: RUF001 - the colons of Chinese text

from __future__ import annotations

from typing import Any, Final

from redrive_events import canonical


def act(thought: str, tool: str, **given: Any) -> str:
    """A reply that asks for a tool."""
    arguments = ", ".join(f'"{name}": {canonical(value).decode()}' for name, value in given.items())
    return f"Thought: {thought}\nAction: {tool}\nAction Input: {{{arguments}}}"


def answer(thought: str, words: str) -> str:
    """A reply that ends the run."""
    return f"Thought: {thought}\nFinal Answer: {words}"


FORECAST: Final = act(
    "I know nothing of the weather yet, so I ask for the forecast.", "weather_forecast", city="Shenzhen", days=3
)
GUIDE: Final = act(
    "Day 2 is 9 °C colder than day 1, and it rains; I look up what to wear at 17 °C in rain.",
    "clothing_guide",
    low_c=17,
    rain=True,
)
ANSWER: Final = answer(
    "Weather and clothing are known.",
    "26 °C and cloudy, then 17 °C with rain (a drop of 9 °C), then 19 °C and overcast. "
    "From day 2 on wear a windproof jacket, and take rain gear.",
)
PLAIN: Final = (FORECAST, GUIDE, ANSWER)

# Labels and colons as Chinese models write them, with markdown strewn in.
CHINESE: Final = (
    "**思考：** 还不知道天气，先查询深圳未来三天的预报。\n**行动：** `weather_forecast`\n"
    '**行动输入：** ```json\n{"city": "深圳", "days": 3}\n```',
    "思考：第2天比第1天低9°C，而且有雨，需要查17°C雨天的穿衣建议。\n行动：clothing_guide\n"
    '行动输入：{"low_c": 17, "rain": true}\n（等待结果）',
    "思考：天气和穿衣建议都已经知道了。\n最终答案：未来三天：26°C多云，17°C有雨（降温9°C），19°C阴。第2天起请穿防风外套，并带雨具。",
)
