"""Training of a Bayesian network whose tables maximise the conditional likelihood of the class."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bayesgraph.ancestors import Arc
from bayesgraph.cpds import TableCPD, TreeAverageCPD
from bayesgraph.errors import DataError, UnsupportedModelError, quoted
from bayesgraph.learning.loglinear.cross_validation import (
    ROUGHLY,
    Choice,
    Folded,
    choose,
    train_choice,
)
from bayesgraph.learning.loglinear.effort import UNBOUNDED, Effort
from bayesgraph.learning.loglinear.merging import partition_of
from bayesgraph.learning.loglinear.random_trees import grow_trees
from bayesgraph.learning.loglinear.sample import Canonical, Sample
from bayesgraph.learning.loglinear.tables import arc_strengths, to_cpds
from bayesgraph.learning.loglinear.terms import Pair, Terms
from bayesgraph.learning.loglinear.training import TOLERANCE, Effects
from bayesgraph.learning.structure import Structure
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.parallel import one_blas_thread
from bayesgraph.statistics import RowSource
from bayesgraph.variables import Discrete, Variable

# Maximum number of rows for choosing structure and penalties; more would hardly change them.
_MAX_ROWS = 20_000
# Number of folds; number of folds for many rows, and number of rows above which rows are many.
_FOLDS, _FEWER_FOLDS, _MANY_ROWS = 5, 3, 2_000
# Price of an interval when neighbouring intervals are merged, in nats per row.
_PRICE = 5e-5


@dataclass(frozen=True)
class Discriminative:
    """A network trained to predict its class variable.

    Attributes
    ----------
    network : BayesianNetwork
    structure : Structure
        The class is a parent of every feature. The arcs between features are a forest.
    choice : Choice
        The compared candidates, with their losses on held-out rows.
    trees : BayesianNetwork or None
        The average of random trees, if it has a share in the posterior.
    """

    network: BayesianNetwork
    structure: Structure
    choice: Choice
    trees: BayesianNetwork | None = None


def train_network(
    source: RowSource,
    given: Structure | None = None,
    *,
    n_trees: int = 0,
    merge: bool = False,
    effort: Effort = UNBOUNDED,
) -> Discriminative:
    """Return an augmented naive Bayes network with tables trained to predict the class.

    The tables maximise the penalised conditional likelihood of the class. Cross-validation on the
    rows decides which pairs of features interact and how strong the penalties are; see `choose`.
    There are no hyperparameters to set.

    Parameters
    ----------
    source : RowSource
        A source with a target; all other columns discrete (intervals, categories, groups).
    given : Structure, optional
        A structure whose arcs between features form a forest; by default it is learned.
    n_trees : int
        Number of random trees to average the network with, if that predicts better.
    merge : bool
        Whether neighbouring intervals with about equal effects become one, after which the tables
        are trained once more. The random trees keep all intervals.
    effort : Effort, optional
        What the training may cost. Where it is spent, fewer candidates are compared, training stops
        at the best parameters so far, and there are fewer trees.

    Raises
    ------
    DataError
        If a column is continuous, or the source has no target.
    UnsupportedModelError
        If the arcs of `given` between features are no forest, or the class has parents.
    """
    target = source.target
    if target is None:
        raise DataError("To train for prediction takes a target; give the count source one.")
    features = _discrete(source.features)
    table = source.table
    columns = [table.column(v) for v in features]
    own = Canonical.of(features, target, columns, table.column(target), source.weights)
    sample = Sample.of(own.features, own.codes, own.labels, source.weights, target.cardinality)
    pairs = None if given is None else _pairs(given, target, features)
    small = sample.thinned(_MAX_ROWS)
    n_folds = _FOLDS if len(small.labels) <= _MANY_ROWS else _FEWER_FOLDS
    n_folds = min(n_folds, max(1, int(small.sizes.sum())))
    # The optimiser works on short vectors, for which several threads would only slow it down.
    with one_blas_thread():
        choice = choose(Folded(small, n_folds, pairs, effort), n_trees)
        # What is merged takes a rough model only.
        tolerance = ROUGHLY if merge else TOLERANCE
        terms, effects = train_choice(sample, choice, pairs, tolerance, effort)
        effort.enter("random trees of all rows")
        trees = tree_network(own, sample, n_trees, effort) if choice.tree_share else None
        if merge:
            model = own, sample, terms, effects
            own, sample, terms, effects = _merged(*model, choice, pairs is not None, effort)
    cpds = [own.restored(cpd) for cpd in to_cpds(terms, effects, own.target, sample)]
    strengths: dict[Arc, float] = arc_strengths(terms, effects, cpds)
    variables = tuple(cpd.variable for cpd in cpds)
    network = BayesianNetwork(cpds, arc_scores=strengths, order=variables)
    structure = Structure(variables, tuple(strengths), strengths)
    return Discriminative(network, structure, choice, trees)


def _merged(
    own: Canonical,
    sample: Sample,
    terms: Terms,
    effects: Effects,
    choice: Choice,
    is_given: bool,
    effort: Effort,
) -> tuple[Canonical, Sample, Terms, Effects]:
    """Return the first four arguments after merging intervals, trained once more.

    Nothing is merged if the loss exceeds that of held-out rows by more than the prices saved.
    `is_given` says whether the pairs were given, and stay though they are not informative.
    """
    partition = partition_of(terms, effects, sample, _PRICE, choice.impurity)
    fewer = sample.merged(partition)
    pairs = terms.pairs if is_given else _informative(terms.pairs, fewer)
    found = train_choice(fewer, choice, pairs, effort=effort, phase="merged intervals")
    saved = _PRICE * sum(len(groups) - 1 - int(groups[-1]) for groups in partition)
    if fewer.rows(found[0]).loss(found[1]) > choice.loss + saved:
        return own, sample, terms, effects
    return own.merged(partition, fewer), fewer, *found


def tree_network(
    own: Canonical, sample: Sample, n_trees: int, effort: Effort = UNBOUNDED
) -> BayesianNetwork:
    """Return a network whose class is distributed as the average of random trees says.

    The features are its parents and independent of each other. Where `effort` is spent, there are
    fewer trees.
    """
    trees = grow_trees(sample, n_trees, effort)
    ends = np.cumsum([view.variable.cardinality for view in sample.views])[:-1]
    groups, parents, cpds = [], [], []
    for view, group in zip(sample.views, np.split(trees.groups, ends), strict=True):
        variable, place = own.given[view.variable.name]
        parents.append(variable)
        groups.append(group[place])
        cpds.append(TableCPD(variable, view.share[place] / view.share.sum()))
    target, place = own.given[own.target.name]
    trees = replace(trees, groups=np.concatenate(groups), values=trees.values[:, place])
    cpd = TreeAverageCPD(target, trees, parents)
    return BayesianNetwork([*cpds, cpd])


def _informative(pairs: tuple[Pair, ...], sample: Sample) -> tuple[Pair, ...]:
    """Return the pairs of features that both have several groups of states."""
    return tuple(p for p in pairs if min(sample.views[j].n_paired for j in p) > 1)


def _discrete(variables: tuple[Variable, ...]) -> tuple[Discrete, ...]:
    found = tuple(v for v in variables if isinstance(v, Discrete))
    if len(found) < len(variables):
        numbers = [v.name for v in variables if not isinstance(v, Discrete)]
        raise DataError(
            f"Tables take discrete features; {quoted(numbers)} are numbers. Make intervals of them "
            "with discretizer=."
        )
    return found


def _pairs(
    structure: Structure, target: Discrete, features: tuple[Discrete, ...]
) -> tuple[Pair, ...]:
    """Return the arcs between features; raise an UnsupportedModelError unless they are a forest."""
    at: dict[Variable, int] = {v: i for i, v in enumerate(features)}
    pairs: list[Pair] = []
    for child, parents in structure.parents().items():
        if child == target:
            wrong = bool(parents)
        else:
            others = [p for p in parents if p != target]
            # A feature without parents was not selected, and has no effect to learn.
            wrong = bool(parents) and (target not in parents or len(others) > 1)
            pairs += [(at[p], at[child]) for p in others]
        if wrong:
            raise UnsupportedModelError(
                "Tables are trained for prediction where the class is a parent of every feature "
                f"and no feature has more than one other parent; {child.name!r} has the parents "
                f"{quoted(p.name for p in parents)}. Use a tree or a forest, or exponents=None."
            )
    return tuple(pairs)
