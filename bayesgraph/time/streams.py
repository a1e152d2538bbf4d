"""The state of a sequence that takes evidence slice by slice."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesgraph.core.arrays import LOG_2PI, Floats, whole_number
from bayesgraph.core.errors import UnsupportedModelError, quoted
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.typing import EvidenceLike, Intervention
from bayesgraph.core.variables import Continuous, Discrete, Name
from bayesgraph.inference import GaussianComponents, NumberMixture, Posterior
from bayesgraph.models import GaussianCPD, TableCPD, as_mapping, impossible
from bayesgraph.time.slices import Program, States, lag, slice_logs


def answer(variable: Any, values: Floats, log_evidence: float) -> Any:
    """Return probabilities, or mean and variance, as the posterior of a variable."""
    if isinstance(variable, Discrete):
        return Posterior((variable,), values, log_evidence)
    shape = GaussianComponents(values[None, :1], values[None, 1:, None])
    return NumberMixture((variable,), [(np.ones(1), shape)], log_evidence)


class Stream:
    """The state of one sequence, which takes evidence slice by slice in constant memory.

    :meth:`TemporalNetwork.start` makes it.

    Attributes
    ----------
    n_slices : int
        Number of slices so far.
    log_likelihood : float
        Log probability (density) of the evidence so far.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> mood = bg.Discrete("mood", ["low", "high"])
    >>> stay = bg.TableCPD(mood, [[0.9, 0.1], [0.3, 0.7]], parents=[bg.before(mood)])
    >>> state = bg.TemporalNetwork([bg.TableCPD(mood, [0.5, 0.5])], [stay]).start()
    >>> state.update({"mood": "low"})
    >>> state.forecast("mood", 2).round(2)
    array([[0.9 , 0.1 ],
           [0.84, 0.16]])
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        handed = model._handed
        if any(isinstance(now, Discrete) for now, _ in handed):
            handed = [pair for pair in handed if isinstance(pair[0], Discrete)]
        self._handed = tuple(handed)
        names = {now for now, _ in handed}
        if beside := [v.name for v in model._depths if v not in names]:
            raise UnsupportedModelError(
                f"A stream hands on states or numbers, not {quoted(beside)} beside states: ask "
                "smooth, filter and forecast of a table."
            )
        self.n_slices = 0
        self.log_likelihood = 0.0
        self._message: Any = None
        # The last slice, to ask it of what is not handed on.
        self._last: Any = None
        self._fast: dict[int, _Fast | None] = {}

    def update(self, evidence: EvidenceLike = None, *, do: Intervention = None) -> None:
        """Take the evidence of the next slice.

        Parameters
        ----------
        evidence : mapping from name to value, optional
            As for :meth:`TemporalNetwork.query`.
        do : mapping from name to value, optional
            Variables that are set from outside.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero; the state stays as it was.
        """
        number = min(self.n_slices, len(self._model.slices) - 1)
        if number not in self._fast:
            self._fast[number] = _Fast.of(self._model, number, self._handed)
        fast = None if do else self._fast[number]
        seen = None if fast is None else fast.seen(evidence)
        told, settings = evidence, dict(do or {})
        if fast is not None and seen is not None:
            shares, scale = seen
            joint = (
                fast.matrix if self._message is None else self._message[0] @ fast.matrix
            ) * shares
            total = float(np.add.reduce(joint))
            message, gain = (
                joint[None] / (total or 1.0),
                math.log(total) + scale if total else -math.inf,
            )
        else:
            chain = self._chain(told, settings, self._message, self.n_slices)
            message, gain = chain.filtered, float(chain.log_likelihood[0])
        if gain == -math.inf:
            raise impossible(evidence)
        self._last = told, settings, self._message, self.n_slices
        self._message = message[-1:]
        self.log_likelihood += gain
        self.n_slices += 1

    def _chain(self, told: Any, settings: Any, message: Any, n_slices: int) -> Any:
        """Return one slice with its evidence as a chain after a message."""
        set_to = {0: settings} if settings else {}
        past = n_slices, self._handed
        return self._model._chain(
            self._model._told(1, {0: as_mapping(told)}, set_to, past), message
        )

    def query(self, target: Name) -> Any:
        """Return the posterior of a variable in the last slice given all evidence so far."""
        model = self._model
        variable = model._target(target)
        if self._last is None:
            return model.query(target, 0)
        handed = [now for now, _ in self._handed]
        if variable in handed and isinstance(variable, Discrete):
            table = self._message.reshape([v.cardinality for v in handed])
            values = table.sum(axis=tuple(k for k, v in enumerate(handed) if v != variable))
        else:
            values = self._chain(*self._last).marginal(variable, smooth=False)[0]
        return answer(variable, values, self.log_likelihood)

    def forecast(self, target: Name, steps: int = 1) -> Floats:
        """Return the distribution of a variable in the next slices.

        Returns
        -------
        ndarray, shape (steps, n_states), or (steps, 2) for a number
            Probabilities; mean and variance of a number.
        """
        model, n = self._model, whole_number("steps", "slices", steps, 1)
        sequences = model._sequences(np.array([0, n]), {}, past=(self.n_slices, self._handed))
        chain = model._chain(sequences, self._message)
        values: Floats = chain.marginal(model._target(target), smooth=False)
        return values


class _Fast:
    """Likelihoods of the joint states by evidence on variables that depend on these alone.

    Attributes
    ----------
    matrix : ndarray, shape (K, K), or (K,) of the first slice
    """

    def __init__(self, matrix: Floats, tables: Mapping[Name, Any]) -> None:
        self.matrix = matrix
        self._tables = tables
        self._zeros = np.zeros(matrix.shape[-1])

    @classmethod
    def of(cls, model: Any, number: int, handed: Any) -> _Fast | None:
        """Return what a slice needs, None if numbers are handed on."""
        if any(isinstance(v, Continuous) for v in model._depths) or not handed:
            return None
        states, network = States([now for now, _ in handed]), model._networks[number]
        program = Program(network, handed)
        logs = slice_logs(network, Evidence(1, {}), program.scope)
        matrix = np.exp(program.spread(states, logs, is_first=not number)[0])
        codes = {now: states.codes[k] for k, (now, _) in enumerate(handed)}
        inner = {parent for cpd in network.cpds for parent in cpd.parents}
        tables: dict[Name, Any] = {}
        for v, own in codes.items():
            if not lag(v)[1]:
                tables[v.name] = v, np.where(np.arange(v.cardinality)[:, None] == own, 0.0, -np.inf)
        for cpd in network.cpds:
            child: Any = cpd.variable
            if child in codes or child in inner or not set(cpd.parents) <= codes.keys():
                continue
            at = tuple([codes[p] for p in cpd.parents])
            if isinstance(cpd, TableCPD):
                logs = cpd.log_values[at].reshape(-1, child.cardinality).T
                tables[child.name] = child, np.broadcast_to(logs, (child.cardinality, states.size))
            elif isinstance(cpd, GaussianCPD):
                mean, variance = cpd.mean[at], cpd.variance[at]
                tables[child.name] = (
                    child,
                    (mean, -0.5 / variance, -0.5 * (np.log(variance) + LOG_2PI)),
                )
        return cls(matrix, tables)

    def seen(self, evidence: EvidenceLike) -> tuple[Floats, float] | None:
        """Return scaled likelihoods and the log of their scale, None if others are needed."""
        evidence = {} if evidence is None else evidence
        if type(evidence) is not dict:
            return None
        logs: Any = self._zeros
        for name, value in evidence.items():
            entry = self._tables.get(name)
            if entry is None or type(value) not in (str, int, float, bool) or value != value:
                return None
            variable, table = entry
            code = variable.encode(value)
            if type(table) is tuple:
                mean, half, constant = table
                logs = logs + (code - mean) ** 2 * half + constant
            else:
                logs = logs + table[code]
        scale = float(np.maximum.reduce(logs))
        if scale == -np.inf:
            raise impossible(evidence)
        return np.exp(logs - scale), scale
