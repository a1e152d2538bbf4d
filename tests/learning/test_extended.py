"""Information about a child from the rows is that from its tables, to the same bits."""

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.learning.information import (
    ExtendedTables,
    extended_information,
    information_of_rows,
)
from bayesgraph.statistics import Numbered


@pytest.mark.parametrize("missing", [False, True])
def test_information_of_rows_is_that_of_their_tables(missing):
    random = np.random.default_rng(0)
    columns = {}
    for i, n_states in enumerate((2, 5, 3, 7, 4, 2)):
        states = random.integers(n_states, size=60).astype(str).astype(object)
        columns[f"c{i}"] = np.where(missing & (random.random(60) < 0.1), None, states)
    source = bg.count_source(columns)
    numbered = Numbered(source.features)
    groups = [((0, 5), (1, 2, 3, 4)), ((3,), (0,)), ((1, 2), (3, 4, 5))]
    expected = extended_information(ExtendedTables.counted(source, numbered, groups), 5)
    found = information_of_rows(source, numbered, groups, 5)
    assert np.array_equal(np.array(found), np.array(expected))
    assert (found.information[:2] > 0).all()
    assert (found.rows < 60).all() == missing
