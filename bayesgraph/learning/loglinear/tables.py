"""Conversion of a log-linear model over a forest to the tables of a Bayesian network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayesgraph.ancestors import Arc
from bayesgraph.cpds import TableCPD
from bayesgraph.factors.algebra import Floats, log_sum_exp
from bayesgraph.learning.loglinear.sample import Sample
from bayesgraph.learning.loglinear.terms import Pair, Terms
from bayesgraph.learning.loglinear.training import Effects
from bayesgraph.learning.spanning import rooted_forest
from bayesgraph.variables import Discrete

# Search for the tilt: maximum number of steps, tolerance of the log class distribution, minimum and
# maximum damping.
_STEPS, _CLOSE, _MIN_DAMPING, _MAX_DAMPING = 60, 1e-12, 1e-10, 1e10


def to_cpds(terms: Terms, model: Effects, target: Discrete, sample: Sample) -> list[TableCPD]:
    """Return the CPDs of a network that has the class posterior of a log-linear model.

    For each class, the model is a forest over the features: a product of ``exp(bias)``, of
    ``share(x | z) exp(effect(x, c))`` for each feature x with the parent z in the forest, and of
    ``exp(effect(x, z, c))`` for each pair, where ``share(x | z)`` is the frequency of x given z in
    all classes together. Summing features out from the leaves to the roots gives the conditional
    distributions and finally the distribution of the class (Lauritzen and Spiegelhalter 1988). For
    every complete row the posterior is exactly that of the log-linear model.

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
    for view, above, table in zip(terms.views, forest.parent, tables, strict=True):
        parents = [target] if above is None else [target, terms.views[above].variable]
        cpds.append(TableCPD(view.variable, np.moveaxis(np.exp(table), -1, 0), parents))
    return cpds


@dataclass(frozen=True)
class _Forest:
    """Log factors of a forest of features for each class, and statistics for their tilting.

    Attributes
    ----------
    parent : list of int or None
        Index of each feature's parent in the forest.
    order : list of int
        Indices of the features, parents first.
    bias : ndarray, shape (n_classes,)
    factors : list of ndarray, shape (n_states, n_classes) or (n_parent_states, n_states, n_classes)
        Log factor of each feature given its parent.
    alone : list of ndarray, each of the shape of its factor
        Tilting statistic: posterior of the class given the feature alone, plus, if there is a
        parent, the posterior given the feature and its parent. Factors are multiplied by
        ``exp(alone @ tilt)``.
    """

    parent: list[int | None]
    order: list[int]
    bias: Floats
    factors: list[Floats]
    alone: list[Floats]

    @classmethod
    def of(cls, terms: Terms, model: Effects, sample: Sample) -> _Forest:
        """Return the log factors of a log-linear model."""
        tables = np.split(model.cells, terms.starts[1:-1])
        singles = tables[: len(terms.views)]
        pairs: dict[Pair, Floats] = {}
        for table, (i, j) in zip(tables[len(singles) :], terms.pairs, strict=True):
            first, second = terms.views[i], terms.views[j]
            groups = table.reshape(len(first.products), len(second.products), -1)
            pairs[i, j] = groups[first.grid][:, second.grid]
            pairs[j, i] = pairs[i, j].swapaxes(0, 1)
        parent, order = _parents(terms)
        shares = _conditional_shares(terms, sample, parent)
        log_prior = np.log(sample.prior)
        factors, alone = [], []
        for j, (single, above) in enumerate(zip(singles, parent, strict=True)):
            effect, says = single, _posterior(single + log_prior)
            if above is not None:
                pair = pairs[above, j]
                effect = single + pair
                says = np.broadcast_to(says, effect.shape)
                if min(effect.shape[:2]) > 1:
                    both = single + singles[above][:, None] + pair
                    says = says + _posterior(both + log_prior)
            factors.append(effect + np.log(shares[j])[..., None])
            alone.append(says)
        return cls(parent, order, model.bias, factors, alone)

    def eliminated(self, tilt: Floats) -> tuple[Floats, list[Floats]]:
        """Sum the features out: return the log class distribution and the features' log CPTs.

        Parameters
        ----------
        tilt : ndarray, shape (n_classes,)
            Coefficients of `alone`: a positive coefficient of a class makes feature states with a
            high posterior of this class more probable.
        """
        # Sums over the features below, a function of the states of a feature.
        up: list[Floats] = [np.zeros(len(self.bias))] * len(self.order)
        log_class = np.array(self.bias)
        tables: list[Floats] = [np.empty(0)] * len(self.order)
        for j in reversed(self.order):
            joint = self.factors[j] + up[j] + (self.alone[j] @ tilt)[..., None]
            total = log_sum_exp(joint, -2)
            tables[j] = joint - total[..., None, :]
            above = self.parent[j]
            if above is None:
                log_class += total
            else:
                up[above] = up[above] + total
        return log_class - log_sum_exp(log_class, 0), tables

    def slopes(self, tables: list[Floats]) -> Floats:
        """Return the derivatives of the unnormalised log P(class) by the tilt, shape (K, K).

        They are the means, given the class, of the sum of `alone` over all features. `tables` are
        the log tables at the current tilt.
        """
        found = np.zeros((len(self.bias), len(self.bias)))
        marginal: list[Floats] = [np.empty(0)] * len(self.order)
        for j in self.order:
            above, joint = self.parent[j], np.exp(tables[j])
            if above is not None:
                joint = marginal[above][:, None] * joint
            marginal[j] = joint if above is None else joint.sum(axis=0)
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


def arc_strengths(terms: Terms, model: Effects, cpds: Sequence[TableCPD]) -> dict[Arc, float]:
    """Return the strength of each arc: its mean effect on the class scores, in nats.

    The strength is the range of the effects over the classes, averaged over the cells of the arc's
    table with their shares of the rows as weights.
    """
    spread = terms.share * np.ptp(model.cells, axis=1)
    means = np.add.reduceat(spread, terms.starts[:-1]).tolist()
    target, *features = [cpd.variable.name for cpd in cpds]
    found: dict[Arc, float] = {(target, name): m for name, m in zip(features, means, strict=False)}
    together = dict(zip(map(frozenset, terms.pairs), means[len(features) :], strict=True))
    parent, _ = _parents(terms)
    for j, above in enumerate(parent):
        if above is not None:
            found[features[above], features[j]] = together[frozenset((above, j))]
    return found


def _parents(terms: Terms) -> tuple[list[int | None], list[int]]:
    """Return each feature's parent in the forest of pairs, and an order with parents first.

    The root of each tree is its first feature and has the parent None.
    """
    n_features = len(terms.views)
    return rooted_forest(n_features, terms.pairs, range(n_features))


def _conditional_shares(terms: Terms, sample: Sample, parent: Sequence[int | None]) -> list[Floats]:
    """Return each feature's distribution given its parent in the forest, pooled over classes.

    It is estimated for the groups of states in the search for pairs, and drawn by one row to the
    distribution without the parent. Within a group, the probability is divided in proportion to the
    frequencies of its states.
    """
    found: list[Floats] = []
    for j, (view, above) in enumerate(zip(terms.views, parent, strict=True)):
        if above is None:
            found.append(view.share)
            continue
        other = terms.views[above]
        row = np.append(other.paired, -1)[sample.codes[:, above]]
        column = np.append(view.paired, -1)[sample.codes[:, j]]
        known = (row >= 0) & (column >= 0)
        shape = (other.n_paired, view.n_paired)
        cells = np.ravel_multi_index((row[known], column[known]), shape)
        counts = np.bincount(cells, sample.weights[known], shape[0] * shape[1]).reshape(shape)
        group = np.bincount(view.paired, view.share)
        given = (counts + group) / (counts.sum(axis=1, keepdims=True) + 1.0)
        table = given[:, view.paired] * (view.share / group[view.paired])
        found.append(table[other.paired])
    return found
