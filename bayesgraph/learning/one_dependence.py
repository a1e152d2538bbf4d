"""Mixtures of one-dependence networks: each feature has at most one parent besides the class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayesgraph.cpds import CPD, GaussianCPD, TableCPD
from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.parameters import estimate_network
from bayesgraph.learning.smoothing import Smoothing
from bayesgraph.learning.structure import Structure, star
from bayesgraph.models.mixture import NetworkMixture
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.statistics import CountSource, Family, Pairs
from bayesgraph.variables import Continuous, Discrete, Variable

# Maps each feature to its parent besides the class.
Parents: TypeAlias = Mapping[Variable, Variable]


def varying(source: CountSource) -> tuple[Variable, ...]:
    """Return the features that are not constant; constant features carry no information."""
    features = source.features
    numbers = tuple(v for v in features if isinstance(v, Continuous))
    variance = dict(zip(numbers, source.variances(numbers).tolist(), strict=True))
    families = {v: Family((v,)) for v in features if isinstance(v, Discrete)}
    counts = source.families(families.values()) if families else {}
    return tuple(
        v
        for v in features
        if (isinstance(v, Continuous) and variance[v] > 0)
        or (isinstance(v, Discrete) and np.count_nonzero(counts[families[v]].counts) > 1)
    )


def ask_for_pairs(source: CountSource) -> None:
    """Request the statistics of all pairs of features given the class, in one pass over the data.

    Later requests for single pairs are then answered without a pass of their own.
    """
    features = source.features
    if len(features) > 1:
        source.pairs(Pairs(features, source.target))


def mix(
    components: Sequence[Parents],
    weights: Sequence[float] | Floats,
    source: CountSource,
    smoothing: Smoothing,
    *,
    priors: Floats | None = None,
    min_rows: float = 0.0,
    arc_probabilities: Mapping[Any, float] | None = None,
) -> NetworkMixture:
    """Return the mixture of one-dependence networks, each given by the parents of its features.

    Networks in which a feature has the same parent share its CPD.

    Parameters
    ----------
    components : sequence of mapping from feature to feature
        For each network, the parent of each feature besides the class. A feature that is not a key
        has the class as its only parent.
    weights : sequence of float
        Mixture weights of the networks.
    source : CountSource
        A source with a target.
    smoothing, priors
        As for `estimate_network`.
    min_rows : float
        For a state of the parent with fewer rows than this, the feature has its distribution given
        the class alone.
    arc_probabilities : mapping, optional
        As for NetworkMixture.
    """
    target, features = source.target, source.features
    assert target is not None  # classifiers always set a target
    library = _library(components, source, smoothing, priors, min_rows)
    networks = [
        BayesianNetwork([library[v, parents.get(v)] for v in (target, *features)])
        for parents in components
    ]
    return NetworkMixture(networks, weights, arc_probabilities=arc_probabilities)


def _library(
    components: Iterable[Parents],
    source: CountSource,
    smoothing: Smoothing,
    priors: Floats | None,
    min_rows: float,
) -> dict[tuple[Variable, Variable | None], CPD]:
    """Return each feature's CPD given the class alone, and given each parent in any component.

    The keys are pairs (feature, parent), with None as the parent for the CPD given the class alone;
    the class variable itself has one, too.
    """
    target, features = source.target, source.features
    assert target is not None  # see `mix`
    children: dict[Variable, dict[Variable, None]] = {}
    for parents in components:
        for child, parent in parents.items():
            children.setdefault(parent, {})[child] = None
    # In one pass, unless the source has them already.
    source.families(
        Family.of(target, parent, child) for parent, below in children.items() for child in below
    )
    alone = estimate_network(star(source), source, smoothing, priors=priors)
    found: dict[tuple[Variable, Variable | None], CPD] = {
        (v, None): alone[v.name] for v in (target, *features)
    }
    for parent, below in children.items():
        arcs = [(target.name, parent.name)]
        arcs += [(above.name, v.name) for v in below for above in (target, parent)]
        structure = Structure((target, parent, *below), tuple(arcs))
        network = estimate_network(structure, source, smoothing, priors=priors)
        rare = _rare(source, parent, min_rows)
        for child in below:
            cpd = network[child.name]
            found[child, parent] = _given_the_class(cpd, found[child, None], rare)
    return found


def _rare(source: CountSource, parent: Variable, min_rows: float) -> NDArray[np.bool_] | None:
    """Return a mask of the states of `parent` with fewer than `min_rows` rows; None if none has."""
    if not isinstance(parent, Discrete) or min_rows <= 0:
        return None
    family = Family((parent,))
    rare = source.families([family])[family].counts < min_rows
    return rare if rare.any() else None


def _given_the_class(cpd: CPD, alone: CPD, rare: NDArray[np.bool_] | None) -> CPD:
    """Return a CPD given class and parent, replaced by `alone` for rare states of the parent.

    `alone` is the CPD given the class alone, `rare` the mask of the rare states or None.
    """
    if rare is None:
        return cpd
    found = cpd
    if isinstance(cpd, TableCPD) and isinstance(alone, TableCPD):
        values = np.where(rare[:, None], alone.values[:, None, :], cpd.values)
        found = TableCPD(cpd.variable, values, cpd.parents)
    elif isinstance(cpd, GaussianCPD) and isinstance(alone, GaussianCPD):
        mean = np.where(rare, alone.mean[:, None], cpd.mean)
        variance = np.where(rare, alone.variance[:, None], cpd.variance)
        found = GaussianCPD(cpd.variable, mean, variance, cpd.parents)
    own, others = cpd.parameter_posterior, alone.parameter_posterior
    if found is not cpd and own is not None and others is not None:
        found.parameter_posterior = own.chosen(rare, others)
    return found


def aode(
    source: CountSource,
    smoothing: Smoothing,
    *,
    min_rows: float = 1.0,
    priors: Floats | None = None,
) -> NetworkMixture:
    """Return averaged one-dependence estimators (Webb, Boughton, Wang 2005).

    A mixture with equal weights of one network for each feature s, in which s and the class are the
    parents of all other features. P(class, x) is then the mean over s of ``P(class) P(x_s | class)
    prod_j P(x_j | class, x_s)`` (their equation 6). A continuous feature is a parent of other
    continuous features only, a constant feature of none.

    The paper leaves out the network of feature s if the row's value x_s has fewer than 30 rows, and
    falls back to naive Bayes if no network remains. Here that network *is* naive Bayes for such
    values, so that the model remains one distribution over all variables.

    Parameters
    ----------
    source : CountSource
        A source with a target.
    smoothing, priors
        As for `estimate_network`.
    min_rows : float
        Minimum number of rows of a value as a parent.
    """
    ask_for_pairs(source)
    features = source.features
    parents = varying(source)
    components = [{v: s for v in features if v != s and _may_depend(v, s)} for s in parents]
    # Networks that equal naive Bayes for all values are left out, unless all networks do.
    components = [component for component in components if component] or [{}]
    weights = np.ones(len(components))
    return mix(components, weights, source, smoothing, priors=priors, min_rows=min_rows)


def _may_depend(child: Variable, parent: Variable) -> bool:
    return isinstance(child, Continuous) or isinstance(parent, Discrete)
