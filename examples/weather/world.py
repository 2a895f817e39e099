"""The weather of one city for three days, and what to wear in it."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

import redrive as rd

# The city as both languages write it.
CITIES: Final = ("Shenzhen", "深圳")


class Day(BaseModel):
    """One day; days count from 1, which is tomorrow."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    day: int
    temperature_c: int
    sky: Literal["cloudy", "rain", "overcast"]


class Forecast(BaseModel):
    """The next days in a city, in order."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    city: str
    days: tuple[Day, ...]


THREE_DAYS: Final = (
    Day(day=1, temperature_c=26, sky="cloudy"),
    Day(day=2, temperature_c=17, sky="rain"),
    Day(day=3, temperature_c=19, sky="overcast"),
)


@rd.tool(effect="read", source="weather service")
def weather_forecast(city: str, days: int) -> Forecast:
    """The weather of the next days in a city: `days` is 1 to 3."""
    if city not in CITIES:
        raise rd.ToolError(f"No forecast for {city!r}. There is one for: {', '.join(CITIES)}.")
    if not 1 <= days <= len(THREE_DAYS):
        raise rd.ToolError(f"No forecast of {days} days. Ask for 1 to {len(THREE_DAYS)}.")
    return Forecast(city=city, days=THREE_DAYS[:days])


@rd.tool(effect="read", source="clothing guide")
def clothing_guide(low_c: int, rain: bool) -> str:
    """What to wear: `low_c` is the lowest temperature to come, `rain` whether it is going to rain."""
    warm = "a windproof jacket over a shirt" if low_c < 20 else "a shirt"
    return f"Wear {warm}." + (" Take rain gear: an umbrella or a raincoat, and shoes that stay dry." if rain else "")


TOOLS: Final = (weather_forecast, clothing_guide)
