"""Calibrated posteriors of all scopes against the definition."""

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.inference import Calibration, Factor

A, B, C, D, E = (
    bg.Discrete(name, range(n)) for name, n in zip("abcde", (2, 3, 2, 2, 3), strict=True)
)
LETTERS = {A: "a", B: "b", C: "c", D: "d", E: "e"}
SCOPES = {
    "loop": [(A, B), (B, C), (D, C), (A, D), (A,), (B,)],
    "trees": [(A,), (B, A), (D, E), (E,)],
    "one": [(C,)],
    "clique": [(A, B, C), (C, B), (A, C)],
}


@pytest.mark.parametrize("zeros", [0.0, 0.3])
@pytest.mark.parametrize("scopes", SCOPES.values(), ids=SCOPES)
def test_posteriors_equal_the_joint(scopes, zeros):
    random = np.random.default_rng(0)
    factors, values = [], []
    for k, scope in enumerate(scopes):
        shape = (1 if k % 3 == 1 else 7, *(v.cardinality for v in scope))
        table = random.gamma(0.5, size=shape) * (random.random(shape) >= zeros)
        values.append(table)
        with np.errstate(divide="ignore"):
            factors.append(Factor.from_log(scope, np.log(table)))
    found, log_mass = Calibration(scopes).posteriors(factors)
    terms = ["".join(LETTERS[v] for v in scope) for scope in scopes]
    whole = [np.broadcast_to(v, (7, *v.shape[1:])) for v in values]
    inputs = ",".join("r" + term for term in terms)
    mass = np.einsum(f"{inputs}->r", *whole)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(log_mass, np.broadcast_to(np.log(mass), log_mass.shape))
    for scope, term, posterior in zip(scopes, terms, found, strict=True):
        joint = np.einsum(f"{inputs}->r{term}", *whole)
        scale = np.where(mass > 0, mass, 1.0).reshape(-1, *[1] * len(scope))
        expected = np.broadcast_to(joint / scale, (7, *joint.shape[1:]))
        np.testing.assert_allclose(
            np.broadcast_to(posterior, expected.shape), expected, rtol=1e-10, atol=1e-14
        )


def test_thousands_of_factors_do_not_underflow():
    n = 5000
    leaves = [np.log(np.random.default_rng(1).uniform(1e-5, 1e-3, size=(2, 2))) for _ in range(n)]
    factors = [Factor.from_log((A,), leaf) for leaf in leaves]
    posteriors, log_mass = Calibration([(A,)] * n).posteriors(factors)
    total = sum(leaves)
    np.testing.assert_allclose(log_mass, np.logaddexp(total[:, 0], total[:, 1]), rtol=1e-12)
    np.testing.assert_allclose(posteriors[0], np.exp(total - log_mass[:, None]), rtol=1e-9)
