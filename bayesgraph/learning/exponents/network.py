"""Exponents for a network that is fitted: from its tables and the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.cpds import TableCPD
from bayesgraph.errors import DataError, UnsupportedModelError
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.exponents.conditional import SCHEMES, Exponents, conditional_exponents
from bayesgraph.learning.exponents.correlation import correlation_exponents, relations
from bayesgraph.learning.exponents.data import LogTerms
from bayesgraph.learning.exponents.depths import depth_exponents, tree_depths
from bayesgraph.learning.exponents.filters import FILTERS, filter_exponents
from bayesgraph.learning.exponents.fractional import fractional_naive_bayes
from bayesgraph.learning.exponents.lengths import partition_costs
from bayesgraph.learning.exponents.manb import model_averaged_tables
from bayesgraph.learning.exponents.selective import selective_naive_bayes
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.models.weighted import WeightedNetwork
from bayesgraph.statistics import Pairs, TableSource
from bayesgraph.variables import Binned, Discrete, Variable

# Those that weigh features by themselves: their network is a star.
STAR_SCHEMES = (*FILTERS, "tree_depth", "correlation", "selective", "fractional", "averaged")
ALL_SCHEMES = (*SCHEMES, *STAR_SCHEMES)


def weighted_network(
    network: BayesianNetwork, source: TableSource, scheme: str, *, seed: Any = 1
) -> WeightedNetwork:
    """Return a network of tables with exponents by one of the schemes.

    Parameters
    ----------
    network : BayesianNetwork
        Of tables, the class a root; for schemes other than "variable", "class" and "mixed" a star.
    source : TableSource
        The rows it was fitted to, with the class as target.
    scheme : str
        One of `ALL_SCHEMES`.
    seed : int or numpy Generator
        Of the schemes that draw: "tree_depth", "selective" and "fractional".

    Raises
    ------
    UnsupportedModelError
        For other CPDs than tables, and for arcs between features where the scheme takes a star.
    """
    target = source.target
    if target is None:
        raise DataError("Exponents are learned for a class: give the count source a target.")
    if network.cpd(target.name).parents:
        raise UnsupportedModelError(
            f"Exponents temper what features say of the class, which has no parents; here "
            f"{target.name!r} has some. Use another structure, or exponents=None."
        )
    terms = log_terms(network, source)
    # A feature of one state says nothing, and must not be counted among those that might.
    below = np.array([target in cpd.parents for cpd in _feature_cpds(network, target)])
    told = np.flatnonzero(below & (terms.cards > 1))
    if scheme in STAR_SCHEMES and any(len(cpd.parents) > 1 for cpd in network.cpds):
        raise UnsupportedModelError(
            f"exponents={scheme!r} weighs features one by one, as a naive Bayes does; use "
            "'variable', 'class' or 'mixed' for structures with arcs between features."
        )
    names = [cpd.variable.name for cpd in _feature_cpds(network, target)]
    if scheme == "averaged":
        return WeightedNetwork(_averaged(network, terms, target), target.name, domain="unit")
    # One that is no child of the class speaks for it where its parents are missing: as it is.
    values: dict[Any, Any] = dict(zip(names, np.where(below, 0.0, 1.0).tolist(), strict=True))
    if not len(told):
        return WeightedNetwork(network, target.name, values, domain="unit")
    found = _exponents(_Told(terms.take(told), told, source, target, seed), scheme)
    domain = "unit" if float(found.values.max(initial=0.0)) <= 1.0 else "nonnegative"
    values |= {names[i]: value for i, value in zip(told.tolist(), found.values, strict=True)}
    return WeightedNetwork(network, target.name, values, bias=found.bias, domain=domain)


def log_terms(network: BayesianNetwork, source: TableSource) -> LogTerms:
    """Return the log probabilities that a network gives to each feature of each row.

    A feature with other features above it has a state for each configuration of these and itself;
    it is missing where one of them is.
    """
    target = source.target
    assert target is not None  # checked by the caller
    table = source.table
    codes, tables = [], []
    for cpd in _feature_cpds(network, target):
        if not isinstance(cpd, TableCPD):
            raise UnsupportedModelError(
                f"Exponents are learned for features with tables; {cpd.variable.name!r} has none. "
                "Make intervals of numbers with discretizer=."
            )
        others = [p for p in cpd.scope if p != target and isinstance(p, Discrete)]
        columns = np.stack([table.column(v).astype(np.int64) for v in others])
        flat = np.zeros(table.n_rows, dtype=np.int64)
        for variable, column in zip(others, columns, strict=True):
            flat = flat * variable.cardinality + column
        flat[(columns < 0).any(axis=0)] = -1
        codes.append(flat)
        tables.append(_by_class(cpd, target))
    labels = table.column(target)
    weights = source.weights if len(source.weights) else None
    counts = np.bincount(labels, weights, target.cardinality)
    with np.errstate(divide="ignore"):
        log_share = np.log(counts / counts.sum())
    return LogTerms.build(np.stack(codes, axis=1), tables, log_share, labels, weights)


def _feature_cpds(network: BayesianNetwork, target: Discrete) -> list[Any]:
    return [cpd for cpd in network.cpds if cpd.variable != target]


def _by_class(cpd: TableCPD, target: Discrete) -> Floats:
    """Return a table's logs with the class last, all else in one axis: (n_configs, n_classes)."""
    with np.errstate(divide="ignore"):
        logs = np.log(cpd.values)
    if target not in cpd.parents:
        return np.repeat(logs.reshape(-1, 1), target.cardinality, axis=1)
    moved = np.moveaxis(logs, cpd.parents.index(target), -1)
    return moved.reshape(-1, target.cardinality)


def _averaged(network: BayesianNetwork, terms: LogTerms, target: Discrete) -> BayesianNetwork:
    """Return the average over all naive Bayes on subsets of the features, which is one too."""
    tables = model_averaged_tables(terms.counts).tables
    cpds = [network.cpd(target.name)]
    for cpd, table in zip(_feature_cpds(network, target), tables, strict=True):
        cpds.append(TableCPD(cpd.variable, table.T, [target]))
    return BayesianNetwork(cpds, order=network.variables)


@dataclass(frozen=True)
class _Told:
    """What a search for exponents starts from.

    Attributes
    ----------
    terms : LogTerms
        Of the features that have more than one state.
    at : ndarray of int
        Which features these are.
    source : TableSource
    target : Discrete
    seed : int or numpy Generator
    """

    terms: LogTerms
    at: NDArray[np.intp]
    source: TableSource
    target: Discrete
    seed: Any

    @property
    def features(self) -> tuple[Variable, ...]:
        """The features themselves."""
        return tuple(self.source.features[i] for i in self.at.tolist())


def _exponents(told: _Told, scheme: str) -> Exponents:
    if scheme in SCHEMES:
        return conditional_exponents(told.terms, scheme)
    none = np.zeros(told.terms.n_classes)
    if scheme in FILTERS:
        return Exponents(filter_exponents(told.terms, scheme), none)
    return Exponents(_SEARCHES[scheme](told), none)


def _by_depth(told: _Told) -> Floats:
    return depth_exponents(tree_depths(told.terms, seed=told.seed))


def _by_correlation(told: _Told) -> Floats:
    summary = told.source.pairs(Pairs((*told.features, told.target), None))
    return correlation_exponents(*relations(summary, told.target))


def _selective(told: _Told) -> Floats:
    return selective_naive_bayes(told.terms, seed=told.seed).exponents


def _fractional(told: _Told) -> Floats:
    ordered = [isinstance(variable, Binned) for variable in told.features]
    costs = partition_costs(told.terms.counts, intervals=ordered)
    return fractional_naive_bayes(told.terms, costs, seed=told.seed).exponents


_SEARCHES: dict[str, Callable[[_Told], Floats]] = {
    "tree_depth": _by_depth,
    "correlation": _by_correlation,
    "selective": _selective,
    "fractional": _fractional,
}
