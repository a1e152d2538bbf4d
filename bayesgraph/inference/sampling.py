"""Likelihood weighting: approximate posteriors of Bayesian networks by weighted samples.

Every answer has a standard error. The method works for every network that can be sampled, whatever
its treewidth and its classes of CPDs, but it is inaccurate if the evidence is improbable.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core import errors
from bayesgraph.core.arrays import Floats, joint_states, random_generator, whole_number
from bayesgraph.core.display import Displayed, DisplayTable, rounded
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.parallel import check_memory
from bayesgraph.core.typing import RandomState
from bayesgraph.core.variables import (
    Continuous,
    CountVector,
    Discrete,
    Name,
    Variable,
    ancestral_set,
)
from bayesgraph.inference import contract
from bayesgraph.inference.results import Posterior

# ----------- Likelihood weighting: approximate posteriors of Bayesian networks by weighted samples


# Standard errors on each side of the mean within which 95 % of a normal distribution are.
_NORMAL_95 = 1.96
# Minimum number of effective samples for which the standard errors are reliable.
FEW_SAMPLES = 100
# Maximum number of values held while a chunk is drawn (32 MB), and maximum rows of a chunk.
_CHUNK_NUMBERS = 2**22
_CHUNK_ROWS = 2**14
# Growth factor of the number of samples between two checks of a requested standard error.
_GROWTH = 1.25


@dataclass(frozen=True, eq=False)
class Estimate:
    """An estimated number or array, with its standard error.

    Attributes
    ----------
    value : float or ndarray
    standard_error : float or ndarray of the same shape
    """

    value: Any
    standard_error: Any

    def __str__(self) -> str:
        pairs = zip(np.ravel(self.value), np.ravel(self.standard_error), strict=True)
        return ", ".join(f"{rounded(value, 6)} ± {rounded(error, 2)}" for value, error in pairs)


@dataclass(frozen=True)
class SamplingError:
    """The accuracy of the answers of a sampler.

    Attributes
    ----------
    method : str
    n_samples : int
    effective_samples : float
        Number of independent samples of the posterior with the same accuracy (Kong 1992): (sum of
        weights) squared over the sum of squared weights.
    largest_standard_error : float
        Maximum of the standard errors of the marginal probabilities of all discrete targets, and of
        the means of continuous targets in units of their posterior standard deviations.
    requested_standard_error : float or None
    """

    method: str
    n_samples: int
    effective_samples: float
    largest_standard_error: float
    requested_standard_error: float | None = None

    @property
    def reliable(self) -> bool:
        """Whether there are enough effective samples (100) for reliable standard errors."""
        return self.effective_samples >= FEW_SAMPLES

    @property
    def reached(self) -> bool:
        """Whether the result is reliable and the requested standard error, if any, was reached."""
        wanted = self.requested_standard_error
        return self.reliable and (wanted is None or self.largest_standard_error <= wanted)

    def __str__(self) -> str:
        share = 100 * self.effective_samples / self.n_samples
        error = rounded(self.largest_standard_error, 2)
        if self.requested_standard_error is not None:
            verdict = "reached" if self.reached else "NOT reached"
            error += f" (requested {rounded(self.requested_standard_error, 2)}: {verdict})"
        lines = [
            f"{self.method}: {self.n_samples:,} samples",
            f"  effective samples       {self.effective_samples:,.1f} ({rounded(share, 2)} %)",
            f"  largest standard error  {error}",
        ]
        if not self.reliable:
            lines.append(
                "  NOT reliable: so few effective samples do not tell their own error either"
            )
        return "\n".join(lines)


@dataclass(frozen=True, eq=False, repr=False)
class WeightedSamples(Displayed):
    """Weighted samples of the targets, which represent their posterior.

    With normalised weights w (sum one) the mean of f over the posterior is estimated by
    m = sum(w f), the self-normalised estimator, whose standard error by the delta method is
    sqrt(sum(w**2 (f - m)**2)) (Geweke 1989; Owen 2013, Monte Carlo theory, methods and examples,
    eq. 9.9). All answers are such means or functions of them.

    If few samples have most of the weight, this formula underestimates the error, because it does
    not account for another sample of large weight. The effect of such a sample, the largest weight
    found times one posterior standard deviation of f, is added in quadrature. With equal weights
    1 / n it is negligible compared with the 1 / sqrt(n) of the delta method. If all samples that
    could explain the evidence are rarer than one in n, the error is larger than reported.

    Attributes
    ----------
    columns : mapping from Variable to ndarray, shape (n_samples,)
        State codes of discrete targets, values of continuous ones.
    log_weights : ndarray, shape (n_samples,)
        Logs of the weights, not normalised; at least one is finite.
    requested_standard_error : float or None
        The standard error that the caller requested.
    """

    columns: Mapping[Variable, NDArray[Any]]
    log_weights: Floats
    requested_standard_error: float | None = None

    def __post_init__(self) -> None:
        for array in (self.log_weights, *self.columns.values()):
            array.flags.writeable = False

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The targets."""
        return tuple(self.columns)

    @cached_property
    def weights(self) -> Floats:
        """The normalised weights, shape (n_samples,)."""
        weights = np.exp(self.log_weights - self.log_weights.max())
        weights /= weights.sum()
        weights.flags.writeable = False
        return np.asarray(weights)

    @cached_property
    def effective_samples(self) -> float:
        """Number of independent samples with the same accuracy; see `SamplingError`."""
        return float(1.0 / (self.weights @ self.weights))

    @cached_property
    def log_evidence(self) -> Estimate:
        """Natural log of the probability (density) of the evidence: the log of the mean weight.

        Its standard error, by the delta method, is the standard error of the mean weight divided by
        the mean weight.
        """
        n = self.n_samples
        peak = float(self.log_weights.max())
        value = peak + math.log(float(np.exp(self.log_weights - peak).sum()) / n)
        if n == 1:
            return Estimate(value, math.inf)
        # The mean of n w is one; its variance follows from the deviations of w from 1 / n.
        return Estimate(value, float(np.linalg.norm(self.weights - 1 / n)) * math.sqrt(n / (n - 1)))

    @cached_property
    def report(self) -> SamplingError:
        """The accuracy of the samples: effective sample size and largest standard error."""
        errors = [0.0]
        for variable in self.variables:
            if isinstance(variable, Discrete):
                errors.append(float(self.probabilities(variable).standard_error.max()))
            else:
                mean, std = self.mean(variable), self.std(variable)
                errors.append(mean.standard_error / std.value if std.value > 0 else 0.0)
        return SamplingError(
            "likelihood weighting",
            self.n_samples,
            self.effective_samples,
            max(errors),
            self.requested_standard_error,
        )

    @property
    def n_samples(self) -> int:
        """The number of samples drawn, including samples of weight zero."""
        return len(self.log_weights)

    def expectation(self, values: ArrayLike) -> Estimate:
        """Return the posterior mean of a function of the targets, with its standard error.

        Parameters
        ----------
        values : array_like, shape (n_samples,)
            The function at each sample, such as ``samples.columns[x] > 3``.
        """
        f = np.asarray(values, dtype=np.float64)
        mean = float(self.weights @ f)
        return Estimate(mean, self._error(f - mean))

    def probabilities(self, *targets: Name | Variable) -> Estimate:
        """Return the joint posterior of one or several discrete targets.

        The delta method alone gives a state that no sample has reached the standard error 0.
        Therefore the largest weight found is added in quadrature. With equal weights 1 / n, three
        standard errors of such a state are then 3 / n, the rule of three (Hanley and Lippman-Hand
        1983: if an event did not occur in n trials, its probability may be up to 3 / n).

        Parameters
        ----------
        *targets : name or Variable

        Returns
        -------
        Estimate
            Arrays of shape (cardinality of targets[0], ...).
        """
        columns = [self._column(target, Discrete) for target in targets]
        shape, codes = [v.cardinality for v, _ in columns], [column for _, column in columns]
        # The cell of the flattened joint table in which each sample is.
        cells = joint_states(codes, shape, self.n_samples)
        size = math.prod(shape)
        share = np.bincount(cells, weights=self.weights, minlength=size)
        p = share / share.sum()  # the sum is one, but for rounding
        # sum(w**2 (f - p)**2) for the indicator f of a cell, written out.
        inside = np.bincount(cells, weights=self.weights**2, minlength=size)
        variance = (1 - p) ** 2 * inside + p**2 * np.maximum(0.0, inside.sum() - inside)
        # A single cell has the probability one without error.
        largest_weight = float(self.weights.max()) if size > 1 else 0.0
        error = np.minimum(1.0, np.hypot(np.sqrt(variance), largest_weight))
        return Estimate(p.reshape(shape), error.reshape(shape))

    def posterior(self, *targets: Name | Variable) -> Posterior:
        """Return the estimated joint posterior of discrete targets as a `Posterior`."""
        variables = tuple(self._column(target, Discrete)[0] for target in targets)
        p = self.probabilities(*targets)
        # Three errors where all samples agree: the rule of three, as of `probabilities`.
        width = np.where((p.value > 0) & (p.value < 1), _NORMAL_95, 3.0) * p.standard_error
        ends = np.array([p.value - width, p.value + width])
        evidence = self.log_evidence.value
        return Posterior(variables, p.value, evidence, self.report, np.clip(ends, 0.0, 1.0))

    def mean(self, target: Name | Variable) -> Estimate:
        """Return the posterior mean of a continuous target, with its standard error."""
        return self.expectation(self._column(target, Continuous)[1])

    def std(self, target: Name | Variable) -> Estimate:
        """Return the posterior standard deviation of a continuous target, with a standard error.

        Its standard error follows from that of the variance v = sum(w (x - m)**2), whose influence
        function is (x - m)**2 - v, by the delta method: se(v) / (2 sqrt(v)).
        """
        _, x = self._column(target, Continuous)
        square = (x - self.weights @ x) ** 2
        variance = float(self.weights @ square)
        std = math.sqrt(variance)
        error = self._error(square - variance) / (2 * std) if std > 0 else 0.0
        return Estimate(std, error)

    def quantile(self, target: Name | Variable, probability: float) -> Estimate:
        """Return the quantile of a continuous target at a probability p.

        It is the smallest sample at which the cumulative weight reaches p. Its standard error is
        half the distance between the quantiles at p - e and p + e, where e is the standard error of
        the distribution function at the quantile (Woodruff 1952); this needs no density estimate.
        """
        if not 0 < probability < 1:
            raise errors.EvidenceError(f"A probability lies between 0 and 1; got {probability!r}.")
        _, x = self._column(target, Continuous)
        order = np.argsort(x, kind="stable")
        order = order[self.weights[order] > 0]  # a sample without weight is no quantile
        cumulative = np.cumsum(self.weights[order])

        def at(p: float) -> float:
            """Return the smallest sample at which the cumulative weight reaches p."""
            place = np.searchsorted(cumulative, p * cumulative[-1])
            return float(x[order[min(int(place), len(order) - 1)]])

        value = at(probability)
        # That of the distribution function: the mean of an indicator, which is p at the quantile.
        error = self._error((x <= value) - probability)
        low, high = at(max(0.0, probability - error)), at(min(1.0, probability + error))
        return Estimate(value, 0.5 * (high - low))

    def _error(self, deviations: NDArray[Any]) -> float:
        """Return the standard error of a posterior mean, by the formula in the class's docstring.

        `deviations` are the differences between the function at each sample and its mean.
        """
        delta = np.linalg.norm(self.weights * deviations)
        spread = np.sqrt(self.weights @ deviations**2)
        return float(np.hypot(delta, self.weights.max() * spread))

    def _column(self, target: Name | Variable, kind: type[Any]) -> tuple[Any, NDArray[Any]]:
        """Return a target of the type `kind`, Discrete or Continuous, and its column."""
        for variable, column in self.columns.items():
            if target in (variable.name, variable):
                if isinstance(variable, kind):
                    return variable, column
                is_, ask = "continuous", "mean, std or quantile"
                if kind is Continuous:
                    is_, ask = "discrete", "probabilities"
                raise errors.EvidenceError(f"{variable.name!r} is {is_}: ask for its {ask}.")
        raise errors.unknown_variable(
            getattr(target, "name", target), [v.name for v in self.variables], where="The sample"
        )

    def _display(self) -> DisplayTable:
        rows = []
        for v in self.variables:
            if isinstance(v, Discrete):
                estimate = self.probabilities(v)
                cells = zip(v.states, estimate.value, estimate.standard_error, strict=True)
                rows += [
                    (f"P({v.name} = {state})", f"{p:.6f}", f"± {rounded(e, 2)}")
                    for state, p, e in cells
                ]
            else:
                moments = {"mean": self.mean(v), "sd": self.std(v)}
                rows += [
                    (
                        f"{what} of {v.name}",
                        rounded(e.value, 6),
                        f"± {rounded(e.standard_error, 2)}",
                    )
                    for what, e in moments.items()
                ]
        return DisplayTable(str(self.report), rows)


def likelihood_weighting(
    nodes: Sequence[Any],
    targets: Sequence[Variable],
    evidence: Evidence,
    *,
    n: int = 100_000,
    standard_error: float | None = None,
    random_state: RandomState = None,
) -> WeightedSamples:
    """Return samples of a Bayesian network given evidence, weighted by the evidence's likelihood.

    Observed variables keep their values (Fung and Chang 1990; Shachter and Peot 1990). Only
    targets, variables with evidence and their ancestors are sampled.

    Parameters
    ----------
    nodes : sequence of CPD
        Parents before children.
    targets : sequence of Variable
    evidence : Evidence
        Evidence with a single row; likelihoods of soft evidence multiply the weights.
    n : int
        Number of samples; the maximum number if `standard_error` is given.
    standard_error : float, optional
        Stop once ``report.largest_standard_error`` is no larger than this and there are at least
        100 effective samples. This stopping rule makes the estimated error slightly too small.
    random_state : int or numpy Generator, optional

    Returns
    -------
    WeightedSamples

    Raises
    ------
    ImpossibleEvidenceError
        If every sample has weight zero. This does not prove that the evidence is impossible.
    MemoryLimitError
        If the samples need more than half of the machine's memory.

    Warns
    -----
    BayesGraphWarning
        If fewer than 100 effective samples were found.

    Examples
    --------
    >>> import numpy as np
    >>> import bayesgraph as bg
    >>> rain, wet = bg.Discrete("rain", ["no", "yes"]), bg.Discrete("wet", [False, True])
    >>> cpds = [
    ...     bg.TableCPD(rain, [0.8, 0.2]),
    ...     bg.TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], parents=[rain]),
    ... ]
    >>> given = Evidence(1, {wet: np.array([1])})
    >>> samples = likelihood_weighting(cpds, [rain], given, random_state=0)
    >>> bool(abs(samples.probabilities("rain").value[1] - 2 / 3) < 0.01)
    True
    >>> samples.report.n_samples
    100000
    """
    n = whole_number("n", "samples", n, 1)
    if not (standard_error is None or standard_error > 0):
        raise errors.DataError(
            f"standard_error is a positive number or None; got {standard_error!r}."
        )
    if evidence.n_rows != 1:
        raise errors.EvidenceError(
            f"Sampling takes one row of evidence at a time; got {evidence.n_rows}."
        )
    numbers = n * (1 + sum(len(v.items) if isinstance(v, CountVector) else 1 for v in targets))
    # With a standard error, n is a maximum that is rarely reached.
    if standard_error is None:
        what = f"{n:,} samples of {len(targets)} variables and their weights take"
        check_memory(what, numbers, "Draw fewer samples, or give a standard_error.")
    trimmed, _ = evidence.split()
    parents = {node.variable: node.parents for node in nodes}
    wanted = ancestral_set(parents, [*targets, *trimmed.columns, *trimmed.likelihoods])
    nodes = [node for node in nodes if node.variable in wanted]
    chunks = _chunks(nodes, targets, trimmed, n, random_generator(random_state))
    result = _drawn(chunks, standard_error)
    if result is None:
        raise errors.ImpossibleEvidenceError(
            "Likelihood weighting found no sample that is consistent with the evidence on "
            f"{errors.quoted(v.name for v in (*trimmed.columns, *trimmed.likelihoods))} among "
            f"{n:,}. This does not prove that the evidence is impossible: draw more samples or use "
            "another method."
        )
    if not result.report.reliable:
        errors.warn(
            f"Likelihood weighting found {result.report.effective_samples:.1f} effective samples "
            f"among {result.n_samples:,}: the evidence is improbable under the samples. Neither "
            "the answers nor their standard errors can be relied on; draw more samples or use "
            "another method.",
            errors.BayesGraphWarning,
        )
    return result


# Columns of the targets and log weights of some samples.
_Chunk: TypeAlias = tuple[dict[Variable, NDArray[Any]], Floats]


def _drawn(chunks: Iterator[_Chunk], standard_error: float | None) -> WeightedSamples | None:
    """Draw chunks of samples until the standard error is reached or the chunks are exhausted.

    The result is None if all weights are zero.
    """
    parts: list[_Chunk] = []
    count, next_look = 0, 0.0
    for chunk in chunks:
        parts.append(chunk)
        count += len(chunk[1])
        if standard_error is not None and count >= next_look:
            next_look = _GROWTH * count
            result = _joined(parts, standard_error)
            if result is not None and result.report.reached:
                return result
    return _joined(parts, standard_error)


def _joined(parts: Sequence[_Chunk], standard_error: float | None) -> WeightedSamples | None:
    """Return the samples of all chunks as one; None if all weights are zero."""
    columns, logs = zip(*parts, strict=True)
    log_weights = np.concatenate(logs)
    if np.isneginf(log_weights).all():
        return None
    together = {v: np.concatenate([chunk[v] for chunk in columns]) for v in columns[0]}
    return WeightedSamples(together, log_weights, standard_error)


def _chunks(
    nodes: Sequence[Any],
    targets: Sequence[Variable],
    evidence: Evidence,
    n_samples: int,
    random: np.random.Generator,
) -> Iterator[_Chunk]:
    """Yield chunks of bounded memory with weighted samples of the targets."""
    size = max(1, min(_CHUNK_ROWS, _CHUNK_NUMBERS // max(1, len(nodes))))
    for start in range(0, n_samples, size):
        n = min(size, n_samples - start)
        columns: dict[Variable, NDArray[Any]] = {}
        log_weights = np.zeros(n)
        for node in nodes:
            variable = node.variable
            if variable in evidence:
                columns[variable] = np.repeat(evidence.columns[variable], n, axis=0)
                family = {v: columns[v] for v in (*node.parents, variable)}
                # All variables are observed: a factor over none of them.
                log_weights += node.potential(Evidence(n, family, complete=True)).log_values
            else:
                columns[variable] = node.sample(columns, n, random)
            # Soft evidence: the likelihood of the state that each sample has.
            if isinstance(variable, Discrete) and variable in evidence.likelihoods:
                # Shape (1, n_states): the evidence has one row.
                log_weights += evidence.likelihoods[variable][0][columns[variable]]
        yield {target: columns[target] for target in targets}, log_weights


# -------------------------- The solver that draws complete rows: all variables, given the evidence
# The ancestors of observed variables are drawn from their posterior, all other variables from their
# distributions given their parents.


def _above(model: Any, pattern: contract.Pattern) -> set[Variable]:
    """Return the variables with evidence, and all of their ancestors."""
    # Parents in the order of drawing, in which children of a block are drawn one after the other.
    parents: dict[Variable, Any] = {node.variable: node.parents for node in model._nodes()}
    observed = [model.variables[v] for v in (*pattern.observed, *pattern.soft)]
    return ancestral_set(parents, observed)


class ForwardWork(contract.Work):
    """Prepared query for independent draws of all variables from the exact posterior."""

    def run(self, case: contract.Case, memory_limit: float | None = None) -> contract.Taken | None:
        model = self.model
        evidence = case.evidence(model.variables)
        above = _above(model, self.pattern)
        if not above:
            return contract.Taken(partial(_rows, model, evidence, None))
        # The other variables are barren: they do not change the posterior of the ancestors.
        network = model._restricted(above)
        # Variables that it lacks have no evidence: their index, None, is not used.
        inner = case.renumbered(
            {v: network._index_of.get(x.name) for v, x in enumerate(model.variables)}
        )
        # If they are all observed there is nothing to draw, but the evidence may be impossible.
        is_mass = above <= set(evidence.columns)
        question = contract.Mass() if is_mass else contract.Draw()
        try:
            answer = network._answer(question, inner, memory_limit)
        except errors.UnsupportedModelError:  # there is no exact posterior of the ancestors
            return contract.Taken(partial(_accepted_rows, model, evidence))
        if answer is None or (is_mass and answer == -np.inf):
            return None
        return contract.Taken(partial(_rows, model, evidence, None if is_mass else answer))


def _rows(
    model: Any, evidence: Evidence, above: Any, n: int, random: np.random.Generator
) -> dict[Variable, NDArray[Any]]:
    """Return n draws of all variables given the evidence.

    `above` draws the unobserved ancestors of observed variables; None if there are none.
    """
    columns = {v: np.repeat(column, n, axis=0) for v, column in evidence.columns.items()}
    if above is not None:
        try:
            columns |= above.take(n, random)
        except errors.UnsupportedModelError:  # which some solvers notice only when they draw
            return _accepted_rows(model, evidence, n, random)
    return _forward(model, columns, n, random)


def _forward(
    model: Any, columns: dict[Variable, NDArray[Any]], n: int, random: np.random.Generator
) -> dict[Variable, NDArray[Any]]:
    """Return n draws of all variables; those not in `columns` are drawn given their parents."""
    drawn = dict(columns)
    for node in model._nodes():
        if node.variable not in drawn:
            drawn[node.variable] = node.sample(drawn, n, random)
    return drawn


def _accepted_rows(
    model: Any, evidence: Evidence, n: int, random: np.random.Generator
) -> dict[Variable, NDArray[Any]]:
    """Return draws of all variables given observed states, by rejection sampling.

    The draws are exact, and need no exact posterior of the ancestors. Sampling is slow if the
    observed states are improbable.
    """
    wanted = {v: int(c[0]) for v, c in evidence.columns.items() if isinstance(v, Discrete)}
    if len(wanted) < len(evidence.columns) or evidence.likelihoods:
        raise errors.UnsupportedModelError(
            "Rows given numbers or likelihoods take the exact posterior of what lies above "
            "them, which this model does not have; give states of discrete variables only."
        )
    accepted: list[dict[Variable, NDArray[Any]]] = []
    n_found, tries = 0, 0
    while n_found < n:
        if tries > 10_000 + 1_000 * n:  # less than about one row in a thousand agrees
            raise errors.UnsupportedModelError(
                f"{tries} rows were drawn and {n_found} of them agree with what is given: it "
                "is too improbable to be sampled by drawing and rejecting."
            )
        size = min(100_000, 2 * n + 100)  # rows of a round
        rows = _forward(model, {}, size, random)
        kept = np.flatnonzero(np.all([rows[v] == code for v, code in wanted.items()], axis=0))
        accepted.append({v: column[kept] for v, column in rows.items()})
        n_found, tries = n_found + len(kept), tries + size
    variables = accepted[0] if accepted else ()
    columns = {v: np.concatenate([part[v] for part in accepted])[:n] for v in variables}
    # Nothing is left to draw, but the empty columns of no rows.
    return _forward(model, columns, n, random)


class Forward(contract.Solver):
    """Solver by ancestral sampling: each variable is drawn from its CPD given its parents."""

    name = "forward sampling"
    condition = "a network to draw rows from"
    works: ClassVar = {contract.Sample: ForwardWork}

    def serves(self, model: Any) -> bool:
        return bool(model._nodes())

    def plan(self, model: Any, question: Any, pattern: contract.Pattern) -> contract.Plan:
        above = _above(model, pattern)
        # Without unobserved ancestors there is no posterior to compute.
        if above <= {model.variables[v] for v in pattern.observed}:
            return contract.Plan()
        network = model._restricted(above)
        observed, soft = (
            tuple(sorted(network._index_of[model.variables[v].name] for v in numbers))
            for numbers in (pattern.observed, pattern.soft)
        )
        return contract.Plan(
            parts=(network._plan_of(contract.Draw(), contract.Pattern(observed, soft)),)
        )
