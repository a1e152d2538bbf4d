"""Exponents of a weighted network, learned by the scheme of a given name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesgraph.core.arrays import Floats, log_of
from bayesgraph.core.errors import DataError, UnsupportedModelError
from bayesgraph.core.variables import Binned, Discrete, Variable
from bayesgraph.learning.exponent_search import (
    FILTERS,
    SCHEMES,
    Exponents,
    ExponentSearch,
    LogTerms,
    Objective,
    averaged_tables,
    conditional_exponents,
    correlation_exponents,
    depth_exponents,
    filter_exponents,
    informative,
    log_choose,
    log_factorial,
    partition_costs,
    universal_code,
)
from bayesgraph.models import BayesianNetwork, TableCPD, WeightedNetwork
from bayesgraph.statistics import Pairs, RowSource, safe_divide

# ------------ Fractional naive Bayes: exponents in [0, 1] with a penalty that prefers few features


# Weight of the prior, and power of the exponents in the prior, as the authors chose them.
_PRIOR_WEIGHT, _POWER = 0.1, 0.95
# Weight of the uniform distribution in the posterior, in rows.
_PRIOR_ROWS = 0.5
# Maximum number of rounds of a forward and a backward pass at each step size.
_ROUNDS = 2
# Minimum decrease of the cost by a change, as a share of the empty model's cost per row.
_PRECISION = 1e-2


def fractional_naive_bayes(terms: LogTerms, costs: Floats, seed: int = 1) -> Floats:
    """Return the exponents of a fractional naive Bayes (Hue, Boullé, Lemaire 2017), shape (d,).

    The model is p_w(y|x) proportional to p(y) prod p(x_i|y)^w_i. The exponents minimise ``- sum_n
    ln p'_w(y_n | x_n) + 0.1 (L*(m) - ln m! + sum_i w_i^0.95 c_i)`` with m = ceil(sum_i w_i),
    Rissanen's universal code L* (0 for m = 0), and the smoothed posterior ``p'_w = (p_w n + 1 / (2
    K)) / (n + 1/2)`` for K classes and rows of total weight n.

    The search starts from 0. At each step size, a round has one pass that raises and one pass that
    lowers each exponent by the step, in random order; the step size is 1 at first and is halved
    ceil(log2(n + 1)) - 1 times. A pass that lowers exponents may raise the cost a little, as sparse
    exponents are preferred. One change takes time O(n_rows K).

    Parameters
    ----------
    terms : LogTerms
    costs : ndarray, shape (d,)
        c_i: the description length of choosing and discretising each feature, in nats; see
        `partition_costs`.
    seed : int
        Seed of the random orders.

    Examples
    --------
    >>> codes = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10
    >>> tables = np.log([[[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.5, 0.5]]])
    >>> terms = LogTerms.build(codes, tables, np.log([0.5, 0.5]), [0, 0, 1, 1] * 10)
    >>> fractional_naive_bayes(terms, np.zeros(2))
    array([1., 0.])
    """
    rows = float(terms.weights.sum())
    sizes = np.arange(terms.n_features + 1)
    codes = [0.0, *(universal_code(m) for m in sizes[1:].tolist())]
    objective = Objective(
        _PRIOR_WEIGHT * (codes - log_factorial(sizes)),
        _PRIOR_WEIGHT * costs,
        _POWER,
        _PRIOR_ROWS / rows if rows > 0 else 0.0,
    )
    search = ExponentSearch(terms, objective)
    threshold = _PRECISION * (1.0 + abs(search.cost)) / (1.0 + rows)
    features, random = informative(terms), np.random.default_rng(seed)
    for halvings in range(max(1, math.ceil(math.log2(rows + 1.0)))):
        step = 0.5**halvings
        for _ in range(_ROUNDS):
            before = search.cost
            search.sweep(random.permutation(features), step, threshold)
            search.sweep(random.permutation(features), -step, -threshold)
            if not search.cost < before:
                break
    return search.exponents


# --------- Selective naive Bayes: models on feature subsets, weighted by compression of the labels


# Minimum decrease of the cost, relative to the cost, that is not due to rounding.
_ROUNDING = 1e-10


def selective_naive_bayes(terms: LogTerms, seed: int = 1, restarts: int | None = None) -> Floats:
    """Return the exponents of a selective naive Bayes (Boullé 2007), shape (d,), in [0, 1].

    The exponent of a feature is the weighted share of the evaluated subsets that contain it. A
    subset M of m among d features has the description length ``l(M) + l(D | M) = ln(d + 1) + ln C(d
    + m - 1, m) - sum_n ln P_M(y_n | x_n)`` in nats, which is its cost; P_M is the class posterior
    of a naive Bayes on M. The weight of M is the compression ``1 - cost / null cost`` if that is
    positive, else 0, with the null cost of the empty subset; a subset that is evaluated several
    times counts once. Features without information about the class have exponent 0.

    Fast forward and backward passes over the features in random order search for subsets, from the
    empty subset in each of ``ceil(log2(d n))`` restarts, where n is the total weight of the rows.
    One change of a subset takes time O(n_rows K).

    Parameters
    ----------
    terms : LogTerms
    seed : int
        Seed of the random orders.
    restarts : int, optional
        Number of restarts instead of ``ceil(log2(d n))``.

    Examples
    --------
    >>> codes = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10
    >>> tables = np.log([[[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.5, 0.5]]])
    >>> terms = LogTerms.build(codes, tables, np.log([0.5, 0.5]), [0, 0, 1, 1] * 10)
    >>> selective_naive_bayes(terms)
    array([1., 0.])
    """
    d = terms.n_features
    sizes = np.arange(d + 1)
    lengths = math.log(d + 1) + log_choose(np.maximum(d + sizes - 1, 0), sizes)
    search = ExponentSearch(terms, Objective(lengths, np.zeros(d)))
    null_cost = search.cost
    features, random = informative(terms), np.random.default_rng(seed)
    usual = math.ceil(math.log2(max(2.0, d * float(terms.weights.sum()))))
    costs: dict[bytes, float] = {}
    for _ in range(usual if restarts is None else restarts):
        search.restart()
        for _ in range(_ROUNDS):
            before, threshold = search.cost, _ROUNDING * (1.0 + abs(search.cost))
            for step in (1.0, -1.0):
                for members, cost in search.sweep(random.permutation(features), step, threshold):
                    costs.setdefault(members.tobytes(), cost)
            if search.cost == before:
                break
    costs.pop(np.zeros(d).tobytes(), None)
    if not costs or null_cost <= 0:
        return np.zeros(d)
    members = np.frombuffer(b"".join(costs)).reshape(-1, d)
    weights = np.maximum(1.0 - np.array(list(costs.values())) / null_cost, 0.0)
    return np.clip(safe_divide(weights @ members, np.full(d, weights.sum())), 0.0, 1.0)


# -------------------------- Exponents of a weighted network, learned by the scheme of a given name


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
