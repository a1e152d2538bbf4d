"""Free continuous variables that leave before the data are known, against the ordinary path."""

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.core import Evidence
from bayesgraph.inference import make_plan, potential_scope
from bayesgraph.inference.elimination import planned_slice, remaining
from bayesgraph.inference.factors import multiply


def random_network(random, n, scale):
    """Return numbers that depend on a class and on some numbers before them."""
    label = bg.Discrete("label", range(3))
    numbers = [bg.Continuous(f"x{i}") for i in range(n)]
    cpds = [bg.TableCPD(label, random.dirichlet(np.ones(3)))]
    for i, child in enumerate(numbers):
        above = [numbers[j] for j in range(i) if random.random() < 0.5]
        cpds.append(
            bg.GaussianCPD(
                child,
                scale * random.normal(size=3),
                np.exp(random.normal(size=3)),
                [*above, label],
                random.normal(size=(3, len(above))),
            )
        )
    return bg.BayesianNetwork(cpds), label, numbers


def answer(problem, keep):
    """Return the product with all that is not kept eliminated."""
    plan = make_plan(map(potential_scope, problem.potentials), keep)
    return multiply(remaining(problem.potentials, plan, problem.columns))


@pytest.mark.one_in(5)
@pytest.mark.parametrize("asked", [(), (0,), (1, 3)])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("scale", [1.0, 1e9])
def test_integrated_before_the_data_are_known(asked, seed, scale):
    random = np.random.default_rng(seed)
    net, label, numbers = random_network(random, 7, scale)
    rest = [x for i, x in enumerate(numbers) if i not in asked]
    seen = [x for x in rest if random.random() < 0.6]
    keep = [label, *(numbers[i] for i in asked)]
    row = Evidence(1, {x: scale * random.normal(size=1) for x in seen})
    piece = planned_slice(net, row, (), keep).slice
    found = answer(piece.problem(row, summed=True), keep)
    expected = answer(piece.problem(row), keep)
    if not asked:
        np.testing.assert_allclose(found.log_values, expected.log_values, rtol=1e-9, atol=1e-9)
        return
    for a, b in zip(found.moments(), expected.moments(), strict=True):
        order = [found.variables.index(v) for v in expected.variables]
        a = a if a.ndim == 2 else a[..., order] if a.ndim == 3 else a[..., order, :][..., order]
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9)


def test_maxima_see_the_free_variables():
    random = np.random.default_rng(0)
    net, label, numbers = random_network(random, 4, 1.0)
    row = Evidence(1, {numbers[3]: np.zeros(1)})
    piece = planned_slice(net, row, (), [label]).slice
    assert any(isinstance(v, bg.Continuous) for scope in piece.scopes for v in scope)
    found = {v for p in piece.problem(row).potentials for v in potential_scope(p)}
    assert found == {v for scope in piece.scopes for v in scope}
    summed = piece.problem(row, summed=True).potentials
    assert {v for p in summed for v in potential_scope(p)} == {label}


def test_one_row_equals_many():
    random = np.random.default_rng(1)
    net, _, numbers = random_network(random, 6, 1.0)
    table = {x.name: random.normal(size=5) for x in numbers}
    table["x1"][:] = np.nan
    table["x3"][[0, 2]] = np.nan
    whole = net.query_rows("label", table)
    for i in range(5):
        row = {name: column[i : i + 1] for name, column in table.items()}
        np.testing.assert_allclose(net.query_rows("label", row)[0], whole[i], rtol=1e-9)
