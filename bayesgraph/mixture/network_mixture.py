"""A mixture of Bayesian networks: one model whose answers are weighted sums of theirs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NoReturn

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse, vstack

from bayesgraph.cpds import CPD
from bayesgraph.errors import (
    DataTypeError,
    EvidenceError,
    ImpossibleEvidenceError,
    ModelError,
    UnsupportedModelError,
    quoted,
)
from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats
from bayesgraph.findings import Belief, as_mapping, impossible
from bayesgraph.graph import Arc
from bayesgraph.inference import Assignment, DiscreteEngine, Plan
from bayesgraph.inference.queries import Problem
from bayesgraph.mixture.answers import Answer, log_sum, mixed
from bayesgraph.mixture.rows import RowSum, Sums, stacked_codes, sums_of
from bayesgraph.mixture.search import best_assignments
from bayesgraph.model import GraphicalModel
from bayesgraph.network import BayesianNetwork
from bayesgraph.variables import Continuous, Discrete, Name, Variable


class NetworkMixture(GraphicalModel):
    """A mixture of networks over the same variables: P(x) = sum_s pi_s P_s(x).

    Which network a row comes from is a hidden variable with the distribution pi, the parent of all
    others. Every question is put to each network and the answers are added up with the weights that
    the networks have given the evidence; nothing is approximated.

    Parameters
    ----------
    networks : iterable of BayesianNetwork
        Over the same variables.
    weights : array_like, shape (number of networks,), optional
        Non-negative; divided by their sum. Equal by default.
    arc_probabilities : mapping from (parent, child) to float, optional
        Drawn as the opacity of the arcs; by default the weight of all networks that have the arc.

    Attributes
    ----------
    networks : tuple of BayesianNetwork
    weights : ndarray, shape (number of networks,)
    variables : tuple of Variable
        In the order of the first network.

    Raises
    ------
    ModelError
        For no networks, networks of different variables, or weights that are none.

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

    def __init__(
        self,
        networks: Iterable[BayesianNetwork],
        weights: ArrayLike | None = None,
        *,
        arc_probabilities: Mapping[Arc, float] | None = None,
    ) -> None:
        self.networks = tuple(networks)
        _check_networks(self.networks)
        self.variables = self.networks[0].variables
        self._by_name = {variable.name: variable for variable in self.variables}
        self.weights = _checked_weights(weights, len(self.networks))
        self._given_probabilities = None if arc_probabilities is None else dict(arc_probabilities)
        self._check_probabilities()
        self._sums: dict[Discrete | None, list[Sums | None]] = {}

    def _check_probabilities(self) -> None:
        for arc, value in (self._given_probabilities or {}).items():
            if not self.graph.has_edge(*arc):
                raise ModelError(f"arc_probabilities has {arc!r}, an arc of none of the networks.")
            if not 0 <= value <= 1:
                raise ModelError(f"A probability lies between 0 and 1; {arc!r} has {value!r}.")

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("graph", None)
        state.pop("_used", None)
        return state | {"_sums": {}}

    # ------------------------------------------------------------------------------- structure

    @cached_property
    def graph(self) -> nx.DiGraph:
        """All arcs of all networks over names; arcs carry their `probability`.

        Two networks may have an arc in opposite directions, so that the union may have cycles.
        """
        union: nx.DiGraph = nx.DiGraph()
        union.add_nodes_from(self.names)
        for network, weight in zip(self.networks, self.weights.tolist(), strict=True):
            for cpd in network.blocks:
                for arc in cpd.arcs():
                    known = union.edges[arc]["probability"] if union.has_edge(*arc) else 0.0
                    union.add_edge(*arc, probability=known + weight)
        for arc in union.edges:
            union.edges[arc]["probability"] = min(union.edges[arc]["probability"], 1.0)
        given = self.__dict__.get("_given_probabilities") or {}
        nx.set_edge_attributes(
            union, {a: p for a, p in given.items() if union.has_edge(*a)}, "probability"
        )
        return nx.freeze(union)

    @property
    def arc_probabilities(self) -> dict[Arc, float]:
        """The probability of each arc that some network has."""
        return {(a, b): p for a, b, p in self.graph.edges(data="probability")}

    @property
    def arc_scores(self) -> dict[Arc, float]:
        """The mean score of each arc over the networks that have one, by their weights."""
        scores: dict[Arc, list[tuple[float, float]]] = {}
        for network, weight in zip(self.networks, self.weights.tolist(), strict=True):
            for arc, score in network.arc_scores.items():
                scores.setdefault(arc, []).append((score, weight))
        means = {arc: np.array(pairs).T for arc, pairs in scores.items()}
        return {
            arc: float(np.average(values, weights=weights)) if weights.any() else float(values[0])
            for arc, (values, weights) in means.items()
        }

    @property
    def cpds(self) -> tuple[CPD, ...]:
        """The CPDs of all networks, one network after the other."""
        return tuple(cpd for network in self.networks for cpd in network.cpds)

    @property
    def n_parameters(self) -> int:
        """Free parameters of all networks, and their weights."""
        return sum(network.n_parameters for network in self.networks) + len(self.networks) - 1

    @cached_property
    def _used(self) -> list[tuple[float, BayesianNetwork]]:
        """Log weights and networks, those of weight zero left out."""
        pairs = zip(self.weights.tolist(), self.networks, strict=True)
        return [(float(np.log(weight)), network) for weight, network in pairs if weight > 0]

    @property
    def _log_weights(self) -> Floats:
        return np.array([log_weight for log_weight, _ in self._used])

    def posterior_weights(self, evidence: Mapping[Name, Any] | None = None) -> Floats:
        """Return the probability of each network given evidence, shape (number of networks,).

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero under all of them.
        """
        given = self.encode(evidence)
        logs = np.array([network._log_mass(given) for network in self.networks])
        with np.errstate(divide="ignore"):
            logs = logs + np.log(self.weights)
        total = log_sum(logs)
        if total == -np.inf:
            raise impossible(evidence)
        return np.asarray(np.exp(logs - total))

    # --------------------------------------------------------------------------- single answers

    def _exact(
        self, targets: Any, evidence: Mapping[Name, Any] | None, memory_limit: int | None
    ) -> Answer:
        self._targets(targets, self._values(evidence)[0])  # what is wrong is said of the mixture
        given = self._without_beliefs(evidence)
        answers, log_weights = [], []
        for log_weight, network in self._used:
            try:
                answer = network.query(targets, given, memory_limit=memory_limit)
            except ImpossibleEvidenceError:
                continue
            answers.append(answer)
            log_weights.append(log_weight)
        if not answers:
            raise impossible(evidence)
        return mixed(answers, np.array(log_weights))

    def _without_beliefs(self, evidence: Mapping[Name, Any] | None) -> Mapping[Name, Any]:
        """Return evidence with likelihoods in the place of beliefs, which hold for the mixture."""
        given = dict(as_mapping(evidence))
        beliefs = [name for name, value in given.items() if isinstance(value, Belief)]
        if not beliefs:
            return given
        _, likelihoods = self._values(evidence)
        for name in beliefs:
            variable = self.variable(name)
            assert isinstance(variable, Discrete)  # a belief about another one was refused
            logs = likelihoods[variable]
            given[name] = np.exp(logs - logs.max())
        return given

    def _posterior_of(
        self,
        variable: Discrete,
        values: Mapping[Variable, Any],
        likelihoods: Mapping[Discrete, Floats],
    ) -> Floats:
        """See BaseModel."""
        columns = {v: np.array([value]) for v, value in values.items()}
        given = Evidence(1, columns, {v: logs[None] for v, logs in likelihoods.items()})
        joint = self.log_posterior_rows(variable, given)[0]
        total = log_sum(joint)
        return np.zeros(len(joint)) if total == -np.inf else np.exp(joint - total)

    def _log_mass(self, given: Evidence, memory_limit: int | None = None) -> float:
        logs = [w + network._log_mass(given, memory_limit) for w, network in self._used]
        return log_sum(np.array(logs))

    def most_probable(
        self,
        evidence: Mapping[Name, Any] | None = None,
        *,
        joint: bool = False,
        memory_limit: int | None = None,
    ) -> Assignment:
        """Return the most probable joint assignment of all unobserved variables.

        Continuous variables are integrated out and reported at their conditional means.

        Parameters
        ----------
        evidence, memory_limit
            As in `query`.
        joint : bool
            Refused: the mode of a mixture of Gaussians has no closed form.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        UnsupportedModelError
            For `joint`; and for networks that differ so much that the search does not settle, see
            `k_most_probable`.
        """
        if joint:
            raise UnsupportedModelError(
                "The mode of a mixture of Gaussians has no closed form: leave joint=True out to "
                "maximise over the discrete variables."
            )
        best = self.k_most_probable(1, evidence, memory_limit=memory_limit)[0]
        known = self._values(evidence)[0]
        means = [v for v in self.variables if isinstance(v, Continuous) and v not in known]
        silent = self.silent
        given = {**self._without_beliefs(evidence), **best}
        values = {
            v.name: self.query(v.name, given, memory_limit=memory_limit).mean
            for v in means
            if v not in silent
        }
        merged = {**best, **values}
        order = [name for name in self.names if name in merged]
        return Assignment({name: merged[name] for name in order}, best.log_probability)

    def k_most_probable(
        self,
        k: int,
        evidence: Mapping[Name, Any] | None = None,
        *,
        memory_limit: int | None = None,
    ) -> list[Assignment]:
        """Return the k most probable joint assignments of the discrete variables, best first.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        UnsupportedModelError
            If the first 4096 assignments of each network do not settle those of the mixture.
        """
        if not isinstance(k, (int, np.integer)) or k < 1:
            raise EvidenceError(f"k is a number of assignments, 1 or more; got {k!r}.")
        given = self._without_beliefs(evidence)

        def first_of(n: int) -> list[list[Assignment]]:
            found = []
            for _, network in self._used:
                try:
                    best = network.k_most_probable(n, given, memory_limit=memory_limit)
                except ImpossibleEvidenceError:
                    best = []
                found.append(best)
            return found

        row = self.encode(given)

        def log_probabilities(names: tuple[Name, ...], values: list[tuple[Any, ...]]) -> Floats:
            columns = {v: np.repeat(c, len(values), axis=0) for v, c in row.columns.items()}
            for name, column in zip(names, zip(*values, strict=True), strict=False):
                variable = self.variable(name)
                columns[variable] = np.array([variable.encode(value) for value in column])
            return self.log_evidence_rows(Evidence(len(values), columns, row.likelihoods))

        found = best_assignments(int(k), first_of, self._log_weights, log_probabilities)
        if not found:
            raise impossible(evidence)
        return found

    def marginal_map(
        self,
        targets: list[Name],
        evidence: Mapping[Name, Any] | None = None,
        *,
        memory_limit: int | None = None,
    ) -> Assignment:
        """Return the most probable joint assignment of some variables, all others summed out.

        Here the argmax of their joint posterior, which is the table of all their states.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        UnsupportedModelError
            For continuous targets.
        """
        wanted = self._targets(targets, self._values(evidence)[0])
        if continuous := [v.name for v in wanted if not isinstance(v, Discrete)]:
            raise UnsupportedModelError(
                f"marginal_map maximises over discrete variables; {quoted(continuous)} are "
                "continuous and are integrated out."
            )
        names = [v.name for v in wanted]
        posterior = self.query(names, evidence, memory_limit=memory_limit)
        best = posterior.argmax if len(names) > 1 else (posterior.argmax,)
        log_value = float(np.log(posterior.probabilities.max())) + posterior.log_evidence
        return Assignment(dict(zip(names, best, strict=True)), log_value)

    # ---------------------------------------------------------------------------------- batches

    def log_posterior_rows(self, target: Discrete, evidence: Evidence) -> Floats:
        """See GraphicalModel."""
        return self._row_logs(target, evidence)

    def log_evidence_rows(self, evidence: Evidence) -> Floats:
        """See GraphicalModel."""
        return np.ascontiguousarray(self._row_logs(None, evidence)[:, 0])

    def _row_logs(self, target: Discrete | None, evidence: Evidence) -> Floats:
        """Return log P(target, row) (without a target, log P(row)), shape (n_rows, n_states)."""
        n_states = 1 if target is None else target.cardinality
        found = RowSum(n_states, evidence.n_rows)
        columns = [v for v in self.variables if isinstance(v, Discrete) and v != target]
        plain = not evidence.likelihoods and (target is None or target not in evidence)
        all_sums = self._sums_for(target, columns) if plain else [None] * len(self._used)
        codes = stacked_codes(evidence, columns) if any(s is not None for s in all_sums) else None
        complete = codes is not None and int(codes.min(initial=0)) >= 0
        for (log_weight, network), sums in zip(self._used, all_sums, strict=True):
            rows: NDArray[np.intp] | slice = slice(None)
            if sums is not None and codes is not None:
                rows = found.add_sums(sums, log_weight, codes, complete=complete)
                if not len(rows):
                    continue
            part = evidence if isinstance(rows, slice) else evidence.rows(rows)
            if target is None:
                logs = network.log_evidence_rows(part)[None]
            else:
                logs = network.log_posterior_rows(target, part).T
            found.add(rows, logs + log_weight)
        return found.logs()

    def _sums_for(
        self, target: Discrete | None, columns: Sequence[Variable]
    ) -> Sequence[Sums | None]:
        if target not in self._sums:
            self._sums[target] = [sums_of(network, target, columns) for _, network in self._used]
        return self._sums[target]

    # ------------------------------------------------------------------------------------ draws

    def sample(
        self, n: int, *, given: Mapping[Name, Any] | None = None, random_state: Any = None
    ) -> dict[Name, NDArray[Any]]:
        """Draw rows from the joint distribution: for each row a network, then all variables.

        Parameters
        ----------
        n : int
        given : mapping from name to value, optional
            As the evidence of `query`; the rows come from the distribution given these values.
        random_state : int or numpy Generator, optional

        Returns
        -------
        dict from name to array of shape (n,)

        Raises
        ------
        ImpossibleEvidenceError
            If what is given has probability zero.
        """
        if not isinstance(n, (int, np.integer)) or n < 0:
            raise DataTypeError(f"n is a number of rows, 0 or more; got {n!r}.")
        random = np.random.default_rng(random_state)
        weights = self.weights if given is None else self.posterior_weights(given)
        fixed = None if given is None else self._without_beliefs(given)
        parts = [
            network.sample(int(size), given=fixed, random_state=random)
            for network, size in zip(self.networks, random.multinomial(n, weights), strict=True)
            if size
        ]
        if not parts:
            return self.networks[0].sample(0)
        order = random.permutation(n)
        return {name: _joined([part[name] for part in parts])[order] for name in self.names}

    def _drawn(
        self,
        n: int,
        evidence: Mapping[Name, Any] | None,
        random: np.random.Generator,
        memory_limit: int | None = None,
    ) -> dict[Variable, NDArray[Any]]:
        """See Questions."""
        weights = self.posterior_weights(evidence)
        given = self._without_beliefs(evidence)
        sizes = random.multinomial(n, weights) if n else (weights == weights.max()).astype(int)
        parts = [
            network._drawn(int(size) if n else 0, given, random, memory_limit)
            for network, size in zip(self.networks, sizes, strict=True)
            if size
        ]
        order = random.permutation(n)
        return {v: np.concatenate([part[v] for part in parts])[order] for v in parts[0]}

    # ---------------------------------------------------------------------- what it does not have

    def _refuse(self, what: str) -> NoReturn:
        raise UnsupportedModelError(
            f"A mixture of networks has no {what}; ask one of mixture.networks."
        )

    def problem(self, evidence: Evidence, keep: Collection[Variable]) -> Problem:
        """Refuse: a sum of products is no product."""
        self._refuse("factors of its own, which approximate methods take")

    def scopes(
        self, observed: Collection[Variable], keep: Collection[Variable]
    ) -> list[tuple[Variable, ...]]:
        """Refuse; see `problem`."""
        self._refuse("factors of its own")

    def blocking(
        self, evidence: Evidence, partial: Sequence[Variable], keep: Collection[Variable]
    ) -> list[Variable]:
        """Refuse; see `problem`."""
        self._refuse("factors of its own")

    def nodes(self) -> NoReturn:
        """Refuse: each network has its own parents and children."""
        self._refuse("parents and children of its own to sample in turn")

    def table_names(self) -> NoReturn:
        """Refuse; see `problem`."""
        self._refuse("tables of its own")

    def tables(self) -> None:
        """Return None: there is no product of tables."""

    def _needed_engine(self, verb: str) -> DiscreteEngine:
        self._refuse(verb)

    def plan(self, targets: Name | list[Name], observed: Collection[Name] = ()) -> Plan:
        """Refuse: each network has its own plan."""
        self._refuse("plan of its own")

    @property
    def silent(self) -> frozenset[Variable]:
        """See BaseModel: those of any network."""
        return frozenset().union(*(network.silent for network in self.networks))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, NetworkMixture)
            and self.networks == other.networks
            and np.array_equal(self.weights, other.weights)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"NetworkMixture of {len(self.networks)} networks over {len(self.variables)} "
            f"variables, {self.graph.number_of_edges()} different arcs and {self.n_parameters} "
            "parameters"
        )


def _check_networks(networks: Sequence[Any]) -> None:
    if not networks:
        raise ModelError("A NetworkMixture needs at least one network; got none.")
    for network in networks:
        if not isinstance(network, BayesianNetwork):
            raise ModelError(f"A NetworkMixture takes BayesianNetworks; got {network!r}.")
    known = set(networks[0].variables)
    for i, network in enumerate(networks):
        if set(network.variables) != known:
            different = known.symmetric_difference(network.variables)
            raise ModelError(
                "The networks of a mixture have the same variables, states and their order "
                f"included; network {i} and the first one differ in "
                f"{quoted(sorted({str(v.name) for v in different}))}."
            )


def _checked_weights(weights: ArrayLike | None, n: int) -> Floats:
    values = np.ones(n) if weights is None else np.array(weights, dtype=np.float64)
    if values.shape != (n,):
        raise ModelError(f"A mixture of {n} networks takes {n} weights; got shape {values.shape}.")
    if not (np.isfinite(values) & (values >= 0)).all() or not values.sum() > 0:
        raise ModelError(
            f"Weights are finite, not negative and not all zero; got {values.tolist()!r:.200}."
        )
    total = values.sum()
    # Weights that were divided before stay as they are, so that files give back the same numbers.
    shares: Floats = values if abs(total - 1.0) < 1e-15 * (n + 1) else values / total
    shares.flags.writeable = False
    return shares


def _joined(parts: list[Any]) -> Any:
    """Return columns, or matrices of counts, one below the other."""
    return vstack(parts, "csr") if issparse(parts[0]) else np.concatenate(parts)
