"""Every family of densities: SciPy's values, maximum likelihood, and the ways a model takes."""

import functools

import cases
import numpy as np
import pandas as pd
import pytest
from scipy import optimize
from typer.testing import CliRunner

import bayesgraph as bg
from bayesgraph.cli.commands import app
from bayesgraph.core import Evidence
from bayesgraph.core.errors import CPDError, DataError
from bayesgraph.files.payloads import STORED
from bayesgraph.models import FAMILIES, DensityCPD

NAMES = [name for name in FAMILIES if name in cases.DENSITIES]
KIND = bg.Discrete("kind", ["a", "b", "c"])
every_density = pytest.mark.parametrize("name", cases.DENSITIES)
every_family = pytest.mark.parametrize("name", NAMES)


def frozen(name, **parameters):
    """Return SciPy's distribution, and its log density."""
    found = cases.DENSITIES[name][1](**parameters)
    return found, found.logpdf if hasattr(found.dist, "pdf") else found.logpmf


def variables(name, n):
    kind = bg.Count if cases.DENSITIES[name][0] == "counts" else bg.Continuous
    return [kind(f"x{i}") for i in range(n)]


def drawn_parameters(name, shape):
    random = np.random.default_rng(3)
    bounds = STORED[name].parameters
    return {
        key: random.gamma(2.0, 1.5, shape) + 0.1 if above == 0 else random.normal(size=shape)
        for key, above in bounds.items()
    }


def logs(cpd, columns):
    """Return log densities, shape (n_rows, configurations)."""
    evidence = Evidence(len(columns[0]), dict(zip(cpd.children, columns, strict=True)))
    return cpd.potential(evidence).log_values


@functools.cache
def data(name):
    """Return rows with missing cells, classes of different sizes and weights."""
    rows = cases.make_data(cases.DENSITIES[name][0], n=200)
    X = rows.matrix()
    random = np.random.default_rng(0)
    X[random.random(X.shape) < 0.15] = np.nan
    return X, rows.y, random.integers(1, 4, len(X)).astype(float)


@every_density
def test_the_density_is_that_of_scipy(name):
    cpd = STORED[name]
    parameters = drawn_parameters(name, (3, 2))
    X = cases.make_data(cases.DENSITIES[name][0], n=300).matrix()[:, :2]
    found = logs(cpd(variables(name, 2), parents=[KIND], **parameters), X.T)
    for k in range(3):
        expected = sum(
            frozen(name, **{key: v[k, j] for key, v in parameters.items()})[1](X[:, j])
            for j in range(2)
        )
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-12, atol=1e-12)


@every_density
def test_a_single_variable_takes_parameters_without_the_last_axis(name):
    cpd, (variable,) = STORED[name], variables(name, 1)
    parameters = drawn_parameters(name, (3, 1))
    whole = cpd([variable], parents=[KIND], **parameters)
    assert cpd(variable, parents=[KIND], **{k: v[:, 0] for k, v in parameters.items()}) == whole
    assert whole.singles() == (whole,)
    assert len(whole.describe(2, 5).rows) == 2
    assert "<table>" in whole._repr_html_()
    for wrong in ("x0", 3, ["x0"], KIND):
        with pytest.raises(CPDError, match=cpd.__name__):
            cpd(wrong, parents=[KIND], **parameters)
    for key, above in cpd.parameters.items():
        with pytest.raises(CPDError, match=f"{key} takes"):
            cpd([variable], parents=[KIND], **{**parameters, key: np.full((3, 1), above)})


@every_density
def test_draws_have_the_distribution_of_scipy(name):
    cpd, (variable,) = STORED[name], variables(name, 1)
    parameters = {key: v[0] for key, v in drawn_parameters(name, (1,)).items()}
    one = cpd(variable, **parameters)
    drawn = one.sample({}, 4000, np.random.default_rng(1))
    expected = frozen(name, **parameters)[0]
    for quantile in (0.1, 0.5, 0.9):
        at = expected.ppf(quantile)
        assert np.mean(drawn <= at) == pytest.approx(expected.cdf(at), abs=0.03)


@pytest.mark.one_in(10)
@every_family
def test_the_estimate_is_the_weighted_maximum_likelihood(name):
    X, y, weights = data(name)
    X = X[:, :1]  # as SciPy takes a while for each
    smoothing = bg.Smoothing(estimation="ml", var_smoothing=0.0)
    clf = bg.NaiveBayesClassifier(name, smoothing=smoothing)
    clf.fit(X, y, sample_weight=weights)
    compared = 0
    cpd = clf.network_["x0"]
    assert isinstance(cpd, DensityCPD)
    bounds = np.array(list(cpd.parameters.values()))
    for k, label in enumerate(clf.classes_):
        rows = (y == label) & ~np.isnan(X[:, 0])
        x, w = X[rows, 0], weights[rows] / weights[rows].sum()
        found = np.array([getattr(cpd, key)[k, 0] for key in cpd.parameters])
        start = np.where(bounds == 0, np.log(np.abs(found)), found)
        if np.abs(start).max() > 4:
            continue  # so far out the likelihood is flat, and rounding errors of SciPy decide
        compared += 1

        def loss(free, x=x, w=w, keys=tuple(cpd.parameters), positive=bounds == 0):
            values = np.where(positive, np.exp(free), free)
            return -w @ frozen(name, **dict(zip(keys, values, strict=True)))[1](x)

        away = start + np.random.default_rng(k).uniform(-0.2, 0.2, len(start))
        options = {"xatol": 1e-8, "fatol": 1e-15, "maxiter": 5000, "maxfev": 5000}
        best = optimize.minimize(loss, away, method="Nelder-Mead", options=options)
        assert loss(start) <= best.fun + 1e-13
        np.testing.assert_allclose(start, best.x, rtol=1e-6, atol=1e-6)
    assert compared


@pytest.mark.one_in(4)
@every_family
def test_batches_make_the_estimate_of_all_rows(name):
    X, y, weights = data(name)
    whole = bg.NaiveBayesClassifier(name).fit(X, y, sample_weight=weights)
    parts = bg.NaiveBayesClassifier(name)
    for rows in np.array_split(np.arange(len(y)), 5):
        parts.partial_fit(X[rows], y[rows], classes=np.unique(y), sample_weight=weights[rows])
    kept = slice(0, 150)
    parts.forget(X[150:], y[150:], weights[150:])
    again = bg.NaiveBayesClassifier(name).fit(X[kept], y[kept], sample_weight=weights[kept])
    parts.partial_fit(X[150:], y[150:], sample_weight=weights[150:])
    proba = whole.predict_proba(X)
    np.testing.assert_allclose(parts.predict_proba(X), proba, atol=1e-9)
    parts.forget(X[150:], y[150:], weights[150:])
    np.testing.assert_allclose(parts.predict_proba(X), again.predict_proba(X), atol=1e-9)


@pytest.mark.one_in(4)
@every_family
def test_few_rows_constant_columns_and_classes_without_values(name):
    X, y, _ = data(name)
    X, y = X.copy(), y.copy()
    X[:, 1] = 0.5 if cases.DENSITIES[name][0] == "shares" else 2.0  # the same in all rows
    X[y == "setosa", 2] = np.nan  # nothing known of a class
    X[:, 3] = np.nan  # nothing known at all
    X[y == "virginica", 0] = X[np.flatnonzero(y == "virginica")[0], 0]  # one value in a class
    clf = bg.NaiveBayesClassifier(name).fit(X, y)
    assert np.isfinite(clf.predict_log_proba(X)).all()
    prior = clf.predict_proba(np.full((1, 4), np.nan))
    unknown = np.full((1, 4), np.nan)
    unknown[0, 1] = X[0, 1]
    np.testing.assert_allclose(clf.predict_proba(unknown), prior, atol=1e-12)
    pooled = clf.network_["x2"]
    assert all(np.isfinite(getattr(pooled, key)).all() for key in pooled.parameters)
    one = bg.NaiveBayesClassifier(name).fit(X[:3], y[:3])
    assert np.isfinite(one.predict_log_proba(X[:3])).all()


@every_family
def test_values_outside_the_support(name):
    X, y, _ = data(name)
    clf = bg.NaiveBayesClassifier(name).fit(X, y)
    family = FAMILIES[name]
    outside = {"positive": [-1.0], "shares": [-1.0, 2.0], "counts": [-1.0]}
    for value in outside.get(cases.DENSITIES[name][0], []):
        wrong = np.array([[value, np.nan, np.nan, np.nan]])
        with pytest.raises(DataError):
            bg.NaiveBayesClassifier(name).fit(np.vstack([X, wrong]), [*y, y[0]])
        if family.variable is bg.Continuous:
            cpd = clf.network_["x0"]
            assert (logs(cpd, wrong.T[:1]) == -np.inf).all()
        else:
            with pytest.raises(DataError):
                clf.predict_proba(wrong)


@pytest.mark.one_in(4)
@every_family
def test_files_and_pictures(name, tmp_path):
    X, y, _ = data(name)
    clf = bg.NaiveBayesClassifier(name).fit(X, y)
    clf.save(tmp_path / "model.bayesgraph")
    loaded = bg.load(tmp_path / "model.bayesgraph")
    np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    assert loaded.partial_fit(X, y).network_ == clf.partial_fit(X, y).network_
    cpd = clf.network_["x0"]
    assert cpd.describe(8, 8).header[1] in bg.pictures.to_dot(clf, tables=True)


@pytest.mark.one_in(6)
@every_family
def test_the_command_line_takes_it(name, tmp_path):
    X, y, _ = data(name)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=y)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    model = str(tmp_path / "model.bayesgraph")
    asked = ["--model", "nb", "--distribution", f"a={name}", "--target", "label", "-o", model]
    for arguments in (
        ["fit", str(tmp_path / "rows.csv"), *asked],
        ["show", model],
        ["render", model, "-o", str(tmp_path / "model.dot")],
    ):
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, done.output
    stored = set(FAMILIES[name].stored.values())
    assert type(bg.load(model).network_["a"]) in stored


def test_one_outlier_does_not_move_the_scales_of_student():
    random = np.random.default_rng(0)
    y = np.arange(400) % 2
    x = y + 0.1 * random.normal(size=400)
    x[0] = 1e6
    proba = bg.NaiveBayesClassifier("student").fit(x[:, None], y).predict_proba(x[:, None])
    assert proba[np.arange(400), y].mean() > 0.99


@pytest.mark.parametrize("name", ["gaussian", "gamma", "beta", "student"])
def test_a_column_that_is_constant_in_a_class_takes_smoothing(name):
    X, y = np.linspace(0.1, 0.9, 20)[:, None], np.repeat([0, 1], 10)
    X[y == 1] = 0.5
    none = bg.Smoothing(alpha=0.0, shrinkage=0.0, var_smoothing=0.0)
    with pytest.raises(DataError, match=r"Column 'x0' is constant in some class.* positive value"):
        bg.NaiveBayesClassifier(name, smoothing=none).fit(X, y)
    assert np.isfinite(bg.NaiveBayesClassifier(name).fit(X, y).predict_log_proba(X)).all()


@pytest.mark.parametrize(("name", "centre", "width"), [("gamma", 1e12, 1.0), ("beta", 1.0, -1e-15)])
def test_a_column_that_varies_too_little_for_its_size(name, centre, width):
    x = centre + width * np.random.default_rng(0).uniform(0.2, 1.0, size=(40, 1))
    with pytest.raises(DataError, match=r"varies too little, relative to its size.*subtract"):
        bg.NaiveBayesClassifier(name).fit(x, np.arange(40) % 2)


@pytest.mark.parametrize("far", [488580899.0858509, -488580899.0858509])
def test_the_nearest_point_of_a_kernel_density_counts_at_any_distance(far):
    y, x = bg.Discrete("y", ["p", "q"]), bg.Continuous("x")
    points = np.array([1.0, 6.0]) if far > 0 else np.array([-6.0, -1.0])
    widths = [0.1, 0.3] if far > 0 else [0.3, 0.1]
    cpd = bg.models.KernelDensityCPD(x, points, [1, 1], [1, 1], widths, [y])
    net = bg.BayesianNetwork([bg.TableCPD(y, [0.5, 0.5]), cpd])
    wide = y.states[int(np.argmax(widths))]
    assert net.query_rows("y", {"x": [far]})[0, y.index(wide)] == 1.0
    assert np.isfinite(net.log_probability({"x": far}))


def test_cards_say_what_the_documentation_repeats():
    for name, family in FAMILIES.items():
        assert family.name == name
        assert f'"{name}": {family.summary.split()[0]}' in bg.NaiveBayesClassifier.__doc__
    shown = CliRunner().invoke(app, ["fit", "--help"], env={"COLUMNS": "300"}).output
    assert ", ".join(FAMILIES) in " ".join(shown.replace("│", " ").split())
