"""What the tests of formats of networks share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import bayesgraph as bg


def repository() -> list[Path]:
    """Return the paths of the twenty discrete networks of the literature that come along."""
    return sorted(
        source.path for source in bg.examples.networks().values() if source.path.suffix == ".gz"
    )


def gaussian_files() -> list[Path]:
    """Return the paths of the four linear Gaussian networks that come along."""
    return sorted(
        source.path for source in bg.examples.networks().values() if source.path.suffix == ".json"
    )


def assert_same_bits(one: bg.BayesianNetwork, other: bg.BayesianNetwork) -> None:
    """Check names, states, order, families, the bits of all numbers and annotations."""
    assert other == one
    assert [repr(v) for v in other.variables] == [repr(v) for v in one.variables]
    assert other.annotations == one.annotations
    assert other.arc_scores == one.arc_scores
    for left, right in zip(one.cpds, other.cpds, strict=True):
        assert type(left) is type(right)
        assert [v.name for v in left.scope] == [v.name for v in right.scope]
        for name in left.arrays:
            a, b = (np.ascontiguousarray(getattr(cpd, name)) for cpd in (left, right))
            assert a.tobytes() == b.tobytes()


def chest_clinic() -> bg.BayesianNetwork:
    """Return the network of Lauritzen and Spiegelhalter (1988), made by hand."""
    yn = ["yes", "no"]
    a, t, s, l, b, e, x, d = (bg.Discrete(name, yn) for name in "ATSLBEXD")  # noqa: E741
    rows: list[tuple[Any, Any, Any]] = [
        (a, [0.01, 0.99], []),
        (t, [[0.05, 0.95], [0.01, 0.99]], [a]),
        (s, [0.5, 0.5], []),
        (l, [[0.1, 0.9], [0.01, 0.99]], [s]),
        (b, [[0.6, 0.4], [0.3, 0.7]], [s]),
        (e, [[[1, 0], [1, 0]], [[1, 0], [0, 1]]], [l, t]),
        (x, [[0.98, 0.02], [0.05, 0.95]], [e]),
        (d, [[[0.9, 0.1], [0.7, 0.3]], [[0.8, 0.2], [0.1, 0.9]]], [e, b]),
    ]
    return bg.BayesianNetwork([bg.TableCPD(*row) for row in rows])


def largest_difference(one: bg.BayesianNetwork, other: bg.BayesianNetwork) -> float:
    """Return the largest difference of two networks' marginals."""
    mine, others = one.marginals(), other.marginals()
    return max(
        abs(mine[v.name][state] - others[v.name][state])
        for v in one.variables
        for state in v.states
    )
