"""Covariances of classes against textbook formulas and scikit-learn's covariance module."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf, oas

import bayesgraph as bg
from bayesgraph.learning import CovarianceModel, count_source, estimate_discriminant
from bayesgraph.learning.discriminant import fourth_moments, ledoit_wolf_share, oas_share
from bayesgraph.models import GaussianPlate
from bayesgraph.statistics import CountSource, TableSource

NAMES = ["u", "v", "w"]


def frame(n=90, seed=0):
    random = np.random.default_rng(seed)
    code = random.integers(3, size=n)
    values = random.normal(size=(n, 3)) @ random.normal(size=(3, 3)) + 2.0 * code[:, None]
    table = dict(zip(NAMES, values.T, strict=True))
    return {**table, "kind": np.array(["a", "b", "c"])[code]}, values, code


def estimated(table, weights=None, **parameters):
    source = count_source(table, target="kind", sample_weight=weights)
    ddof, ridge = int(parameters.pop("unbiased", False)), parameters.pop("var_smoothing", 0.0)
    smoothing = bg.Smoothing(var_smoothing=ridge, ddof=ddof)
    model = CovarianceModel(smoothing=smoothing, **parameters)
    return estimate_discriminant(source, model).network


def class_moments(values, code):
    parts = [values[code == g] for g in range(3)]
    return (
        np.array([len(p) for p in parts]),
        np.array([p.mean(axis=0) for p in parts]),
        np.array([np.cov(p.T, bias=True) for p in parts]),
    )


# ------------------------------------------------------------------------------- complete data


@pytest.mark.parametrize("unbiased", [False, True])
def test_full_covariances_are_those_of_the_textbook(unbiased):
    table, values, code = frame()
    n, mean, covariance = class_moments(values, code)
    one = estimated(table, covariance="class", unbiased=unbiased)._blocks[1]
    np.testing.assert_allclose(one.mean, mean, rtol=1e-12)
    factor = n / (n - 1) if unbiased else np.ones(3)
    np.testing.assert_allclose(one.covariance, covariance * factor[:, None, None], rtol=1e-11)
    shared = estimated(table, unbiased=unbiased)._blocks[1]
    expected = np.tensordot(n, covariance, axes=1) / (90 - 3 * unbiased)
    np.testing.assert_allclose(shared.covariance, expected, rtol=1e-11)


@pytest.mark.parametrize("structure", ["diagonal", "spherical"])
@pytest.mark.parametrize("covariance", ["shared", "class"])
@pytest.mark.parametrize("unbiased", [False, True])
def test_diagonal_structures_average_the_squares(structure, covariance, unbiased):
    table, values, code = frame()
    found = estimated(table, structure=structure, covariance=covariance, unbiased=unbiased)
    plate = found._blocks[1]
    assert isinstance(plate, GaussianPlate)
    squares = np.array([((values[code == g] - plate.mean[g]) ** 2).sum(axis=0) for g in range(3)])
    rows = np.repeat((np.bincount(code) - unbiased)[:, None], 3, axis=1)
    axes = (0,) * (covariance == "shared") + (1,) * (structure == "spherical")
    expected = squares.sum(axis=axes, keepdims=True) / rows.sum(axis=axes, keepdims=True)
    np.testing.assert_allclose(plate.variance, np.broadcast_to(expected, (3, 3)), rtol=1e-11)


def test_shares_of_shrinkage_equal_scikit_learn():
    _, values, code = frame(40)
    n, mean, covariance = class_moments(values, code)
    scale = np.ones((3, 3))
    fourth = fourth_moments(values, code, np.empty(0), mean, scale)
    found = ledoit_wolf_share(covariance, fourth, n, 3), oas_share(covariance, n, 3)
    for g in range(3):
        assert found[0][g] == pytest.approx(ledoit_wolf(values[code == g])[1], rel=1e-10)
        assert found[1][g] == pytest.approx(oas(values[code == g])[1], rel=1e-10)
    # Nothing varies: nothing to shrink, or nothing but the target.
    assert ledoit_wolf_share(np.zeros((1, 3, 3)), np.zeros(1), np.ones(1), 3).tolist() == [0.0]
    assert oas_share(np.zeros((1, 3, 3)), np.ones(1), 3).tolist() == [1.0]


@pytest.mark.parametrize("shrinkage", ["ledoit_wolf", "oas"])
def test_named_shrinkage_is_in_units_of_the_standard_deviations(shrinkage):
    table, values, code = frame()
    block = estimated(table, covariance="class", regularization=shrinkage)._blocks[1]
    function = {"ledoit_wolf": ledoit_wolf, "oas": oas}[shrinkage]
    for g in range(3):
        part = values[code == g]
        scale = part.std(axis=0)
        expected = function(part / scale)[0] * np.outer(scale, scale)
        np.testing.assert_allclose(block.covariance[g], expected, rtol=1e-9)


@pytest.mark.parametrize("shrinkage", ["ledoit_wolf", "oas"])
@pytest.mark.parametrize("covariance", ["shared", "class"])
def test_named_shrinkage_has_no_units_where_a_class_has_a_constant(shrinkage, covariance):
    table, _, code = frame()
    table["u"] = np.where(code == 1, 4.0, table["u"])
    choice = {"regularization": shrinkage, "covariance": covariance}
    before = estimated(table, **choice)._blocks[1]
    unit = np.array([1000.0 if child.name == "u" else 1.0 for child in before.children])
    after = estimated({**table, "u": 1000 * table["u"]}, **choice)._blocks[1]
    np.testing.assert_allclose(after.covariance, before.covariance * np.outer(unit, unit))


@pytest.mark.parametrize("shrinkage", [0, 0.3, 1.0])
def test_a_number_draws_towards_the_mean_variance(shrinkage):
    table, values, code = frame()
    n, _, covariance = class_moments(values, code)
    pooled = np.tensordot(n, covariance, axes=1) / 90
    block = estimated(table, regularization=shrinkage)._blocks[1]
    expected = (1 - shrinkage) * pooled + shrinkage * np.trace(pooled) / 3 * np.eye(3)
    np.testing.assert_allclose(block.covariance, expected, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("shrinkage", [None, 0.2, "oas", "ledoit_wolf"])
@pytest.mark.parametrize("covariance", ["shared", "class"])
def test_weights_are_repetitions(shrinkage, covariance):
    table, _, _ = frame()
    weights = np.random.default_rng(1).integers(1, 4, size=90)
    rows = np.repeat(np.arange(90), weights)
    repeated = {name: column[rows] for name, column in table.items()}
    choice = {"regularization": shrinkage, "covariance": covariance, "unbiased": True}
    one, two = estimated(table, weights, **choice), estimated(repeated, **choice)
    np.testing.assert_allclose(one._blocks[1].mean, two._blocks[1].mean, rtol=1e-12)
    np.testing.assert_allclose(one._blocks[1].covariance, two._blocks[1].covariance, rtol=1e-10)
    np.testing.assert_allclose(one._blocks[0].values, two._blocks[0].values)


# ------------------------------------------------------------------- statistics and their limits


@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_statistics_of_batches_give_the_same_model(structure):
    table, _, _ = frame()
    model = CovarianceModel(
        structure=structure, regularization="oas" if structure == "full" else None
    )
    whole = count_source(table, target="kind")
    expected = estimate_discriminant(whole, model).network
    parts = []
    for rows in (slice(0, 31), slice(31, 33), slice(33, None)):
        source = TableSource(whole.table.rows(rows), whole.target)
        estimate_discriminant(source, model)
        parts.append(source.statistics)
    together = CountSource(whole.variables, whole.target, parts[0] + parts[1] + parts[2])
    found = estimate_discriminant(together, model).network
    for a, b in zip(found.cpds[1:], expected.cpds[1:], strict=True):
        np.testing.assert_allclose(a.variance, b.variance, rtol=1e-10)
        np.testing.assert_allclose(a.mean, b.mean, rtol=1e-10, atol=1e-12)


def test_what_needs_rows_says_so():
    table, _, _ = frame()

    def from_statistics(table, **parameters):
        source = count_source(table, target="kind")
        model = CovarianceModel(**parameters)
        estimate_discriminant(source, CovarianceModel(structure=model.structure))
        remote = CountSource(source.variables, source.target, source.statistics)
        return estimate_discriminant(remote, model)

    from_statistics(table, regularization="oas")
    with pytest.raises(bg.errors.DataError, match=r"'ledoit_wolf' needs the rows.*statistics only"):
        from_statistics(table, regularization="ledoit_wolf")
    table["u"][3] = np.nan
    with pytest.raises(bg.errors.DataError, match="Missing values in jointly Gaussian features"):
        from_statistics(table)
    from_statistics(table, structure="diagonal")


def test_diagonal_structures_use_available_cases():
    table, values, code = frame()
    values[np.random.default_rng(0).random(values.shape) < 0.3] = np.nan
    table |= dict(zip(NAMES, values.T, strict=True))
    plate = estimated(table, structure="diagonal", covariance="class")._blocks[1]
    for g in range(3):
        np.testing.assert_allclose(plate.mean[g], np.nanmean(values[code == g], axis=0))
        np.testing.assert_allclose(plate.variance[g], np.nanvar(values[code == g], axis=0))


def test_the_structure_is_the_class_and_a_complete_graph():
    table, _, _ = frame()
    arcs = {frozenset(arc) for arc in estimated(table).graph.edges}
    assert arcs == {frozenset(pair) for pair in combinations(["kind", *NAMES], 2)}


# -------------------------------------------------------------------------- singular and refused


@pytest.mark.parametrize("covariance", ["shared", "class"])
def test_constant_and_collinear_columns(covariance):
    table, _, _ = frame()
    table["same"] = np.full(90, 7.0)
    table["sum"] = table["u"] + table["v"]
    with pytest.raises(bg.errors.DataError, match=r"singular.*'sum' is a linear function of 'u'"):
        estimated(table, covariance=covariance)
    block = estimated(table, covariance=covariance, var_smoothing=1e-6)._blocks[1]
    at = [child.name for child in block.children].index("same")
    np.testing.assert_allclose(np.diagonal(block.covariance, axis1=-2, axis2=-1)[..., at], 1.0)
    shrunken = estimated(table, covariance=covariance, regularization=0.1)._blocks[1]
    assert np.isfinite(shrunken.roots).all()


def test_a_constant_within_a_class_is_refused_or_smoothed():
    table, _, code = frame()
    table["u"] = np.where(code == 1, 4.0, np.round(table["u"]))
    for structure in ("full", "diagonal"):
        choice = {"structure": structure, "covariance": "class"}
        with pytest.raises(bg.errors.DataError, match="'u'"):
            estimated(table, **choice)
        estimated(table, var_smoothing=1e-6, **choice)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"covariance": "both"}, "covariance= is one of 'shared', 'class'; got 'both'"),
        ({"structure": "round"}, "structure= is one of 'full', 'diagonal', 'spherical'"),
        ({"regularization": 1.5}, "from 0 to 1, 'ledoit_wolf', 'oas' or None; got 1.5"),
        ({"regularization": "auto"}, "'ledoit_wolf', 'oas' or None; got 'auto'"),
        ({"regularization": 0.1, "structure": "diagonal"}, "'diagonal' has no covariances"),
        ({"tolerance": -1.0}, "tol= takes a number that is not negative"),
        ({"max_iter": 0}, "max_iter= takes a number of steps"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(bg.errors.DataError, match=message):
        CovarianceModel(**parameters)


def test_features_that_are_not_numbers_are_refused():
    table, _, _ = frame()
    table["colour"] = np.array(["red", "blue"] * 45)
    with pytest.raises(bg.errors.DataError, match="numeric features; 'colour' are not numbers"):
        estimated(table)
    with pytest.raises(bg.errors.DataError, match="needs the class"):
        estimate_discriminant(count_source({"u": [1.0, 2.0]}), CovarianceModel())
