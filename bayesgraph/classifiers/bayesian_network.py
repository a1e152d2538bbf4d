"""Bayesian network classifiers with automatically chosen, learned or given structures."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import field
from functools import partial
from typing import Any

import networkx as nx
from numpy.typing import ArrayLike

from bayesgraph.classifiers.base import OF_TABLES, estimator, one_at_a_time
from bayesgraph.classifiers.discretizers import MDLP, Discretizer, RoundFrequency
from bayesgraph.classifiers.intake import check_fitted, checked_priors, with_class_weights
from bayesgraph.classifiers.network_classifier import (
    ColumnClassifier,
    Source,
    check_pseudo_counts,
    check_statistics,
)
from bayesgraph.core import errors
from bayesgraph.core.arrays import step_limit, whole_number
from bayesgraph.core.variables import Discrete
from bayesgraph.graphs import build_dag
from bayesgraph.learning import (
    LEARNERS,
    SCHEMES,
    Choice,
    Effort,
    Progress,
    Structure,
    counts_ahead,
    estimate_network,
    exponents_between,
    informative_indicators,
    learned_by,
    train_network,
    weighted_network,
)
from bayesgraph.models import Ensemble, FactorGraph
from bayesgraph.statistics import (
    CountSource,
    DatasetSource,
    Smoothing,
    Statistics,
    TableSource,
    one_of,
)

# Maximum number of intervals of a numeric column if the tables are trained to predict.
_MAX_INTERVALS = 32


@estimator
class BayesianNetworkClassifier(ColumnClassifier):
    """A Bayesian network classifier: its structure is chosen automatically, learned, or given.

    Without arguments the structure is chosen automatically: numeric columns become intervals, and a
    naive Bayes network, perhaps augmented by a tree of interacting features and by one joint table
    of up to four features, is trained to *predict*; then neighbouring intervals of about equal
    effects are merged. The joint table is the average of random trees on its features. The other
    tables maximise the penalised conditional likelihood of the class instead of the likelihood of
    the rows. Compared with a table estimated by counting, each cell has a learned exponent (see
    `FactorGraph.of`). The structure and the strength of the penalties are those that predict
    held-out rows best in an internal cross-validation; `choice_` has its losses.

    This network is averaged with random trees (Breiman 2001), which learn interactions of several
    features and fine thresholds. The weight of the trees, and the exponent of what they say about
    the class, are those that predict held-out rows best: the mean of trees that see different rows
    and features is not certain enough. Averaged are the posteriors of the class, with fixed weights
    and exponents (`Ensemble`): in a mixture of the joint distributions the weights would
    depend on how well each describes the features, which says little about the class.
    ``n_trees=0`` keeps the single readable network.

    Parameters
    ----------
    structure : "auto", name of a learner, learner, or graph
        {learners}
        A learner is a function from a count source and a Smoothing to a Structure, such as
        ``functools.partial(bayesgraph.learning.tan, root="age")``. A graph is a networkx.DiGraph
        or a list of (parent, child) pairs over the columns and the class, whose name is that of y,
        or "class" if y has none.
    exponents : {"auto", "cells", "variable", "class", "mixed"} or None
        What is trained to predict; None estimates the tables by counting. "cells" trains the
        tables; the class must then be a parent of every feature, and in a structure that is given
        or learned before, a feature may have at most one other parent.
        Of a structure that is named, "variable" learns an exponent of each table, "class" an
        exponent of each table and class, and "mixed" both, as in
        :class:`WeightedNaiveBayesClassifier`; `network_` is then a WeightedNetwork. "auto" means
        "cells" for the structure "auto", and None otherwise.
    n_trees : int, default 100
        Maximum number of random trees, only for the structure "auto". Of more than 2,000 rows there
        are fewer trees, with larger leaves, or none, where held-out rows are enough to say that
        this costs less than 1 % of the loss. With 0, with fewer than two informative features, or
        if the trees would have a weight of less than 0.05, `network_` is a BayesianNetwork, else an
        Ensemble of that network and a network of the trees. The trees have at most two
        million leaves, and their different distributions at most 32 MB: where rows are many, leaves
        keep more rows.
    missingness : {"auto", "ignorable"}, default "auto"
        What missing values of the rows to learn from say, only for the structure "auto". They are
        summed out in any case. With "auto", whether a value is missing is a feature of its own, a
        `MissingIndicator` such as "age is missing", where it depends on the class beyond doubt (the
        likelihood-ratio test has a p-value below 0.001). A missing cell of a row then says "yes",
        a value in a row or in a question "no", and what a question does not name says nothing. With
        "ignorable" there are no indicators (Rubin 1976): right where values will be missing for
        other reasons than in the rows to learn from.
    max_steps : int, optional
        Maximum number of steps of a training to predict: evaluations of the loss on the rows, and
        trees. Fewer penalties and structures are then compared, training stops at the best tables
        so far, and there are fewer trees. The model has the same bits wherever NumPy's
        BLAS has the same kernels.
    max_seconds : float, optional
        Maximum time of a training to predict, from which on it ends as with `max_steps`; encoding
        the rows and measuring pairs of features may take longer. The model then depends on the
        speed of the machine: this is the one exception to fits that can be repeated.
    {parameters}

    Attributes
    ----------
    {attributes}
    choice_ : Choice
        Only if the network was trained to predict: the penalties tried, their held-out losses in
        nats per row, and their weights in the model.

    Notes
    -----
    Training optimises the posterior of the class given a whole row. If only one or two features
    are observed, and for queries about features, the counted tables of TANClassifier and
    NaiveBayesClassifier are closer to the data. In the network of the random trees the features are
    independent of each other, so that an average with it is less certain there than the network
    alone: ``network_.networks[0]``, or ``n_trees=0``.

    An average of posteriors has no probabilities of rows, no most probable explanations and no
    draws. Its `contributions` are the changes of the log odds when the features are observed one
    after the other, in the order of the columns.

    A network that is trained to predict cannot be estimated from additive statistics: it has no
    `partial_fit`, `fit_batches` and `forget`. Numeric columns become at most 32 intervals of about
    equal numbers of rows, with cut points of few digits; an interval within which the classes
    change abruptly is split. After training, neighbouring intervals with about equal effects are
    merged, and the tables are trained once more. The random trees keep the intervals of before,
    which are those of the average; pictures have the merged ones. Intervals of a given
    `discretizer` stay as they are. (A supervised discretiser, such as "mdlp", uses the rows that
    the cross-validation holds out, so that the held-out losses are too low.)
    `smoothing` affects only the tables that `FactorGraph.of` starts from, and the learner of a
    structure that is not "auto". For the training see
    :func:`bayesgraph.learning.train_network`.

    If the network is trained to predict, a class weight does not count as rows: a few rare
    rows would look like many, and their held-out copies easy. The network is learned from the
    rows as they are, and the weights move the prior (or, with `priors`, have no effect): each
    posterior is multiplied by them and normalised. This is the posterior in a population where the
    classes are more or less frequent by these factors, which weighted training approaches for many
    rows (King and Zeng 2001). Two classes rank the rows as without weights.

    A `sample_weight` of whole numbers counts rows: a row of weight 2 is two rows. Weights that
    depend on the class alone, and differ between classes, are class weights. Other weights are
    importance: they are divided by their mean in the class, which moves the prior, and the rows of
    a class count as (sum w)^2 / sum w^2 rows in the training (Kish 1965). In tables larger than
    memory the weights of a column are not taken apart in this way.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> clf = BayesianNetworkClassifier(max_steps=200).fit(X, y)
    >>> clf.query(evidence={"x6": 0.7, "x9": 8.0}).argmax
    2
    """

    _fitted = ("choice_",)

    choice_: Choice = field(init=False)

    structure: Any = field(default="auto", kw_only=False)
    exponents: str | None = "auto"
    n_trees: int = 100
    missingness: str = "auto"
    max_steps: int | None = None
    max_seconds: float | None = None

    @property
    def _is_auto(self) -> bool:
        return isinstance(self.structure, str) and self.structure == "auto"

    @property
    def _weighs(self) -> bool:
        """Whether exponents of whole tables are learned, as in weighted naive Bayes."""
        return self.exponents in SCHEMES

    @property
    def _predicts(self) -> bool:
        """Whether the tables are trained to predict the class, instead of estimated by counting."""
        return self.exponents == "cells" or (self.exponents == "auto" and self._is_auto)

    @property
    def _moves_prior(self) -> bool:
        return self._predicts or self._weighs

    def _read(self) -> Collection[str]:
        return OF_TABLES if self._moves_prior else super()._read()

    def _learner(self) -> Callable[[CountSource, Smoothing], Structure]:
        """Return the structure learner: one by its name, the user's own, or one of a given graph.

        It is not asked for "auto", by which the structure is a part of what is chosen.
        """
        if isinstance(self.structure, str):
            if self.structure not in LEARNERS:
                near = errors.suggestion(self.structure, ("auto", *LEARNERS))
                raise errors.DataError(
                    f"structure= is 'auto', one of {errors.quoted(LEARNERS, maximum=99)}, a "
                    f"learner or a graph; got {self.structure!r}.{near}"
                )
            return LEARNERS[self.structure].learn
        if callable(self.structure):
            return partial(learned_by, "structure", self.structure)
        return partial(given_structure, self.structure)

    def _default_discretizer(self) -> Discretizer | None:
        """Return the discretiser of columns for which the user chose none; None for densities.

        A default is needed for tables that are trained (equal frequency), and for learned exponents
        of whole tables (MDLP). As the first step of `fit`, it also checks the other parameters.
        """
        one_of("exponents", self.exponents, ("auto", "cells", *SCHEMES, None))
        one_of("missingness", self.missingness, ("auto", "ignorable"))
        if self._is_auto and not self._predicts:
            raise errors.DataError(
                "structure='auto' is chosen for tables that are trained to predict; name a "
                f"structure, such as 'tan', for exponents={self.exponents!r}."
            )
        if self._predicts:
            return RoundFrequency(_MAX_INTERVALS)
        return MDLP() if self._weighs else None

    def _counts_ahead(self) -> bool:
        """Return whether what to count is known before the data are.

        It is not if tables or exponents are trained: that takes the rows themselves.
        """
        if self._moves_prior:
            return False
        if isinstance(self.structure, str):
            return self.structure in LEARNERS and counts_ahead(LEARNERS[self.structure].learn)
        return counts_ahead(self.structure) if callable(self.structure) else True

    def _learn(self, source: Source, smoothing: Smoothing, target: Discrete) -> Any:
        """Train a network to predict, and average it with random trees, if that was chosen."""
        # Left from an earlier fit, if there was one.
        self.__dict__.pop("choice_", None)
        if not self._predicts:
            return super()._learn(source, smoothing, target)
        check_pseudo_counts(smoothing, (target, *source.features))
        # Without `partial_fit` there is no other source.
        assert isinstance(source, TableSource | DatasetSource)
        if self._is_auto and self.missingness == "auto":
            indicators = informative_indicators(source)
            # Without indicators the source stays, with the sample of a dataset that it has read.
            source = source.indicated(indicators) if indicators else source
        structure = None if self._is_auto else self._learner()(source, smoothing)
        n_trees = whole_number("n_trees", "trees", self.n_trees, 0) if structure is None else 0
        steps = step_limit(self.max_steps, self.max_seconds)
        trained = train_network(
            source,
            structure,
            n_trees=n_trees,
            merge=self.discretizer is None,
            effort=Effort(steps, self.max_seconds, self.__dict__.get("_progress")),
        )
        self.choice_, self.target_ = trained.choice, target
        model: Any = trained.network
        if trained.trees is not None:
            # The weight of the trees in the average, and the power of their posterior of the class.
            share, exponent = trained.choice.tree_share, trained.choice.tree_exponent
            # One for each network: that of the tables is not raised.
            exponents = {} if exponent == 1.0 else {target.name: [1.0, exponent]}
            model = Ensemble(
                [trained.network, trained.trees],
                [1.0 - share, share],
                exponents=exponents,
                combine="posterior",
                first=trained.network.variables,
            )
        priors = checked_priors(self.priors, target)
        if priors is None:
            model = with_class_weights(model, source, target)
        else:
            # The prior is multiplied by a ratio, so that it becomes the one that the user gave.
            before: Any = trained.network[target.name]  # its table, as the class has no parents
            model = model._with_prior(target, priors / before.values)
        self.network_ = model
        self.features_ = tuple(model.variable(v.name) for v in source.features)
        self.statistics_ = Statistics()
        if trained.trees is None:
            # `FactorGraph.of` estimates tables from the statistics that this collects in the
            # source, with the merged intervals; the network itself is not used.
            counted = source.merged(self.features_)
            estimate_network(trained.structure, counted, smoothing)
            self.statistics_ = counted.statistics
        return self

    def _network(self, source: Source, smoothing: Smoothing, target: Discrete) -> Any:
        """Return the network, with exponents of the features if these were chosen."""
        network = super()._network(source, smoothing, target)
        if not self._weighs:
            return network
        assert isinstance(source, TableSource | DatasetSource)  # as in `_learn`
        weighted = weighted_network(network, source, str(self.exponents))
        # Priors that the user gave are in the network already, and class weights do not move them.
        has_priors = checked_priors(self.priors, target) is not None
        return weighted if has_priors else with_class_weights(weighted, source, target)

    @one_at_a_time
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        progress: Progress | None = None,
    ) -> Any:
        """Learn structure and parameters; see NaiveBayesClassifier.fit.

        A fit that is refused or interrupted leaves the model of before.

        Parameters
        ----------
        X, y, sample_weight
            As for all classifiers.
        progress : callable, optional
            Called as ``progress(share, phase)`` in a training to predict, with the share of its
            work that is done, from 0 to 1, and the name of what is done next.

        Returns
        -------
        self
        """
        if progress is not None and not callable(progress):
            raise errors.DataTypeError(
                "progress= is a function of the share of the work that is done and of the name of "
                f"what is done next; got {progress!r:.200}."
            )
        # `_learn` reads it; it is no parameter of the estimator, and goes with the fit.
        self.__dict__["_progress"] = progress
        try:
            return super().fit(X, y, sample_weight)
        finally:
            self.__dict__.pop("_progress", None)

    def _to_factor_graph(self) -> FactorGraph:
        """Return the model as a factor graph of counted tables that are raised to exponents.

        A counted table is estimated from the statistics of the rows. If the network was trained to
        predict, each cell has the exponent that turns its counted probability into the probability
        in the network (1 where both agree). Otherwise all exponents are 1. The factor graph answers
        every query as the network does.

        A WeightedNetwork becomes its tables with the learned exponents, and answers as the network
        does only if all features are observed; see `FactorGraph.of`.
        """
        check_fitted(self, "network_")
        model: Any = self.network_
        # A WeightedNetwork or an Ensemble: a plain network consists of itself.
        if model.networks[0] is not model:
            graph: FactorGraph = model._to_factor_graph()
            return graph
        check_statistics(self)
        parents_of = {cpd.variable: cpd.parents for cpd in self.network_.cpds}
        arcs = tuple((p.name, v.name) for v in parents_of for p in parents_of[v])
        structure = Structure(self.network_.variables, arcs)
        variables = (*self.features_, self.target_)
        source = CountSource(variables, self.target_, self.statistics_)
        counted = estimate_network(structure, source, self._smoothing())
        return exponents_between(counted, self.network_)


def given_structure(graph: Any, source: CountSource, smoothing: Smoothing) -> Structure:
    """Return a graph that the user gave as a Structure over the class and the features.

    Parameters
    ----------
    graph : networkx.DiGraph or iterable of (parent, child) pairs of names
    source : CountSource
        Its target and features are the variables of the structure.
    smoothing : Smoothing
        Not used: an argument of all structure learners.
    """
    assert source.target is not None  # classifiers always set it
    variables = (source.target, *source.features)
    names = [v.name for v in variables]
    if isinstance(graph, nx.DiGraph):
        errors.check_known(graph, names, where="structure=: the table")
        arcs = list(graph.edges)
    elif isinstance(graph, Iterable):
        arcs = list(graph)
    else:
        raise errors.DataError(
            f"structure= takes a name, a learner, a networkx.DiGraph or a list of arcs; got "
            f"{graph!r}."
        )
    # Only for its errors: unknown names, arcs that are no pairs, cycles.
    build_dag(names, arcs)
    return Structure(variables, tuple(tuple(arc) for arc in arcs))
