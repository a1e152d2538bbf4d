"""Training of a Bayesian network whose tables maximise the conditional likelihood of the class."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, permutations
from typing import Any

import numpy as np

from bayesgraph.core.arrays import Floats, log_sum_exp
from bayesgraph.core.errors import DataError, UnsupportedModelError, quoted
from bayesgraph.core.parallel import one_blas_thread
from bayesgraph.core.variables import Arc, Binned, Discrete, Variable
from bayesgraph.learning.loglinear.cross_validation import ROUGHLY, Choice, choose, train_choice
from bayesgraph.learning.loglinear.sample import Canonical, Partition, Sample
from bayesgraph.learning.loglinear.terms import Grid, Groups, Pair, Terms, merged_view
from bayesgraph.learning.loglinear.training import TOLERANCE, UNBOUNDED, Effects, Effort
from bayesgraph.learning.loglinear.trees import grow_trees
from bayesgraph.learning.spanning import rooted_forest
from bayesgraph.learning.structure import Structure
from bayesgraph.models import BayesianNetwork, TableCPD, Trees, TreesCPD
from bayesgraph.statistics import RowSource, counts_of

# ----- Conversion of a log-linear model over a tree of cliques to the tables of a Bayesian network


# Search for the tilt: maximum number of steps, tolerance of the log class distribution, minimum and
# maximum damping, and maximum range of the coefficients: tables of a wider one say nothing any more
# to a reader, and vanish in the end.
_STEPS, _CLOSE, _MIN_DAMPING, _MAX_DAMPING, _WIDEST = 60, 1e-12, 1e-10, 1e10, 40.0


def to_cpds(terms: Terms, model: Effects, target: Discrete, sample: Sample) -> list[TableCPD]:
    """Return the CPDs of a network that has the class posterior of a log-linear model.

    For each class, the model is a tree of cliques of features, which are the pairs, and all
    features of the joint table together: a product of ``exp(bias)``, of ``share(x | z)
    exp(effect(x, c))`` for each feature x with the parents z, and of ``exp(effect(c))`` for each
    pair and joint state, where ``share(x | z)`` is the frequency of x given z in all classes
    together. Summing features out from the leaves to the roots gives the conditional distributions
    and finally the distribution of the class (Lauritzen and Spiegelhalter 1988). For every complete
    row the posterior is exactly that of the log-linear model.

    The log-linear model does not determine the distribution of the features. The network has their
    distribution in all classes together, multiplied by ``exp(tilt)`` factors (exponential tilting)
    for which the class prior equals the class frequencies.

    Parameters
    ----------
    terms, model
        Tables of the log-linear model, and their effects.
    target : Discrete
    sample : Sample
        The sample from which the terms were learned.

    Returns
    -------
    list of TableCPD
        The CPD of the class first, then those of the features in their order.
    """
    forest = _Forest.of(terms, model, sample)
    log_class, tables = forest.eliminated(forest.tilt_to(np.log(sample.share)))
    prior = np.exp(log_class)
    cpds = [TableCPD(target, prior / prior.sum())]
    # The class is the last axis of the log tables, and the first parent in CPDs.
    for view, above, table in zip(terms.views, forest.parents, tables, strict=True):
        parents = [target, *(terms.views[i].variable for i in above)]
        cpds.append(TableCPD(view.variable, np.moveaxis(np.exp(table), -1, 0), parents))
    return cpds


@dataclass(frozen=True)
class _Forest:
    """Log factors of a tree of cliques for each class, and statistics for their tilting.

    Attributes
    ----------
    parents : list of tuple of int
        Indices of each feature's parents. The last parent has, or is, all of the others.
    order : list of int
        Indices of the features, parents first.
    bias : ndarray, shape (n_classes,)
    factors : list of ndarray, shape (n_states of each parent ..., n_states, n_classes)
        Log factor of each feature given its parents.
    alone : list of ndarray, each of the shape of its factor
        Tilting statistic: posterior of the class given the feature alone, plus, if there are
        parents, the posterior given the feature and its parents. Factors are multiplied by
        ``exp(alone @ tilt)``.
    """

    parents: list[tuple[int, ...]]
    order: list[int]
    bias: Floats
    factors: list[Floats]
    alone: list[Floats]

    @classmethod
    def of(cls, terms: Terms, model: Effects, sample: Sample) -> _Forest:
        """Return the log factors of a log-linear model."""
        parents, order = _parents(terms)
        tables = _tables(terms, model)
        shares = _conditional_shares(terms, sample, parents)
        log_prior = np.log(sample.prior)
        factors, alone = [], []
        for j, parents_of_j in enumerate(parents):
            scope = (*parents_of_j, j)
            # The tables of some of these features. A pair that a user named is in either order.
            orders = (permutations(sorted(scope), k + 1) for k in range(len(scope)))
            inside = {
                features: tables[features] for features in chain(*orders) if features in tables
            }
            # Effects of tables of the parents alone are in the parents' own factors.
            effect = _sum({features: t for features, t in inside.items() if j in features}, scope)
            factor = effect + np.log(shares[j])[..., None]
            # The key of a feature's own table is a tuple of one index.
            statistic = np.broadcast_to(_posterior(tables[j,] + log_prior), factor.shape)
            # A feature of one state says nothing, alone or beside others.
            if parents_of_j and min(factor.shape[:-1]) > 1:
                statistic = statistic + _posterior(_sum(inside, scope) + log_prior)
            factors.append(factor)
            alone.append(statistic)
        return cls(parents, order, model.bias, factors, alone)

    def eliminated(self, tilt: Floats) -> tuple[Floats, list[Floats]]:
        """Sum the features out: return the log class distribution and the features' log CPTs.

        Parameters
        ----------
        tilt : ndarray, shape (n_classes,)
            Coefficients of `alone`: a positive coefficient of a class makes feature states with a
            high posterior of this class more probable.
        """
        # Sums over the features below, a function of a feature and the last of its parents.
        up: list[Floats] = [np.zeros(len(self.bias))] * len(self.order)
        log_class = np.array(self.bias)
        tables: list[Floats] = [np.empty(0)] * len(self.order)
        for j in reversed(self.order):
            # The last two axes are the states of the feature and the classes.
            joint = self.factors[j] + up[j] + (self.alone[j] @ tilt)[..., None]
            total = log_sum_exp(joint, -2)
            tables[j] = joint - total[..., None, :]
            if self.parents[j]:
                last = self.parents[j][-1]
                up[last] = up[last] + total
            else:
                log_class += total
        return log_class - log_sum_exp(log_class, 0), tables

    def slopes(self, tables: list[Floats]) -> Floats:
        """Return the derivatives of the unnormalised log P(class) by the tilt, shape (K, K).

        They are the means, given the class, of the sum of `alone` over all features. `tables` are
        the log tables at the current tilt.
        """
        slopes = np.zeros((len(self.bias), len(self.bias)))
        joints: list[Floats] = [np.empty(0)] * len(self.order)
        for j in self.order:
            above, joint = self.parents[j], np.exp(tables[j])
            if above:
                # The last parent's joint distribution has its own parents first, then itself and
                # the class: those that are no parents of j are the first of them.
                wider = joints[above[-1]]
                of_parents = wider.sum(axis=tuple(range(wider.ndim - 1 - len(above))))
                joint = of_parents[..., None, :] * joint
            joints[j] = joint
            slopes += joint.reshape(-1, len(slopes)).T @ self.alone[j].reshape(-1, len(slopes))
        return slopes

    def tilt_to(self, wanted: Floats) -> Floats:
        """Return the tilt for which the class distribution is, or is nearest to, the wanted one.

        The tilt has the coefficients of `alone` (see `eliminated`), found by the method of
        Levenberg and Marquardt (Marquardt 1963). For two classes an exact tilt exists if, for each
        of them, some states have a posterior above the wanted share. Among more classes one may
        have nowhere a posterior as high as its share: the search ends where the coefficients
        would differ by more than `_WIDEST`.

        Parameters
        ----------
        wanted : ndarray, shape (n_classes,)
            Log probabilities of the classes.
        """
        # A large damping shortens the steps; it grows tenfold after a step that does not help.
        tilt, damping = np.zeros(len(wanted)), 1e-3
        log_class, tables = self.eliminated(tilt)
        misfit = log_class - wanted
        for _ in range(_STEPS):
            if np.abs(misfit).max() < _CLOSE or damping > _MAX_DAMPING:
                break
            slopes = self.slopes(tables)
            slopes -= np.exp(log_class) @ slopes  # of the normalised log P(class)
            normal = slopes.T @ slopes + damping * np.eye(len(tilt))
            candidate = tilt - np.linalg.solve(normal, slopes.T @ misfit)
            log_class, tables = self.eliminated(candidate)
            new_misfit = log_class - wanted
            if np.sum(new_misfit**2) < np.sum(misfit**2) and np.ptp(candidate) <= _WIDEST:
                tilt, misfit, damping = candidate, new_misfit, max(damping / 10, _MIN_DAMPING)
            else:
                log_class, tables = self.eliminated(tilt)
                damping *= 10
        return tilt


def _posterior(joint: Floats) -> Floats:
    """Return the posterior of the class from log joint probabilities."""
    return np.exp(joint - log_sum_exp(joint, -1)[..., None])


def _tables(terms: Terms, model: Effects) -> dict[tuple[int, ...], Floats]:
    """Return the effects of each table's features, (n_states of each feature ..., n_classes)."""
    tables = np.split(model.cells, terms.starts[1:-1])
    n_features = len(terms.views)
    effects_of: dict[tuple[int, ...], Floats] = {(j,): tables[j] for j in range(n_features)}
    for grid, table in zip(terms.grids, tables[n_features:], strict=True):
        # From groups to states, along the axis of each feature.
        effects = table.reshape(*grid.shape, -1)[np.ix_(*grid.groups)]
        # A joint table of one or two features may be on top of their own table.
        other = effects_of.get(grid.features)
        effects_of[grid.features] = effects if other is None else other + effects
    return effects_of


def _sum(tables: Mapping[tuple[int, ...], Floats], scope: tuple[int, ...]) -> Floats:
    """Return the sum of tables as a function of the features in `scope`, in their order.

    The axis of a feature that no table has is of length 1.
    """
    aligned = []
    for features, table in tables.items():
        axes = [features.index(i) for i in scope if i in features]
        # None inserts an axis of length 1.
        index = tuple(slice(None) if i in features else None for i in scope)
        aligned.append(table.transpose(*axes, -1)[index])
    return np.asarray(reduce(np.add, aligned))


def arc_strengths(terms: Terms, model: Effects, cpds: Sequence[TableCPD]) -> dict[Arc, float]:
    """Return the strength of each arc: its mean effect on the class scores, in nats.

    The strength of a table is the range of its effects over the classes, averaged over its cells
    with their shares of the rows as weights. That of an arc is the sum over the tables with both of
    its features; that of an arc from the class is the table of the feature.
    """
    ranges = terms.share * np.ptp(model.cells, axis=1)
    # Of the tables in their order: those of the features, of the pairs, and the joint table.
    of_tables = np.add.reduceat(ranges, terms.starts[:-1]).tolist()
    target, *features = [cpd.variable.name for cpd in cpds]
    strengths: dict[Arc, float] = {
        (target, name): s for name, s in zip(features, of_tables, strict=False)
    }
    parents, _ = _parents(terms)
    of_grids = list(zip(terms.grids, of_tables[len(features) :], strict=True))
    for j, above in enumerate(parents):
        for i in above:
            strength = sum(s for grid, s in of_grids if {i, j} <= set(grid.features))
            strengths[features[i], features[j]] = strength
    return strengths


def _parents(terms: Terms) -> tuple[list[tuple[int, ...]], list[int]]:
    """Return each feature's parents in the tree of cliques, and an order with parents first.

    The features of the joint table are one clique: each has all earlier ones as parents. The first
    feature of each tree is its root and has no parents.
    """
    clique = terms.joint
    edges = [pair for pair in terms.pairs if not set(pair) <= set(clique)]
    # A star stands for the clique in the search for roots; its members then get their parents.
    edges += [(clique[0], j) for j in clique[1:]]
    n_features = len(terms.views)
    parent, order = rooted_forest(n_features, edges, range(n_features))
    parents: list[tuple[int, ...]] = [() if above is None else (above,) for above in parent]
    members = [j for j in order if j in clique]
    for n_earlier, j in enumerate(members[1:], start=1):
        parents[j] = tuple(members[:n_earlier])
    return parents, order


def _conditional_shares(
    terms: Terms, sample: Sample, parents: Sequence[tuple[int, ...]]
) -> list[Floats]:
    """Return each feature's distribution given its parents, pooled over classes.

    It is estimated for the groups of states in the search for pairs, and drawn by one row to the
    distribution given one parent less. Within a group, the probability is divided in proportion to
    the frequencies of its states.
    """
    views = terms.views
    shares: list[Floats] = []
    for j, (view, above) in enumerate(zip(views, parents, strict=True)):
        if not above:
            shares.append(view.share)
            continue
        # Given no parent, the last parent, the last two, ... `conditional` is each of these.
        group_share = conditional = np.bincount(view.paired, view.share)
        for first in reversed(range(len(above))):
            scope = (*above[first:], j)
            grid = Grid(scope, tuple(views[i].paired for i in scope))
            cells = grid.rows(sample.codes)
            counts = counts_of(cells, math.prod(grid.shape), sample.weights).reshape(grid.shape)
            conditional = (counts + conditional) / (counts.sum(axis=-1, keepdims=True) + 1.0)
        # From groups to states: of the feature, and then of its parents.
        of_states = conditional[..., view.paired] * (view.share / group_share[view.paired])
        shares.append(of_states[np.ix_(*(views[i].paired for i in above))])
    return shares


# --------------------------------- Merging of neighbouring intervals of a trained log-linear model
# Intervals are merged where the effects of neighbours hardly differ, in the tables of single
# features, of pairs, and in the joint table together.


# Minimum share of the rows in an interval that was merged.
_LEAST = 0.01
# Price of an interval of a feature in the joint table, which has cells for each, in prices.
_JOINT = 4.0
# Decimals of the loss of a merger, so that equal losses are ties.
_DECIMALS = 12


def partition_of(
    terms: Terms, effects: Effects, sample: Sample, price: float, impurity: float
) -> Partition:
    """Return the intervals of each feature at which losses and prices are lowest in sum.

    The loss of merging neighbouring intervals is that of giving all of them the mean of their
    effects, to second order in the effects: half the sum of squared differences from the mean,
    weighted by the sum of P (1 - P) over the rows (as in the clustering of Ward 1963). Terms
    between classes, and between the tables of one feature, are left out. The best partition of a
    feature is found by dynamic programming (Fisher 1958). In a joint table, most joint states have
    no rows: its weights are those of features that are independent of each other, and an interval
    of its features costs four prices; it has at most 16. Intervals with less than one per cent of
    the rows are not formed, and categories stay as they are.

    Parameters
    ----------
    terms : Terms
    effects : Effects
        Those of a trained model.
    sample : Sample
        The rows that it was trained on.
    price : float
        Price of an interval, in nats per row.
    impurity : float
        Mean of the sum of P (1 - P) over the classes of rows that a model has not seen. Where a
        model separates the classes of the rows that it was trained on, their own P (1 - P) would
        say that no effect matters.
    """
    # P is that of the model without the joint table, whose cells come last.
    cells = effects.cells.copy()
    if terms.joint:
        cells[terms.starts[-2] :] = 0.0
    without_joint = Effects(cells, effects.bias)
    curvature = sample.rows(terms).curvature(without_joint, impurity) / sample.weights.sum()
    split = (np.split(a, terms.starts[1:-1]) for a in (effects.cells, curvature))
    # The effects and curvatures of each table.
    all_tables = list(zip(*split, strict=True))
    partition: list[Groups] = [np.arange(len(view.share)) for view in terms.views]
    for feature, view in enumerate(terms.views):
        if isinstance(view.variable, Binned):
            tables = _tables_of(terms, feature, all_tables)
            losses = np.sum([_losses(*table) for table in tables], axis=0).round(_DECIMALS)
            costs = losses + (price * _JOINT if feature in terms.joint else price)
            # Whether the states a to b - 1 have too few rows together, at a, b.
            ends = np.concatenate([[0.0], np.cumsum(view.share)])
            costs[np.asarray(ends - ends[:, None] < _LEAST)] = np.inf
            groups = _cheapest_intervals(costs)
            if feature in terms.joint:
                # A joint table has a cell for each combination: no more intervals than its groups.
                groups = merged_view(view, groups).joint[groups]
            partition[feature] = groups
    return tuple(partition)


def _cheapest_intervals(costs: Floats) -> Groups:
    """Return the interval of each state, in the partition into intervals of lowest total cost.

    Parameters
    ----------
    costs : ndarray, shape (n_states + 1, n_states + 1)
        The cost of the interval of the states a to b - 1 at a, b.
    """
    n_states = len(costs) - 1
    # The lowest cost of a partition of the states below b, and the begin of its last interval.
    least, begin = np.zeros(n_states + 1), np.zeros(n_states + 1, dtype=np.intp)
    for b in range(1, n_states + 1):
        totals = least[:b] + costs[:b, b]
        begin[b] = np.argmin(totals)  # of equal ones the longest interval
        least[b] = totals[begin[b]]
    is_first = np.zeros(n_states, dtype=bool)
    b = n_states
    while b:
        b = int(begin[b])
        is_first[b] = True
    return np.cumsum(is_first) - 1


def _tables_of(
    terms: Terms, feature: int, tables: Sequence[tuple[Any, Any]]
) -> list[tuple[Floats, Floats]]:
    """Return effects and curvatures of a feature's states in each table that has the feature.

    `tables` has the effects and curvatures of all tables. Both have the shape (n_states, n): a
    column for each class, and each group of other features.
    The curvature of a group of states in a table of several features is divided among them by their
    share.
    """
    share = terms.views[feature].share
    parts, n_classes = [tables[feature]], tables[feature][0].shape[1]
    of_grids = zip(terms.grids, tables[len(terms.views) :], strict=True)
    for number, (grid, table) in enumerate(of_grids):
        if feature in grid.features:
            axis = grid.features.index(feature)
            group = grid.groups[axis]
            # Groups of the feature, groups of all other features together, classes.
            shape = grid.shape[axis], -1, n_classes
            effects, curvatures = (
                np.moveaxis(a.reshape(*grid.shape, -1), axis, 0).reshape(shape) for a in table
            )
            if number == len(terms.pairs):  # the joint table follows the pairs
                # The weights that states and other features would have if they were independent. Of
                # joint states of many features most have no rows in the sample, but may have rows
                # later.
                total = np.maximum(curvatures.sum(axis=(0, 1)), np.finfo(float).tiny)
                of_others = curvatures.sum(axis=0) / total
                curvatures = np.asarray(curvatures.sum(axis=1)[:, None] * of_others)
            # A mask of the last two axes, which makes them one.
            occurs = curvatures.any(axis=0)
            part_of_group = share / np.bincount(group, share)[group]
            weights = curvatures[:, occurs][group] * part_of_group[:, None]
            parts.append((effects[:, occurs][group], weights))
    return parts


def _losses(values: Floats, weights: Floats) -> Floats:
    """Return at [a, b] the loss of joining the states a to b - 1, 0 where b <= a.

    It is half the weighted sum of their squares about their mean. Each of the n columns has a mean
    of its own, and losses are summed over the columns.

    Parameters
    ----------
    values, weights : ndarray, shape (n_states, n)

    Returns
    -------
    ndarray, shape (n_states + 1, n_states + 1)
    """
    powers = (weights, weights * values, weights * values * values)
    # Sums over the states before each, of which differences are sums over intervals.
    mass, first, second = (np.pad(np.cumsum(p, axis=0), ((1, 0), (0, 0))) for p in powers)
    losses = np.zeros((len(mass), len(mass)))
    for a in range(len(values)):
        total = np.maximum(mass[a + 1 :] - mass[a], np.finfo(float).tiny)
        squares = second[a + 1 :] - second[a] - (first[a + 1 :] - first[a]) ** 2 / total
        losses[a, a + 1 :] = 0.5 * np.maximum(squares, 0.0).sum(axis=1)
    return losses


# ---- Training of a Bayesian network whose tables maximise the conditional likelihood of the class


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
        The class is a parent of every feature. The features are a forest of pairs; those of the
        joint table, at most four, are one clique of it.
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
    structure: Structure | None = None,
    *,
    n_trees: int = 0,
    merge: bool = False,
    effort: Effort = UNBOUNDED,
) -> Discriminative:
    """Return an augmented naive Bayes network with tables trained to predict the class.

    The tables maximise the penalised conditional likelihood of the class. Cross-validation on the
    rows decides which pairs of features interact, whether a few features have a joint table (see
    `joint_features`), and how strong the penalties are; see `choose`. There are no hyperparameters
    to set.

    Parameters
    ----------
    source : RowSource
        A source with a target; all other columns discrete (intervals, categories, groups).
    structure : Structure, optional
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
        If the arcs of `structure` between features are no forest, or the class has parents.
    """
    target = source.target
    if target is None:
        raise DataError("To train for prediction takes a target; give the count source one.")
    features = _discrete(source.features)
    table = source.table
    columns = [table.column(v) for v in features]
    weights = source.weights
    canonical = Canonical.of(features, target, columns, table.column(target), weights)
    rows = canonical.codes, canonical.labels, weights
    sample = Sample.of(canonical.features, *rows, target.cardinality)
    pairs = None if structure is None else _pairs(structure, target, features)
    small = sample.thinned(_MAX_ROWS)
    n_folds = _FOLDS if len(small.labels) <= _MANY_ROWS else _FEWER_FOLDS
    # No more folds than rows.
    n_folds = min(n_folds, max(1, int(small.sizes.sum())))
    # The optimiser works on short vectors, for which several threads would only slow it down.
    with one_blas_thread():
        choice = choose(small, n_folds, n_trees, pairs, effort, merge=merge)
        # What is merged takes a rough model only.
        tolerance = ROUGHLY if merge else TOLERANCE
        terms, effects = train_choice(
            sample, choice, pairs, tolerance=tolerance, effort=effort, merge=merge
        )
        effort.enter("random trees of all rows")
        trees = None
        if choice.tree_share:
            grown = grow_trees(sample, choice.n_trees, effort, choice.leaf_weight)
            trees = tree_network(canonical, sample, grown)
        if merge:
            sample, terms, effects = _merged(
                sample, terms, effects, choice, pairs is not None, effort
            )
    cpds = [canonical.restored(cpd) for cpd in to_cpds(terms, effects, canonical.target, sample)]
    strengths: dict[Arc, float] = arc_strengths(terms, effects, cpds)
    variables = tuple(cpd.variable for cpd in cpds)
    network = BayesianNetwork(cpds, arc_scores=strengths, order=variables)
    trained = Structure(variables, tuple(strengths), strengths)
    return Discriminative(network, trained, choice, trees)


def _merged(
    sample: Sample,
    terms: Terms,
    effects: Effects,
    choice: Choice,
    is_given: bool,
    effort: Effort,
) -> tuple[Sample, Terms, Effects]:
    """Return the first three arguments after merging intervals, trained once more.

    Nothing is merged if the loss exceeds that of held-out rows by more than the prices saved.
    `is_given` says whether the pairs were given, and stay though they are not informative.
    """
    partition = partition_of(terms, effects, sample, _PRICE, choice.impurity)
    merged = sample.merged(partition)
    pairs = terms.pairs
    if not is_given:
        # Those of features that still have several groups.
        pairs = tuple([p for p in pairs if min(merged.views[j].n_paired for j in p) > 1])
    joint = tuple([j for j in terms.joint if len(merged.views[j].share) > 1])
    new_terms, new_effects = train_choice(
        merged, choice, pairs, joint, effort=effort, phase="merged intervals"
    )
    # Each partition numbers its intervals from 0 on, ascending: so many intervals are gone.
    saved = _PRICE * sum(len(groups) - 1 - int(groups[-1]) for groups in partition)
    if merged.rows(new_terms).loss(new_effects) > choice.loss + saved:
        return sample, terms, effects
    return merged, new_terms, new_effects


def tree_network(canonical: Canonical, sample: Sample, trees: Trees) -> BayesianNetwork:
    """Return a network whose class is distributed as the average of random trees says.

    The features are its parents and independent of each other.
    """
    groups, parents, cpds = [], [], []
    # Each variable as the rows have it, and the canonical code of each of its states.
    for view, group in zip(sample.views, trees.groups, strict=True):
        variable, code = canonical.originals[view.variable.name]
        parents.append(variable)
        groups.append(group[code])
        cpds.append(TableCPD(variable, view.share[code] / view.share.sum()))
    target, code = canonical.originals[canonical.target.name]
    trees = replace(trees, groups=tuple(groups), values=trees.values[:, code])
    cpd = TreesCPD(target, trees, parents)
    return BayesianNetwork([*cpds, cpd])


def _discrete(variables: tuple[Variable, ...]) -> tuple[Discrete, ...]:
    """Return the variables as they are; raise a DataError unless all are discrete."""
    features = tuple(v for v in variables if isinstance(v, Discrete))
    if len(features) < len(variables):
        numbers = [v.name for v in variables if not isinstance(v, Discrete)]
        raise DataError(
            f"Tables take discrete features; {quoted(numbers)} are numbers. Make intervals of them "
            "with discretizer=."
        )
    return features


def _pairs(
    structure: Structure, target: Discrete, features: tuple[Discrete, ...]
) -> tuple[Pair, ...]:
    """Return the arcs between features; raise an UnsupportedModelError unless they are a forest."""
    index_of: dict[Variable, int] = {v: i for i, v in enumerate(features)}
    pairs: list[Pair] = []
    for child, parents in structure.parents().items():
        if child == target:
            wrong = bool(parents)
        else:
            others = [p for p in parents if p != target]
            # A feature without parents was not selected, and has no effect to learn.
            wrong = bool(parents) and (target not in parents or len(others) > 1)
            pairs += [(index_of[p], index_of[child]) for p in others]
        if wrong:
            raise UnsupportedModelError(
                "Tables are trained for prediction where the class is a parent of every feature "
                f"and no feature has more than one other parent; {child.name!r} has the parents "
                f"{quoted(p.name for p in parents)}. Use a tree or a forest, or exponents=None."
            )
    return tuple(pairs)
