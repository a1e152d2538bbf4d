"""Conversion of a log-linear model over a tree of cliques to the tables of a Bayesian network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from bayesgraph.ancestors import Arc
from bayesgraph.cpds import TableCPD
from bayesgraph.factors.algebra import Floats, log_sum_exp
from bayesgraph.learning.loglinear.sample import Sample
from bayesgraph.learning.loglinear.terms import Terms
from bayesgraph.learning.loglinear.training import Effects
from bayesgraph.learning.spanning import rooted_forest
from bayesgraph.variables import Discrete

# Search for the tilt: maximum number of steps, tolerance of the log class distribution, minimum and
# maximum damping.
_STEPS, _CLOSE, _MIN_DAMPING, _MAX_DAMPING = 60, 1e-12, 1e-10, 1e10


def to_cpds(terms: Terms, model: Effects, target: Discrete, sample: Sample) -> list[TableCPD]:
    """Return the CPDs of a network that has the class posterior of a log-linear model.

    For each class, the model is a tree of cliques of features, which are the pairs, and all
    features with contexts together: a product of ``exp(bias)``, of ``share(x | z) exp(effect(x,
    c))`` for each feature x with the parents z, and of ``exp(effect(c))`` for each pair and
    context, where ``share(x | z)`` is the frequency of x given z in all classes together. Summing
    features out from the leaves to the roots gives the conditional distributions and finally the
    distribution of the class (Lauritzen and Spiegelhalter 1988). For every complete row the
    posterior is exactly that of the log-linear model.

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
        for j, above in enumerate(parents):
            scope = (*above, j)
            inside = {own: t for own, t in tables.items() if set(own) <= set(scope)}
            effect = _sum({own: t for own, t in inside.items() if j in own}, scope)
            factor = effect + np.log(shares[j])[..., None]
            says = np.broadcast_to(_posterior(tables[j,] + log_prior), factor.shape)
            if above and min(factor.shape[:-1]) > 1:
                says = says + _posterior(_sum(inside, scope) + log_prior)
            factors.append(factor)
            alone.append(says)
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
        found = np.zeros((len(self.bias), len(self.bias)))
        joints: list[Floats] = [np.empty(0)] * len(self.order)
        for j in self.order:
            above, joint = self.parents[j], np.exp(tables[j])
            if above:
                wider = joints[above[-1]]
                summed = wider.sum(axis=tuple(range(wider.ndim - 1 - len(above))))
                joint = summed[..., None, :] * joint
            joints[j] = joint
            found += joint.reshape(-1, len(found)).T @ self.alone[j].reshape(-1, len(found))
        return found

    def tilt_to(self, wanted: Floats) -> Floats:
        """Return the tilt for which the class distribution is, or is nearest to, the wanted one.

        The tilt has the coefficients of `alone` (see `eliminated`), found by the method of
        Levenberg and Marquardt (Marquardt 1963). For two classes an exact tilt exists if, for each
        of them, some states have a posterior above the wanted share.

        Parameters
        ----------
        wanted : ndarray, shape (n_classes,)
            Log probabilities of the classes.
        """
        tilt, damping = np.zeros(len(wanted)), 1e-3
        log_class, tables = self.eliminated(tilt)
        misfit = log_class - wanted
        for _ in range(_STEPS):
            if np.abs(misfit).max() < _CLOSE or damping > _MAX_DAMPING:
                break
            slopes = self.slopes(tables)
            slopes -= np.exp(log_class) @ slopes
            normal = slopes.T @ slopes + damping * np.eye(len(tilt))
            step = tilt - np.linalg.solve(normal, slopes.T @ misfit)
            log_class, tables = self.eliminated(step)
            if np.sum((log_class - wanted) ** 2) < np.sum(misfit**2):
                tilt, misfit, damping = step, log_class - wanted, max(damping / 10, _MIN_DAMPING)
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
    found: dict[tuple[int, ...], Floats] = {(j,): tables[j] for j in range(n_features)}
    for table, (i, j) in zip(tables[n_features:], terms.pairs, strict=False):
        first, second = terms.views[i], terms.views[j]
        groups = table.reshape(len(first.products), len(second.products), -1)
        found[i, j] = groups[first.grid][:, second.grid]
    if terms.contexts is not None:
        # Contexts of one or two features may be on top of their own table.
        scope, table = terms.contexts.features, tables[-1][terms.contexts.cells]
        found[scope] = found[scope] + table if scope in found else table
    return found


def _sum(tables: Mapping[tuple[int, ...], Floats], scope: tuple[int, ...]) -> Floats:
    """Return the sum of tables as a function of the features in `scope`, in their order.

    The axis of a feature that no table has is of length 1.
    """
    aligned = []
    for own, table in tables.items():
        axes = [own.index(i) for i in scope if i in own]
        index = tuple(slice(None) if i in own else None for i in scope)
        aligned.append(table.transpose(*axes, -1)[index])
    return np.asarray(reduce(np.add, aligned))


def arc_strengths(terms: Terms, model: Effects, cpds: Sequence[TableCPD]) -> dict[Arc, float]:
    """Return the strength of each arc: its mean effect on the class scores, in nats.

    The strength of a table is the range of its effects over the classes, averaged over its cells
    with their shares of the rows as weights. That of an arc is the sum over the tables with both of
    its features; that of an arc from the class is the table of the feature.
    """
    spread = terms.share * np.ptp(model.cells, axis=1)
    means = np.add.reduceat(spread, terms.starts[:-1]).tolist()
    target, *features = [cpd.variable.name for cpd in cpds]
    found: dict[Arc, float] = {(target, name): m for name, m in zip(features, means, strict=False)}
    parents, _ = _parents(terms)
    scopes = [*terms.pairs, *([] if terms.contexts is None else [terms.contexts.features])]
    together = list(zip(scopes, means[len(features) :], strict=True))
    for j, above in enumerate(parents):
        for i in above:
            strength = sum(m for scope, m in together if i in scope and j in scope)
            found[features[i], features[j]] = strength
    return found


def _parents(terms: Terms) -> tuple[list[tuple[int, ...]], list[int]]:
    """Return each feature's parents in the tree of cliques, and an order with parents first.

    The features with contexts are one clique: each has all earlier ones as parents. The first
    feature of each tree is its root and has no parents.
    """
    clique = () if terms.contexts is None else terms.contexts.features
    edges = [pair for pair in terms.pairs if not set(pair) <= set(clique)]
    edges += [(clique[0], j) for j in clique[1:]]
    n_features = len(terms.views)
    parent, order = rooted_forest(n_features, edges, range(n_features))
    found: list[tuple[int, ...]] = [() if above is None else (above,) for above in parent]
    members = [j for j in order if j in clique]
    for at, j in enumerate(members[1:], start=1):
        found[j] = tuple(members[:at])
    return found, order


def _conditional_shares(
    terms: Terms, sample: Sample, parents: Sequence[tuple[int, ...]]
) -> list[Floats]:
    """Return each feature's distribution given its parents, pooled over classes.

    It is estimated for the groups of states in the search for pairs, and drawn by one row to the
    distribution given one parent less. Within a group, the probability is divided in proportion to
    the frequencies of its states.
    """
    grouped = [
        np.append(view.paired, -1)[codes]
        for view, codes in zip(terms.views, sample.codes.T, strict=True)
    ]
    found: list[Floats] = []
    for j, (view, above) in enumerate(zip(terms.views, parents, strict=True)):
        group = given = np.bincount(view.paired, weights=view.share, minlength=view.n_paired)
        for first in reversed(range(len(above))):
            scope = (*above[first:], j)
            shape = tuple(terms.views[i].n_paired for i in scope)
            known = np.logical_and.reduce([grouped[i] >= 0 for i in scope])
            cells = np.ravel_multi_index([grouped[i][known] for i in scope], shape)
            weights = sample.weights[known]
            counts = np.bincount(cells, weights, int(np.prod(shape))).reshape(shape)
            given = (counts + given) / (counts.sum(axis=-1, keepdims=True) + 1.0)
        table = given[..., view.paired] * (view.share / group[view.paired])
        found.append(
            table[np.ix_(*(terms.views[i].paired for i in above))] if above else view.share
        )
    return found
