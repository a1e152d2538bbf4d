"""Exponents that maximise the conditional likelihood of the class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.exponents.data import LogTerms
from bayesgraph.learning.loglinear.design import Effects
from bayesgraph.learning.loglinear.training import Rows

SCHEMES = ("variable", "class", "mixed")
# Rows' worth of evidence, in nats, against a class's deviation of one from the shared exponent.
_DEVIATION = 10.0
# And against a bias of one nat.
_BIAS = 1.0
# Nats by which the classes of a table differ, if only by rounding.
_SILENT = 1e-12


@dataclass(frozen=True)
class Exponents:
    """What tempers the conditionals of a network.

    Attributes
    ----------
    values : ndarray, shape (d,) or (d, n_classes)
        Of each feature, or of each feature and class.
    bias : ndarray, shape (n_classes,)
        In nats.
    """

    values: Floats
    bias: Floats


def conditional_exponents(terms: LogTerms, scheme: str = "variable") -> Exponents:
    """Return the exponents in [0, 1] of the highest conditional likelihood of the class.

    * "variable": one for each feature (WANBIA; Zaidi, Cerquides, Carman, Webb 2013), no bias;
    * "class": one for each feature and class, and a bias for each class;
    * "mixed": the same as a backbone that the classes share and deviations of each class that are
      drawn towards zero (after the regularised naive Bayes of Wang, Ren, Bai 2020).

    By L-BFGS-B from exponents of one, with the gradient in closed form (Zaidi et al. 2013, equation
    13): the sum over rows of ``log p(x_i | y) - sum_c P(c | x) log p(x_i | c)``.

    Parameters
    ----------
    terms : LogTerms
    scheme : {"variable", "class", "mixed"}
    """
    problem = _Problem.of(terms, scheme)
    found = minimize(
        problem.objective,
        problem.start(),
        jac=True,
        method="L-BFGS-B",
        bounds=problem.bounds(),
        options={"maxiter": 500, "ftol": 1e-10, "gtol": 1e-6},
    )
    return problem.exponents(found.x)


@dataclass(frozen=True)
class _Problem:
    """The conditional likelihood as a function of a vector: exponents, deviations, biases."""

    terms: LogTerms
    scheme: str
    rows: Rows
    logs: Floats
    starts: np.ndarray

    @classmethod
    def of(cls, terms: LogTerms, scheme: str) -> _Problem:
        starts = np.concatenate([[0], np.cumsum(terms.cards)])[:-1]
        cells = np.where(terms.codes >= 0, terms.codes + starts, -1).astype(np.int32)
        rows = Rows(np.ascontiguousarray(cells), terms.labels, terms.weights)
        return cls(terms, scheme, rows, np.concatenate(terms.tables), starts)

    @property
    def _shape(self) -> tuple[int, int]:
        return self.terms.n_features, self.terms.n_classes

    def start(self) -> Floats:
        d, k = self._shape
        if self.scheme == "variable":
            return np.ones(d)
        if self.scheme == "class":
            return np.concatenate([np.ones(d * k), np.zeros(k)])
        return np.concatenate([np.ones(d), np.zeros(d * k), np.zeros(k)])

    def bounds(self) -> list[tuple[float | None, float | None]]:
        d, k = self._shape
        free: list[tuple[float | None, float | None]] = [(None, None)] * k
        if self.scheme == "variable":
            return [(0.0, 1.0)] * d
        if self.scheme == "class":
            return [(0.0, 1.0)] * (d * k) + free
        return [(0.0, 1.0)] * d + [(-1.0, 1.0)] * (d * k) + free

    def _parts(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the exponents before clipping (d, k), the deviations and the biases."""
        d, k = self._shape
        if self.scheme == "variable":
            return np.repeat(x[:, None], k, axis=1), np.zeros((d, k)), np.zeros(k)
        if self.scheme == "class":
            return x[:-k].reshape(d, k), np.zeros((d, k)), x[-k:]
        deviations = x[d:-k].reshape(d, k)
        return x[:d, None] + deviations, deviations, x[-k:]

    def exponents(self, x: Floats) -> Exponents:
        values, _, bias = self._parts(x)
        kept = np.clip(values, 0.0, 1.0)
        # Where a feature tells the classes nothing apart, the likelihood leaves its exponent open.
        spread = np.maximum.reduceat(np.ptp(self.logs, axis=1), self.starts)
        kept[spread <= _SILENT] = 0.0
        return Exponents(kept[:, 0] if self.scheme == "variable" else kept, bias)

    def objective(self, x: Floats) -> tuple[float, Floats]:
        """Return the penalised loss in nats, and its gradient."""
        values, deviations, bias = self._parts(x)
        kept = np.clip(values, 0.0, 1.0)
        cells = np.repeat(kept, self.terms.cards, axis=0) * self.logs
        with np.errstate(invalid="ignore"):
            effects = Effects(cells, self.terms.log_prior + bias)
        loss, by_cells, by_bias = self.rows.loss_and_gradient(effects)
        by_values = np.add.reduceat(by_cells * self.logs, self.starts, axis=0)
        by_values[(values < 0.0) | (values > 1.0)] = 0.0
        loss += 0.5 * _DEVIATION * float(np.sum(deviations**2)) + 0.5 * _BIAS * float(bias @ bias)
        by_bias = by_bias + _BIAS * bias
        if self.scheme == "variable":
            return loss, by_values.sum(axis=1)
        if self.scheme == "class":
            return loss, np.concatenate([by_values.ravel(), by_bias])
        each = by_values + _DEVIATION * deviations
        return loss, np.concatenate([by_values.sum(axis=1), each.ravel(), by_bias])
