"""Profiles and correspondence analysis, against published figures, SciPy and definitions."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import bayesgraph as bg
from bayesgraph.core.errors import DataError, UnknownVariableError
from bayesgraph.pictures import save_figure

# Smoking among the staff of a firm (Greenacre 1984, table 3.1), the example of R's package ca.
STAFF = ("senior manager", "junior manager", "senior employee", "junior employee", "secretary")
SMOKING = ("none", "light", "medium", "heavy")
COUNTS = np.array([[4, 2, 3, 2], [4, 3, 7, 4], [25, 10, 12, 4], [18, 24, 33, 13], [10, 6, 7, 2]])


def rows_of(counts, first, second):
    pairs = [(a, b) for (i, a), (j, b) in itertools.product(enumerate(first), enumerate(second))
             for _ in range(counts[i, j])]  # fmt: skip
    return {"staff": [a for a, _ in pairs], "smoking": [b for _, b in pairs]}


ROWS = rows_of(COUNTS, STAFF, SMOKING)


def in_order(points, states):
    return np.array([points[state] for state in states])


def test_greenacres_smokers():
    """Inertias and standard coordinates as R's ca prints them: summary(ca(smoke))."""
    found = bg.questions.correspondence(ROWS, "staff", "smoking")
    np.testing.assert_allclose(found.inertias, [0.074759, 0.010017, 0.000414], atol=5e-7)
    np.testing.assert_allclose(found.shares, [0.8776, 0.1176, 0.0049], atol=6e-5)
    assert found.total == pytest.approx(0.085190, abs=5e-7)
    scale = np.sqrt(found.inertias[:2])
    staff = in_order(found["staff"], STAFF)[:, :2] / scale
    smoking = in_order(found["smoking"], SMOKING)[:, :2] / scale
    of_staff = [
        [-0.240539, -1.935708],
        [0.947105, -2.430958],
        [-1.391973, -0.106508],
        [0.851989, 0.576944],
        [-0.735456, 0.788435],
    ]
    of_smoking = [
        [-1.438471, -0.304659],
        [0.363746, 1.409433],
        [0.718017, 0.073528],
        [1.074445, -1.975960],
    ]
    signs = np.sign(staff[0] * of_staff[0])
    np.testing.assert_allclose(staff * signs, of_staff, atol=1e-6)
    np.testing.assert_allclose(smoking * signs, of_smoking, atol=1e-6)


def test_profiles_and_chi_squared():
    table = bg.questions.crosstab(ROWS, "staff", "smoking")
    order = [table.rows.index(s) for s in STAFF], [table.columns.index(s) for s in SMOKING]
    np.testing.assert_allclose(table.counts[np.ix_(*order)], COUNTS)
    np.testing.assert_allclose(
        table.row_profiles[np.ix_(*order)], COUNTS / COUNTS.sum(axis=1, keepdims=True)
    )
    np.testing.assert_allclose(
        table.column_profiles[np.ix_(*order)], COUNTS / COUNTS.sum(axis=0, keepdims=True)
    )
    expected = stats.chi2_contingency(COUNTS)
    assert table.chi_squared == pytest.approx(expected.statistic, rel=1e-12)
    assert table.p_value == pytest.approx(expected.pvalue, rel=1e-10)
    assert table.degrees_of_freedom == expected.dof
    assert table.cramers_v == pytest.approx(stats.contingency.association(COUNTS), rel=1e-12)
    assert table.inertia == pytest.approx(table.chi_squared / 193)
    np.testing.assert_allclose(193 * table.expected[np.ix_(*order)], expected.expected_freq)
    p, q = table.row_masses[:, None], table.column_masses
    adjusted = (table.counts - 193 * p * q) / np.sqrt(193 * p * q * (1 - p) * (1 - q))
    np.testing.assert_allclose(table.adjusted, adjusted, rtol=1e-12)
    assert "chi-squared 16.4416, 12 degrees" in repr(table)
    again = bg.questions.correspondence(table)
    np.testing.assert_allclose(
        again.inertias, bg.questions.correspondence(ROWS, "staff", "smoking").inertias
    )


def random_table(seed, cards=(4, 3), n=300):
    random = np.random.default_rng(seed)
    joint = random.dirichlet(np.ones(math.prod(cards)))
    codes = np.unravel_index(random.choice(len(joint), n, p=joint), cards)
    return {f"v{i}": [f"s{c}" for c in column] for i, column in enumerate(codes)}


def test_distances_are_those_of_profiles():
    table = bg.questions.crosstab(random_table(1), "v0", "v1")
    found = bg.questions.correspondence(table)
    rows = found["v0"]
    for a, b in itertools.combinations(range(4), 2):
        gap = table.row_profiles[a] - table.row_profiles[b]
        squared = (gap**2 / table.column_masses).sum()
        own = ((rows.coordinates[a] - rows.coordinates[b]) ** 2).sum()
        assert own == pytest.approx(squared, rel=1e-10)
    for points in found.values():
        np.testing.assert_allclose(points.masses @ points.standard, 0, atol=1e-12)
        np.testing.assert_allclose(points.contributions.sum(axis=0), 1)
        np.testing.assert_allclose(points.squared_cosines.sum(axis=1), 1)
        assert points.inertia.sum() == pytest.approx(found.total)
    # Reconstitution: frequencies from coordinates.
    columns = found["v1"]
    ratio = 1 + rows.standard @ np.diag(np.sqrt(found.inertias)) @ columns.standard.T
    np.testing.assert_allclose(
        ratio * np.outer(rows.masses, columns.masses), table.frequencies, atol=1e-12
    )


def test_weights_are_repetitions_and_missing_values_left_out():
    table = random_table(2)
    weights = np.random.default_rng(0).integers(0, 3, 300)
    repeated = {name: np.repeat(column, weights).tolist() for name, column in table.items()}
    one = bg.questions.crosstab(table, "v0", "v1", sample_weight=weights)
    np.testing.assert_allclose(one.counts, bg.questions.crosstab(repeated, "v0", "v1").counts)
    gaps = {"v0": [*table["v0"], None], "v1": [*table["v1"], "s0"]}
    np.testing.assert_allclose(
        bg.questions.crosstab(gaps, "v0", "v1").counts,
        bg.questions.crosstab(table, "v0", "v1").counts,
    )


# ------------------------------------------------------------------------------ multiple


def indicator(table):
    columns = [[(name, s) for s in sorted(set(column))] for name, column in table.items()]
    return np.array(
        [[float(table[n][i] == s) for n, s in itertools.chain(*columns)] for i in range(300)]
    )


def test_multiple_analysis_is_the_simple_one_of_the_indicator_matrix():
    table = random_table(3, (3, 2, 4))
    Z = indicator(table)
    P = Z / Z.sum()
    r, c = P.sum(axis=1), P.sum(axis=0)
    S = (P - np.outer(r, c)) / np.sqrt(np.outer(r, c))
    U, s, V = np.linalg.svd(S, full_matrices=False)
    k = 9 - 3
    found = bg.questions.multiple_correspondence(table, ["v0", "v1", "v2"], inertia="indicator")
    np.testing.assert_allclose(found.inertias, s[:k] ** 2, rtol=1e-10)
    assert found.total == pytest.approx((s**2).sum())
    columns = np.concatenate([points.coordinates for points in found.values()])
    np.testing.assert_allclose(
        np.abs(columns), np.abs(V[:k].T * s[:k] / np.sqrt(c)[:, None]), atol=1e-9
    )
    np.testing.assert_allclose(
        np.abs(found.transform(table)), np.abs(U[:, :k] * s[:k] / np.sqrt(r)[:, None]), atol=1e-9
    )
    burt = bg.questions.multiple_correspondence(table, ["v0", "v1", "v2"], inertia="burt")
    np.testing.assert_allclose(burt.inertias, s[:k] ** 4, rtol=1e-10)
    assert burt.total == pytest.approx(burt.inertias.sum())


def test_adjusted_inertias_of_two_variables_are_those_of_the_simple_analysis():
    table = random_table(4)
    simple = bg.questions.correspondence(table, "v0", "v1")
    multiple = bg.questions.multiple_correspondence(table, ["v0", "v1"])
    np.testing.assert_allclose(multiple.inertias, simple.inertias, rtol=1e-9)
    assert multiple.total == pytest.approx(simple.total, rel=1e-9)
    for name in simple:
        np.testing.assert_allclose(
            np.abs(multiple[name].coordinates), np.abs(simple[name].coordinates), atol=1e-9
        )


def test_rows_with_missing_values_lie_at_the_mean_of_the_others():
    table = random_table(5, (3, 2, 4))
    found = bg.questions.multiple_correspondence(table, list(table), inertia="indicator")
    part = {"v0": ["s1", None], "v1": [None, None], "v2": ["s3", None]}
    rows = found.transform(part)
    expected = (found["v0"].standard[1] + found["v2"].standard[3]) / 2
    np.testing.assert_allclose(rows[0], expected)
    assert np.isnan(rows[1]).all()


# -------------------------------------------------------------------------------- models, errors

A, B = bg.Discrete("v0", ["p", "q", "r"]), bg.Discrete("v1", [0, 1])


def network(seed=0):
    random = np.random.default_rng(seed)
    return bg.BayesianNetwork(
        [
            bg.TableCPD(A, random.dirichlet(np.ones(3))),
            bg.TableCPD(B, random.dirichlet(np.ones(2), 3), [A]),
            bg.GaussianCPD(bg.Continuous("g"), [0.0, 1.0, 3.0], 1.0, [A]),
        ]
    )


MODELS = {
    "discrete": lambda: bg.BayesianNetwork(network().cpds[:2]),
    "mixed": network,
    "weighted": lambda: bg.WeightedNetwork(network(), "v0", {"g": 0.5}),
    "mixture": lambda: bg.Ensemble([network(1), network(2)]),
    "average": lambda: bg.Ensemble([network(1), network(2)], combine="posterior"),
    "factor graph": lambda: bg.FactorGraph.of(network()),
}


@pytest.mark.parametrize("kind", MODELS)
def test_models_give_their_joint_posteriors(kind):
    model = MODELS[kind]()
    evidence = None if kind == "discrete" else {"g": 0.7}
    joint = model.query(["v0", "v1"], evidence).probabilities
    table = bg.questions.crosstab(model, "v0", "v1", evidence=evidence, n=100)
    np.testing.assert_allclose(table.frequencies, joint, rtol=1e-12)
    expected = stats.chi2_contingency(100 * joint, correction=False)
    assert table.chi_squared == pytest.approx(expected.statistic, rel=1e-9)
    found = bg.questions.multiple_correspondence(model, ["v0", "v1"], evidence=evidence)
    assert found.total == pytest.approx(table.inertia, rel=1e-7)
    assert math.isnan(bg.questions.crosstab(model, "v0", "v1").p_value)


def test_an_estimator_is_its_network():
    random = np.random.default_rng(0)
    X = random.integers(0, 2, (60, 2))
    model = bg.NaiveBayesClassifier(categorical="all").fit(X, (X[:, 0] + random.integers(0, 2, 60)))
    table = bg.questions.crosstab(model, "x0", model.target_.name)
    np.testing.assert_allclose(
        table.frequencies, model.query(["x0", model.target_.name]).probabilities
    )


def test_states_that_never_occur_are_no_points():
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(A, [0.5, 0.0, 0.5]),
            bg.TableCPD(B, [[0.3, 0.7], [0.5, 0.5], [0.6, 0.4]], [A]),
        ]
    )
    found = bg.questions.correspondence(net, "v0", "v1")
    assert found["v0"].states == ("p", "r")
    assert np.isnan(bg.questions.crosstab(net, "v0", "v1").row_profiles[1]).all()
    with pytest.raises(UnknownVariableError, match="'q'"):
        found["v0"]["q"]
    with pytest.raises(UnknownVariableError, match="'v2'"):
        found["v2"]


def test_independent_variables_have_no_axes():
    net = bg.BayesianNetwork([bg.TableCPD(A, [0.2, 0.3, 0.5]), bg.TableCPD(B, [0.4, 0.6])])
    for found in (
        bg.questions.correspondence(net, "v0", "v1"),
        bg.questions.multiple_correspondence(net, ["v0", "v1"]),
    ):
        assert found.inertias.shape == (0,)
        assert found.total == pytest.approx(0.0, abs=1e-12)
        assert "0" in repr(found)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: bg.questions.crosstab(network(), "v0", "g"), "'g' are not"),
        (lambda: bg.questions.crosstab(network(), "v0", "v0"), "two or more variables"),
        (
            lambda: bg.questions.crosstab(network(), "v0", "v1", categorical=["v0"]),
            "categorical= is for",
        ),
        (
            lambda: bg.questions.crosstab(ROWS, "staff", "smoking", evidence={}),
            "evidence= is for a model",
        ),
        (lambda: bg.questions.crosstab(ROWS, "staff", "smoking", n=3), "n= is for a model"),
        (
            lambda: bg.questions.multiple_correspondence(ROWS, ["staff", "smoking"], inertia="x"),
            "inertia=",
        ),
        (
            lambda: bg.questions.correspondence(
                bg.questions.crosstab(ROWS, "staff", "smoking"), "staff"
            ),
            "has its var",
        ),
        (
            lambda: bg.questions.crosstab(network(), "v0", "v1", n=-5),
            "n= is a finite number, 0 or more",
        ),
        (lambda: bg.questions.crosstab(network(), "v0", "v1", n="ten"), "n= is a finite number"),
        (
            lambda: bg.questions.correspondence({"a": ["x"], "b": ["y"]}, "a", "b"),
            "two states or more",
        ),
    ],
)
def test_what_does_not_fit_is_refused(ask, message):
    with pytest.raises(DataError, match=message):
        ask()


def test_maps(tmp_path):
    found = bg.questions.correspondence(ROWS, "staff", "smoking")
    figure = bg.plot(found, title="Smokers")
    (panel,) = figure.axes
    np.testing.assert_allclose(
        panel.collections[0].get_offsets(), found["staff"].coordinates[:, :2]
    )
    assert "87.8 %" in panel.get_xlabel()
    save_figure(figure, tmp_path / "map.svg")
    multiple = bg.questions.multiple_correspondence(random_table(3, (3, 2, 4)), ["v0", "v1", "v2"])
    bg.plot(multiple, axes=(2, 1), table=random_table(3, (3, 2, 4)))
    for axes in ((0, 1), (1, 1), (1, 9), 3):
        with pytest.raises(DataError, match="axes="):
            bg.plot(found, axes=axes)
