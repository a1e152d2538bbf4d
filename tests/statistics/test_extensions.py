"""Counts of columns beside the same others: those of families, alone and in blocks."""

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.encoding import Table
from bayesgraph.statistics import Family, TableSource

CARDS = (2, 3, 4, 2)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_extensions_are_families(missing, weighted):
    random = np.random.default_rng(0)
    variables = tuple(bg.Discrete(n, range(r)) for n, r in zip("abcd", CARDS, strict=True))
    codes = np.stack([random.integers(-missing, r, size=300) for r in CARDS], axis=1)
    table = Table(variables, np.asfortranarray(codes.astype(np.int8)), np.empty((300, 0)))
    weights = random.uniform(0, 2, 300) if weighted else None
    source = TableSource(table, None, weights)
    a, b, c, d = variables
    groups = [((a, b), (c, d)), ((c,), (a,)), ((d, a), ())]
    for (columns, others), cells in zip(groups, source.extensions(groups), strict=True):
        parts = np.split(cells, np.cumsum([
            v.cardinality * np.prod([u.cardinality for u in others], dtype=int) for v in columns
        ])[:-1])  # fmt: skip
        for column, part in zip(columns, parts, strict=True):
            family = Family((column, *others))
            expected = source.families([family], keep=False)[family].counts
            np.testing.assert_allclose(part.reshape(expected.shape), expected, rtol=1e-12)
    assert source.passes == 0
