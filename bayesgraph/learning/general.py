"""Networks learned from tables without a class: structure, then parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeAlias

from numpy.typing import ArrayLike

from bayesgraph.errors import DataError, quoted
from bayesgraph.learning.em import Iterations, expectation_maximization
from bayesgraph.learning.fit import noted, opened, plain_source, takes_em
from bayesgraph.learning.hill_climbing import tabu, unrestricted
from bayesgraph.learning.parameters import estimate_network
from bayesgraph.learning.pc import pc
from bayesgraph.learning.settings import changed_settings
from bayesgraph.learning.smoothing import Smoothing, SmoothingLike, as_smoothing, one_of
from bayesgraph.learning.spanning import chow_liu
from bayesgraph.learning.structure import Structure, learned_by
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.statistics import RowSource
from bayesgraph.typing import TableLike
from bayesgraph.variables import Name, Variable

Learner: TypeAlias = Callable[..., Structure]

# Learners of general structures, by the names of `method=`.
METHODS: dict[str, Learner] = {
    "hill_climb": partial(unrestricted, max_parents=None),
    "tabu": tabu,
    "pc": pc,
    "chow_liu": chow_liu,
}


@dataclass(frozen=True)
class Learning:
    """How a network is learned: see the parameters of `BayesianNetwork.learn`.

    Attributes
    ----------
    method : str or callable
    smoothing : Smoothing
    by_em : bool
        Whether parameters are estimated by expectation maximisation.
    options : mapping
        Options of the learner.

    Raises
    ------
    DataError
        For an unknown method, or an option that the method does not take.
    """

    method: str | Learner
    smoothing: Smoothing
    by_em: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not callable(self.method):
            one_of("method", self.method, METHODS)
        parameters = inspect.signature(self.learner).parameters.values()
        if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters):
            return
        known = [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
        wrong = [name for name in self.options if name not in known]
        if wrong:
            raise DataError(
                f"method={self.title} does not take {quoted(wrong)}"
                f"{_REASONS.get((self.method, wrong[0]), '')}; it takes {quoted(known)}."
            )

    @property
    def learner(self) -> Learner:
        """The function that learns the structure."""
        return self.method if callable(self.method) else METHODS[self.method]

    @property
    def title(self) -> str:
        """The method in messages."""
        if callable(self.method):
            return str(getattr(self.method, "__name__", "learner"))
        return repr(self.method)

    def structure(self, source: Any) -> Structure:
        """Return the structure that a count source leads to."""
        learner = partial(self.learner, **self.options)
        return learned_by("method", learner, source, self.smoothing)

    def network(self, structure: Structure, source: RowSource) -> BayesianNetwork:
        """Return a structure's network with parameters estimated from a source."""
        if self.by_em:
            return expectation_maximization(structure, source, self.smoothing, Iterations())
        return estimate_network(structure, source, self.smoothing)


_REASONS: dict[tuple[Any, str], str] = {
    ("chow_liu", "tiers"): " (directions in a tree follow from its root)",
    ("chow_liu", "max_parents"): " (each variable of a tree has one parent)",
    ("chow_liu", "score"): " (the tree maximises the likelihood)",
    ("pc", "max_parents"): " (max_given= limits its tests)",
    ("pc", "score"): " (alpha= is the level of its tests)",
}


def learning(
    method: str | Learner, smoothing: Any, missing: str | None, options: Mapping[str, Any]
) -> Learning:
    """Return how a network is learned; options that are None are not given."""
    given = {name: value for name, value in options.items() if value is not None}
    return Learning(method, as_smoothing(smoothing), takes_em(missing, {}), given)


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
          :func:`bayesgraph.unrestricted`;
        * "tabu": the same, and past local maxima; also `length` and `patience`, see
          :func:`bayesgraph.tabu`;
        * "pc": tests of conditional independence; options `alpha` and `max_given`, see
          :func:`bayesgraph.pc`;
        * "chow_liu": the tree of the highest likelihood; option `root`, see
          :func:`bayesgraph.chow_liu`;
        * a function from a count source and a Smoothing to a Structure.
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
    rules = {"required": required, "forbidden": forbidden, "tiers": tiers}
    given = {**rules, "max_parents": max_parents, **options}
    how = learning(method, smoothing, missing, given)
    data, columns = opened(table, sample_weight)
    source = plain_source(data, columns, variables, categorical, sample_weight, check=check_columns)
    network = how.network(how.structure(source), source)
    settings = {"method": method, "missing": missing, "smoothing": smoothing, **given}
    changed = changed_settings(learn_network, settings | {"categorical": categorical})
    return noted(network, source, "BayesianNetwork.learn", changed)
