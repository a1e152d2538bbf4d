"""Counts of columns beside the same others: those of families, alone and in blocks."""

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.statistics import Extensions, Family, Numbered, TableSource
from bayesgraph.tables import Table

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
    groups = ((0, 1), (2, 3)), ((2,), (0,)), ((3, 0), ())
    request = Extensions(Numbered(variables), groups)
    cells = source.extensions(request)
    at = 0
    for new, others in groups:
        for column in new:
            family = Family(tuple(variables[i] for i in (column, *others)))
            expected = source.families([family], keep=False)[family].counts
            part = cells[at : at + expected.size].reshape(expected.shape)
            np.testing.assert_allclose(part, expected, rtol=1e-12)
            at += expected.size
    assert at == len(cells) == request.n_cells
    assert source.passes == 0
