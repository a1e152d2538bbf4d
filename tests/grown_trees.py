"""Small tables of columns, and trees that the criteria of the library grow from them."""

import numpy as np

import bayesgraph as bg
from bayesgraph.learning import CodedColumns, Limits, grow_tree
from bayesgraph.tables import Table


def table(**columns):
    """Return a table of lists of text (None where missing) and of numbers (NaN where missing)."""
    variables, codes, values = [], [], []
    for name, column in columns.items():
        if isinstance(column[0], float):
            variables.append(bg.Continuous(name))
            values.append(column)
        else:
            states = sorted({state for state in column if state is not None}, key=repr)
            variables.append(bg.Discrete(name, states))
            codes.append([-1 if s is None else states.index(s) for s in column])
    n = len(column)
    variables.sort(key=lambda v: isinstance(v, bg.Continuous))
    return Table(
        tuple(variables),
        np.array(codes, dtype=np.int32).reshape(-1, n).T,
        np.array(values, dtype=np.float64).reshape(-1, n).T,
    )


def grown(data, y, criterion, weights=None, **limits):
    """Return the tree that a criterion grows."""
    weights = np.ones(len(y)) if weights is None else weights
    columns = CodedColumns.of(data, weights, criterion.n_intervals)
    return grow_tree(columns, np.asarray(y), max(y) + 1, weights, criterion, Limits(**limits))
