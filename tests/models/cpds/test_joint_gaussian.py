"""The block of jointly Gaussian children against SciPy, and against its chain of regressions."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from oracle import Oracle
from scipy.stats import multivariate_normal

import bayesgraph as bg
from bayesgraph.core.errors import CPDError
from bayesgraph.models import rows_by_pattern

A = bg.Discrete("a", ["no", "yes"])
B = bg.Discrete("b", [1, 2, 3])
X = [bg.Continuous(f"x{i}") for i in range(3)]
Y = bg.Continuous("y")


def spd(*lead, d=3, seed=0):
    root = np.random.default_rng(seed).normal(size=(*lead, d, d))
    return root @ root.swapaxes(-1, -2) + 0.3 * np.eye(d)


def block(kind, seed=1):
    mean = np.random.default_rng(seed).normal(size=(3, 2, 3))
    covariance = spd() if kind == "shared" else spd(3, 2)
    return bg.models.JointGaussianCPD(X, mean, covariance, [B, A])


def networks(kind):
    """Return a network of two parents, a block and a child of the block, and it taken apart."""
    joint = block(kind)
    others = [
        bg.TableCPD(A, [0.3, 0.7]),
        bg.TableCPD(B, [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], [A]),
        bg.GaussianCPD(Y, [0.5, -0.5], [1.0, 2.0], [A, X[1]], [[0.7], [-0.4]]),
    ]
    order = [A, B, *X, Y]
    whole = bg.BayesianNetwork([*others, joint], order=order)
    return whole, bg.BayesianNetwork([*others, *joint.singles()], order=order)


kinds = pytest.mark.parametrize("kind", ["shared", "separate"])


def covariance_of(cpd, cell):
    return cpd.covariance if cpd.shared else cpd.covariance[cell]


# ------------------------------------------------------------------------------- log densities


@kinds
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_rows_equal_scipy_whatever_is_missing(kind, share):
    joint = block(kind)
    net = bg.BayesianNetwork(
        [bg.TableCPD(A, [0.3, 0.7]), bg.TableCPD(B, [0.2, 0.3, 0.5]), joint], order=[A, B, *X]
    )
    random = np.random.default_rng(3)
    rows = random.normal(size=(700, 3)) * 2
    rows[random.random(rows.shape) < share] = np.nan
    frame = {v.name: column for v, column in zip(X, rows.T, strict=True)}
    joint_density = np.zeros((700, 3, 2))
    known = ~np.isnan(rows)
    for (b, a), pattern in itertools.product(np.ndindex(3, 2), np.unique(known, axis=0)):
        alike, seen = (known == pattern).all(axis=1), np.flatnonzero(pattern)
        density = 1.0
        if len(seen):
            inner = covariance_of(joint, (b, a))[np.ix_(seen, seen)]
            values = rows[np.ix_(alike, seen)]
            density = multivariate_normal.pdf(values, joint.mean[b, a, seen], inner)
        joint_density[alike, b, a] = density * (0.2, 0.3, 0.5)[b] * (0.3, 0.7)[a]
    total = joint_density.sum(axis=(1, 2))
    expected = joint_density.sum(axis=2) / total[:, None]
    np.testing.assert_allclose(net.query_rows("b", frame), expected, rtol=1e-9, atol=1e-14)
    expected = joint_density.sum(axis=1) / total[:, None]
    np.testing.assert_allclose(net.query_rows("a", frame), expected, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(net.log_likelihood(frame).sum(), np.log(total).sum(), rtol=1e-10)
    # With a parent observed in every row.
    codes = random.integers(2, size=700)
    told = {**frame, "a": np.array(A.states)[codes]}
    expected = joint_density[np.arange(700), :, codes]
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(net.query_rows("b", told), expected, rtol=1e-9, atol=1e-14)


@kinds
@pytest.mark.parametrize("shift", [0.0, 2.0**30])
def test_distance_from_zero_and_scale_cost_no_digits(kind, shift):
    # Whole multiples of powers of two, so that shifting and scaling are exact.
    random = np.random.default_rng(5)
    rows = np.round(random.normal(size=(300, 3)) * 64) / 64
    rows[::7, 1] = np.nan
    scale = np.array([2.0**-300, 1.0, 2.0**300])
    joint = block(kind)
    mean = np.round(joint.mean * 64) / 64
    prior = [bg.TableCPD(A, [0.3, 0.7]), bg.TableCPD(B, [0.2, 0.3, 0.5])]
    plain = bg.models.JointGaussianCPD(X, mean, joint.covariance, [B, A])
    moved = bg.models.JointGaussianCPD(
        X, (mean + shift) * scale, joint.covariance * scale[:, None] * scale, [B, A]
    )
    one, two = bg.BayesianNetwork([*prior, plain]), bg.BayesianNetwork([*prior, moved])
    names = [v.name for v in X]
    expected = one.query_rows("b", dict(zip(names, rows.T, strict=True)))
    found = two.query_rows("b", dict(zip(names, ((rows + shift) * scale).T, strict=True)))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-14)


def test_means_far_apart_do_not_cancel():
    mean = np.array([[0.0, 0.0], [1e9, -1e9]])
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    near = np.array([[0.3, -0.2], [1e9 + 1.0, 0.25 - 1e9]])
    joint = bg.models.JointGaussianCPD(X[:2], mean, covariance, [A])
    net = bg.BayesianNetwork([bg.TableCPD(A, [0.5, 0.5]), joint])
    for row, centre in zip(near, mean, strict=True):
        expected = multivariate_normal.logpdf(row - centre, np.zeros(2), covariance) + np.log(0.5)
        frame = {"x0": row[:1], "x1": row[1:]}
        assert net.log_likelihood(frame).sum() == pytest.approx(expected, rel=1e-12)


def test_no_parents():
    joint = bg.models.JointGaussianCPD(X, [1.0, 2.0, 3.0], spd())
    net = bg.BayesianNetwork([joint])
    expected = multivariate_normal.logpdf([0.5, 2.5, 1.0], joint.mean, joint.covariance)
    assert net.log_likelihood({"x0": [0.5], "x1": [2.5], "x2": [1.0]}).sum() == pytest.approx(
        expected
    )


# --------------------------------------------------------------- the block and its chain of CPDs


def assert_same_answer(one, other):
    """Compare posteriors of a discrete variable, or the moments of a continuous one."""
    if hasattr(one, "probabilities"):
        np.testing.assert_allclose(one.probabilities, other.probabilities, rtol=1e-9, atol=1e-12)
    else:
        assert one.mean == pytest.approx(other.mean, rel=1e-9, abs=1e-12)
        assert one.variance == pytest.approx(other.variance, rel=1e-8)


@pytest.mark.slow
@kinds
def test_every_query_equals_that_of_the_expanded_graph(kind):
    whole, apart = networks(kind)
    assert whole == apart
    assert list(whole.graph.edges) == list(apart.graph.edges)
    values = {"a": "yes", "b": 2, "x0": 0.4, "x1": -1.1, "x2": 0.9, "y": 0.3}
    for target in values:
        others = [name for name in values if name != target]
        for size in range(len(others) + 1):
            for names in itertools.combinations(others, size):
                evidence = {name: values[name] for name in names}
                assert_same_answer(whole.query(target, evidence), apart.query(target, evidence))


@kinds
def test_batches_equal_those_of_the_expanded_graph_and_brute_force(kind):
    whole, apart = networks(kind)
    random = np.random.default_rng(7)
    rows = random.normal(size=(40, 4))
    rows[random.random(rows.shape) < 0.35] = np.nan
    frame = dict(zip(["x0", "x1", "x2", "y"], rows.T, strict=True))
    oracle = Oracle.of(whole)
    for target in ("a", "b"):
        found = whole.query_rows(target, frame)
        np.testing.assert_allclose(found, apart.query_rows(target, frame), rtol=1e-9, atol=1e-13)
        for i in range(12):
            row = {name: column[i] for name, column in frame.items() if not np.isnan(column[i])}
            expected = oracle.posterior([target], row)
            np.testing.assert_allclose(found[i], expected, rtol=1e-9, atol=1e-13)
    assert whole.log_likelihood(frame).sum() == pytest.approx(
        apart.log_likelihood(frame).sum(), rel=1e-10
    )


@kinds
def test_joint_posteriors_and_explanations(kind):
    whole, apart = networks(kind)
    for evidence in ({}, {"x1": 0.3}, {"a": "no", "y": 1.0}):
        for joint in (False, True):
            one = whole.most_probable(evidence, joint=joint)
            other = apart.most_probable(evidence, joint=joint)
            assert list(one) == list(other)
            for name, value in one.items():
                assert value == pytest.approx(other[name]) or value == other[name]


# ------------------------------------------------------------------------------- other verbs


@kinds
def test_samples_have_the_moments(kind):
    joint = block(kind)
    cell = (2, 1)
    n = 60_000
    parents = {B: np.full(n, cell[0]), A: np.full(n, cell[1])}
    draws = joint.sample(parents, n, np.random.default_rng(0))
    np.testing.assert_allclose(draws.mean(axis=0), joint.mean[cell], atol=0.05)
    np.testing.assert_allclose(np.cov(draws.T), covariance_of(joint, cell), rtol=0.06, atol=0.06)


def test_parameters_are_counted_once_where_they_are_shared():
    assert block("shared").n_parameters == 6 * 3 + 6
    assert block("separate").n_parameters == 6 * 3 + 6 * 6


def test_equality_pickle_and_repr():
    one = block("shared")
    assert one == block("shared")
    assert one != block("separate")
    assert one != block("shared", seed=2)
    assert pickle.loads(pickle.dumps(one)) == one
    assert one.title == "JointGaussianCPD p(x0, x1, x2 | b, a)"
    assert one._display().header == ["child", "b", "a", "mean", "sd"]


def test_part_of_the_children_is_their_marginal():
    part = block("separate").over([X[2], X[0]])
    assert part.children == (X[2], X[0])
    np.testing.assert_array_equal(part.mean, block("separate").mean[..., [2, 0]])
    np.testing.assert_array_equal(
        part.covariance, block("separate").covariance[..., [2, 0], :][..., [2, 0]]
    )


def test_rows_of_a_pattern_stand_together():
    missing = np.array([[1, 0], [0, 0], [1, 0], [1, 1], [0, 0]], dtype=bool)
    rows, start = rows_by_pattern(missing)
    groups = [tuple(rows[a:b]) for a, b in itertools.pairwise(start)]
    assert sorted(groups) == [(0, 2), (1, 4), (3,)]


# ------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("mean", "covariance", "message"),
    [
        (np.zeros((2, 2)), np.eye(3), r"mean takes shape \(2, 3\); got \(2, 2\)"),
        (np.zeros((2, 3)), np.eye(2), r"covariance takes shape \(3, 3\); got \(2, 2\)"),
        (np.zeros((2, 3)), np.ones((3, 3, 3)), r"covariance takes shape \(2, 3, 3\)"),
        (np.zeros((2, 3)), 1.0, r"covariance takes shape \(2, 3, 3\); got \(\)"),
        (np.full((2, 3), np.nan), np.eye(3), "mean takes finite numbers"),
        (np.zeros((2, 3)), np.diag([1.0, 0.0, 2.0]), "those of 'x1' are not.*constant"),
        (np.zeros((2, 3)), [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]], "symmetric"),
        (np.zeros((2, 3)), np.ones((3, 3)), "'x1' is a linear function of 'x0'.*var_smoothing"),
        (
            np.zeros((2, 3)),
            [np.eye(3), [[1, 2, 0], [2, 1, 0], [0, 0, 1]]],
            "given a='yes' is not positive definite",
        ),
    ],
)
def test_wrong_numbers_are_refused(mean, covariance, message):
    with pytest.raises(bg.errors.CPDError, match=message):
        bg.models.JointGaussianCPD(X, mean, covariance, [A])


def test_wrong_variables_are_refused():
    with pytest.raises(bg.errors.CPDError, match="type Continuous; got 'b'"):
        bg.models.JointGaussianCPD([X[0], B], np.zeros((2, 2)), np.eye(2), [A])
    with pytest.raises(bg.errors.CPDError, match="cannot have continuous parents; got 'y'"):
        bg.models.JointGaussianCPD(X, np.zeros(3), np.eye(3), [Y])
    with pytest.raises(bg.errors.CPDError, match="must all differ"):
        bg.models.JointGaussianCPD([X[0], X[0]], np.zeros(2), np.eye(2))
    with pytest.raises(bg.errors.CPDError, match="takes a list of variables; got Continuous"):
        bg.models.JointGaussianCPD(X[0], 0.0, 1.0)
    with pytest.raises(bg.errors.CPDError, match="at least one child"):
        bg.models.JointGaussianCPD([], np.zeros(0), np.eye(0))


def test_one_covariance_may_be_a_frame():
    mean = np.random.default_rng(2).normal(size=(3, 2, 3))
    joint = bg.models.JointGaussianCPD(X, mean, pd.DataFrame(spd()), [B, A])
    np.testing.assert_array_equal(joint.covariance, spd())


def test_rows_of_different_lengths_are_refused():
    with pytest.raises(CPDError, match=r"covariance takes numbers of shape \(2, 2\)"):
        bg.models.JointGaussianCPD(X[:2], [0, 0], [[4.0, 1.0], [1.0]])
