"""Settings of all tests. Time is no verdict here: speed is measured by benchmarks, and machines differ."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
