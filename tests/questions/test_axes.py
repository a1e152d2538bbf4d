"""Principal and discriminant axes, against scikit-learn and definitions."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import bayesgraph as bg
from bayesgraph.core.errors import DataError, UnknownVariableError
from bayesgraph.pictures import save_figure

IRIS = load_iris()
NAMES = ["a", "b", "c", "d"]
ROWS = {**dict(zip(NAMES, IRIS.data.T, strict=True)), "kind": IRIS.target}
KINDS = [IRIS.target_names[k] for k in IRIS.target]


def same_up_to_sign(one, other, tolerance=1e-9):
    signs = np.sign((one * other).sum(axis=0))
    np.testing.assert_allclose(one * signs, other, atol=tolerance)


@pytest.mark.parametrize("standardise", [True, False])
def test_principal_axes_are_those_of_scikit_learn(standardise):
    X = IRIS.data / (IRIS.data.std(axis=0, ddof=1) if standardise else 1.0)
    expected = PCA().fit(X)
    found = bg.questions.principal_axes(ROWS, NAMES, standardise=standardise)
    np.testing.assert_allclose(found.variances, expected.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(found.shares, expected.explained_variance_ratio_, rtol=1e-10)
    scores = found.transform(ROWS)
    same_up_to_sign(scores, expected.transform(X))
    correlations = np.corrcoef(IRIS.data.T, scores.T)[:4, 4:]
    np.testing.assert_allclose(found.correlations, correlations, atol=1e-10)


def test_discriminant_axes_are_those_of_scikit_learn():
    expected = LinearDiscriminantAnalysis().fit(IRIS.data, IRIS.target)
    found = bg.questions.discriminant_axes({**ROWS, "kind": KINDS}, "kind", NAMES)
    # Its scores have the variance 1 within the classes with 150 in the denominator in place of 147.
    same_up_to_sign(found.transform(ROWS) * (150 / 147) ** 0.5, expected.transform(IRIS.data))
    np.testing.assert_allclose(found.shares, expected.explained_variance_ratio_, rtol=1e-10)
    scores = found.transform(ROWS)
    within = [scores[IRIS.target == k] for k in range(3)]
    pooled = sum((x - x.mean(axis=0)).T @ (x - x.mean(axis=0)) for x in within) / 147
    np.testing.assert_allclose(pooled, np.eye(2), atol=1e-10)
    order = [found.classes.index(name) for name in IRIS.target_names]
    np.testing.assert_allclose(found.centres[order], [x.mean(axis=0) for x in within], atol=1e-10)
    away = np.concatenate([x - x.mean(axis=0) for x in within])
    columns = np.concatenate([IRIS.data[IRIS.target == k] - IRIS.data[IRIS.target == k].mean(axis=0)
                              for k in range(3)])  # fmt: skip
    correlations = np.corrcoef(columns.T, away.T)[:4, 4:]
    np.testing.assert_allclose(found.correlations, correlations, atol=1e-10)


def test_weights_are_repetitions_and_missing_values_left_out():
    weights = np.random.default_rng(0).integers(0, 3, 150)
    repeated = {name: np.repeat(column, weights) for name, column in ROWS.items()}
    for ask in (
        lambda rows, w: bg.questions.principal_axes(rows, NAMES, sample_weight=w),
        lambda rows, w: bg.questions.discriminant_axes(rows, "kind", NAMES, sample_weight=w),
    ):
        one, other = ask(ROWS, weights), ask(repeated, None)
        np.testing.assert_allclose(one.directions, other.directions, rtol=1e-9)
        np.testing.assert_allclose(one.variances, other.variances, rtol=1e-9)
    gaps = {name: [*column, np.nan] for name, column in ROWS.items() if name != "kind"}
    found = bg.questions.principal_axes(gaps, NAMES)
    np.testing.assert_allclose(found.variances, bg.questions.principal_axes(ROWS, NAMES).variances)
    assert np.isnan(found.transform(gaps)[-1]).all()


def test_models_give_their_moments():
    kind = bg.Discrete("kind", ["u", "v", "w"])
    means = np.array([[0.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    shares, pair = np.array([0.2, 0.3, 0.5]), [bg.Continuous("a"), bg.Continuous("b")]
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(kind, shares),
            bg.models.JointGaussianCPD(pair, means, covariance, [kind]),
            bg.PoissonCPD(bg.Count("n"), [1.0, 2.0, 3.0], [kind]),
        ]
    )
    found = bg.questions.discriminant_axes(net, "kind", ["a", "b"])
    away = means - shares @ means
    between = np.einsum("k,ki,kj->ij", shares, away, away)
    expected = np.sort(np.linalg.eigvals(np.linalg.solve(covariance, between)).real)[::-1]
    np.testing.assert_allclose(found.variances, expected, rtol=1e-10)
    np.testing.assert_allclose(
        found.directions.T @ covariance @ found.directions, np.eye(2), atol=1e-10
    )
    principal = bg.questions.principal_axes(net, ["a", "b"], standardise=False)
    np.testing.assert_allclose(
        principal.variances, np.linalg.eigvalsh(covariance + between)[::-1], rtol=1e-10
    )
    mixed = bg.questions.principal_axes(net, ["a", "n"], evidence={"kind": "u"}, standardise=False)
    np.testing.assert_allclose(np.sort(mixed.variances), [1.0, 2.0])  # independent given the kind
    first, second = (bg.BayesianNetwork(net._blocks) for _ in range(2))
    mixture = bg.Ensemble([first, second])
    np.testing.assert_allclose(
        bg.questions.discriminant_axes(mixture, "kind", ["a", "b"]).variances, expected, rtol=1e-10
    )


def gaussians(shift=0.0):
    kind = bg.Discrete("kind", ["u", "v"])
    return bg.BayesianNetwork(
        [
            bg.TableCPD(kind, [0.4, 0.6]),
            bg.GaussianCPD(bg.Continuous("a"), [shift, 2.0], 1.0, [kind]),
            bg.GaussianCPD(bg.Continuous("b"), [1.0, shift], 2.0, [kind]),
            bg.GaussianCPD(bg.Continuous("c"), [0.0, 3.0], 1.0, [kind]),
        ]
    )


KINDS_OF_MODELS = {
    "network": gaussians,
    "weighted": lambda: bg.WeightedNetwork(gaussians(), "kind", {"c": 0.5}),
    "mixture": lambda: bg.Ensemble([gaussians(), gaussians(1.0)]),
    "average": lambda: bg.Ensemble([gaussians(), gaussians(1.0)], combine="posterior"),
    "factor graph": lambda: bg.FactorGraph.of(gaussians()),
}


def test_what_does_not_vary_is_seen_despite_rounding():
    rows = {"x": [1.0, 2.0, 3.0], "c": [0.1] * 3, "y": [2.0, 1.0, 5.0]}
    with pytest.raises(DataError, match="'c' do not vary"):
        bg.questions.principal_axes(rows, ["x", "c", "y"])
    classes = {"x": [1.0, 2.0, 3.0, 7.0, 8.0, 8.5], "c": [0.1] * 3 + [0.7] * 3, "k": list("aaabbb")}
    with pytest.raises(DataError, match="singular"):
        bg.questions.discriminant_axes(classes, "k", ["x", "c"])


def test_weights_of_a_small_sum_have_their_denominator():
    rows, weight = {"x": [1.0, 2.0, 4.0], "y": [2.0, 1.0, 5.0]}, np.array([0.5, 0.4, 0.6])
    found = bg.questions.principal_axes(rows, ["x", "y"], standardise=False, sample_weight=weight)
    mean = np.average(rows["x"], weights=weight), np.average(rows["y"], weights=weight)
    sums = sum(weight @ (np.array(rows[n]) - m) ** 2 for n, m in zip("xy", mean, strict=True))
    assert found.total == pytest.approx(sums / 0.5)


def test_evidence_may_be_a_series_and_a_belief_is_refused():
    k, m = (bg.Discrete(name, ["0", "1"]) for name in "km")
    x = bg.Continuous("x")
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(k, [0.5, 0.5]),
            bg.TableCPD(m, [[0.8, 0.2], [0.3, 0.7]], [k]),
            bg.GaussianCPD(x, [[0.0, 1.0], [2.0, 3.0]], 1.0, [k, m]),
        ]
    )
    found, expected = (
        bg.questions.discriminant_axes(net, "k", ["x"], evidence=given)
        for given in (pd.Series({"m": "1"}), {"m": "1"})
    )
    assert found.variances == pytest.approx(expected.variances)
    belief = {"m": bg.Belief({"0": 0.5, "1": 0.5})}
    with pytest.raises(DataError, match="give likelihoods"):
        bg.questions.discriminant_axes(net, "k", ["x"], evidence=belief)


@pytest.mark.parametrize("kind", KINDS_OF_MODELS)
def test_kinds_of_models(kind):
    model, evidence = KINDS_OF_MODELS[kind](), {"c": 1.2}
    principal = bg.questions.principal_axes(model, ["a", "b"], standardise=False, evidence=evidence)
    covariance = model.query(["a", "b"], evidence).covariance
    np.testing.assert_allclose(principal.variances, np.linalg.eigvalsh(covariance)[::-1])
    found = bg.questions.discriminant_axes(model, "kind", ["a", "b"], evidence=evidence)
    shares = model.query("kind", evidence).probabilities
    parts = [model.query(["a", "b"], {**evidence, "kind": k}) for k in found.classes]
    gap = parts[1].mean - parts[0].mean
    within = sum(p * part.covariance for p, part in zip(shares, parts, strict=True))
    # Of two classes: the squared distance of their means, within the classes.
    expected = shares.prod() * gap @ np.linalg.solve(within, gap)
    np.testing.assert_allclose(found.variances, [expected], rtol=1e-10)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda: bg.questions.principal_axes({**ROWS, "e": [1.0] * 150}, [*NAMES, "e"]),
            "'e' do not vary",
        ),
        (
            lambda: bg.questions.discriminant_axes({**ROWS, "e": ROWS["a"]}, "kind", ["a", "e"]),
            "singular",
        ),
        (lambda: bg.questions.principal_axes(ROWS, ["a"]), "2 or more"),
        (lambda: bg.questions.principal_axes({**ROWS, "t": KINDS}, ["a", "t"]), "'t' are not"),
        (
            lambda: bg.questions.principal_axes(ROWS, NAMES, evidence={"a": 1}),
            "evidence= is for a model",
        ),
        (
            lambda: bg.questions.discriminant_axes({**ROWS, "one": ["x"] * 150}, "one", NAMES),
            "two classes",
        ),
        (lambda: bg.plot(bg.questions.principal_axes(ROWS, NAMES), axes=(1, 7)), "axes="),
        (
            lambda: bg.plot(bg.questions.principal_axes(ROWS, NAMES), table=ROWS, labels=["x"]),
            "labels=",
        ),
    ],
)
def test_what_does_not_fit_is_refused(ask, message):
    with pytest.raises(DataError, match=message):
        ask()


def test_a_single_axis_is_drawn_by_distributions_and_bars():
    rows = {**ROWS, "kind": KINDS}
    two = {
        name: [v for v, kind in zip(column, KINDS, strict=True) if kind != "setosa"]
        for name, column in rows.items()
    }
    found = bg.questions.discriminant_axes(two, "kind", NAMES)
    top, bottom = bg.plot(found, table=two, labels=two["kind"]).axes
    assert [sum(bar.get_height() for bar in group) for group in top.containers] == [50, 50]
    means = [line.get_xdata()[0] for line in top.lines]
    scores = found.transform(two)[:, 0]
    np.testing.assert_allclose(sorted(means), sorted([scores[:50].mean(), scores[50:].mean()]))
    widths = [bar.get_width() for bar in bottom.patches]
    assert widths == sorted(found.correlations[:, 0].tolist(), key=lambda value: -abs(value))
    assert len(bg.plot(found).axes) == 1
    with pytest.raises(DataError, match="labels="):
        bg.plot(found, table=two, labels=["x"])


@pytest.mark.slow
def test_maps(tmp_path):
    found = bg.questions.discriminant_axes({**ROWS, "kind": KINDS}, "kind", NAMES)
    figure = bg.plot(found, table=ROWS, labels=KINDS, title="Iris")
    np.testing.assert_allclose(
        figure.axes[0].collections[0].get_offsets(), found.transform(ROWS)[:50, :2]
    )
    save_figure(figure, tmp_path / "axes.svg")
    assert "Principal axes of 4" in repr(bg.questions.principal_axes(ROWS, NAMES))
    assert "mean of setosa" in repr(found)
    with pytest.raises(UnknownVariableError, match="'d'"):
        found.transform({name: [1.0] for name in NAMES[:3]})
