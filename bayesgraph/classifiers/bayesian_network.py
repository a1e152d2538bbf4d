"""Bayesian networks as classifiers: structures chosen, learned or given."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field
from functools import partial
from typing import Any, ClassVar

import networkx as nx

from bayesgraph.classifiers.discretizers import MDLP, Discretizer, EqualFrequency
from bayesgraph.classifiers.labels import checked_priors
from bayesgraph.classifiers.network_classifier import ColumnClassifier, Source, check_statistics
from bayesgraph.classifiers.parameters import OF_TABLES, estimator
from bayesgraph.classifiers.validation import check_fitted
from bayesgraph.errors import DataError, quoted, unknown_variable
from bayesgraph.graph import build_dag
from bayesgraph.learning import Smoothing, Structure, estimate_network
from bayesgraph.learning.exponents import (
    SCHEMES,
    exponents_between,
    weighted_network,
)
from bayesgraph.learning.loglinear import Choice, train_network
from bayesgraph.learning.smoothing import one_of
from bayesgraph.learning.structure import LEARNERS, LearnerCard, counts_ahead, learned_by
from bayesgraph.models.factor_graph import FactorGraph
from bayesgraph.models.weighted import WeightedNetwork
from bayesgraph.statistics import CountSource, StatisticsSource, TableSource
from bayesgraph.variables import Discrete

# Of a column of numbers, where the tables are trained to predict.
_MAX_INTERVALS = 32


@estimator
class BayesianNetworkClassifier(ColumnClassifier):
    """The best readable network for a table, or a classifier of a structure that is chosen.

    Without arguments it chooses by itself: numbers become intervals, and a naive Bayes, or one
    augmented by a tree of the features that act together, is trained to *predict*. Its tables
    maximise the penalised conditional likelihood of the class instead of the likelihood of the
    rows; seen from the tables that are estimated by counting, each cell has a learned exponent
    (see `to_factor_graph`). The structure and the strength of the penalties are those that predict
    held-out rows best in an internal cross-validation, whose figures are in `choice_`. What comes
    out is a Bayesian network like any other.

    Parameters
    ----------
    structure : "auto", name of a learner, learner, or graph
        {learners}
        A learner is a function from a count source and a Smoothing to a Structure, such as
        ``functools.partial(bayesgraph.tan, root="age")``. A graph is a networkx.DiGraph or a list
        of (parent, child) pairs over the columns and the class, whose name is that of y, or
        "class" if y has none.
    exponents : {"auto", "cells", "variable", "class", "mixed"} or None
        None estimates the tables by counting. "cells" trains them to predict, which takes a class
        that is a parent of all features, and of these one at most as another parent. "variable",
        "class" and "mixed" learn exponents of whole tables, of a table's classes, or both, as
        :class:`WeightedNaiveBayesClassifier` does; `network_` is then a WeightedNetwork. "auto" is
        "cells" for the structure "auto", and else None.
    {parameters}

    Attributes
    ----------
    {attributes}
    choice_ : Choice
        Of a network that was trained to predict: the penalties tried, their held-out losses in
        nats a row, and how much of each is in the model.

    Notes
    -----
    What is trained is the posterior of the class given a whole row. Where only one or two features
    are known, and for questions about features, the tables of TANClassifier and
    NaiveBayesClassifier, which are counted, are the closer to the data.

    A network that is trained to predict is not additive in the rows: it has no `partial_fit`,
    `fit_batches` and `forget`. Numbers become intervals of about equal numbers of rows, 32 at
    most, unless `discretizer` says otherwise. (One that looks at the classes, as "mdlp" does, has
    seen the rows that the cross-validation holds out, whose losses are then too good.)
    `smoothing` matters only to the tables that `to_factor_graph` starts from. For how it is done
    see :func:`bayesgraph.learning.loglinear.train_network`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> clf = BayesianNetworkClassifier().fit(X, y)
    >>> clf.query(evidence={"x6": 0.7, "x9": 8.0}).argmax
    2
    """

    command: ClassVar[str] = "auto"
    # The names that `structure` takes besides "auto".
    learners: ClassVar[Mapping[str, LearnerCard]] = LEARNERS
    _fitted = ("choice_",)

    choice_: Choice = field(init=False)

    structure: Any = field(default="auto", kw_only=False)
    exponents: str | None = "auto"

    @property
    def _is_auto(self) -> bool:
        return isinstance(self.structure, str) and self.structure == "auto"

    @property
    def _weighs(self) -> bool:
        """Whether whole tables have exponents."""
        return self.exponents in SCHEMES

    @property
    def _predicts(self) -> bool:
        """Whether the tables are trained to predict."""
        return self.exponents == "cells" or (self.exponents == "auto" and self._is_auto)

    def _read(self) -> Collection[str]:
        return OF_TABLES if self._predicts or self._weighs else super()._read()

    def _learner(self) -> Callable[[CountSource, Smoothing], Structure]:
        if isinstance(self.structure, str):
            if self.structure not in LEARNERS:
                raise DataError(
                    f"structure= is 'auto', one of {quoted(LEARNERS)}, a learner or a graph; got "
                    f"{self.structure!r}."
                )
            return LEARNERS[self.structure].learn
        if callable(self.structure):
            return partial(learned_by, "structure", self.structure)
        return partial(given_structure, self.structure)

    def _discretizer(self) -> Discretizer | None:
        one_of("exponents", self.exponents, ("auto", "cells", *SCHEMES, None))
        if self._is_auto and not self._predicts:
            raise DataError(
                "structure='auto' is chosen for tables that are trained to predict; name a "
                f"structure, such as 'tan', for exponents={self.exponents!r}."
            )
        if self.discretizer is not None:
            return super()._discretizer()
        if self._predicts:
            return EqualFrequency(_MAX_INTERVALS)
        return MDLP() if self._weighs else None

    def _counts_ahead(self) -> bool:
        if self._predicts or self._weighs:
            return False
        if isinstance(self.structure, str):
            return self.structure in LEARNERS and counts_ahead(LEARNERS[self.structure].learn)
        return counts_ahead(self.structure) if callable(self.structure) else True

    def _network(self, source: Source, smoothing: Smoothing, target: Discrete) -> Any:
        self.__dict__.pop("choice_", None)
        if not self._predicts:
            network = super()._network(source, smoothing, target)
            if not self._weighs:
                return network
        assert isinstance(source, TableSource)  # there is no other way to fit
        if self._weighs:
            return weighted_network(network, source, str(self.exponents))
        structure = None if self._is_auto else self._learner()(source, smoothing)
        found = train_network(source, structure, priors=checked_priors(self.priors, target))
        self.choice_ = found.choice
        # The source collects here the statistics that `to_factor_graph` estimates its tables from.
        estimate_network(found.structure, source, smoothing)
        return found.network

    def to_factor_graph(self) -> FactorGraph:
        """Return the network as tables that are estimated by counting, raised to exponents.

        Each cell of a table has the exponent that makes it the cell of the network: 1 where
        prediction agrees with what was counted. For a network that is not trained to predict all
        are 1. The factor graph answers every question as the network does; that of a weighted
        network only where all features are observed, see `WeightedNetwork.to_factor_graph`.
        """
        check_fitted(self, "network_")
        model: Any = self.network_
        if isinstance(model, WeightedNetwork):
            return model.to_factor_graph()
        check_statistics(self)
        parents = {c.variable: c.parents for c in self.network_.cpds}
        arcs = tuple((p.name, v.name) for v in parents for p in parents[v])
        structure = Structure(self.network_.variables, arcs)
        variables = (*self.features_, self.target_)
        source = StatisticsSource(variables, self.target_, self.statistics_)
        counted = estimate_network(structure, source, self._smoothing())
        return exponents_between(counted, self.network_)


def given_structure(graph: Any, source: CountSource, smoothing: Smoothing) -> Structure:
    """Return a graph of the user as a structure over the columns of a source."""
    assert source.target is not None  # classifiers always set it
    variables = (source.target, *source.features)
    names = [v.name for v in variables]
    if isinstance(graph, nx.DiGraph):
        for node in graph:
            if node not in names:
                raise unknown_variable(node, names, where="structure=: the table")
        arcs = list(graph.edges)
    elif isinstance(graph, Iterable):
        arcs = list(graph)
    else:
        raise DataError(
            f"structure= takes a name, a learner, a networkx.DiGraph or a list of arcs; got "
            f"{graph!r}."
        )
    build_dag(names, arcs)
    return Structure(variables, tuple(tuple(arc) for arc in arcs))
