"""Hypothesis runs the same examples every time, without a clock."""

import pytest
from hypothesis import settings

settings.register_profile("bayesgraph", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("bayesgraph")


@pytest.fixture(autouse=True)
def _skip_what_a_case_is_without(request):
    """Skip a test that cannot apply to a row of the table in cases.py."""
    case = request.node.callspec.params.get("case") if hasattr(request.node, "callspec") else None
    reason = getattr(case, "without", {}).get(getattr(request.node, "originalname", ""))
    if reason:
        pytest.skip(reason)
