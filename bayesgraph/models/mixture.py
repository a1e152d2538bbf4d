"""Mixtures of Bayesian networks: a weighted sum of joint distributions as one model."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from bayesgraph import graphs
from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import DataTypeError, ModelError, quoted
from bayesgraph.core.typing import EvidenceLike
from bayesgraph.core.variables import Arc, Name, State, Variable
from bayesgraph.inference import posterior_weights
from bayesgraph.models.cpds.base import CPD
from bayesgraph.models.evidence import Finding, as_mapping, impossible
from bayesgraph.models.model import Model, with_findings
from bayesgraph.models.network import BayesianNetwork

if TYPE_CHECKING:
    import networkx as nx

_M = TypeVar("_M", bound=Model)


class Ensemble(Model):
    """Base class of mixtures and averages of posteriors: several networks with weights.

    Attributes
    ----------
    networks : tuple of models
    weights : ndarray, shape (number of networks,)
        Weights that sum to one.
    """

    networks: tuple[Any, ...]
    weights: Floats
    _given_probabilities: Mapping[Arc, float] = MappingProxyType({})

    @cached_property
    def graph(self) -> nx.DiGraph:
        """The union of the networks' graphs; nodes are names, arcs have a `probability`.

        Two networks may have an arc in opposite directions, so that the union may have cycles: it
        is for plots and not a factorisation. The graphs of the networks are
        ``[network.graph for network in model.networks]``.
        """
        members = zip(map(arcs_of, self.networks), self.weights.tolist(), strict=True)
        given = self._given_probabilities
        return graphs.union_of_arcs(self.names, members, given)

    @property
    def arc_probabilities(self) -> dict[Arc, float]:
        """Probability of each arc, as given to the constructor.

        By default it is the total weight of the networks with the arc.
        """
        return {(a, b): p for a, b, p in self.graph.edges(data="probability")}

    def leaves(
        self, targets: Sequence[Variable], given: Sequence[Variable] = ()
    ) -> Mapping[Variable, CPD]:
        """Return the targets that are leaves of all networks; see `Model.leaves`.

        Of each the CPD is that of the first network.
        """
        found: dict[Variable, CPD] = {}
        for place, network in enumerate(self.networks):
            known = set(network.variables)
            asked, seen = ([v for v in some if v in known] for some in (targets, given))
            own = network.leaves(asked, seen)
            found = dict(own) if not place else {v: cpd for v, cpd in found.items() if v in own}
        return found

    @property
    def arc_scores(self) -> dict[Arc, float]:
        """Score of each arc: its weighted mean over the networks that have a score of the arc."""
        scores: dict[Arc, list[tuple[float, float]]] = {}
        for network, weight in zip(self.networks, self.weights.tolist(), strict=True):
            for arc, score in getattr(network, "arc_scores", {}).items():
                scores.setdefault(arc, []).append((score, weight))
        means = {arc: np.array(pairs).T for arc, pairs in scores.items()}
        return {
            arc: float(np.average(values, weights=shares)) if shares.any() else float(values[0])
            for arc, (values, shares) in means.items()
        }

    @property
    def cpds(self) -> tuple[CPD, ...]:
        """The CPDs of all networks, one network after the other."""
        return tuple(cpd for network in self.networks for cpd in getattr(network, "cpds", ()))

    @property
    def n_parameters(self) -> int:
        """Number of free parameters of all networks."""
        return sum(int(getattr(network, "n_parameters", 0)) for network in self.networks)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Ensemble)
            and type(self) is type(other)
            and self.networks == other.networks
            and self.variables == other.variables
            and np.array_equal(self.weights, other.weights)
        )

    __hash__ = None  # type: ignore[assignment]


class NetworkMixture(Ensemble):
    """A mixture of networks over the same variables: P(x) = sum_s pi_s P_s(x).

    The index s of the network that generates a row is a hidden variable with the distribution pi.
    Each network answers a query, and the answers are averaged with the posterior probabilities of
    the networks given the evidence; nothing is approximated.

    Parameters
    ----------
    networks : iterable of BayesianNetwork
        Networks over the same variables.
    weights : array_like, shape (number of networks,), optional
        Non-negative weights, which are divided by their sum. Equal by default.
    arc_probabilities : mapping from (parent, child) to float, optional
        Probabilities of the arcs, which plots draw as opacities; by default the total weight of the
        networks that have the arc.

    Attributes
    ----------
    networks : tuple of BayesianNetwork
    weights : ndarray, shape (number of networks,)
    variables : tuple of Variable
        Variables in the order of the first network.

    Raises
    ------
    ModelError
        For no networks, networks over different variables, or invalid weights.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> a, b = bg.Discrete("a", [0, 1]), bg.Discrete("b", [0, 1])
    >>> apart = bg.BayesianNetwork([bg.TableCPD(a, [0.5, 0.5]), bg.TableCPD(b, [0.5, 0.5])])
    >>> linked = bg.BayesianNetwork([
    ...     bg.TableCPD(a, [0.5, 0.5]), bg.TableCPD(b, [[1.0, 0.0], [0.0, 1.0]], parents=[a]),
    ... ])
    >>> NetworkMixture([apart, linked], [1, 3]).query("b", {"a": 1})
    P(b)
      0  0.125000  ███
      1  0.875000  █████████████████████
    """

    form = "mixture"
    instead = " Query one of mixture.networks."
    edited = " Change the networks, and make a mixture of them: NetworkMixture(networks, weights)."

    def __init__(
        self,
        networks: Iterable[BayesianNetwork],
        weights: ArrayLike | None = None,
        *,
        arc_probabilities: Mapping[Arc, float] | None = None,
    ) -> None:
        self.networks = checked_networks("NetworkMixture", networks, BayesianNetwork)
        known = set(self.networks[0].variables)
        for i, network in enumerate(self.networks):
            if set(network.variables) != known:
                different = known.symmetric_difference(network.variables)
                raise ModelError(
                    "The networks of a mixture have the same variables, states and their order "
                    f"included; network {i} and the first one differ in "
                    f"{quoted(sorted({str(v.name) for v in different}))}."
                )
        self.variables = self.networks[0].variables
        self._by_name = {variable.name: variable for variable in self.variables}
        self.weights = checked_weights(weights, len(self.networks))
        self._given_probabilities = dict(arc_probabilities or {})
        for arc, value in self._given_probabilities.items():
            if not self.graph.has_edge(*arc):
                raise ModelError(f"arc_probabilities has {arc!r}, an arc of none of the networks.")
            if not 0 <= value <= 1:
                raise ModelError(f"A probability lies between 0 and 1; {arc!r} has {value!r}.")

    @property
    def n_parameters(self) -> int:
        """Number of free parameters of all networks and of the weights."""
        return super().n_parameters + len(self.networks) - 1

    def posterior_weights(self, evidence: EvidenceLike = None) -> Floats:
        """Return the posterior probability of each network given evidence, shape (n_networks,).

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero under all networks.
        """
        asked, given = with_findings(self, as_mapping(evidence))
        found = posterior_weights(asked, asked.case(given))
        if found is None:
            raise impossible(evidence)
        return found

    def without_parents(self, names: Collection[Name]) -> NetworkMixture:
        """Return the mixture for queries that set some variables; see `Model.without_parents`."""
        return self._of([network.without_parents(names) for network in self.networks])

    def do(self, values: Mapping[Name, Any]) -> NetworkMixture:
        """Return the mixture of the networks after an intervention; see `Model.do`.

        The weights stay: that a variable is set says nothing about the networks.
        """
        return self._of([network.do(values) for network in self.networks])

    def without(self, *names: Name) -> NetworkMixture:
        """Return the mixture without variables that no network has below it; see `Model.without`.

        The weights stay: variables that are not observed say nothing about the networks.
        """
        return self._of([network.without(*names) for network in self.networks])

    def marginalised(self, *names: Name) -> NetworkMixture:
        """Return the distribution of the other variables; see `Model.marginalised`."""
        return self._of([network.marginalised(*names) for network in self.networks])

    def conditioned(self, evidence: EvidenceLike) -> NetworkMixture:
        """Return the distribution of the other variables given evidence; see `Model.conditioned`.

        The weights become the posterior ones, and networks of posterior weight zero are left out.
        """
        weights = self.posterior_weights(evidence)
        possible = np.flatnonzero(weights > 0)
        networks = [self.networks[i].conditioned(evidence) for i in possible]
        return NetworkMixture(networks, weights[possible])

    def renamed(self, names: Mapping[Name, Name]) -> NetworkMixture:
        """Return the mixture with other names of some variables; see `Model.renamed`."""
        new = {self.variable(old).name: name for old, name in names.items()}
        return NetworkMixture(
            [network.renamed(names) for network in self.networks],
            self.weights,
            arc_probabilities={
                (new.get(a, a), new.get(b, b)): p for (a, b), p in self._given_probabilities.items()
            },
        )

    def with_states(
        self, name: Name, states: Mapping[State, State] | Sequence[State]
    ) -> NetworkMixture:
        """Return the mixture with other states of a variable; see `Model.with_states`."""
        return self._of([network.with_states(name, states) for network in self.networks])

    def with_findings(self, findings: Mapping[Name, Finding]) -> NetworkMixture:
        """Return the mixture with numbers replaced by states; see `Model.with_findings`."""
        return self._of([network.with_findings(findings) for network in self.networks])

    def with_networks(self, networks: Iterable[BayesianNetwork]) -> NetworkMixture:
        """Return a mixture of other networks, with those arc probabilities that still apply."""
        return self._of(tuple(networks))

    def _of(self, networks: Sequence[BayesianNetwork]) -> NetworkMixture:
        arcs = {arc for network in networks for cpd in network.blocks for arc in cpd.arcs()}
        given = {arc: p for arc, p in self._given_probabilities.items() if arc in arcs}
        return NetworkMixture(networks, self.weights, arc_probabilities=given)

    @property
    def silent(self) -> frozenset[Variable]:
        """Numbers and vectors that some network cannot keep; see `Model.silent`."""
        return frozenset().union(*(network.silent for network in self.networks))

    def __repr__(self) -> str:
        return (
            f"NetworkMixture of {len(self.networks)} networks over {len(self.variables)} "
            f"variables, {self.graph.number_of_edges()} different arcs and {self.n_parameters} "
            "parameters"
        )


def checked_networks(owner: str, networks: Any, kind: type[_M]) -> tuple[_M, ...]:
    """Return the networks of a mixture or an average after checking their types.

    Parameters
    ----------
    owner : str
        "mixture" or "average", for error messages.
    networks : iterable of models
    kind : type
        Required type of each network.

    Raises
    ------
    DataTypeError
        If `networks` is not iterable, or a single model.
    ModelError
        For no networks, or an element that is not of type `kind`.
    """
    if isinstance(networks, Model) or not isinstance(networks, Iterable):
        raise DataTypeError(f"A {owner} takes a list of networks; got {networks!r:.200}.")
    found = tuple(networks)
    if not found:
        raise ModelError(f"A {owner} needs at least one network; got none.")
    for network in found:
        if not isinstance(network, kind):
            takes = "models" if kind is Model else f"{kind.__name__}s"
            raise ModelError(f"A {owner} takes {takes}; got {network!r:.200}.")
    return found


def arcs_of(network: Any) -> dict[Arc, float]:
    """Return a mapping from the arcs of a model to their probabilities.

    The probabilities are 1 unless the model is itself an ensemble.
    """
    if hasattr(network, "arc_probabilities"):
        known: dict[Arc, float] = network.arc_probabilities
        return known
    cpds = getattr(getattr(network, "network", network), "blocks", None)
    if cpds is None:  # a factor graph: its terms may be CPDs
        cpds = [term.source for term in network.terms if isinstance(term.source, CPD)]
    return {arc: 1.0 for cpd in cpds for arc in cpd.arcs()}


def checked_weights(weights: ArrayLike | None, n: int) -> Floats:
    """Return weights of n networks divided by their sum, or raise a ModelError."""
    try:
        values = np.ones(n) if weights is None else np.array(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(
            f"Weights are numbers, one for each network; got {weights!r:.200}."
        ) from error
    if values.shape != (n,):
        raise ModelError(f"A mixture of {n} networks takes {n} weights; got shape {values.shape}.")
    if not (np.isfinite(values) & (values >= 0)).all() or not values.sum() > 0:
        raise ModelError(
            f"Weights are finite, not negative and not all zero; got {values.tolist()!r:.200}."
        )
    total = values.sum()
    # Normalised weights are not divided again, so that saving and loading does not change them.
    shares: Floats = values if abs(total - 1.0) < 1e-15 * (n + 1) else values / total
    shares.flags.writeable = False
    return shares
