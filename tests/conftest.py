"""Hypothesis runs the same examples every time, without a clock."""

from hypothesis import settings

settings.register_profile("bayesgraph", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("bayesgraph")
