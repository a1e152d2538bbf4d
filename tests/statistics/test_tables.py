"""Whole tables under variables known by interval or group."""

import numpy as np

import bayesgraph as bg
from bayesgraph.statistics import discretized
from bayesgraph.tables import columns_of, infer_variables


def test_columns_change_in_their_places():
    columns = columns_of(
        {
            "a": [1.0, 2.0, np.nan],
            "b": ["x", "y", "z"],
            "c": [5.0, 6.0, 7.0],
            "d": [None, "q", "p"],
            "e": [-1.0, 0.0, 1.0],
        }
    )
    table = infer_variables(columns)
    a, _, c, d, _ = table.variables
    new = (
        bg.Binned("a", [1.5]),
        bg.Grouped("b", [["x", "z"], ["y"]]),
        c,
        d,
        bg.Binned("e", [-0.5, 0.5]),
    )
    found = discretized(table, new)
    assert found.variables == new
    assert [found.column(v).tolist() for v in new] == [
        [0, 1, -1],
        [0, 1, 0],
        [5.0, 6.0, 7.0],
        [-1, 1, 0],
        [0, 1, 2],
    ]
    assert not found.complete
    assert discretized(table, table.variables) is table
    assert a in table.variables


def test_a_state_that_is_in_no_group_is_missing():
    table = infer_variables(columns_of({"b": ["x", "y", "z"]}))
    found = discretized(table, [bg.Grouped("b", [["x", "z"]])])
    assert found.codes.tolist() == [[0], [-1], [0]]
