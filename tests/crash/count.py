"""What was really done, so that nobody has to believe it."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass
class Count:
    """Crash points: moments at which the power failed under a caller or an agent that pays, and processes killed.

    ``faults`` are the errors that the disk gave beside them.
    """

    power: int = 0
    effects: int = 0
    kills: int = 0
    faults: int = 0

    def __iadd__(self, other: Count) -> Count:
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))
        return self

    def __str__(self) -> str:
        return (
            f"{self.points:,} crash points ({self.power:,} of power under a caller, {self.effects:,} under an agent, "
            f"{self.kills:,} processes killed) and {self.faults:,} errors of the disk"
        )

    @property
    def points(self) -> int:
        """Crash points of all kinds."""
        return self.power + self.effects + self.kills
