"""The one table of classifiers: every row passes every conformance test that fits its data.

A new estimator, structure or family of local distributions is one more row of `CLASSIFIERS`. The
tests in tests/classifiers/test_conformance.py ask for nothing but the row.

The data sets have the same four columns, `a` to `d`, and the same class whatever their types, so
that a graph given by name fits all of them; arcs go from discrete to continuous columns only.
Families of distributions that are for other numbers have data of their own.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import networkx as nx
import numpy as np
from scipy import stats

import bayesgraph as bg
from bayesgraph.core.variables import is_missing
from bayesgraph.learning import ALL_SCHEMES

KINDS = ("continuous", "discrete", "mixed")
# Four columns of positive numbers, of numbers between 0 and 1, and of counts, and one of every kind
# with a block of counts.
OTHER_KINDS = ("positive", "shares", "counts", "varied")
NUMERIC = ("continuous", "positive", "shares", "counts")
NAMES = ("a", "b", "c", "d")


@dataclass(frozen=True, eq=False)
class Case:
    """One row of the table.

    Attributes
    ----------
    name : str
        Shown as the id of the tests.
    estimator : callable
        Returns an unfitted classifier; takes parameters of the estimator as keywords.
    kinds : tuple of str
        Data it takes: some of "continuous" (four float columns), "discrete" (two text columns, a
        boolean one, and text in a category type), "mixed" (a text and a boolean column, and two of
        floats), "positive", "shares" and "counts" (four float columns), and "varied" (a text, a
        boolean and a float column, one of integer counts, and a block of three more).
    named : bool
        It refers to columns by name, so it takes frames only: scikit-learn's own checks, which
        come with arrays of any width, are not run.
    class_is_root : bool
        The class has no parents, so `priors=` is its distribution.
    without : dict from str to str
        Tests, and checks of scikit-learn, that cannot apply, each with the reason why.
    updates_complete_rows : bool
        Missing values take the rows themselves: `partial_fit` and `forget` refuse them.
    likelihood : bool
        Rows have a probability under the model.
    searched : (str, tuple)
        A parameter of the estimator and values that a search may choose from.
    """

    name: str
    estimator: Callable[..., Any]
    kinds: tuple[str, ...] = KINDS
    named: bool = False
    class_is_root: bool = True
    without: Mapping[str, str] = field(default_factory=dict)
    updates_complete_rows: bool = False
    likelihood: bool = True
    searched: tuple[str, tuple[Any, ...]] = ("smoothing__alpha", (0.5, 2.0))

    @property
    def asks(self) -> tuple[str, ...]:
        """What every row can be asked."""
        asks = ("predict", "predict_proba", "predict_log_proba")
        return (*asks, "score_samples") if self.likelihood else asks

    @property
    def numbers_are_states(self) -> bool:
        """Whether each number that is in the data is a state."""
        return getattr(self.estimator(), "categorical", None) == "all"

    def __str__(self) -> str:
        return self.name


_STAR = [("class", name) for name in NAMES]
_GIVEN = [*_STAR, ("a", "b"), ("a", "c"), ("c", "d"), ("a", "d")]
_BLANKET = [("a", "class"), ("class", "b"), ("class", "c"), ("b", "c"), ("a", "d")]
_VARIED = {"d": "poisson", ("e", "f", "g"): "multinomial"}
_KERNELS = {**_VARIED, "c": "kernel", ("e", "f", "g"): "bernoulli"}
_SINGLY = {"a": "kernel", "b": "lognormal", "c": "gaussian", "d": "lognormal"}
_BLOCKS = {("a", "c"): "multinomial", "b": "bernoulli", "d": "bernoulli"}
_POSITIVE = {"check_class_weight_classifiers": "Its data are negative, whatever the tags say."}
_KERNEL = {
    "check_class_weight_classifiers": "A class weight of 1000 is a thousand copies of each row, "
    "whose bandwidths are so much smaller that class 0 ends where its rows end."
}
_LOGNORMAL = {"test_scikit_learn": "Its positive data start at zero, whose logarithm is infinite."}
_SHARES = dict.fromkeys(
    (
        "test_scikit_learn",
        "test_masked_arrays_are_missing_values",
        "test_arrays_after_frames_and_frames_after_arrays",
        "test_numbers_that_are_never_observed_say_nothing",
    ),
    "Some of its numbers are not between 0 and 1.",
)
_RULE = "A scoring rule over counts has no distribution of documents and no arcs."
_UNWEIGHTED = "There is no class_weight, which would shift the prior that the score lacks."
_COMPLEMENT = {
    "test_probabilities_equal_brute_force": _RULE,
    "test_log_likelihood_of_rows_equals_that_of_the_network": _RULE,
    "test_row_order_does_not_matter": _RULE,
    "test_stretches_of_rows_answer_as_the_whole": _RULE,
    "test_memory_beyond_the_output_does_not_grow_with_the_rows": _RULE,
    "test_files_keep_all_answers": _RULE,
    "test_each_term_is_a_ratio_of_conditional_probabilities": _RULE,
    "test_nothing_observed_gives_the_prior": "There is no prior by default.",
    "test_class_weights_are_sample_weights": _UNWEIGHTED,
    "test_balanced_classes_need_all_labels_at_once": _UNWEIGHTED,
}
_TEXT = {"test_masked_arrays_are_missing_values": "Its first data are text."}
_TREE = {"test_priors": "A tree has no class prior; class_weight reweights the rows instead."}
_FIRST = "The intervals stay those of the first batch."
_INTERVALS = {
    "test_chunks_make_the_model_of_the_whole": _FIRST,
    "test_classes_and_states_may_come_late": _FIRST,
    "test_states_and_classes_that_came_late": _FIRST,
    "test_fit_batches": _FIRST,
    "test_forgetting_is_not_having_learned": "The intervals stay as they are.",
    "test_columns_that_the_first_batches_do_not_observe": _FIRST,
}

_NO_ROWS = "Tempered conditionals are no distribution of rows."
_WEIGHTED = {
    "test_log_likelihood_of_rows_equals_that_of_the_network": _NO_ROWS,
    "test_what_is_drawn_is_what_is_predicted": _NO_ROWS,
    "test_priors": "Exponents are learned beside the prior, so that another prior changes them.",
}
_TREES = "The mean of random trees is not the class frequencies exactly."
_AVERAGE = {
    "test_log_likelihood_of_rows_equals_that_of_the_network": "It is no distribution of rows.",
    "test_what_is_drawn_is_what_is_predicted": "It is no distribution of rows.",
    "test_nothing_observed_gives_the_prior": _TREES,
    "test_priors": _TREES,
}
_BIASED = {
    "test_nothing_observed_gives_the_prior": "A bias that is learned moves it.",
    "test_class_weights_are_sample_weights": "A bias that is learned moves the prior it looks at.",
}
_DRAWN = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "test_weights_are_repetitions",
        "test_row_order_does_not_matter",
    ),
    "Trees are grown on rows that are drawn, from one seed but in the order of the rows.",
)
_BY_SCHEME = {"class": _BIASED, "mixed": _BIASED, "tree_depth": _DRAWN}

_KEPT = "Summaries of a stream do not give rows back: there is no forget."
_NO_WEIGHTS = "A stream has no class_weight: sample_weight says the same."
_SETTLED = "fit looks at the summaries at its end, partial_fit after fixed numbers of rows."
_STREAM = {
    "test_log_likelihood_of_rows_equals_that_of_the_network": _NO_ROWS,
    "test_priors": "The prior moves with the stream; nobody sets it.",
    "test_class_weights_are_sample_weights": _NO_WEIGHTS,
    "test_balanced_classes_need_all_labels_at_once": _NO_WEIGHTS,
    "test_chunks_make_the_model_of_the_whole": _SETTLED,
    "test_classes_and_states_may_come_late": _SETTLED,
    "test_states_and_classes_that_came_late": _SETTLED,
    "test_only_constant_columns": "A class without rows is possible: alpha is added to its own.",
    **dict.fromkeys(
        (
            "test_a_batch_that_is_refused_changes_nothing",
            "test_all_rows_may_be_forgotten",
            "test_forgetting_is_not_having_learned",
            "test_what_was_forgotten_can_be_learned_again",
            "test_rows_that_were_not_there_are_not_forgotten",
            "test_a_loaded_model_learns_and_forgets",
            "test_files_without_statistics_say_that_they_cannot_be_updated",
        ),
        _KEPT,
    ),
}
_IN_ORDER = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "test_weights_are_repetitions",
        "test_row_order_does_not_matter",
    ),
    "Bins split, and exponents move, in the order of the rows.",
)
_STREAM_WEIGHTED = {
    **_STREAM,
    **_IN_ORDER,
    "test_nothing_observed_gives_the_prior": "A bias that is learned moves it.",
}
_BINS = {
    "test_a_column_constant_within_one_class": "A bin of one number that grows to the next ones "
    "does not know any more that all it held was that number.",
    "test_more_features_than_rows": "Where a few rows lie within their bin is a guess.",
}
_FEW_STATES = {
    **dict.fromkeys(
        ("test_weights_are_repetitions", "test_row_order_does_not_matter"),
        "The first values of a column are counted one by one.",
    ),
    "test_unseen_categories": "A value that is in no list is one of the others.",
}
_POWERED = {
    "test_the_unit_of_a_column_does_not_matter": "Densities to the power of an exponent of each "
    "class have a unit."
}

CLASSIFIERS = (
    Case("nb", bg.NaiveBayesClassifier),
    Case("nb-all-categorical", partial(bg.NaiveBayesClassifier, categorical="all")),
    Case(
        "nb-maximum-likelihood",
        partial(bg.NaiveBayesClassifier, smoothing=bg.Smoothing(alpha=0.01, shrinkage=0.0)),
    ),
    Case(
        "nb-map",
        partial(bg.NaiveBayesClassifier, smoothing=bg.Smoothing(estimation="map", alpha=2.0)),
    ),
    Case(
        "nb-ml",
        partial(bg.NaiveBayesClassifier, smoothing=bg.Smoothing(estimation="ml")),
        kinds=("continuous", "mixed"),
    ),
    Case(
        "nb-predictive",
        partial(bg.NaiveBayesClassifier, smoothing=bg.Smoothing(estimation="predictive")),
    ),
    Case(
        "nb-unbiased",
        partial(bg.NaiveBayesClassifier, "gaussian", smoothing=bg.Smoothing(ddof=1, shrinkage=0.0)),
        kinds=("continuous",),
    ),
    Case(
        "nb-kernel",
        partial(bg.NaiveBayesClassifier, "kernel"),
        kinds=("continuous",),
        without=_KERNEL,
    ),
    Case(
        "nb-kernel-scott",
        partial(bg.NaiveBayesClassifier, "kernel", smoothing=bg.Smoothing(bandwidth="scott")),
        kinds=("continuous", "positive"),
    ),
    Case(
        "nb-lognormal",
        partial(bg.NaiveBayesClassifier, "lognormal"),
        kinds=("positive",),
        without=_LOGNORMAL,
    ),
    Case(
        "nb-lognormal-map",
        partial(bg.NaiveBayesClassifier, "lognormal", smoothing=bg.Smoothing(estimation="map")),
        kinds=("positive",),
        without=_LOGNORMAL,
    ),
    Case(
        "nb-poisson",
        partial(bg.NaiveBayesClassifier, "poisson"),
        kinds=("counts",),
        without=_POSITIVE,
    ),
    Case(
        "nb-poisson-predictive",
        partial(
            bg.NaiveBayesClassifier, "poisson", smoothing=bg.Smoothing(estimation="predictive")
        ),
        kinds=("counts",),
        without=_POSITIVE,
    ),
    Case(
        "nb-gamma",
        partial(bg.NaiveBayesClassifier, "gamma"),
        kinds=("positive",),
        without=_LOGNORMAL,
    ),
    Case(
        "nb-exponential",
        partial(bg.NaiveBayesClassifier, "exponential"),
        kinds=("positive",),
        without=_POSITIVE,
    ),
    Case(
        "nb-beta",
        partial(bg.NaiveBayesClassifier, "beta"),
        kinds=("shares",),
        without=_SHARES,
    ),
    Case(
        "nb-negative-binomial",
        partial(bg.NaiveBayesClassifier, "negative_binomial"),
        kinds=("counts",),
        without=_POSITIVE,
    ),
    Case(
        "nb-student",
        partial(bg.NaiveBayesClassifier, "student"),
        kinds=("continuous",),
    ),
    Case(
        "nb-multinomial",
        partial(bg.NaiveBayesClassifier, "multinomial"),
        kinds=("counts",),
        without=_POSITIVE,
    ),
    Case(
        "nb-multinomial-map",
        partial(
            bg.NaiveBayesClassifier,
            "multinomial",
            smoothing=bg.Smoothing(estimation="map", alpha=2.0),
        ),
        kinds=("counts",),
        without=_POSITIVE,
    ),
    Case(
        "nb-multinomial-predictive",
        partial(
            bg.NaiveBayesClassifier, "multinomial", smoothing=bg.Smoothing(estimation="predictive")
        ),
        kinds=("counts",),
        without=_POSITIVE,
    ),
    Case(
        "nb-bernoulli",
        partial(bg.NaiveBayesClassifier, "bernoulli", smoothing=bg.Smoothing(threshold=1.0)),
        kinds=("counts",),
        without=_POSITIVE,
    ),
    Case(
        "nb-categorical",
        partial(bg.NaiveBayesClassifier, "categorical"),
        kinds=("counts", "discrete"),
    ),
    Case("nb-singly", partial(bg.NaiveBayesClassifier, _SINGLY), kinds=("positive",), named=True),
    Case("nb-blocks", partial(bg.NaiveBayesClassifier, _BLOCKS), kinds=("counts",), named=True),
    Case("nb-varied", partial(bg.NaiveBayesClassifier, _VARIED), kinds=("varied",), named=True),
    Case(
        "nb-varied-kernels",
        partial(bg.NaiveBayesClassifier, _KERNELS, smoothing=bg.Smoothing(alpha={"a": [1, 2, 3]})),
        kinds=("varied",),
        named=True,
    ),
    Case(
        "nb-varied-predictive",
        partial(bg.NaiveBayesClassifier, _VARIED, smoothing=bg.Smoothing(estimation="predictive")),
        kinds=("varied",),
        named=True,
    ),
    Case("nb-m-estimate", partial(bg.NaiveBayesClassifier, smoothing="m")),
    Case("nb-backoff", partial(bg.NaiveBayesClassifier, smoothing="backoff")),
    Case("tan", bg.TANClassifier),
    Case("tan-root", partial(bg.TANClassifier, root="b"), named=True),
    Case("tan-candidates", partial(bg.TANClassifier, candidates=1)),
    Case(
        "tan-backoff",
        partial(bg.TANClassifier, smoothing="backoff"),
        searched=("smoothing__strength", (1.0, 10.0)),
    ),
    Case(
        "tan-marginal",
        partial(bg.TANClassifier, smoothing=bg.Smoothing(scheme="marginal", strength=2.0)),
    ),
    Case("tan-all-categorical", partial(bg.TANClassifier, categorical="all")),
    # The first of its class, of which everything is asked: it pays for no search of structures.
    Case("star", partial(bg.BayesianNetworkClassifier, "star")),
    Case(
        "auto",
        partial(bg.BayesianNetworkClassifier, max_steps=300),
        without=_AVERAGE,
        likelihood=False,
        searched=("n_trees", (0, 9)),
    ),
    Case("auto-single", partial(bg.BayesianNetworkClassifier, n_trees=0, max_steps=300)),
    Case(
        "tan-cells",
        partial(
            bg.BayesianNetworkClassifier,
            "tan",
            exponents="cells",
            discretizer="frequency",
            max_steps=300,
        ),
        kinds=("continuous", "mixed"),
    ),
    *(
        Case(
            f"nb-weighted-{scheme.replace('_', '-')}",
            partial(bg.WeightedNaiveBayesClassifier, scheme),
            kinds=KINDS if scheme in ("variable", "mixed") else ("continuous", "mixed"),
            without=_WEIGHTED | _BY_SCHEME.get(scheme, {}),
            likelihood=False,
        )
        for scheme in ALL_SCHEMES
    ),
    Case(
        "tan-weighted",
        partial(bg.BayesianNetworkClassifier, "tan", exponents="variable"),
        without=_WEIGHTED,
        likelihood=False,
    ),
    Case("forest", partial(bg.BayesianNetworkClassifier, "forest")),
    Case("chow-liu", partial(bg.BayesianNetworkClassifier, "chow_liu")),
    Case(
        "tan-fcll",
        partial(bg.BayesianNetworkClassifier, partial(bg.learning.tan, score="fcll")),
    ),
    Case(
        "tan-ruled",
        partial(
            bg.BayesianNetworkClassifier,
            partial(bg.learning.tan, required=[("a", "d")], forbidden=[("a", "c"), ("b", "d")]),
        ),
        named=True,
    ),
    Case(
        "forest-aic",
        partial(bg.BayesianNetworkClassifier, partial(bg.learning.forest, score="aic")),
    ),
    Case("superparent", partial(bg.BayesianNetworkClassifier, "superparent")),
    Case("kdb", bg.KDBClassifier, searched=("k", (0, 2))),
    Case("kdb-modl", partial(bg.KDBClassifier, smoothing="backoff", discretizer="modl")),
    Case("kdb-1", partial(bg.KDBClassifier, 1)),
    Case("kdb-3", partial(bg.KDBClassifier, 3)),
    Case(
        "selective-kdb",
        partial(bg.BayesianNetworkClassifier, "selective_kdb"),
        searched=(
            "structure",
            tuple(partial(bg.learning.selective_kdb, loss=s) for s in ("log", "0-1")),
        ),
    ),
    Case(
        "selective-kdb-mdlp",
        partial(
            bg.BayesianNetworkClassifier,
            partial(bg.learning.selective_kdb, loss="log"),
            smoothing="marginal",
            discretizer="mdlp",
        ),
    ),
    Case("forward", partial(bg.BayesianNetworkClassifier, "forward_selection")),
    Case(
        "forward-tan",
        partial(
            bg.BayesianNetworkClassifier,
            partial(
                bg.learning.forward_selection, learner=bg.learning.tan, loss="0-1", max_features=3
            ),
        ),
    ),
    Case(
        "hill-climb-cll",
        partial(bg.BayesianNetworkClassifier, partial(bg.learning.hill_climb, score="cll")),
    ),
    Case("hill-climb", partial(bg.BayesianNetworkClassifier, "hill_climb")),
    Case(
        "hill-climb-bdeu",
        partial(
            bg.BayesianNetworkClassifier, partial(bg.learning.hill_climb, score="bdeu", ess=2.0)
        ),
    ),
    Case(
        "hill-climb-fcll",
        partial(
            bg.BayesianNetworkClassifier,
            partial(bg.learning.hill_climb, score="fcll", max_parents=3),
        ),
    ),
    Case(
        "unrestricted",
        partial(bg.BayesianNetworkClassifier, "unrestricted"),
        kinds=("discrete", "mixed"),
        class_is_root=False,
        without=_TEXT,
    ),
    Case(
        "unrestricted-bdeu",
        partial(bg.BayesianNetworkClassifier, partial(bg.learning.unrestricted, score="bdeu")),
        kinds=("continuous",),
    ),
    Case(
        "tan-partial",
        partial(bg.BayesianNetworkClassifier, partial(bg.learning.tan, root="b")),
        named=True,
    ),
    Case("given-arcs", partial(bg.BayesianNetworkClassifier, _GIVEN), named=True),
    Case(
        "given-graph",
        partial(bg.BayesianNetworkClassifier, nx.DiGraph([*_STAR, ("b", "a")])),
        named=True,
    ),
    Case(
        "given-class-below-a-feature",
        partial(bg.BayesianNetworkClassifier, _BLANKET),
        kinds=("discrete", "mixed"),
        named=True,
        class_is_root=False,
    ),
    Case(
        "tree",
        partial(bg.DecisionTreeNetworkClassifier, smoothing=1.0, min_weight_fraction_leaf=0.05),
        class_is_root=False,
        without=_TREE,
    ),
    Case(
        "tree-gini",
        partial(
            bg.DecisionTreeNetworkClassifier, criterion="gini", smoothing=0.1, max_leaf_nodes=9
        ),
        class_is_root=False,
        without=_TREE,
    ),
    Case(
        "tree-error",
        partial(bg.DecisionTreeNetworkClassifier, criterion="error", smoothing=1.0),
        class_is_root=False,
        without=_TREE,
    ),
    Case(
        "tree-c45",
        partial(bg.DecisionTreeNetworkClassifier, criterion="gain_ratio", smoothing=1.0),
        class_is_root=False,
        without=_TREE,
    ),
    Case(
        "tree-chaid",
        partial(
            bg.DecisionTreeNetworkClassifier, criterion="chaid", alpha_split=0.5, smoothing=1.0
        ),
        class_is_root=False,
        without=_TREE,
    ),
    Case(
        "lda",
        bg.DiscriminantAnalysisClassifier,
        kinds=("continuous",),
        updates_complete_rows=True,
        searched=("smoothing__ddof", (0, 1)),
    ),
    Case(
        "qda",
        partial(bg.DiscriminantAnalysisClassifier, "class"),
        kinds=("continuous",),
        updates_complete_rows=True,
        searched=("regularization", (None, 0.1)),
    ),
    Case(
        "lda-shrunken",
        partial(bg.DiscriminantAnalysisClassifier, "shared", regularization="ledoit_wolf"),
        kinds=("continuous",),
        searched=("covariance", ("shared", "class")),
    ),
    Case("aode", bg.AODEClassifier),
    Case("aode-modl", partial(bg.AODEClassifier, discretizer="modl"), without=_INTERVALS),
    Case(
        "aode-rare",
        partial(bg.AODEClassifier, min_rows=12, smoothing=bg.Smoothing(alpha=0.5, scheme="m")),
    ),
    Case("tan-averaged", partial(bg.AveragedTANClassifier, n_trees=8)),
    *(
        Case(f"{prefix}-{name}", partial(estimator, discretizer=name), without=_INTERVALS)
        for prefix, estimator, names in (
            ("nb", bg.NaiveBayesClassifier, ("mdlp", "modl", "width", "frequency")),
            ("tan", bg.TANClassifier, ("mdlp", "modl")),
        )
        for name in names
    ),
    Case("complement", bg.ComplementNaiveBayesClassifier, kinds=("counts",), without=_COMPLEMENT),
    Case(
        "complement-norm",
        partial(bg.ComplementNaiveBayesClassifier, norm=True, smoothing=0.1),
        kinds=("counts",),
        without=_COMPLEMENT,
    ),
    *(
        Case(
            f"streaming-{name}",
            partial(bg.StreamingNaiveBayesClassifier, **options),
            without=_STREAM | more,
        )
        for name, options, more in (
            ("gk", {}, {}),
            ("modl", {"discretizer": "modl"}, {}),
            ("pid", {"summary": "pid", "size": 20}, _IN_ORDER | _BINS),
            ("gaussian", {"summary": "gaussian"}, {}),
            ("few-states", {"max_categories": 2}, _FEW_STATES),
        )
    ),
    *(
        Case(
            f"streaming-weighted-{name}",
            partial(bg.StreamingWeightedNaiveBayesClassifier, **options),
            without=_STREAM_WEIGHTED | more,
            likelihood=False,
        )
        for name, options, more in (
            ("mixed", {}, {}),
            ("variable", {"exponents": "variable", "discretizer": "frequency"}, {}),
            ("class", {"exponents": "class", "step": 0.01}, {}),
            ("nonnegative", {"domain": "nonnegative", "summary": "pid"}, _BINS),
            ("gaussian", {"summary": "gaussian"}, _POWERED),
            ("detector", {"detector": "adwin", "decay": 0.99, "categorical": "all"}, {}),
        )
    ),
)


def pairs(
    *, named: bool | None = None, kinds: Iterable[str] = (*KINDS, *OTHER_KINDS)
) -> list[tuple[Case, str]]:
    """Return all combinations of a row and a kind of data that it takes."""
    return [
        (case, kind)
        for case in CLASSIFIERS
        for kind in case.kinds
        if kind in kinds and (named is None or case.named == named)
    ]


# Tests of what all estimators of a class share, whatever their parameters.
PLUMBING = {
    "test_arrays_after_frames_and_frames_after_arrays",
    "test_balanced_classes_need_all_labels_at_once",
    "test_boolean_labels",
    "test_class_weights_are_sample_weights",
    "test_columns_are_checked_by_name_and_order",
    "test_decisions_follow_from_probabilities",
    "test_every_kind_of_frame_gives_the_same_numbers",
    "test_every_spelling_of_missing_is_the_same",
    "test_labels_keep_type_and_classes_are_sorted",
    "test_masked_arrays_are_missing_values",
    "test_numpy_arrays_give_the_same_numbers",
    "test_pipeline_search_and_cross_validation",
    "test_stretches_of_rows_answer_as_the_whole",
    "test_the_terms_add_up_to_the_log_odds",
}

# Densities by their names in files: the data they take, and their distribution in SciPy.
DENSITIES: dict[str, tuple[str, Callable[..., Any]]] = {
    "poisson": ("counts", lambda rate: stats.poisson(mu=rate)),
    "negative_binomial": (
        "counts",
        lambda shape, exposure: stats.nbinom(shape, exposure / (exposure + 1.0)),
    ),
    "lognormal": (
        "positive",
        lambda mean, variance: stats.lognorm(np.sqrt(variance), scale=np.exp(mean)),
    ),
    "gamma": ("positive", lambda shape, rate: stats.gamma(shape, scale=1.0 / rate)),
    "exponential": ("positive", lambda rate: stats.expon(scale=1.0 / rate)),
    "beta": ("shares", lambda a, b: stats.beta(a=a, b=b)),
    "student": ("continuous", lambda location, scale, dof: stats.t(dof, location, scale)),
}

# Rows, other than the first of a class, that stand for a family of distributions, of structures,
# of intervals or of summaries: the code that they run is not that of the first. By default each of
# them goes through about a fifth of the tests.
TYPICAL = {
    "auto",
    "complement-norm",
    "forward-tan",
    "given-class-below-a-feature",
    "hill-climb",
    "kdb-modl",
    "nb-all-categorical",
    "nb-backoff",
    "nb-bernoulli",
    "nb-kernel",
    "nb-lognormal",
    "nb-mdlp",
    "nb-multinomial",
    "nb-poisson-predictive",
    "nb-weighted-mixed",
    "streaming-pid",
    "streaming-weighted-detector",
    "tan-cells",
    "tan-weighted",
    "unrestricted",
}

# Tests in which each row has a formula of its own.
ON_ALL_ROWS = {"test_probabilities_equal_brute_force"}

# Values of a parameter of a test, which takes others that ask more.
MILDER: Mapping[str, tuple[str, tuple[Any, ...]]] = {
    "test_chunks_make_the_model_of_the_whole": ("weighted", (False,)),
    "test_forgetting_is_not_having_learned": ("weighted", (False,)),
    "test_perfectly_correlated_columns": ("factor", (1.0,)),
    "test_stretches_of_rows_answer_as_the_whole": ("n", (30,)),
    "test_the_unit_of_a_column_does_not_matter": ("factor", (1e-6, 1e6)),
    "test_weights_are_repetitions": ("missing", (False,)),
}


def class_of(case: Case) -> Any:
    """Return the class of a row's estimator."""
    return getattr(case.estimator, "func", case.estimator)


FIRST_OF_CLASS: dict[object, Case] = {}
# Numbers of a kind of their own come in ways of their own, blocks among them.
_FIRST_ON_NUMBERS: dict[tuple[object, str], Case] = {}
for _case in CLASSIFIERS:
    FIRST_OF_CLASS.setdefault(class_of(_case), _case)
    for _kind in _case.kinds:
        if _kind in OTHER_KINDS:
            _FIRST_ON_NUMBERS.setdefault((class_of(_case), _kind), _case)


def is_spared(test: str, case: Case, kind: str | None = None, **given: Any) -> bool:
    """Tell whether a test runs with `-m slow` only.

    The first row of each class of estimators goes through everything, each test with one of its
    kinds of data, those `ON_ALL_ROWS` with all of them. Other rows go with one kind of data, and
    leave plumbing to the first row: of the class, or of those of the class that take other
    numbers. Those of them that are `TYPICAL` go through every tenth test, each through its own;
    all go through the tests `ON_ALL_ROWS`.
    """
    parameter, values = MILDER.get(test, ("", ()))
    first = FIRST_OF_CLASS[class_of(case)] is case
    one = kind in (None, *OTHER_KINDS, "mixed" if "mixed" in case.kinds else case.kinds[-1])
    if given.get(parameter) in values:
        return not (first and one)
    if test in PLUMBING:
        # The first row of all has every kind of data, for those who read tables.
        first = first or _FIRST_ON_NUMBERS.get((class_of(case), kind)) is case
        return not ((first and one) or case is CLASSIFIERS[0])
    number = zlib.crc32(f"{test} {case.name}".encode())
    if first:
        own = case.kinds[number % len(case.kinds)]
        return test not in ON_ALL_ROWS and kind not in (None, own)
    typical = case.name in TYPICAL and number % 10 == 0
    return not (one and (typical or test in ON_ALL_ROWS))


# --------------------------------------------------------------------------------------- data


@dataclass(frozen=True, eq=False)
class Data:
    """Columns as plain lists, from which the tests make tables of any library, and labels.

    Tests share them, and do not change them.
    """

    columns: Mapping[str, list[Any]]
    y: np.ndarray

    def pandas(self) -> Any:
        """Return the columns as pandas would hold them."""
        import pandas as pd

        frame = pd.DataFrame(dict(self.columns))
        return frame.astype({"d": "category"}) if self._has_category else frame

    def polars(self) -> Any:
        """Return the columns as polars would hold them."""
        import polars as pl

        frame = pl.DataFrame(dict(self.columns))
        return frame.cast({"d": pl.Categorical}) if self._has_category else frame

    def arrow(self) -> Any:
        """Return the columns as pyarrow would hold them."""
        import pyarrow as pa

        table = pa.table(dict(self.columns))
        if not self._has_category:
            return table
        return table.set_column(3, "d", table["d"].dictionary_encode())

    def matrix(self) -> np.ndarray:
        """Return the columns as one NumPy array: of floats, or of objects."""
        columns = list(self.columns.values())
        if all(isinstance(v, float) for column in columns for v in column):
            return np.array(columns).T
        matrix = np.empty((len(self.y), len(columns)), dtype=object)
        for j, column in enumerate(columns):
            matrix[:, j] = column
        return matrix

    @property
    def _has_category(self) -> bool:
        return all(value is None or isinstance(value, str) for value in self.columns["d"])

    def take(self, rows: Iterable[int]) -> Data:
        """Return some of the rows, as often as they are named."""
        rows = list(rows)
        columns = {name: [column[i] for i in rows] for name, column in self.columns.items()}
        return Data(columns, self.y[rows])

    @functools.cache  # noqa: B019 - the data of one kind are the same for all tests
    def with_missing(self, share: float = 0.25, seed: int = 1) -> Data:
        """Return the data with some values None; the first two rows stay complete."""
        random = np.random.default_rng(seed)
        columns = {}
        for name, column in self.columns.items():
            gone = random.random(len(column)) < share
            gone[:2] = False
            columns[name] = [None if g else v for v, g in zip(column, gone, strict=True)]
        return Data(columns, self.y)


@functools.cache
def make_data(kind: str, n: int = 60, seed: int = 0) -> Data:
    """Return rows of three classes whose columns depend on the class and on each other."""
    random = np.random.default_rng(seed)
    code = random.integers(3, size=n)
    code[:3] = 0, 1, 2
    numbers = random.normal(size=(n, 4)) + 0.8 * code[:, None]
    numbers[:, 1] += 0.7 * numbers[:, 0]
    numbers[:, 3] -= 0.9 * numbers[:, 2]
    if kind == "positive":
        numbers = np.exp(0.5 * numbers)
    if kind == "shares":
        numbers = 1.0 / (1.0 + np.exp(-numbers))
    if kind == "counts":
        numbers = np.floor(np.exp(0.6 * numbers * [1, 1, -1, 1] + [0, 0, 1, 0.5]))
    columns = dict(zip(NAMES, numbers.T.tolist(), strict=True))
    if kind not in NUMERIC:
        columns["a"] = [("low", "mid", "high")[v] for v in _cut(numbers[:, 0], 3)]
        columns["b"] = (_cut(numbers[:, 1], 2) == 1).tolist()
    if kind == "discrete":
        columns["c"] = [("x", "y")[v] for v in _cut(numbers[:, 2], 2)]
        columns["d"] = [("p", "q", "r", "s")[v] for v in _cut(numbers[:, 3], 4)]
    if kind == "varied":
        columns["d"] = [int(v) for v in np.exp(0.8 * numbers[:, 3])]
        block = random.poisson(np.array([[1, 2, 4], [2, 2, 2], [4, 2, 1]])[code])
        columns |= dict(zip("efg", block.T.tolist(), strict=True))
    return Data(columns, np.array(["setosa", "versicolor", "virginica"])[code])


def fit(case: Case, data: Data, **parameters: Any) -> Any:
    """Return a new classifier of a row, fitted to the data."""
    return case.estimator(**parameters).fit(data.pandas(), data.y)


@functools.lru_cache(maxsize=1024)
def fitted(case: Case, data: Data) -> Any:
    """Return the classifier of a row, fitted to the data.

    Tests of the same row and data share it: one that changes it fits its own, or takes a copy.
    """
    return fit(case, data)


def evidence_rows(classifier: Any, data: Data) -> list[dict[Any, Any]]:
    """Return each row as evidence for a query: by the names of the network's variables."""
    groups = classifier.layout_.groups
    inside = {item for items in groups.values() for item in items}
    rows = []
    for i in range(len(data.y)):
        row = {name: column[i] for name, column in data.columns.items()}
        found = {n: v for n, v in row.items() if n not in inside and not is_missing(v)}
        for feature, items in groups.items():
            found[feature] = {item: row[item] for item in items}
        rows.append(found)
    return rows


def _cut(values: np.ndarray, bins: int) -> np.ndarray:
    return np.searchsorted(np.quantile(values, np.arange(1, bins) / bins), values)
