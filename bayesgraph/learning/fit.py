"""From a table of the user to a count source or a fitted network."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import networkx as nx
from numpy.typing import ArrayLike

from bayesgraph.encoding import columns_of, infer_variables
from bayesgraph.errors import DataTypeError, GraphError, unknown_variable
from bayesgraph.graph import build_dag
from bayesgraph.learning.parameters import estimate_network
from bayesgraph.learning.smoothing import Smoothing
from bayesgraph.learning.structure import Structure
from bayesgraph.network import BayesianNetwork
from bayesgraph.statistics import TableSource
from bayesgraph.variables import Discrete, Name, Variable


def count_source(
    frame: Any,
    target: Name | None = None,
    *,
    categorical: Any = None,
    sample_weight: ArrayLike | None = None,
) -> TableSource:
    """Return a table as a count source, which structure learners take.

    Parameters
    ----------
    frame : pandas, polars or pyarrow table, or mapping from name to column
    target : name, optional
        The class; discrete whatever its type.
    categorical : list of column names or "all", optional
        Numeric columns to take as discrete.
    sample_weight : array_like, shape (n_rows,), optional

    Examples
    --------
    >>> source = count_source({"a": ["x", "y", "x"], "b": [1.0, 2.0, 1.5]}, target="a")
    >>> source.target
    Discrete('a', ['x', 'y'])
    """
    columns = columns_of(frame)
    if target is not None and target not in columns:
        raise unknown_variable(target, columns, where="The table")
    if target is not None and categorical is None:
        categorical = [target]
    elif target is not None and not isinstance(categorical, str):
        categorical = [*categorical, target]
    table = infer_variables(columns, categorical)
    by_name = {v.name: v for v in table.variables}
    chosen = None if target is None else by_name[target]
    assert chosen is None or isinstance(chosen, Discrete)  # it was named categorical
    return TableSource(table, chosen, sample_weight)


def fit_network(
    arcs: Any,
    frame: Any,
    *,
    variables: Iterable[Variable] = (),
    categorical: Any = None,
    alpha: float = 1.0,
    shrinkage: float = 0.0,
    sample_weight: ArrayLike | None = None,
) -> BayesianNetwork:
    """Return a network of given arcs with parameters from a table.

    See :meth:`bayesgraph.BayesianNetwork.fit`.
    """
    columns = columns_of(frame)
    declared = list(variables)
    if isinstance(arcs, (BayesianNetwork, Structure)):
        declared = [*arcs.variables, *declared]
        arcs = arcs.graph
    if isinstance(arcs, nx.DiGraph):
        nodes = list(arcs.nodes)
        for node in nodes:
            if node not in columns:
                raise unknown_variable(node, columns, where="The table")
        columns = {name: column for name, column in columns.items() if name in arcs}
        pairs = list(arcs.edges)
    else:
        if isinstance(arcs, (str, bytes)):
            raise DataTypeError(f"Expected arcs as (parent, child) pairs; got {arcs!r}.")
        try:
            pairs = [arc if isinstance(arc, str) else tuple(arc) for arc in arcs]
        except TypeError as error:
            raise GraphError(
                f"Expected arcs as (parent, child) pairs or a networkx.DiGraph; got {arcs!r}."
            ) from error
    build_dag(columns, pairs)  # before any work: a cycle or an unknown name is told at once
    smoothing = Smoothing(alpha, shrinkage)
    for variable in declared:
        if variable.name not in columns:
            raise unknown_variable(variable.name, columns, where="variables=: the table")
    table = infer_variables(columns, categorical, {v.name: v for v in declared})
    source = TableSource(table, sample_weight=sample_weight)
    return estimate_network(Structure(table.variables, tuple(pairs)), source, smoothing)
