"""Weighted networks: classifiers that raise each feature's conditional to an exponent."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import (
    EvidenceError,
    ModelError,
    UnsupportedModelError,
    check_known,
    quoted,
)
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import Continuous, CountVector, Discrete, Name, State, Variable
from bayesgraph.inference import Factor, Problem, Slice, weighted_log
from bayesgraph.models import row_kernels
from bayesgraph.models.bayesian_network import BayesianNetwork
from bayesgraph.models.cpds.base import CPD
from bayesgraph.models.cpds.table import TableCPD
from bayesgraph.models.editing import new_names, new_states
from bayesgraph.models.evidence import Finding
from bayesgraph.models.factor_graph import FactorGraph, Term, check_negative, checked_exponent
from bayesgraph.models.model import Addend, Model

if TYPE_CHECKING:
    import networkx as nx


def is_found(variable: Variable, evidence: Evidence) -> bool:
    """Tell whether the evidence contains values or likelihoods of a variable."""
    return variable in evidence or variable in evidence.likelihoods


# ------------- Weighted networks: classifiers that raise each feature's conditional to an exponent


class WeightedNetwork(Model):
    """A Bayesian network classifier in which the conditional of each feature has an exponent.

    For a naive Bayes network this is weighted naive Bayes. In general, class c has the
    posterior::

        P(c | x_O)  ~  P(c)^w_0  exp(b_c)  prod_{i in O} p(x_i | observed parents of i, c)^w_ic

    where O are the observed features, and the conditionals are those of the network without
    exponents: probabilities are marginalised first, then raised to exponents. A missing feature is
    left out. The posterior of another variable t is ``sum_c P(c | x_O) p(x_t | x_O, c)``. If all
    features are observed, the posterior of the class equals that of the product of the CPDs raised
    to the exponents. (The result of `FactorGraph.of` sums a missing feature out of this product
    instead.)

    The model gives rows no probability. The `log_evidence` of an answer is the log of the product
    above, summed over the classes; it has a meaning only relative to its value without evidence.

    Parameters
    ----------
    network : BayesianNetwork
    target : name
        The class variable, which is discrete and has no parents.
    exponents : mapping from feature name to number, or array_like of shape (n_classes,), optional
        Exponents of the features' conditionals; the default is 1.
    bias : array_like, shape (n_classes,), optional
        Term b_c of each class, in nats; 0 by default.
    prior_exponent : float, default 1.0
        Exponent w_0 of the prior of the class.
    domain : {"nonnegative", "unit", "free"}
        The range of the exponents (at least 0, from 0 to 1, or all finite numbers); part of the
        model.

    Attributes
    ----------
    network : BayesianNetwork
    target : Discrete
    exponents : dict from name to ndarray, shape () or (n_classes,)
        Exponents of all features.
    bias : ndarray, shape (n_classes,)

    Raises
    ------
    ModelError
        For a class with parents, exponents of a wrong shape or range, exponents by class of a
        feature that is no child of the class, negative exponents of tables or densities with zeros,
        or a bias that is not finite.
    UnknownVariableError
        For a name that is not in the network.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> spam, free = bg.Discrete("spam", ["no", "yes"]), bg.Discrete("free", ["no", "yes"])
    >>> net = bg.BayesianNetwork([
    ...     bg.TableCPD(spam, [0.5, 0.5]),
    ...     bg.TableCPD(free, [[0.8, 0.2], [0.2, 0.8]], parents=[spam]),
    ... ])
    >>> WeightedNetwork(net, "spam", {"free": 0.5}).query("spam", {"free": "yes"})
    P(spam)
      no   0.333333  ████████
      yes  0.666667  ████████████████
    """

    _kind, _title = "tempered", "Bayesian network with an exponent for each feature"
    _is_joint = False
    _advice = (
        " It tempers the evidence of the observed features, which gives no distribution of rows:"
        " query its `network`, or `FactorGraph.of(it)`."
    )
    _edit_advice = (
        " Change its `network`, and weight that: WeightedNetwork(network, target, exponents)."
    )

    def __init__(
        self,
        network: BayesianNetwork,
        target: Name,
        exponents: Mapping[Name, ArrayLike] | None = None,
        *,
        bias: ArrayLike | None = None,
        prior_exponent: float = 1.0,
        domain: str = "nonnegative",
    ) -> None:
        if not isinstance(network, BayesianNetwork):
            raise ModelError(f"A WeightedNetwork is made of a BayesianNetwork; got {network!r}.")
        variable = network.variable(target)
        if not isinstance(variable, Discrete) or network[target].parents:
            raise ModelError(
                f"The class of a WeightedNetwork is a discrete variable without parents; "
                f"{target!r} is not."
            )
        self.network = network
        self.variables = network.variables
        self._by_name = {v.name: v for v in network.variables}
        self.target = variable
        self.domain = domain
        self.prior_exponent = float(self._checked("P(class)", prior_exponent, ()))
        n = variable.cardinality
        try:
            self.bias = np.array(np.zeros(n) if bias is None else bias, dtype=np.float64)
        except (TypeError, ValueError):
            self.bias = np.array(np.nan)  # refused below
        if self.bias.shape != (n,) or not np.isfinite(self.bias).all():
            raise ModelError(f"bias takes {n} finite numbers, one for each class; got {bias!r}.")
        names = [v.name for v in network.variables if v != variable]
        chosen = dict(exponents or {})
        check_known(chosen, names, where="exponents=: the features")
        check_negative(network[target], np.array(self.prior_exponent))
        self.exponents = {name: self._of_feature(name, chosen.get(name, 1.0)) for name in names}

    def _of_feature(self, name: Name, numbers: ArrayLike) -> Floats:
        """Return the exponent of a feature, or raise a ModelError."""
        exponent = self._checked(name, numbers, (self.target.cardinality,))
        cpd = self.network[name]
        if exponent.ndim and self.target not in cpd.parents:
            raise ModelError(
                f"{name!r} does not have the class {self.target.name!r} as a parent: its exponent "
                f"is one number, not one for each class; got {numbers!r}."
            )
        # A feature is tempered only where it is observed, so its density needs no integral.
        if (exponent < 0).any() and not (cpd.is_linear or cpd.is_positive):
            check_negative(cpd, _spread(exponent, cpd, self.target))
        return exponent

    def _checked(self, name: Name, exponent: ArrayLike, shape: tuple[int, ...]) -> Floats:
        """Return an exponent of the given shape, or one for all classes."""
        array = checked_exponent(repr(name), exponent, self.domain)
        if array.shape not in ((), shape):
            raise ModelError(
                f"The exponent of {name!r} is one number, or one for each class; got shape "
                f"{array.shape}. (Exponents of single cells make a FactorGraph.)"
            )
        return array

    @property
    def graph(self) -> nx.DiGraph:
        """The graph of the network."""
        return self.network.graph

    @property
    def arc_scores(self) -> dict[tuple[Name, Name], float]:
        """The scores of the network's arcs."""
        return self.network.arc_scores

    @property
    def cpds(self) -> tuple[CPD, ...]:
        """The CPDs of the network, without their exponents."""
        return self.network.cpds

    @property
    def n_parameters(self) -> int:
        """Number of the network's free parameters, exponents and biases."""
        weights = sum(exponent.size for exponent in self.exponents.values())
        return self.network.n_parameters + weights + self.bias.size + 1

    # ------------------------------------------------------------------------- the class

    @cached_property
    def _log_prior(self) -> Floats:
        """The log of P(c)^w_0 exp(b_c), shape (n_classes,), which is not normalised."""
        factor = self.network[self.target.name].to_factor()
        assert factor is not None  # a discrete variable without parents is a table
        # The first axis is of rows of evidence, of which there is one here.
        logs = weighted_log(factor.log_values[0], np.array(self.prior_exponent))
        return np.asarray(logs + self.bias)

    @cached_property
    def _tables(self) -> tuple[dict[Variable, int], Floats]:
        """Tables p(x_i | c) raised to exponents, of the features whose only parent is the class.

        These are by feature the row of the table at which its states start, and exponent times log
        probability, as `add_states` of the row kernels takes it.
        """
        only = (self.target,)
        cpds = [c for c in self.cpds if isinstance(c, TableCPD) and c.parents == only]
        # Arrays of shape (n_classes, n_states). With an empty one first, the sums of widths are the
        # starts, and last the width of all.
        logs = [np.empty((self.target.cardinality, 0))]
        logs += [
            weighted_log(c.log_values, self.exponents[c.variable.name][..., None]) for c in cpds
        ]
        start = np.cumsum([table.shape[1] for table in logs]).tolist()
        table = row_kernels.padded_rows(np.concatenate(logs, axis=1))
        return dict(zip([c.variable for c in cpds], start[:-1], strict=True)), table

    def _add_tables(self, evidence: Evidence, out: Floats) -> None:
        """Add what all observed features with tables say to `out`, shape (n_classes, n_rows)."""
        start, table = self._tables
        features = tuple(v for v in start if v in evidence)
        if features:
            begins = np.array([start[v] for v in features], dtype=np.int64)
            row_kernels.add_states(out, evidence.matrix(features), begins, table)

    def log_scores(self, evidence: Evidence) -> Floats:
        """Return the unnormalised log posterior of the class, shape (n_rows, n_classes).

        It is the log of the product in the description of this Python class.

        Parameters
        ----------
        evidence : Evidence
            Evidence on features; evidence on the class variable itself is ignored.
        """
        # Classes first in memory: kernels run along the rows.
        scores = np.empty((self.target.cardinality, evidence.n_rows)).T
        scores[:] = self._log_prior
        features = _without(evidence, self.target)
        self._add_tables(features, scores.T)
        # Features whose tables have been added together; likelihoods of others need inference.
        added = self._tables[0].keys() - features.likelihoods.keys()
        for cpd in self.network.cpds:
            remains = cpd.variable != self.target and cpd.variable not in added
            logs = self.tempered(cpd, features) if remains else None
            if logs is not None:
                scores += logs
        return scores

    def tempered(self, cpd: CPD, evidence: Evidence) -> Floats | None:
        """Return a feature's log conditional times its exponent, shape (n_rows, n_classes).

        The entry of class c is w_ic log p(x_i | observed parents of i, c), where i is the feature
        of `cpd`. The result is None if the feature is not observed or its exponent is 0.
        """
        exponent = self.exponents[cpd.variable.name]
        logs = self._logs(cpd, evidence) if exponent.any() else None
        return None if logs is None else weighted_log(logs, exponent)

    def _logs(self, cpd: CPD, evidence: Evidence) -> Floats | None:
        """Return log p(x_i | observed parents of i, c) of a feature, shape (n_rows, n_classes).

        The result is None if the feature is not observed.
        """
        variable = cpd.variable
        observed_parents = [p for p in cpd.parents if p != self.target and is_found(p, evidence)]
        if not is_found(variable, evidence):
            return None
        lacks_parents = len(observed_parents) < len(cpd.parents) - (self.target in cpd.parents)
        has_soft = any(v in evidence.likelihoods for v in (variable, *observed_parents))
        # In a row with values of all parents, the CPD itself has the answer. Soft evidence, or a
        # parent that no row observes, leaves no such row.
        is_local = np.full(evidence.n_rows, not (has_soft or lacks_parents))
        for parent in observed_parents if is_local.any() else ():
            is_local &= evidence.observed_rows(parent)
        if not is_local.any():
            return self._ratio(variable, observed_parents, evidence)
        columns = {v: evidence.columns[v] for v in (*observed_parents, variable)}
        if is_local.all():
            return self._local(cpd, Evidence(evidence.n_rows, columns))
        logs = np.empty((evidence.n_rows, self.target.cardinality))
        rows, others = np.flatnonzero(is_local), np.flatnonzero(~is_local)
        local = Evidence(len(rows), {v: column[rows] for v, column in columns.items()})
        logs[rows] = self._local(cpd, local)
        logs[others] = self._ratio(variable, observed_parents, evidence.rows(others))
        return logs

    def _local(self, cpd: CPD, evidence: Evidence) -> Floats:
        """Return log p(feature | parents, class) by its CPD, shape (n_rows, n_classes)."""
        potential = cpd.potential(evidence)
        assert isinstance(potential, Factor)  # only the class is free
        return np.broadcast_to(
            potential.aligned([self.target]), (evidence.n_rows, self.target.cardinality)
        )

    def _ratio(self, variable: Variable, above: Sequence[Variable], evidence: Evidence) -> Floats:
        """Return log p(x_i | x_S, c) by inference, as log p(x_i, x_S, c) - log p(x_S, c).

        Here i is the feature `variable`, S the set `above` of its observed parents, and c each
        class.
        """
        with_it = self._joint([*above, variable], evidence)
        without = self._joint(above, evidence)
        # A class of probability zero before the feature too would give NaN.
        with np.errstate(invalid="ignore"):
            return np.where(np.isneginf(with_it), -np.inf, with_it - without)

    def _joint(self, variables: Sequence[Variable], evidence: Evidence) -> Floats:
        """Return log p(c, evidence on the variables) in the network, shape (n_rows, n_classes)."""
        columns = {v: evidence.columns[v] for v in variables if v in evidence}
        soft = {v: logs for v, logs in evidence.likelihoods.items() if v in variables}
        joint = Evidence(evidence.n_rows, columns, soft)
        return self.network._log_posterior_rows(self.target, joint)

    # ----------------------------------------------------------------------- for the solvers

    def _slice(
        self,
        observed: Collection[Variable],
        partial: Sequence[Variable],
        soft: Collection[Discrete],
        keep: Sequence[Variable],
    ) -> Slice:
        """Return the submodel relevant to a query, as a product of factors.

        The factors are the network's CPDs, and a correction factor over the class variable. The
        correction changes the network's posterior of the class to that of this model. For the
        parameters see `BayesianNetwork._slice`.
        """
        # Given the class in every row, other variables have the posteriors of the network.
        if self.target in observed and self.target not in partial:
            return self.network._slice(observed, partial, soft, keep)
        inner = self.network._slice(observed, partial, soft, [*keep, self.target])
        # Whether the class is the only target, so that its scores are the answer.
        alone = self.target not in observed and not set(keep) - {self.target}
        # The model's cache holds its submodels: a weak reference avoids a cycle.
        model: Any = weakref.proxy(self)
        return ClassSlice(model) if alone else TurnedSlice(model, inner)

    def _with_findings(self, findings: Mapping[Name, Finding]) -> WeightedNetwork:
        """Return the network with numbers replaced by states; see `Model._with_findings`."""
        return self._with_networks([self.network._with_findings(findings)])

    def _check_beliefs(self, beliefs: Collection[Discrete]) -> None:
        """Check that each `Belief` (a prescribed posterior) is about the class variable.

        For features, exponents change the effect of the likelihoods that implement a belief.

        Raises
        ------
        UnsupportedModelError
            For a belief about a feature.
        """
        if others := [v.name for v in beliefs if v != self.target]:
            raise UnsupportedModelError(
                f"A WeightedNetwork takes a Belief about its class {self.target.name!r} only; got "
                f"one about {quoted(others)}. Give likelihoods, or query its `network`."
            )

    # ----------------------------------------------------------------------------- other verbs

    def renamed(self, names: Mapping[Name, Name]) -> WeightedNetwork:
        """Return the model with other names of some variables; see `Model.renamed`."""
        new = {old.name: variable.name for old, variable in new_names(self, names).items()}
        target = new.get(self.target.name, self.target.name)
        exponents = {new.get(name, name): x for name, x in self.exponents.items()}
        return self._of(self.network.renamed(names), target, exponents, self.bias)

    def with_states(
        self, name: Name, states: Mapping[State, State] | Sequence[State]
    ) -> WeightedNetwork:
        """Return the model with other states of a variable; see `Model.with_states`."""
        # `order` has the old index of each state in its new place.
        variable, _, order = new_states(self, name, states)
        network, exponents, bias = self.network.with_states(name, states), self.exponents, self.bias
        if variable == self.target:
            exponents = {n: x[order] if x.ndim else x for n, x in exponents.items()}
            bias = bias[order]
        return self._of(network, self.target.name, exponents, bias)

    def _links(
        self, target: Discrete, observed: Collection[Variable], soft: Collection[Variable]
    ) -> list[tuple[Variable, ...]] | None:
        """Return the scopes of the network's CPDs for the class; see `Model._links`."""
        # Exponents are of conditionals given the class, and soft evidence takes inference.
        if soft or target != self.target:
            return None
        return self.network._links(target, observed, soft)

    def _addends(self, target: Discrete) -> list[Addend]:
        """Return the features in topological order; see `Model._addends`.

        Raises
        ------
        EvidenceError
            For another variable than the class.
        """
        if target != self.target:
            raise EvidenceError(
                f"The log odds of a weighted network are those of its class {self.target.name!r}; "
                "query its `network` for those of another variable."
            )
        addends = []
        # The class has no parents, so that the term of each feature has a CPD as its source.
        for addend in self.network._addends(target):
            cpd = addend.source
            exponent = _spread(self.exponents[cpd.variable.name], cpd, target)
            addends.append(addend._replace(source=Term(cpd, np.asarray(exponent))))
        return addends

    @property
    def networks(self) -> tuple[BayesianNetwork]:  # type: ignore[override]
        """The network whose distributions are weighted."""
        return (self.network,)

    def _with_networks(self, networks: Iterable[BayesianNetwork]) -> WeightedNetwork:
        """Return the model of another network, with the same exponents."""
        (network,) = networks
        return self._of(network, self.target.name, self.exponents, self.bias)

    def _of(
        self,
        network: BayesianNetwork,
        target: Name,
        exponents: Mapping[Name, ArrayLike],
        bias: Floats,
    ) -> WeightedNetwork:
        """Return a model with the same prior exponent and domain."""
        return WeightedNetwork(
            network,
            target,
            exponents,
            bias=bias,
            prior_exponent=self.prior_exponent,
            domain=self.domain,
        )

    def _to_factor_graph(self) -> FactorGraph:
        """Return the CPDs raised to their exponents, and the biases, as a factor graph.

        Its posteriors equal those of this model if all features are observed. It sums a missing
        feature out of the product of the factors, while this model leaves the feature out.

        Raises
        ------
        ModelError
            For a negative exponent of a Gaussian: the product then has no integral.
        """
        cpds = self.network.cpds
        exponents: list[ArrayLike] = [
            self.prior_exponent
            if cpd.variable == self.target
            else _spread(self.exponents[cpd.variable.name], cpd, self.target)
            for cpd in cpds
        ]
        factors: list[Any] = [*cpds]
        if self.bias.any():
            factors.append(Factor.from_log([self.target], self.bias[None]))
            exponents.append(1.0)
        return FactorGraph(factors, exponents=exponents, domain=self.domain)

    def __eq__(self, other: object) -> bool:
        """Tell whether network, class, exponents, bias and domain are equal."""
        return (
            isinstance(other, WeightedNetwork)
            and self.network == other.network
            and self.target == other.target
            and (self.domain, self.prior_exponent) == (other.domain, other.prior_exponent)
            and np.array_equal(self.bias, other.bias)
            and self.exponents.keys() == other.exponents.keys()
            and all(np.array_equal(e, other.exponents[n]) for n, e in self.exponents.items())
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        powered = sum(bool((exponent != 1).any()) for exponent in self.exponents.values())
        return (
            f"WeightedNetwork of {self.target.name!r} with {len(self.exponents)} features, "
            f"{powered} of them with an exponent other than 1"
        )


@dataclass(frozen=True, eq=False)
class ClassSlice:
    """Submodel for queries of the class variable alone: one factor, the scores of the classes.

    The scores are computed directly and not from the network's posterior, which may be zero for a
    class whose score is positive, such as one that a feature with the exponent 0 rules out.
    """

    model: WeightedNetwork
    blocking = ()
    nbytes = 0

    @property
    def scopes(self) -> tuple[tuple[Variable, ...], ...]:
        """The scope of the only factor, which is the class variable."""
        return ((self.model.target,),)

    def problem(self, evidence: Evidence, *, summed: bool = False) -> Problem:
        """Return the scores of the classes, and the soft evidence on the class, as factors."""
        target = self.model.target
        logs = [self.model.log_scores(evidence)]
        if target in evidence.likelihoods:
            logs.append(evidence.likelihoods[target])
        return Problem([Factor.from_log([target], values) for values in logs], {})


@dataclass(frozen=True, eq=False)
class TurnedSlice:
    """Submodel for queries of features: the network's factors and a correction over the class.

    The correction factor changes the network's posterior of the class to that of the weighted
    network. Its entry for a class is the score of the class, divided by the network's joint
    probability of the class and the evidence.
    """

    model: WeightedNetwork
    inner: Slice

    @property
    def nbytes(self) -> int:
        """Bytes held in addition to the model's own arrays."""
        return self.inner.nbytes

    @property
    def blocking(self) -> Sequence[Variable]:
        """Variables of the network that are summed out in the rows that lack them."""
        return self.inner.blocking

    @cached_property
    def scopes(self) -> tuple[tuple[Variable, ...], ...]:
        """The scopes of the network's factors, and last the class variable for the correction."""
        return (*self.inner.scopes, (self.model.target,))

    def problem(self, evidence: Evidence, *, summed: bool = False) -> Problem:
        """Return the network's potentials given the evidence, and the correction factor."""
        model = self.model
        problem = self.inner.problem(evidence, summed=summed)
        features = _without(evidence, model.target)
        before = model.network._log_posterior_rows(model.target, features)
        # A class that the network rules out stays so: no factor makes it possible again.
        with np.errstate(invalid="ignore"):
            ratio = np.where(np.isneginf(before), -np.inf, model.log_scores(features) - before)
        factor = Factor.from_log([model.target], ratio)
        return Problem([*problem.potentials, factor], problem.columns)


def _without(evidence: Evidence, target: Discrete) -> Evidence:
    """Return the evidence on all other variables."""
    if not is_found(target, evidence):
        return evidence
    soft = {v: logs for v, logs in evidence.likelihoods.items() if v != target}
    return Evidence(evidence.n_rows, evidence.without([target]).columns, soft)


def _spread(exponent: Floats, cpd: CPD, target: Discrete) -> Floats:
    """Reshape a scalar exponent, or exponents by class, to broadcast against the CPD's table."""
    if not exponent.ndim:
        return exponent
    axes = [v for v in cpd.scope if not isinstance(v, (Continuous, CountVector))]
    shape = [len(exponent) if v == target else 1 for v in axes]
    return exponent.reshape(shape)
