"""Exponents that lead from one network to another."""

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.core.errors import ModelError, UnsupportedModelError
from bayesgraph.learning import exponents_between

C, A = bg.Discrete("c", [0, 1]), bg.Discrete("a", [0, 1, 2])


def network(seed):
    random = np.random.default_rng(seed)
    return bg.BayesianNetwork(
        [
            bg.TableCPD(C, random.dirichlet([2, 2])),
            bg.TableCPD(A, random.dirichlet([2] * 3, 2), [C]),
        ]
    )


def test_the_powered_tables_answer_as_the_network_wanted():
    base, wanted = network(0), network(1)
    graph = exponents_between(base, wanted)
    for name, row in (("c", {}), ("c", {"a": 2}), ("a", {}), ("a", {"c": 1})):
        np.testing.assert_allclose(
            graph.query(name, row).probabilities, wanted.query(name, row).probabilities, rtol=1e-12
        )
    assert all((term.exponent == 1).all() for term in exponents_between(base, base).terms)


def test_what_no_exponent_can_do_is_refused():
    zero = bg.BayesianNetwork(
        [bg.TableCPD(C, [0.5, 0.5]), bg.TableCPD(A, [[0.5, 0.5, 0], [0.2, 0.3, 0.5]], [C])]
    )
    with pytest.raises(ModelError, match="alpha above 0"):
        exponents_between(zero, network(0))
    reverse = bg.BayesianNetwork(
        [bg.TableCPD(A, [0.2, 0.3, 0.5]), bg.TableCPD(C, [[0.5, 0.5]] * 3, [A])]
    )
    with pytest.raises(ModelError, match="differ in their parents"):
        exponents_between(network(0), reverse)
    x = bg.Continuous("x")
    gaussian = bg.BayesianNetwork([bg.GaussianCPD(x, 0.0, 1.0)])
    with pytest.raises(UnsupportedModelError, match="are for tables"):
        exponents_between(gaussian, gaussian)
