"""Whether there is a price for each model that a contract lets be asked."""

from __future__ import annotations

from collections.abc import Iterator

from redrive_engine.checking.subject import Flaw, Subject


def models_of(subject: Subject) -> list[str]:
    """The models that a run may ask and that cost something: its own, and the stronger ones that can come."""
    stronger = subject.terms.models[: subject.terms.recovery.count("stronger_model")]
    return [name for name in dict.fromkeys([subject.terms.model or subject.model, *stronger]) if name]


def unpriced(subject: Subject) -> Iterator[Flaw]:
    """Where cost is limited, what makes it impossible to count."""
    budget, place = subject.terms.budget, "contract.budget.cost"
    names = models_of(subject)
    if budget.cost_micros is None or not names:
        return
    if subject.prices is None:
        yield Flaw(place, f"cost is limited, and there is no table of prices that says what {', '.join(names)} costs")
        return
    for name in names:
        if subject.prices.of(name) is None:
            yield Flaw(place, f"cost is limited, and there is no price for {name!r}")
    if subject.prices.currency != budget.currency:
        yield Flaw(place, f"the contract counts {budget.currency}, the prices are in {subject.prices.currency}")
