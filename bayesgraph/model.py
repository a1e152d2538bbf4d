"""What Bayesian networks and factor graphs have in common: questions and their answers."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph import upward
from bayesgraph.errors import (
    EvidenceError,
    ImpossibleEvidenceError,
    ImpossibleEvidenceWarning,
    quoted,
    unknown_variable,
)
from bayesgraph.factors import Evidence, Factor, GaussianFactor
from bayesgraph.factors.algebra import Floats, log_sum_exp
from bayesgraph.factors.factor import align
from bayesgraph.inference import (
    Assignment,
    GaussianMixture,
    MixedPosterior,
    Plan,
    Posterior,
    make_plan,
    marginal,
    most_probable,
)
from bayesgraph.inference.queries import Problem
from bayesgraph.variables import Continuous, Discrete, Name, Variable, is_missing

# Rows treated at once: their columns and sums stay in the processor's cache.
_BLOCK_ROWS = 4096
# Numbers in the largest product of one block.
_BLOCK_ENTRIES = 2**23


class GraphicalModel(ABC):
    """A product of local functions over named variables, and the questions it answers.

    Attributes
    ----------
    variables : tuple of Variable
    """

    variables: tuple[Variable, ...]
    _by_name: dict[Name, Variable]

    @abstractmethod
    def problem(self, evidence: Evidence, keep: Collection[Variable]) -> Problem:
        """Return the factors that matter for the variables to keep, with the evidence taken in."""

    @abstractmethod
    def scopes(
        self, observed: Collection[Variable], keep: Collection[Variable]
    ) -> list[tuple[Variable, ...]]:
        """Return the scopes that `problem` would return for evidence on some variables."""

    @abstractmethod
    def blocking(
        self, evidence: Evidence, partial: Sequence[Variable], keep: Collection[Variable]
    ) -> list[Variable]:
        """Return the partially observed variables that need summing out where they are missing."""

    # ------------------------------------------------------------------ variables and evidence

    @property
    def names(self) -> tuple[Name, ...]:
        """Names of all variables."""
        return tuple(self._by_name)

    def variable(self, name: Name) -> Variable:
        """Return the variable of a name (a variable of the model stands for its own name).

        Raises
        ------
        UnknownVariableError
            With the nearest name suggested.
        """
        if isinstance(name, (Discrete, Continuous)) and self._by_name.get(name.name) == name:
            return name
        try:
            return self._by_name[name]
        except (KeyError, TypeError):
            raise unknown_variable(name, self._by_name, where="The model") from None

    def encode(self, evidence: Mapping[Name, Any] | None) -> Evidence:
        """Return evidence given as a mapping from name to value as encoded columns of one row.

        A value is a state, a number, or (for a discrete variable) a mapping from every state to its
        likelihood. None and NaN mean not observed.
        """
        columns: dict[Variable, NDArray[Any]] = {}
        likelihoods: dict[Discrete, Floats] = {}
        if evidence is not None and hasattr(evidence, "to_dict"):  # a row of a pandas frame
            evidence = evidence.to_dict()
        if evidence is not None and not isinstance(evidence, Mapping):
            raise EvidenceError(
                "Evidence is a mapping from variable name to value, such as {'rain': 'yes'}; got "
                f"{type(evidence).__name__}: {evidence!r:.80}."
            )
        for name, value in (evidence or {}).items():
            variable = self.variable(name)
            if isinstance(value, np.ndarray) and not value.ndim and value is not np.ma.masked:
                value = value[()]  # np.array(3.0) is a number
            if isinstance(value, Mapping) or (isinstance(value, np.ndarray) and value.ndim == 1):
                likelihoods.update([_likelihood(variable, value)])
            elif is_missing(value):
                continue
            elif isinstance(variable, Discrete):
                columns[variable] = np.array([variable.index(value)])
            else:
                columns[variable] = np.array([variable.number(value)])
        return Evidence(1, columns, likelihoods)

    def _targets(self, targets: Any, evidence: Evidence) -> list[Variable]:
        if isinstance(targets, Mapping):
            raise EvidenceError(
                "The targets come first and the evidence second: query('rain', {'wet': True})."
            )
        several = isinstance(targets, (list, np.ndarray)) or (
            isinstance(targets, tuple) and targets not in self._by_name
        )
        names = list(targets) if several else [targets]
        if not names:
            raise EvidenceError("A query needs at least one target; got none.")
        found = [self.variable(name) for name in names]
        if len(set(found)) < len(found):
            raise EvidenceError(f"Each target is asked once; got {quoted(names)}.")
        for variable in found:
            if variable in evidence:
                raise EvidenceError(
                    f"{variable.name!r} is both a target and observed; leave it out of one of them."
                )
        return found

    # ------------------------------------------------------------------------------- questions

    def query(self, targets: Name | list[Name], evidence: Mapping[Name, Any] | None = None) -> Any:
        """Return the exact posterior of one or several variables.

        Parameters
        ----------
        targets : name or list of names
            A list asks for the joint posterior.
        evidence : mapping from name to value, optional
            A state or a number; a mapping from each state to its likelihood is soft evidence; None
            and NaN mean not observed.

        Returns
        -------
        Posterior
            For discrete targets: a mapping from state (tuple of states) to probability.
        GaussianMixture
            For continuous targets.
        MixedPosterior
            For both together.

        Raises
        ------
        UnknownVariableError, UnknownStateError, EvidenceError
            With what is known and the nearest match.
        ImpossibleEvidenceError
            If the evidence has probability zero.
        """
        given = self.encode(evidence)
        wanted = self._targets(targets, given)
        result, plan = marginal(self, wanted, given)
        discrete = [v for v in wanted if isinstance(v, Discrete)]
        if isinstance(result, Factor):
            log_values = result.aligned(discrete)
            log_evidence = self._log_evidence(log_values, evidence)
            return Posterior(tuple(discrete), _normalised(log_values)[0], log_evidence)
        return self._mixture(result, discrete, plan, wanted, evidence)

    def _mixture(
        self,
        result: GaussianFactor,
        discrete: list[Discrete],
        plan: Plan,
        wanted: list[Variable],
        evidence: Mapping[Name, Any] | None,
    ) -> GaussianMixture | MixedPosterior:
        continuous = tuple(v for v in wanted if isinstance(v, Continuous))
        order = [result.variables.index(v) for v in continuous]
        hidden = [v for v in plan.keep if isinstance(v, Discrete) and v not in discrete]
        axes = [*discrete, *hidden]
        n = len(continuous)
        log_mass, mean, covariance = result.moments()
        shape = [v.cardinality for v in axes]

        def flat(values: Floats, *tail: int) -> Floats:
            table = align(values, result.scope, axes)[0]
            return np.broadcast_to(table, (*shape, *tail)).reshape(-1, *tail)

        log_mass = flat(log_mass)
        log_evidence = self._log_evidence(log_mass[None], evidence)
        weights = np.exp(log_mass - log_sum_exp(log_mass[None], 1)[0])
        mean = flat(mean[..., order], n)
        covariance = flat(covariance[..., order, :][..., :, order], n, n)

        def mixture(part: slice) -> GaussianMixture | None:
            used = np.flatnonzero(weights[part] > 0) + part.start
            if not len(used):
                return None
            share = weights[used] / weights[used].sum()
            return GaussianMixture(continuous, share, mean[used], covariance[used], log_evidence)

        if not discrete:
            whole = mixture(slice(0, len(weights)))
            assert whole is not None  # the weights sum to one
            return whole
        cells = [v.cardinality for v in discrete]
        size = len(weights) // int(np.prod(cells))
        probabilities = weights.reshape(*cells, -1).sum(axis=-1)
        mixtures = [mixture(slice(at, at + size)) for at in range(0, len(weights), size)]
        return MixedPosterior(Posterior(tuple(discrete), probabilities, log_evidence), mixtures)

    def most_probable(
        self, evidence: Mapping[Name, Any] | None = None, *, joint: bool = False
    ) -> Assignment:
        """Return the most probable joint assignment of all unobserved variables.

        This is not the list of the most probable state of each variable: see `query` for those.
        Discrete variables are maximised with the continuous ones integrated out, which are then
        reported at their conditional means.

        Parameters
        ----------
        evidence : mapping from name to value, optional
            As in `query`.
        joint : bool
            Maximise over the continuous variables too: the mode of the joint density.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        """
        given = self.encode(evidence)
        free = [v for v in self.variables if v not in given]
        values, log_value = most_probable(self, free, given, joint=joint)
        log_probability = self._log_evidence(log_value.reshape(1, 1), evidence)
        assignment = {
            v.name: v.states[int(values[v][0])] if isinstance(v, Discrete) else float(values[v][0])
            for v in free
        }
        return Assignment(assignment, log_probability)

    def log_probability(self, evidence: Mapping[Name, Any]) -> float:
        """Return the natural log of the probability of the evidence.

        A log density where continuous variables are observed; minus infinity where the evidence is
        impossible. Soft evidence counts with its likelihoods.
        """
        given = self.encode(evidence)
        result, _ = marginal(self, [], given)
        assert isinstance(result, Factor)  # no targets, no variables left
        return float(result.log_values[0]) - self._log_normaliser()

    def plan(self, targets: Name | list[Name], observed: Collection[Name] = ()) -> Plan:
        """Return what a query would compute, printable, without computing it."""
        if isinstance(observed, str):
            raise EvidenceError(f"observed= is a list of names; got the string {observed!r}.")
        seen = {self.variable(name) for name in observed}
        given = Evidence(1, dict.fromkeys(seen, np.zeros(1)))
        wanted = self._targets(targets, given)
        return make_plan(self.scopes(seen, wanted), wanted, order=self.variables)

    def _log_normaliser(self) -> float:
        """Log of the sum of the product over everything: zero for a Bayesian network.

        Posteriors do not need it, and it may be out of reach (or not exist) where they are not.
        """
        return 0.0

    def _log_evidence(self, log_values: Floats, evidence: Mapping[Name, Any] | None) -> float:
        axes = tuple(range(1, log_values.ndim))
        total = float(log_sum_exp(log_values, axes)[0]) if axes else float(log_values[0])
        if total == -np.inf:
            raise ImpossibleEvidenceError(
                f"The model gives probability zero to the evidence {dict(evidence or {})!r}."
            )
        return total

    # ----------------------------------------------------------------------------------- batches

    def log_posterior_rows(self, target: Discrete, evidence: Evidence) -> Floats:
        """Return the unnormalised log posterior of a target for each row of encoded evidence.

        Returns
        -------
        ndarray, shape (n_rows, n_states)
            log P(target, evidence), for a factor graph up to its partition; minus infinity
            throughout a row of impossible evidence.
        """
        # States first in memory: sums over few states then run along the rows.
        result = np.empty((target.cardinality, evidence.n_rows)).T
        for rows, part in self._blocks(evidence, [target]):
            potential, _ = marginal(self, [target], part)
            assert isinstance(potential, Factor)  # the target is discrete
            result[rows] = potential.aligned([target])
        if target in evidence:
            codes = evidence.columns[target][:, None]
            result[(codes >= 0) & (codes != np.arange(target.cardinality))] = -np.inf
        return result

    def settled_rows(self, target: Discrete, evidence: Evidence) -> Floats:
        """Return log_posterior_rows with the prior where a row is impossible.

        One warning says how many such rows there are.
        """
        joint = self.log_posterior_rows(target, evidence)
        impossible = np.isneginf(joint.max(axis=1))
        if impossible.any():
            warnings.warn(
                f"{int(impossible.sum())} of {len(joint)} rows have probability zero under the "
                f"model; they get the prior of {target.name!r}.",
                ImpossibleEvidenceWarning,
                stacklevel=4,
            )
            with np.errstate(divide="ignore"):
                joint[impossible] = np.log(self.query(target.name).probabilities)
        return joint

    def normalised_rows(self, target: Discrete, evidence: Evidence) -> Floats:
        """Return the log posterior of a target for each row, shape (n_rows, n_states)."""
        joint = self.settled_rows(target, evidence)
        # The peak leaves first: beside a log density of -1e18 the log of a sum would vanish.
        joint -= joint.max(axis=1, keepdims=True)
        return np.asarray(joint - log_sum_exp(joint, 1)[:, None])

    def log_evidence_rows(self, evidence: Evidence) -> Floats:
        """Return the log probability (density) of each row of encoded evidence."""
        result = np.empty(evidence.n_rows)
        for rows, part in self._blocks(evidence, []):
            potential, _ = marginal(self, [], part)
            assert isinstance(potential, Factor)  # no targets, no variables left
            result[rows] = potential.log_values
        return result - self._log_normaliser()

    def _blocks(
        self, evidence: Evidence, keep: list[Variable]
    ) -> Iterator[tuple[NDArray[np.intp], Evidence]]:
        """Yield blocks of rows, those that need nothing summed out apart from the others."""
        evidence, _ = evidence.split()
        sizes: dict[frozenset[Variable], int] = {}
        for start in range(0, evidence.n_rows, _BLOCK_ROWS):
            rows = np.arange(start, min(start + _BLOCK_ROWS, evidence.n_rows))
            block = evidence.rows(slice(start, start + _BLOCK_ROWS))
            trimmed, partial = block.split()
            blocking = self.blocking(trimmed, partial, keep)
            complete = np.ones(len(rows), dtype=bool)
            for variable in blocking:
                complete &= trimmed.observed_rows(variable)
            always = frozenset(trimmed.columns).difference(blocking)
            for chosen, observed in ((complete, always.union(blocking)), (~complete, always)):
                which = np.flatnonzero(chosen)
                if observed not in sizes and len(which):
                    sizes[observed] = self._rows_at_once(observed, keep)
                for at in range(0, len(which), sizes.get(observed, 1)):
                    part = which[at : at + sizes[observed]]
                    yield rows[part], block if len(part) == len(rows) else block.rows(part)

    def _rows_at_once(self, observed: frozenset[Variable], keep: list[Variable]) -> int:
        """Return for how many rows the largest product stays within bounds."""
        plan = make_plan(self.scopes(observed, keep), keep, order=self.variables)
        return max(1, min(_BLOCK_ROWS, _BLOCK_ENTRIES // plan.largest_table))

    # -------------------------------------------------------------- verbs of the layers above

    def log_likelihood(self, frame: Any) -> float:
        """Return the total log likelihood of the rows of a table.

        Missing values are marginalised; columns that the model does not have are ignored.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table, or mapping from name to column
        """
        return float(upward.call("log_likelihood", self, frame))

    def query_rows(self, target: Name, frame: Any) -> Floats:
        """Return the posterior of a discrete variable for each row of a table.

        Parameters
        ----------
        target : name
        frame : pandas, polars or pyarrow table, or mapping from name to column
            Any pattern of missing values; columns that the model does not have, and the target's
            own, are ignored.

        Returns
        -------
        ndarray, shape (n_rows, n_states)
            In the order of the target's states. Rows to which the model gives probability zero get
            the prior, with one warning that counts them.
        """
        result: Floats = upward.call("query_rows", self, target, frame)
        return result

    def save(self, path: Any) -> None:
        """Save to the native format, which keeps every name, state and number exactly."""
        upward.call("save", self, path)

    def write(self, path: Any, **options: Any) -> None:
        """Write to a file of the format that the suffix tells (.bif, .bif.gz, .uai, .dot, ...)."""
        upward.call("write", self, path, **options)

    def to_dot(self, **options: Any) -> str:
        """Return the graph in Graphviz' DOT language; see :func:`bayesgraph.io.dot.to_dot`."""
        return str(upward.call("to_dot", self, **options))

    def to_graphviz(self, **options: Any) -> Any:
        """Return the graph as a ``graphviz.Source``; options as for `to_dot`."""
        return upward.call("to_graphviz", self, **options)

    def render(self, path: Any, **options: Any) -> None:
        """Draw the graph to an SVG, PNG or PDF file; options as for `to_dot`."""
        upward.call("render", self, path, **options)

    def to_pgmpy(self) -> Any:
        """Return the model as a pgmpy object of the same names, states and numbers."""
        return upward.call("to_pgmpy", self)

    def _repr_svg_(self) -> str | None:
        result: str | None = upward.call("to_svg", self)
        return result


def _normalised(log_values: Floats) -> Floats:
    axes = tuple(range(1, log_values.ndim))
    peak = log_values.max(axis=axes, keepdims=True)
    values = np.exp(log_values - peak)
    return np.asarray(values / values.sum(axis=axes, keepdims=True))


def _likelihood(variable: Variable, value: Any) -> tuple[Discrete, Floats]:
    """Return soft evidence on one variable as log likelihoods of shape (1, n_states)."""
    if not isinstance(variable, Discrete):
        raise EvidenceError(
            f"Soft evidence is for discrete variables; {variable.name!r} is continuous: "
            "give a number."
        )
    if isinstance(value, Mapping):
        numbers: list[Any] = [None] * variable.cardinality
        for state, number in value.items():
            numbers[variable.index(state)] = number
        left_out = [s for s, n in zip(variable.states, numbers, strict=True) if n is None]
        if left_out:
            raise EvidenceError(
                f"Soft evidence on {variable.name!r} needs a likelihood for every state; "
                f"{quoted(left_out)} have none."
            )
    else:
        numbers = list(value)
    try:
        likelihood = np.array(numbers, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise EvidenceError(
            f"Soft evidence on {variable.name!r} takes numbers; got {value!r}."
        ) from error
    if likelihood.shape != (variable.cardinality,):
        raise EvidenceError(
            f"Soft evidence on {variable.name!r} takes {variable.cardinality} likelihoods, one for "
            f"each of {quoted(variable.states)}; got {len(numbers)}."
        )
    if not (np.isfinite(likelihood) & (likelihood >= 0)).all():
        raise EvidenceError(
            f"Soft evidence on {variable.name!r} takes finite non-negative numbers; got {value!r}."
        )
    with np.errstate(divide="ignore"):
        return variable, np.log(likelihood)[None]


def evidence_factors(evidence: Evidence, partial: Sequence[Variable]) -> list[Factor]:
    """Return soft evidence and partial columns of discrete variables as factors."""
    factors = []
    for judged, values in evidence.likelihoods.items():
        soft = Factor.from_log([judged], values)
        if judged in evidence and judged not in partial:
            # Observed as well: what counts is the likelihood of the state that was seen.
            soft = soft.take(judged, evidence.columns[judged])
        factors.append(soft)
    for variable in partial:
        if isinstance(variable, Discrete):
            codes = evidence.columns[variable][:, None]
            possible = (codes < 0) | (codes == np.arange(variable.cardinality))
            factors.append(Factor.from_log([variable], np.where(possible, 0.0, -np.inf)))
    return factors


def partial_columns(evidence: Evidence, partial: Sequence[Variable]) -> dict[Variable, Floats]:
    """Return the partial columns of continuous variables, which the engine takes in."""
    return {
        v: evidence.columns[v].astype(np.float64, copy=False)
        for v in partial
        if isinstance(v, Continuous)
    }
