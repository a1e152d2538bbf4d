"""Exponents of weighted naive Bayes that maximise the conditional likelihood of the class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from bayesgraph.factors.algebra import Floats
from bayesgraph.learning.exponents.log_terms import LogTerms
from bayesgraph.learning.loglinear.training import Effects, Rows

# Parts of the exponents by scheme: whether there are exponents that the classes share, and whether
# there are exponents (or deviations from the shared exponents) and a bias for each class.
_PARTS = {"variable": (True, False), "class": (False, True), "mixed": (True, True)}
SCHEMES = tuple(_PARTS)
# Coefficient of the quadratic penalty on deviations from the shared exponents, in nats.
_DEVIATION = 10.0
# Coefficient of the quadratic penalty on the biases, in nats.
_BIAS = 1.0
# Maximum difference of log p(x | c) between classes, in nats, that may be due to rounding alone.
_SILENT = 1e-12


@dataclass(frozen=True)
class Exponents:
    """Exponents w and biases b: p(y|x) proportional to p(y) exp(b_y) prod p(x_i|y)^w_iy.

    Attributes
    ----------
    values : ndarray, shape (d,) or (d, n_classes)
        One exponent for each feature, or for each feature and class.
    bias : ndarray, shape (n_classes,)
        Added to the log joint of each class, in nats.
    """

    values: Floats
    bias: Floats


def conditional_exponents(terms: LogTerms, scheme: str = "variable") -> Exponents:
    """Return the exponents in [0, 1] that maximise the conditional likelihood of the class.

    * "variable": one exponent for each feature, no bias (WANBIA; Zaidi, Cerquides, Carman, Webb
      2013);
    * "class": one exponent for each feature and class, and a bias for each class;
    * "mixed": exponents that the classes share, plus penalised deviations and a bias for each class
      (after the regularised naive Bayes of Wang, Ren, Bai 2020).

    Maximised by L-BFGS-B from exponents of one, with the gradient in closed form (Zaidi et al.
    2013, equation 13): the sum over rows of ``log p(x_i | y) - sum_c P(c | x) log p(x_i | c)``.

    Parameters
    ----------
    terms : LogTerms
        Rows, and the tables whose entries are raised to the exponents.
    scheme : {"variable", "class", "mixed"}
    """
    d, k = terms.n_features, terms.n_classes
    shared, by_class = _PARTS[scheme]
    pull = _DEVIATION if shared else 0.0
    used = np.repeat([shared, by_class, by_class], [d, d * k, k])
    begin = np.repeat([1.0, 0.0 if shared else 1.0, 0.0], [d, d * k, k])
    low = np.repeat([0.0, -1.0 if shared else 0.0, -np.inf], [d, d * k, k])
    high = np.repeat([1.0, 1.0, np.inf], [d, d * k, k])
    starts = terms.starts[:-1]
    cells = np.where(terms.codes >= 0, terms.codes + starts, -1).astype(np.int32)
    rows = Rows.of(cells, terms.labels, terms.weights)
    logs = np.concatenate(terms.tables)

    def parts(x: Floats) -> tuple[Floats, Floats, Floats]:
        """Split the vector x into exponents (d, k), their class-specific parts, and biases (k,)."""
        whole = np.zeros(len(used))
        whole[used] = x
        own = whole[d:-k].reshape(d, k)
        return whole[:d, None] + own, own, whole[-k:]

    def objective(x: Floats) -> tuple[float, Floats]:
        """Return the penalised negative conditional log likelihood in nats, and its gradient."""
        values, own, bias = parts(x)
        tempered = np.repeat(np.clip(values, 0.0, 1.0), terms.cards, axis=0) * logs
        effects = Effects(tempered, terms.log_prior + bias)
        loss, by_cells, by_bias = rows.loss_and_gradient(effects)
        by_values = np.add.reduceat(by_cells * logs, starts, axis=0)
        by_values[(values < 0.0) | (values > 1.0)] = 0.0
        loss += 0.5 * pull * float(np.sum(own**2)) + 0.5 * _BIAS * float(bias @ bias)
        gradient = (by_values.sum(axis=1), (by_values + pull * own).ravel(), by_bias + _BIAS * bias)
        return loss, np.concatenate(gradient)[used]

    found = minimize(
        objective,
        begin[used],
        jac=True,
        method="L-BFGS-B",
        bounds=np.stack([low, high], axis=1)[used],
        options={"maxiter": 500, "ftol": 1e-10, "gtol": 1e-6},
    )
    values, _, bias = parts(found.x)
    exponents = np.clip(values, 0.0, 1.0)
    # The likelihood does not determine the exponent of a feature that distinguishes no classes.
    exponents[np.maximum.reduceat(np.ptp(logs, axis=1), starts) <= _SILENT] = 0.0
    return Exponents(exponents if by_class else exponents[:, 0], bias)
