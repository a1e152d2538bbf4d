"""Conditional linear Gaussians: parameters, potentials and samples."""

import copy
import pickle

import numpy as np
import pytest
from scipy import stats

import bayesgraph as bg
from bayesgraph.core import Evidence
from bayesgraph.core.errors import CPDError
from bayesgraph.inference import Factor, GaussianFactor

A = bg.Discrete("a", ["x", "y"])
B = bg.Discrete("b", [1, 2, 3])
X, Y, Z = (bg.Continuous(name) for name in "xyz")


def family(seed=0):
    """z given b, y, a, x: mean, variance and slopes for each of the 3 x 2 configurations."""
    random = np.random.default_rng(seed)
    return bg.GaussianCPD(
        Z,
        mean=random.normal(size=(3, 2)),
        variance=random.uniform(0.5, 2, size=(3, 2)),
        parents=[B, Y, A, X],
        coefficients=random.normal(size=(3, 2, 2)),
    )


def test_what_it_holds():
    cpd = family()
    assert cpd.variable == Z
    assert cpd.parents == (B, Y, A, X)
    assert cpd.discrete_parents == (B, A)
    assert cpd.continuous_parents == (Y, X)
    assert cpd.n_parameters == 6 * 4
    assert cpd.title == "GaussianCPD p(z | b, y, a, x)"
    assert bg.GaussianCPD(X, 0, 1).n_parameters == 2
    with pytest.raises(ValueError, match="read-only"):
        cpd.mean[0, 0] = 1.0


def test_numbers_serve_for_all_configurations():
    cpd = bg.GaussianCPD(Z, 1, 2, parents=[A, X], coefficients=3)
    assert cpd.mean.tolist() == [1.0, 1.0]
    assert cpd.variance.tolist() == [2.0, 2.0]
    assert cpd.coefficients.tolist() == [[3.0], [3.0]]
    assert cpd == bg.GaussianCPD(Z, [1, 1], [2, 2], [A, X], [[3], [3]])


def test_parameters_are_copied():
    mean = np.array([1.0, 2.0])
    cpd = bg.GaussianCPD(Z, mean, 1.0, parents=[A])
    mean[0] = 9.0
    assert cpd.mean.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mean": [1, 2, 3]}, r"'a'.*mean takes shape .2,.; got \(3,\)"),
        ({"variance": [[1, 2]]}, r"variance takes shape \(2,\)"),
        ({"variance": [1.0, 0.0]}, "variance must be positive; the smallest is 0"),
        ({"variance": -1.0}, "variance must be positive; the smallest is -1"),
        ({"mean": [1.0, np.nan]}, "mean takes finite numbers"),
        ({"variance": np.inf}, "variance takes finite numbers"),
        ({"mean": "x"}, "mean takes numbers"),
        ({"mean": None}, "mean takes"),
        ({"parents": [A, X]}, r"'x': coefficients= of shape \(2, 1\) is needed"),
        ({"parents": [A, X], "coefficients": [1, 2]}, r"coefficients takes shape \(2, 1\)"),
        ({"coefficients": [[1.0], [1.0]]}, "no continuous parents, of which coefficients= are"),
        ({"coefficients": 2.0}, r"Leave it out, or name the parents"),
        ({"variable": A}, "'a', which is discrete. Use TableCPD|must all differ"),
        ({"variable": B}, "'b', which is discrete. Use TableCPD"),
        ({"variable": "z"}, "takes variables"),
        ({"variable": ()}, r"takes variables .*; got \(\)"),
        ({"parents": ["a"]}, "takes variables"),
        ({"parents": [Z, A]}, "must all differ"),
    ],
)
def test_what_is_refused(options, message):
    arguments = {"variable": Z, "mean": 0.0, "variance": 1.0, "parents": [A]} | options
    with pytest.raises(CPDError, match=message):
        bg.GaussianCPD(**arguments)


def test_equality_copies_and_pickles():
    cpd = family()
    for other in (copy.deepcopy(cpd), copy.copy(cpd), pickle.loads(pickle.dumps(cpd))):
        assert other == cpd
        assert repr(other) == repr(cpd)
    assert cpd != family(1)
    assert cpd != bg.GaussianCPD(Z, 0, 1)
    assert cpd != 3


def log_density(cpd, values):
    """Return the log density of one row, written from the definition."""
    cell = tuple(values[p] for p in cpd.discrete_parents)
    mean = cpd.mean[cell] + sum(
        slope * values[p]
        for slope, p in zip(cpd.coefficients[cell], cpd.continuous_parents, strict=True)
    )
    return stats.norm.logpdf(values[cpd.variable], mean, np.sqrt(cpd.variance[cell]))


@pytest.mark.parametrize("seed", range(4))
def test_potential_is_the_density_whatever_is_observed(seed):
    """Every subset of the family observed; the free variables are put in afterwards."""
    random = np.random.default_rng(seed)
    cpd = family(seed)
    n = 5
    everything = {v: random.integers(v.cardinality, size=n) for v in (B, A)}
    everything |= {v: random.normal(size=n) for v in (Y, X, Z)}
    expected = [log_density(cpd, {v: c[i] for v, c in everything.items()}) for i in range(n)]
    for seen in np.ndindex(2, 2, 2, 2, 2):
        columns = {
            v: everything[v] for v, observed in zip(cpd.scope, seen, strict=True) if observed
        }
        potential = cpd.potential(Evidence(n, columns))
        for v in (Y, X, Z):
            if v not in columns:
                assert isinstance(potential, GaussianFactor)
                potential = potential.condition(v, everything[v])
        assert isinstance(potential, Factor)
        for v in (A, B):
            if v not in columns:
                potential = potential.take(v, everything[v])
        assert potential.log_values == pytest.approx(np.array(expected), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("observed", [(), (A,), (A, B)])
@pytest.mark.parametrize("parents", [(), (X,), (X, Y)])
def test_a_missing_child_is_one_whatever_its_parents(observed, parents):
    """Rows in which the child is missing: its density integrates to one, parents free or not."""
    random = np.random.default_rng(0)
    cpd = family()
    n = 4
    columns = {v: random.integers(v.cardinality, size=n) for v in observed}
    columns |= {v: random.normal(size=n) for v in parents}
    columns[Z] = np.array([0.5, np.nan, -1.0, np.nan])
    potential = cpd.potential(Evidence(n, columns))
    for v in (X, Y):
        if v not in columns:
            potential = potential.condition(v, random.normal(size=n))
    assert np.isfinite(potential.log_values).all()
    assert (potential.log_values[[1, 3]] == 0).all()
    assert (potential.log_values[[0, 2]] != 0).all()


@pytest.mark.parametrize("observed", [(), (A,), (B,), (A, B)])
@pytest.mark.parametrize("child_missing", [False, True])
def test_what_is_added_equals_the_potential(observed, child_missing):
    random = np.random.default_rng(2)
    cpd = family(3)
    n = 6
    columns = {v: random.integers(v.cardinality, size=n) for v in observed}
    columns |= {v: random.normal(size=n) for v in (X, Y, Z)}
    if child_missing:
        columns[Z][1::2] = np.nan
    evidence = Evidence(n, columns)
    free = [v for v in (A, B) if v not in observed]
    shape = tuple(v.cardinality for v in free)
    expected = np.broadcast_to(cpd.potential(evidence).aligned(free), (n, *shape))
    for start in (0.0, 1.5):
        out = np.full((int(np.prod(shape)), n), start)
        for adder in cpd.adders([cpd], free, evidence.columns):
            adder.add(evidence, out)
        assert out.T.reshape(n, *shape) - start == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_samples_follow_the_regression():
    random = np.random.default_rng(4)
    cpd = family(5)
    n = 60_000
    parents = {B: random.integers(3, size=n), A: random.integers(2, size=n)}
    parents |= {Y: random.normal(size=n), X: random.normal(size=n)}
    drawn = cpd.sample(parents, n, random)
    for cell in np.ndindex(3, 2):
        rows = (parents[B] == cell[0]) & (parents[A] == cell[1])
        mean = cpd.mean[cell] + cpd.coefficients[cell] @ np.stack(
            [parents[Y][rows], parents[X][rows]]
        )
        scaled = (drawn[rows] - mean) / np.sqrt(cpd.variance[cell])
        assert stats.kstest(scaled, "norm").pvalue > 1e-4
