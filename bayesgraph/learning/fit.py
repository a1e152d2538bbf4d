"""Functions that return a count source, or a fitted network, for a user's table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

import networkx as nx
from numpy.typing import ArrayLike

from bayesgraph.datasets import Dataset, as_dataset
from bayesgraph.datasets.counting import source_of_columns
from bayesgraph.datasets.source import DatasetSource
from bayesgraph.encoding import columns_of, infer_variables
from bayesgraph.encoding.suspicious import Examined, warn_of_columns
from bayesgraph.errors import DataError, DataTypeError, GraphError, quoted, unknown_variable
from bayesgraph.graphs import build_dag
from bayesgraph.learning.em import Iterations, expectation_maximization
from bayesgraph.learning.parameters import estimate_network
from bayesgraph.learning.settings import changed_settings
from bayesgraph.learning.smoothing import SmoothingLike, as_smoothing, one_of
from bayesgraph.learning.structure import Structure
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.models.training import Training
from bayesgraph.statistics import TableSource
from bayesgraph.typing import RandomState, TableLike
from bayesgraph.variables import Discrete, Name, Variable

Graph: TypeAlias = "Iterable[tuple[Name, Name]] | nx.DiGraph[Any] | Structure | BayesianNetwork"


def count_source(
    table: Any,
    target: Name | None = None,
    *,
    categorical: Any = None,
    sample_weight: ArrayLike | None = None,
) -> TableSource | DatasetSource:
    """Return a count source for a table, from which structure learners request statistics.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, mapping from name to column, or dataset
        A dataset, such as a folder of Parquet files, is read in passes; see `open_dataset`.
    target : name, optional
        The class variable, which is treated as discrete whatever its type.
    categorical : list of column names or "all", optional
        Numeric columns to treat as discrete.
    sample_weight : array_like, shape (n_rows,), or name of a column of a dataset, optional

    Examples
    --------
    >>> source = count_source({"a": ["x", "y", "x"], "b": [1.0, 2.0, 1.5]}, target="a")
    >>> source.target
    Discrete('a', ['x', 'y'])
    """
    data = as_dataset(table)
    columns = columns_of(table if data is None else data.schema.empty_table())
    if target is not None and target not in columns:
        raise unknown_variable(target, columns, where="The table")
    if data is not None:
        return source_of_columns(
            data,
            data.names,
            target=None if target is None else str(target),
            categorical=categorical,
            weight=sample_weight,
        )
    if target is not None and categorical is None:
        categorical = [target]
    elif target is not None and not isinstance(categorical, str):
        categorical = [*categorical, target]
    encoded = infer_variables(columns, categorical)
    by_name = {v.name: v for v in encoded.variables}
    chosen = None if target is None else by_name[target]
    assert chosen is None or isinstance(chosen, Discrete)  # as it is in `categorical`
    return TableSource(encoded, chosen, sample_weight)


def fit_network(
    arcs: Graph,
    table: TableLike,
    *,
    variables: Iterable[Variable] = (),
    categorical: Iterable[Name] | Literal["all"] | None = None,
    smoothing: SmoothingLike = "dirichlet",
    sample_weight: ArrayLike | None = None,
    missing: Literal["available", "em"] | None = None,
    hidden: Iterable[Discrete] = (),
    restarts: int = 1,
    max_iter: int = 1000,
    tol: float = 1e-6,
    random_state: RandomState = 0,
    check_columns: bool = True,
) -> BayesianNetwork:
    """Estimate the parameters of a given graph from a table.

    Parameters
    ----------
    arcs : iterable of (parent, child) pairs, a networkx.DiGraph, a Structure or a network
        The graph. With pairs, every column of the table that is in no arc becomes a node
        without arcs; the other types list their nodes. A Structure and a network also define
        the variables, with states that the table may lack.
    table : pandas, polars or pyarrow table, mapping from name to column, or dataset
        Missing values: see `missing`. A dataset, such as a folder of Parquet files, is read in
        passes, once in each iteration of EM; see :func:`bayesgraph.open_dataset`.
    variables : iterable of Variable, optional
        Variables of columns that may not contain all states, with the states in order; states of
        other columns are sorted. A Binned gives a column of numbers its intervals. A value that is
        not a state raises an error.
    categorical : list of column names or "all", optional
        Numeric columns to treat as discrete.
    smoothing : {"dirichlet", "m", "marginal", "backoff"}, float or Smoothing
        Smoothing of tables and Gaussians; a number is the Dirichlet pseudo-count for each entry
        of a table. ``Smoothing(estimation="ml")`` is maximum likelihood.
    sample_weight : array_like, shape (n_rows,), or name of a column of a dataset, optional
    missing : {"available", "em"}, optional
        * "available": each CPD is estimated from the rows in which child and parents are
          observed. The default.
        * "em": each iteration of expectation maximisation (Dempster, Laird, Rubin 1977)
          completes every row by its posterior. EM uses all observed values, and is valid if
          values are missing at random (whether a value is missing depends on observed values
          alone). A continuous variable may be missing only in rows in which none of its
          descendants is observed. ``network.history`` has the course of EM.
    hidden : iterable of Discrete, optional
        Variables of the graph that the table lacks; they need "em", which is then the default.
    restarts : int
        Number of starts of EM; the best result is returned. With hidden variables the starts
        may end in different local maxima, with permuted states.
    max_iter : int
        Maximum number of iterations of each start; a NotConvergedWarning says if it is reached.
    tol : float
        EM stops when an iteration gains less than this, in nats per row.
    random_state : int or numpy Generator, default 0
        Seed of the starts; None draws different starts each time.
    check_columns : bool, default True
        Whether to warn (once, a SuspiciousColumnsWarning) of columns of a table in memory that look
        wrong: identifiers, integer codes that become Gaussians, constants, numbers as text.

    Examples
    --------
    One of two coins, not recorded which, was thrown twice in each row:

    >>> import bayesgraph as bg
    >>> table = {"a": list("hhhhhtttttht"), "b": list("hhhhhttttthh")}
    >>> coin = bg.Discrete("coin", ["one", "other"])
    >>> net = BayesianNetwork.fit(
    ...     [("coin", "a"), ("coin", "b")], table, hidden=[coin], restarts=3, random_state=0
    ... )
    >>> net.history.converged
    True
    """
    data, columns = opened(table, sample_weight)
    unseen = _checked_hidden(hidden, columns)
    by_em = takes_em(missing, unseen)
    declared = list(variables)
    if isinstance(arcs, (BayesianNetwork, Structure)):
        declared = [*(v for v in arcs.variables if v.name not in unseen), *declared]
        arcs = arcs.graph
    nodes, pairs = _nodes_and_arcs(arcs)
    if nodes is not None:
        for node in nodes:
            if node not in columns and node not in unseen:
                raise unknown_variable(node, [*columns, *unseen], where="The table")
        columns = {name: column for name, column in columns.items() if name in set(nodes)}
    # Called for its errors only: a cycle or an unknown name is refused before the table is read.
    build_dag([*columns, *unseen], pairs)
    chosen = as_smoothing(smoothing)
    iterations = Iterations(restarts, max_iter, tol, random_state)
    source = plain_source(data, columns, declared, categorical, sample_weight, check=check_columns)
    structure = Structure((*source.variables, *unseen.values()), tuple(pairs))
    if by_em:
        network = expectation_maximization(structure, source, chosen, iterations)
    else:
        network = estimate_network(structure, source, chosen)
    settings = {"smoothing": smoothing, "missing": missing, "categorical": categorical}
    settings |= {"hidden": sorted(unseen, key=repr) or ()}
    settings |= {"restarts": restarts, "max_iter": max_iter, "tol": tol}
    return noted(network, source, "BayesianNetwork.fit", changed_settings(fit_network, settings))


def noted(
    network: BayesianNetwork,
    source: TableSource | DatasetSource,
    method: str,
    settings: Mapping[str, str],
) -> BayesianNetwork:
    """Return a network that was just fitted, with a note of what it was fitted on."""
    rows = source.training_rows()
    network.training = Training(method, len(source.variables), rows, settings)
    return network


def opened(table: Any, sample_weight: Any) -> tuple[Dataset | None, dict[Name, Any]]:
    """Return a table as a dataset, None if it is none, and its columns but that of the weights."""
    data = as_dataset(table)
    columns = columns_of(table if data is None else data.schema.empty_table())
    if isinstance(sample_weight, str):
        columns.pop(sample_weight, None)
    return data, columns


def plain_source(
    data: Dataset | None,
    columns: dict[Name, Any],
    declared: Iterable[Variable],
    categorical: Any,
    sample_weight: Any,
    *,
    check: bool,
) -> TableSource | DatasetSource:
    """Return a count source without a class over columns of a table or of a dataset.

    `declared` are variables of some of the columns; `check` says whether to warn of columns of a
    table that look wrong.

    Raises
    ------
    UnknownVariableError
        For a variable that is no column.
    """
    by_name = {v.name: v for v in declared}
    for name in by_name:
        if name not in columns:
            raise unknown_variable(name, columns, where="variables=: the table")
    if data is None:
        encoded = infer_variables(columns, categorical, by_name)
        if check:
            free = columns.keys() - by_name.keys()
            warn_of_columns(Examined.of(encoded), None, lambda: columns, gaussian=free)
        return TableSource(encoded, sample_weight=sample_weight)
    names = [str(name) for name in columns]
    return source_of_columns(
        data, names, categorical=categorical, declared=by_name, weight=sample_weight
    )


def _nodes_and_arcs(arcs: Any) -> tuple[list[Name] | None, list[Any]]:
    """Return the nodes and arcs of a networkx graph; for (parent, child) pairs, None and arcs."""
    if isinstance(arcs, nx.DiGraph):
        return list(arcs.nodes), list(arcs.edges)
    if isinstance(arcs, (str, bytes)):
        raise DataTypeError(f"Expected arcs as (parent, child) pairs; got {arcs!r:.80}.")
    # Views of edges of networkx are iterable and callable.
    if callable(arcs) and not isinstance(arcs, Iterable):
        name = getattr(arcs, "__name__", "learner")
        raise GraphError(
            "Expected arcs as (parent, child) pairs, a networkx.DiGraph or the Structure that a "
            f"learner returns; got the function {name!r}. Call it: "
            f"fit({name}(bayesgraph.count_source(table)), table)."
        )
    try:
        return None, [arc if isinstance(arc, str) else tuple(arc) for arc in arcs]
    except TypeError as error:
        raise GraphError(
            f"Expected arcs as (parent, child) pairs or a networkx.DiGraph; got {arcs!r:.80}."
        ) from error


def takes_em(missing: str | None, hidden: Mapping[Name, Discrete]) -> bool:
    """Return whether to fit by EM: if `missing` is "em", or if there are hidden variables."""
    one_of("missing", missing, (None, "available", "em"))
    if missing == "available" and hidden:
        raise DataError(
            f"hidden={quoted(hidden)} takes missing='em': no row is complete in a hidden variable."
        )
    return missing == "em" or bool(hidden)


def _checked_hidden(hidden: Any, columns: Mapping[Name, Any]) -> dict[Name, Discrete]:
    found: dict[Name, Discrete] = {}
    for variable in [hidden] if isinstance(hidden, Variable) else list(hidden):
        if not isinstance(variable, Discrete):
            raise DataTypeError(f"hidden= takes Discrete variables; got {variable!r}.")
        if variable.name in columns:
            raise DataError(
                f"hidden= names {variable.name!r}, which is a column of the table. A column with "
                "missing values goes with missing='em' as it is."
            )
        found[variable.name] = variable
    return found
