"""What is known of the weather, and of the clothing that goes with it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import redrive as rd
from weather.world import THREE_DAYS, Day, Forecast


@rd.verifier("weather_forecast", commits=["forecast", "outlook"])
def right_forecast(call: rd.Call, seen: Forecast, facts: rd.Facts) -> rd.Facts | rd.Refused:
    """All three days of the city that was asked for; fewer days are no forecast of three."""
    if (seen.city, len(seen.days)) != (call.arguments["city"], call.arguments["days"]):
        return rd.Refused("origin: another forecast")
    if len(seen.days) < len(THREE_DAYS):
        return {}
    return {"forecast": seen.days, "outlook": outlook(seen.days)}


@rd.verifier("clothing_guide", commits=["advice"])
def right_advice(call: rd.Call, seen: str, facts: rd.Facts) -> rd.Facts | rd.Refused:
    """What the guide says of the weather that is known, of its lowest temperature and its rain."""
    if "forecast" not in facts:
        return {}
    low_c = min(day["temperature_c"] for day in facts["forecast"])
    rain = any(day["sky"] == "rain" for day in facts["forecast"])
    if (call.arguments["low_c"], call.arguments["rain"]) != (low_c, rain):
        return rd.Refused("evidence: not the weather of the forecast")
    if "windproof jacket" not in seen or "rain gear" not in seen:
        return rd.Refused("evidence: neither wind nor rain is thought of")
    return {"advice": seen}


def outlook(days: Sequence[Day]) -> str:
    """The days in words, with each drop in temperature."""
    words = [f"{days[0].temperature_c} °C {days[0].sky}"]
    for before, day in pairwise(days):
        drop = before.temperature_c - day.temperature_c
        words.append(f"{day.temperature_c} °C {day.sky}" + (f" (a drop of {drop} °C)" if drop > 0 else ""))
    return ", ".join(words)


VERIFIERS = (right_forecast, right_advice)
