"""A plugin of pytest: any example that fails is enough, not the smallest, and they are the same each time."""

from __future__ import annotations

from hypothesis import Phase, settings

settings.register_profile("hasty", phases=[Phase.explicit, Phase.generate], derandomize=True, database=None)
settings.load_profile("hasty")
