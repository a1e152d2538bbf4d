"""Weights of rows, taken apart into weights of classes and weights of rows within their class.

A model that is trained to predict chooses how complex it is by the rows that it has. Weights that
make few rows of a class many must not pretend that there are more of them: they move the prior of
the class, and the model is learned from the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.classifiers.labels import class_codes, class_weights
from bayesgraph.cpds import TableCPD
from bayesgraph.datasets.source import DatasetSource
from bayesgraph.factors.algebra import Floats
from bayesgraph.models.average import PosteriorAverage
from bayesgraph.models.model import Model
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.models.weighted import WeightedNetwork
from bayesgraph.statistics import TableSource
from bayesgraph.variables import Discrete

# Relative difference of weights that may be due to rounding alone.
_ROUNDING = 1e-9
# Minimum weight of a row.
_LEAST = 1e-30


def weights_by_class(class_weight: Any, labels: NDArray[Any], classes: NDArray[Any]) -> Floats:
    """Return the weight that `class_weight` gives to each of the classes, shape (n_classes,).

    `labels` are those of all rows, also of rows that do not count.
    """
    found = np.ones(len(classes))
    if class_weight is not None:
        known = np.isin(labels, classes)
        found[class_codes(classes, labels[known])] = class_weights(class_weight, labels)[known]
    return found


def parted(
    weights: Floats, codes: NDArray[np.signedinteger], by_class: Floats
) -> tuple[Floats | None, Floats]:
    """Take weights apart: return those of rows within their class, and those of classes.

    * Whole numbers count rows: a row of weight 2 is two rows.
    * Weights that depend on the class alone, and differ between classes, are weights of classes.
    * Others are relative to their mean in the class, which is its weight.

    Parameters
    ----------
    weights : ndarray, shape (n_rows,)
        Positive, with the weights of classes as factors.
    codes : ndarray of int, shape (n_rows,)
        The class of each row.
    by_class : ndarray, shape (n_classes,)
        Known weights of classes.

    Returns
    -------
    rows : ndarray, shape (n_rows,), or None
        None if all rows weigh 1.
    classes : ndarray, shape (n_classes,)
        ``classes[codes] * rows`` is proportional to `weights` within each class and between the
        sums of the classes.
    """
    own = weights / by_class[codes]
    top = np.zeros(len(by_class))
    np.maximum.at(top, codes, own)
    top[top == 0] = 1.0
    relative = own / top[codes]
    counts = np.maximum(np.rint(own), 1.0)
    are_counts = bool((np.abs(own - counts) <= _ROUNDING * counts).all())
    if (relative >= 1.0 - _ROUNDING).all() and not (are_counts and np.ptp(counts) == 0):
        return None, by_class * top
    if are_counts:
        return counts, by_class
    sums, sizes = (np.bincount(codes, part, len(by_class)) for part in (relative, None))
    mean = np.divide(sums, sizes, out=np.ones(len(by_class)), where=sizes > 0)
    # Rounded, so that weights of another unit have the same bits.
    rows = (relative / mean[codes]).astype(np.float32).astype(np.float64)
    return np.maximum(rows, _LEAST), by_class * top * mean


def with_class_weights(
    model: Model, source: TableSource | DatasetSource, target: Discrete
) -> Model:
    """Return the model with the prior moved by the weights of the classes, if any."""
    ratio = source.class_weights
    return model if ratio is None or np.ptp(ratio) == 0 else shifted(model, target, ratio)


def prior_of(network: BayesianNetwork, target: Discrete) -> Floats:
    """Return the distribution of a class without parents, shape (n_classes,)."""
    found = network[target.name]
    assert isinstance(found, TableCPD)  # a discrete variable
    return found.values


def shifted(model: Model, target: Discrete, ratio: Floats) -> Model:
    """Return a model in which the prior of the class is multiplied by a ratio and normalised.

    The posterior of the class is multiplied by the ratio and normalised, too, whatever else is
    observed (Saerens, Latinne, Decaestecker 2002, equation 2.4).
    """
    if isinstance(model, PosteriorAverage):
        ratios = {target.name: ratio}
        return PosteriorAverage(
            model.networks, model.weights, prior_ratios=ratios, exponents=model.exponents
        )
    if isinstance(model, WeightedNetwork):
        return WeightedNetwork(
            _shifted_network(model.network, target, ratio),
            target.name,
            model.exponents,
            bias=model.bias,
            prior_exponent=model.prior_exponent,
            domain=model.domain,
        )
    assert isinstance(model, BayesianNetwork)  # what is trained to predict is one of the three
    return _shifted_network(model, target, ratio)


def _shifted_network(network: BayesianNetwork, target: Discrete, ratio: Floats) -> BayesianNetwork:
    prior = prior_of(network, target) * ratio
    moved = TableCPD(target, prior / prior.sum())
    cpds = [moved if cpd.variable == target else cpd for cpd in network.cpds]
    return BayesianNetwork(cpds, arc_scores=network.arc_scores, order=network.variables)
