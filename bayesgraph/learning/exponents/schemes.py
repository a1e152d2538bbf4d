"""Exponents of a weighted network, learned by the scheme of a given name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesgraph.cpds import TableCPD
from bayesgraph.errors import DataError, UnsupportedModelError
from bayesgraph.factors.algebra import Floats, log_of
from bayesgraph.learning.exponents.baselines import (
    FILTERS,
    averaged_tables,
    correlation_exponents,
    depth_exponents,
    filter_exponents,
)
from bayesgraph.learning.exponents.code_lengths import partition_costs
from bayesgraph.learning.exponents.conditional_likelihood import (
    SCHEMES,
    Exponents,
    conditional_exponents,
)
from bayesgraph.learning.exponents.fractional import fractional_naive_bayes
from bayesgraph.learning.exponents.log_terms import LogTerms
from bayesgraph.learning.exponents.selective import selective_naive_bayes
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.models.weighted import WeightedNetwork
from bayesgraph.statistics import Pairs, RowSource
from bayesgraph.variables import Binned, Discrete, Variable

# Schemes for naive Bayes: they require a network without arcs between features.
STAR_SCHEMES = (*FILTERS, "tree_depth", "correlation", "selective", "fractional", "averaged")
ALL_SCHEMES = (*SCHEMES, *STAR_SCHEMES)


def weighted_network(network: BayesianNetwork, source: RowSource, scheme: str) -> WeightedNetwork:
    """Return a fitted network with exponents of its tables, learned by one of the schemes.

    Parameters
    ----------
    network : BayesianNetwork
        A network of table CPDs in which the class has no parents. For schemes other than
        "variable", "class" and "mixed" it has no arcs between features.
    source : RowSource
        The rows to which the network was fitted, with the class as target.
    scheme : str
        One of `ALL_SCHEMES`.

    Raises
    ------
    UnsupportedModelError
        If a feature's CPD is not a table, if the class has parents, or if the scheme requires a
        network without arcs between features and there are some.
    """
    target = source.target
    if target is None:
        raise DataError("Exponents are learned for a class: give the count source a target.")
    if network[target.name].parents:
        raise UnsupportedModelError(
            f"Exponents temper the conditionals of features given the class, which has no parents; "
            f"here {target.name!r} has some. Use another structure, or exponents=None."
        )
    if scheme in STAR_SCHEMES and any(len(cpd.parents) > 1 for cpd in network.cpds):
        raise UnsupportedModelError(
            f"exponents={scheme!r} weighs features one by one, as a naive Bayes does; use "
            "'variable', 'class' or 'mixed' for structures with arcs between features."
        )
    cpds: list[Any] = [cpd for cpd in network.cpds if cpd.variable != target]
    terms = _log_terms(cpds, source, target)
    if scheme == "averaged":
        tables = zip(cpds, averaged_tables(terms.counts), strict=True)
        found = [TableCPD(cpd.variable, table.T, [target]) for cpd, table in tables]
        network = BayesianNetwork([network[target.name], *found], order=network.variables)
        return WeightedNetwork(network, target.name, domain="unit")
    below = np.array([target in cpd.parents for cpd in cpds])
    # Where its parents are missing, a feature that is no child of the class still informs about the
    # class: its exponent is 1.
    names = [cpd.variable.name for cpd in cpds]
    values: dict[Any, Any] = dict(zip(names, np.where(below, 0.0, 1.0).tolist(), strict=True))
    # A feature with one state carries no information: it is left out of the count of features.
    at = np.flatnonzero(below & (terms.cards > 1))
    if not len(at):
        return WeightedNetwork(network, target.name, values, domain="unit")
    features = tuple(cpds[i].variable for i in at.tolist())
    learned = _exponents(scheme, terms.take(at), features, source, target)
    domain = "unit" if float(learned.values.max(initial=0.0)) <= 1.0 else "nonnegative"
    values |= {names[i]: value for i, value in zip(at.tolist(), learned.values, strict=True)}
    return WeightedNetwork(network, target.name, values, bias=learned.bias, domain=domain)


def _exponents(
    scheme: str,
    terms: LogTerms,
    features: tuple[Variable, ...],
    source: RowSource,
    target: Discrete,
) -> Exponents:
    """Return the exponents of the features, in their order, learned by one scheme.

    `terms` and `features` are restricted to features with more than one state.
    """
    if scheme in SCHEMES:
        return conditional_exponents(terms, scheme)
    if scheme == "tree_depth":
        values = depth_exponents(terms)
    elif scheme == "correlation":
        values = correlation_exponents(source.pairs(Pairs((*features, target), None)), target)
    elif scheme == "selective":
        values = selective_naive_bayes(terms)
    elif scheme == "fractional":
        costs = partition_costs(terms.counts, [isinstance(v, Binned) for v in features])
        values = fractional_naive_bayes(terms, costs)
    else:
        values = filter_exponents(terms, scheme)
    return Exponents(values, np.zeros(terms.n_classes))


def _log_terms(cpds: Sequence[Any], source: RowSource, target: Discrete) -> LogTerms:
    """Return the log probabilities that a network's CPDs give to the feature values of each row.

    For a feature with parents among the features, the "states" in the terms returned are the joint
    configurations of these parents and the feature; such a state is missing where the feature or
    one of these parents is missing.
    """
    table = source.table
    codes, tables = [], []
    for cpd in cpds:
        if not isinstance(cpd, TableCPD):
            raise UnsupportedModelError(
                f"Exponents are learned for features with tables; {cpd.variable.name!r} has none. "
                "Make intervals of numbers with discretizer=."
            )
        others = [p for p in cpd.scope if p != target and isinstance(p, Discrete)]
        columns = [table.column(v).astype(np.int64) for v in others]
        flat = np.zeros(table.n_rows, dtype=np.int64)
        for variable, column in zip(others, columns, strict=True):
            flat = flat * variable.cardinality + column
        codes.append(np.where(np.min(columns, axis=0) < 0, -1, flat))
        tables.append(_by_class(cpd, target))
    labels = table.column(target)
    weights = source.weights if len(source.weights) else None
    counts = np.bincount(labels, weights, target.cardinality)
    log_share = log_of(counts / counts.sum())
    return LogTerms.build(np.stack(codes, axis=1), tables, log_share, labels, weights)


def _by_class(cpd: TableCPD, target: Discrete) -> Floats:
    """Return the log table of a CPD, all axes but the class flattened, shape (n, n_classes)."""
    logs = log_of(cpd.values)
    if target not in cpd.parents:
        return np.repeat(logs.reshape(-1, 1), target.cardinality, axis=1)
    moved = np.moveaxis(logs, cpd.parents.index(target), -1)
    return moved.reshape(-1, target.cardinality)
