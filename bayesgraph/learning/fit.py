"""Functions that return a count source, or a fitted network, for a user's table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from inspect import Parameter, signature
from typing import Any, Literal, TypeAlias, TypeVar

import networkx as nx
from numpy.typing import ArrayLike

from bayesgraph.core.arrays import check_flags
from bayesgraph.core.errors import DataError, DataTypeError, GraphError, quoted, unknown_variable
from bayesgraph.core.typing import RandomState, TableLike
from bayesgraph.core.variables import Discrete, Name, Variable
from bayesgraph.graphs import build_dag
from bayesgraph.learning.em import Iterations, expectation_maximization
from bayesgraph.learning.hill_climbing import tabu, unrestricted
from bayesgraph.learning.parameters import estimate_network
from bayesgraph.learning.pc_algorithm import pc
from bayesgraph.learning.spanning import chow_liu, warn_of_lost_links
from bayesgraph.learning.structure import REGISTERED, Structure, changed_settings, held, learned_by
from bayesgraph.models import BayesianNetwork
from bayesgraph.statistics import (
    DatasetSource,
    RowSource,
    SmoothingLike,
    TableSource,
    as_smoothing,
    one_of,
    source_of_columns,
)
from bayesgraph.tables import (
    Dataset,
    Examined,
    Training,
    as_dataset,
    columns_of,
    infer_variables,
    warn_of_columns,
)

# ------------------- Functions that return a count source, or a fitted network, for a user's table


# All structure learners by name, as the modules of all of them are imported above.
LEARNERS = REGISTERED
VariableT = TypeVar("VariableT", bound=Variable)
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
    data, columns = opened(table, sample_weight)
    return plain_source(data, columns, (), categorical, sample_weight, check=False, target=target)


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
          observed. The default. If they are too few beside those of the child, it shrinks towards
          the distribution given fewer parents.
        * "em": each iteration of expectation maximisation (Dempster, Laird, Rubin 1977)
          completes every row by its posterior. EM uses all observed values, and is valid if
          values are missing at random (whether a value is missing depends on observed values
          alone). A continuous variable may be missing only in rows in which none of its
          descendants is observed. ``network.training.history`` has the course of EM.
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
    >>> net.training.history.converged
    True
    """
    data, columns = opened(table, sample_weight)
    latent = [hidden] if isinstance(hidden, Variable) else list(hidden)
    for variable in latent:
        if not isinstance(variable, Discrete):
            raise DataTypeError(f"hidden= takes Discrete variables; got {variable!r}.")
        if variable.name in columns:
            raise DataError(
                f"hidden= names {variable.name!r}, which is a column of the table. A column with "
                "missing values goes with missing='em' as it is."
            )
    unseen = _by_name("hidden", latent)
    by_em = takes_em(missing, unseen)
    declared = list(variables)
    if isinstance(arcs, (BayesianNetwork, Structure)):
        others = {*unseen, *(v.name for v in declared)}  # than the graph defines
        declared += [v for v in arcs.variables if v.name not in others]
        arcs = arcs.graph
    nodes, pairs = _nodes_and_arcs(arcs)
    if nodes is not None:
        for node in nodes:
            if node not in columns and node not in unseen:
                raise unknown_variable(node, [*columns, *unseen], where="The table")
        # Columns that are no nodes of the graph are left out.
        columns = {name: column for name, column in columns.items() if name in set(nodes)}
    # Called for its errors only: a cycle or an unknown name is refused before the table is read.
    build_dag([*columns, *unseen], pairs)
    scheme = as_smoothing(smoothing)
    iterations = Iterations(restarts, max_iter, tol, random_state)
    source = plain_source(data, columns, declared, categorical, sample_weight, check=check_columns)
    structure = Structure((*source.variables, *unseen.values()), tuple(pairs))
    if by_em:
        network = expectation_maximization(structure, source, scheme, iterations)
    else:
        network = estimate_network(structure, source, scheme)
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
    network.training = Training(
        method, len(source.variables), rows, settings, history=network._history
    )
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
    target: Name | None = None,
) -> TableSource | DatasetSource:
    """Return a count source over columns of a table or of a dataset, by default without a class.

    `declared` are variables of some of the columns; `check` says whether to warn of columns that
    look wrong.

    Raises
    ------
    UnknownVariableError
        For a variable that is no column.
    DataError
        If two different variables have one name.
    """
    check_flags(check_columns=check)
    by_name = _by_name("variables", declared)
    free = columns.keys() - by_name.keys()  # their variables are inferred
    for name in by_name:
        if name not in columns:
            raise unknown_variable(name, columns, where="variables=: the table")
    if target is not None and target not in columns:
        raise unknown_variable(target, columns, where="The table")
    if data is None:
        if target is not None and not isinstance(categorical, str):  # "all" includes the class
            categorical = [*(categorical or ()), target]
        encoded = infer_variables(columns, categorical, by_name)
        if check:
            warn_of_columns(Examined.of(encoded), None, lambda: columns, free=free, gaussian=free)
        class_: Any = None if target is None else encoded.variables[list(columns).index(target)]
        return TableSource(encoded, class_, sample_weight)
    source = source_of_columns(
        data,
        [str(name) for name in columns],
        target=None if target is None else str(target),
        categorical=categorical,
        declared=by_name,
        weight=sample_weight,
    )
    if check:
        source.warn_of_columns(lambda: columns, free=free, gaussian=free)
    return source


def _by_name(parameter: str, variables: Iterable[VariableT]) -> dict[Name, VariableT]:
    """Return the variables of a parameter by name; raise a DataError if two share one."""
    by_name: dict[Name, VariableT] = {}
    for variable in variables:
        if by_name.setdefault(variable.name, variable) != variable:
            raise DataError(
                f"{parameter}= has two variables named {variable.name!r}: "
                f"{by_name[variable.name]!r:.80} and {variable!r:.80}. Leave one of them out."
            )
    return by_name


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
            f"fit({name}(bayesgraph.learning.count_source(table)), table)."
        )
    try:
        # A text is no pair, not even "ab": as it is, it is refused later.
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


# ------------------------ Networks learned from tables without a class: structure, then parameters


Learner: TypeAlias = Callable[..., Structure]

# Learners of general structures, by the names of `method=`.
METHODS: dict[str, Learner] = {
    "hill_climb": partial(unrestricted, max_parents=None),
    "tabu": tabu,
    "pc": pc,
    "chow_liu": chow_liu,
}


# Why a method does not take an option, or what stands for it, by method and option.
_REASONS: dict[tuple[Any, str], str] = {
    **{
        (name, "order"): " (tiers=list(order) is an order)" for name in ("hill_climb", "tabu", "pc")
    },
    ("chow_liu", "tiers"): " (directions in a tree follow from its root)",
    ("chow_liu", "max_parents"): " (each variable of a tree has one parent)",
    ("chow_liu", "score"): " (the tree maximises the likelihood)",
    ("pc", "max_parents"): " (max_given= limits its tests)",
    ("pc", "score"): " (alpha= is the level of its tests)",
}


class Learning:
    """How a network is learned: see the parameters of `BayesianNetwork.learn`.

    Options that are None are not given.

    Raises
    ------
    DataError
        For an unknown method, or an option that the method does not take.
    """

    def __init__(
        self, method: str | Learner, smoothing: Any, missing: str | None, options: Mapping[str, Any]
    ) -> None:
        if callable(method):
            learner, title = method, getattr(method, "__name__", "learner")
        else:
            one_of("method", method, METHODS)
            learner, title = METHODS[method], repr(method)
        options = {name: value for name, value in options.items() if value is not None}
        self._learner = partial(learner, **options)
        self._smoothing, self._by_em = as_smoothing(smoothing), takes_em(missing, {})
        # The options of a learner are its keyword-only parameters.
        parameters = signature(learner).parameters.values()
        # A function with `**options` takes them all.
        if any(p.kind is Parameter.VAR_KEYWORD for p in parameters):
            return
        names = [p.name for p in parameters if p.kind is Parameter.KEYWORD_ONLY]
        wrong = [name for name in options if name not in names]
        if wrong:
            raise DataError(
                f"method={title} does not take {quoted(wrong)}"
                f"{_REASONS.get((method, wrong[0]), '')}; it takes {quoted(names)}."
            )

    def structure(self, source: Any) -> Structure:
        """Return the structure that a count source leads to."""
        return learned_by("method", self._learner, source, self._smoothing)

    def network(self, structure: Structure, source: RowSource) -> BayesianNetwork:
        """Return a structure's network with parameters estimated from a source."""
        if self._by_em:
            return expectation_maximization(structure, source, self._smoothing, Iterations())
        return estimate_network(structure, source, self._smoothing)


def learn_network(
    table: TableLike,
    *,
    method: str | Callable[..., Structure] = "hill_climb",
    required: Iterable[tuple[Name, Name]] | None = None,
    forbidden: Iterable[tuple[Name, Name]] | None = None,
    tiers: Iterable[Any] | None = None,
    max_parents: int | None = None,
    missing: Literal["available", "em"] | None = None,
    variables: Iterable[Variable] = (),
    categorical: Iterable[Name] | Literal["all"] | None = None,
    smoothing: SmoothingLike = "dirichlet",
    sample_weight: ArrayLike | None = None,
    check_columns: bool = True,
    **options: Any,
) -> BayesianNetwork:
    """Learn a graph over all columns of a table, and its parameters; there is no class.

    Columns of text, categories and booleans are discrete, numbers continuous. Discrete
    variables have no continuous parents. The same table gives the same network.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, mapping from name to column, or dataset
        A dataset, such as a folder of Parquet files, is read in passes: one or two for each
        change of the graph; see :func:`bayesgraph.open_dataset`.
    method : {"hill_climb", "tabu", "pc", "chow_liu"} or callable, default "hill_climb"
        * "hill_climb": change the arc that raises the score most, until none does; options
          `score` ("bic", "aic", "bdeu", "likelihood"), `ess` and `restarts`, see
          :func:`bayesgraph.learning.unrestricted`;
        * "tabu": the same, and past local maxima; also `length` and `patience`, see
          :func:`bayesgraph.learning.tabu`;
        * "pc": tests of conditional independence; options `alpha` and `max_given`, see
          :func:`bayesgraph.learning.pc`;
        * "chow_liu": the tree of the highest likelihood; option `root`, see
          :func:`bayesgraph.learning.chow_liu`;
        * a function from a count source and a Smoothing to a Structure.

        None is the best of all: of 10,000 rows of the network alarm "hill_climb" and "tabu" miss
        or invent 22 arcs and "pc" 5, of child 4 and 11. K2 is "hill_climb" with ``score="bdeu"``
        and ``tiers=list(order)``; GES and MMHC are not here.
    required, forbidden : iterable of (parent, child), optional
        Arcs; "chow_liu" ignores their directions.
    tiers : iterable of names or lists of names, optional
        Tiers in order of time: no arc leads from a tier to an earlier one. Not for "chow_liu".
    max_parents : int, optional
        Maximum number of parents of a variable; by default only the score limits them. Not for
        "pc" and "chow_liu".
    missing : {"available", "em"}, optional
        How parameters are estimated, as in `fit`. The structure always takes, for each score or
        test, the rows in which its variables are observed.
    variables, categorical, smoothing, sample_weight, check_columns
        As in `fit`.
    **options
        Of the method.

    Returns
    -------
    BayesianNetwork
        Its `arc_scores` are those of the method, in nats per row.

    Raises
    ------
    DataError
        For an unknown method, or an option that the method does not take.
    GraphError, UnknownVariableError
        If arcs or tiers contradict each other, or name a variable that is no column.

    Examples
    --------
    >>> rows = {"rain": list("nnnnyyyy") * 10, "wet": list("nnnyyyyy") * 10}
    >>> rows["coin"] = list("ht" * 20 + "th" * 20)
    >>> BayesianNetwork.learn(rows, tiers=["rain", "wet"])
    BayesianNetwork with 3 variables, 1 arcs and 4 parameters
    """
    required, forbidden, tiers = map(held, (required, forbidden, tiers))
    rules = {"required": required, "forbidden": forbidden, "tiers": tiers}
    chosen = {**rules, "max_parents": max_parents, **options}
    setup = Learning(method, smoothing, missing, chosen)
    data, columns = opened(table, sample_weight)
    source = plain_source(data, columns, variables, categorical, sample_weight, check=check_columns)
    network = setup.network(setup.structure(source), source)
    if check_columns:
        warn_of_lost_links(source, network.graph, forbidden, tiers)
    settings = {"method": method, "missing": missing, "smoothing": smoothing, **chosen}
    changed = changed_settings(learn_network, settings | {"categorical": categorical})
    return noted(network, source, "BayesianNetwork.learn", changed)
