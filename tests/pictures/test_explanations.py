"""Pictures of explanations: what they say equals the numbers, the files are stable."""

import math
import os
import subprocess
import sys

import cases
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import bayesgraph as bg
from bayesgraph.core.errors import (
    DataError,
    MissingDependencyError,
    UnknownStateError,
    UnknownVariableError,
    UnsupportedModelError,
)
from bayesgraph.pictures import nomogram_figure, plot_decision_boundary, save_figure


def fitted(estimator, kind="mixed", **parameters):
    data = cases.make_data(kind)
    y = pd.Series(np.where(data.y == "setosa", "yes", "no"), name="ill")
    return estimator(**parameters).fit(data.pandas(), y)


def row(kind="mixed", i=0):
    return {name: column[i] for name, column in cases.make_data(kind).columns.items()}


def texts_of(axes):
    return [text.get_text() for text in axes.texts]


def row_labels(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


def numbers(axes, part=slice(None)):
    found = [t.get_text().replace("−", "-") for t in axes.texts if t.get_text()[:1] in "+−"]
    return [float(text) for text in found][part]


class TestWaterfall:
    def test_bars_lead_from_the_prior_to_the_total(self):
        found = fitted(bg.NaiveBayesClassifier).contributions(evidence=row())
        axes = bg.plot(found).axes[0]
        ordered = found.sorted_terms()
        values = [found.prior, *(term.log_odds for term in ordered), found.total]
        assert numbers(axes) == pytest.approx(values, abs=0.0051)
        labels = row_labels(axes)
        assert labels[0] == "prior"
        assert labels[-1] == "total"
        assert [label.split(" = ")[0] for label in labels[1:-1]] == [t.name for t in ordered]
        bars = axes.patches
        ends = np.cumsum(values[:-1])
        drawn = [(b.get_x(), b.get_x() + b.get_width()) for b in bars[:-1]]
        np.testing.assert_allclose([b for _, b in drawn], ends, atol=1e-12)
        np.testing.assert_allclose([a for a, _ in drawn], [0, *ends[:-1]], atol=1e-12)
        assert bars[-1].get_width() == pytest.approx(found.total)
        assert axes.get_title(loc="left") == "Evidence for ill = yes"

    def test_arcs_are_bars_of_their_own(self):
        found = fitted(bg.TANClassifier, "continuous").contributions(evidence=row("continuous"))
        axes = bg.plot(found, arcs=True, title="Arcs").axes[0]
        expected = [found.prior]
        for term in found.sorted_terms():
            expected += [term.alone, *term.arcs.values()]
        assert numbers(axes) == pytest.approx([*expected, found.total], abs=0.0051)
        assert sum(label.startswith("given ") for label in row_labels(axes)) == 3
        assert axes.get_title(loc="left") == "Arcs"

    def test_a_long_tail_is_one_bar(self):
        X = np.random.default_rng(0).normal(size=(40, 30))
        clf = bg.NaiveBayesClassifier().fit(X, np.arange(40) % 2)
        found = clf.contributions(evidence=X[0])
        axes = bg.plot(found, max_findings=5).axes[0]
        assert row_labels(axes)[-2:] == ["25 more", "total"]
        rest = sum(term.log_odds for term in found.sorted_terms()[5:])
        assert numbers(axes)[-2] == pytest.approx(rest, abs=0.0051)
        # One more than is allowed is shown rather than called one more.
        few = clf.contributions(evidence=np.where(np.arange(30) < 6, X[0], np.nan))
        assert len(row_labels(bg.plot(few, max_findings=5).axes[0])) == 8
        with pytest.raises(DataError, match="1 or more"):
            bg.plot(found, max_findings=0)

    def test_infinite_terms_are_arrows_after_the_others(self):
        X = pd.DataFrame({"u": ["p", "p", "q", "q"], "v": ["k", "l", "l", "l"]})
        clf = bg.NaiveBayesClassifier(smoothing=0.0).fit(X, ["a", "a", "b", "b"])
        axes = bg.plot(clf.contributions(evidence={"u": "q", "v": "l"})).axes[0]
        assert row_labels(axes) == ["prior", "v = l", "u = q", "total"]
        assert [t for t in texts_of(axes) if "∞" in t][:2] == [" +∞ ", " +∞ "]
        assert all(math.isfinite(edge) for edge in axes.get_xlim())

    def test_nothing_observed_and_equal_classes(self):
        clf = bg.NaiveBayesClassifier().fit([[1.0], [2.0], [1.5], [2.5]], [0, 0, 1, 1])
        axes = bg.plot(clf.contributions(evidence={})).axes[0]
        assert row_labels(axes) == ["prior", "total"]

    def test_names_are_text(self):
        X = pd.DataFrame({"$x_1$": [1.0, 2.0, 3.0, 4.0], "a long " * 9: ["$u$", "$u$", "v", "v"]})
        clf = bg.NaiveBayesClassifier().fit(X, ["$a", "$a", "b$", "b$"])
        figure = bg.plot(clf.contributions(evidence={"$x_1$": 2.5, "a long " * 9: "v"}))
        figure.canvas.draw()
        assert "$x_1$ = 2.5" in row_labels(figure.axes[0])


class TestNomogram:
    def test_points_add_up_to_the_probability(self):
        clf = fitted(bg.NaiveBayesClassifier, "discrete")
        axes = nomogram_figure(clf).axes[0]
        rows = {name: i for i, name in enumerate(row_labels(axes))}
        assert next(iter(rows)) == "points"
        assert list(rows)[-2:] == ["total points", "P(yes)"]

        def place(label, name):
            texts = [t for t in axes.texts if t.get_text() == label]
            (found,) = [t for t in texts if abs(t.get_position()[1] - rows[name]) < 0.5]
            return found.get_position()[0]

        asked = {"a": "high", "b": False, "c": "y", "d": "q"}
        points = sum(place(str(value), name) for name, value in asked.items())
        # Two labels of the total ruler tell its scale, two of the probability ruler theirs.
        at_total = [t for t in axes.texts if abs(t.get_position()[1] - rows["total points"]) < 0.5]
        (x0, t0), (x1, t1) = (
            (t.get_position()[0], float(t.get_text())) for t in (at_total[0], at_total[-1])
        )
        x = x0 + (points - t0) * (x1 - x0) / (t1 - t0)
        low, high = place("10%", "P(yes)"), place("50%", "P(yes)")
        log_odds = math.log(1 / 9) * (1 - (x - low) / (high - low))
        assert log_odds == pytest.approx(clf.contributions(evidence=asked).total, abs=1e-9)

    def test_largest_span_has_a_hundred_points(self):
        axes = nomogram_figure(fitted(bg.NaiveBayesClassifier, "continuous")).axes[0]
        ends = [max(line.get_xdata()) for line in axes.lines]
        starts = [min(line.get_xdata()) for line in axes.lines]
        assert max(ends) == pytest.approx(100)
        assert min(starts) >= -1e-9

    def test_branches_of_a_quadratic(self):
        random = np.random.default_rng(0)
        X = np.concatenate([random.normal(0, 1, 200), random.normal(0, 3, 200)])[:, None]
        clf = bg.NaiveBayesClassifier(smoothing=bg.Smoothing(shrinkage=0.0)).fit(
            X, np.repeat(["narrow", "wide"], 200)
        )
        axes = nomogram_figure(clf).axes[0]
        above = [t for t in axes.texts if 0.5 < t.get_position()[1] < 1]
        below = [t for t in axes.texts if 1 < t.get_position()[1] < 1.5]
        signs = {t.get_text()[0] == "−" for t in above if t.get_text()}
        # The log odds of the wide class rise to the right of zero and fall to its left.
        assert signs == {False}
        assert all(t.get_text()[0] in "−0" for t in below if t.get_text())
        linear = bg.NaiveBayesClassifier(smoothing=bg.Smoothing(shrinkage=1e12)).fit(
            X, np.repeat(["narrow", "wide"], 200)
        )
        nomogram_figure(linear)

    def test_features_are_left_out(self):
        axes = nomogram_figure(fitted(bg.NaiveBayesClassifier), max_features=2, title="Two").axes[0]
        assert len(row_labels(axes)) == 5
        assert any("2 more features not drawn" in text for text in texts_of(axes))
        assert axes.get_title(loc="left") == "Two"

    def test_what_has_no_nomogram(self):
        with pytest.raises(UnsupportedModelError, match="depend on another"):
            nomogram_figure(fitted(bg.TANClassifier))
        averages = (bg.AODEClassifier, lambda: bg.BayesianNetworkClassifier(n_trees=5))
        for average in (*averages, bg.WeightedNaiveBayesClassifier):
            with pytest.raises(UnsupportedModelError, match=r"contributions instead; .*n_trees=0"):
                nomogram_figure(fitted(average))
        data = cases.make_data("mixed")
        three = bg.NaiveBayesClassifier().fit(data.pandas(), data.y)
        with pytest.raises(DataError, match="negative="):
            nomogram_figure(three, positive="setosa")
        nomogram_figure(three, positive="setosa", negative="virginica")
        X = pd.DataFrame({"u": ["p", "p", "q", "q"]})
        certain = bg.NaiveBayesClassifier(smoothing=0.0).fit(X, ["a", "a", "b", "b"])
        with pytest.raises(DataError, match="'u' = 'p' is impossible"):
            nomogram_figure(certain)
        with pytest.raises(DataError, match="1 or more"):
            nomogram_figure(fitted(bg.NaiveBayesClassifier), max_features=0)


class TestBoundaries:
    def setup_method(self):
        self.data = cases.make_data("mixed")
        self.X = self.data.pandas()
        self.clf = bg.TANClassifier().fit(self.X, pd.Series(self.data.y, name="species"))

    def test_the_ground_is_the_most_probable_class(self):
        axes = plot_decision_boundary(
            self.clf, self.X, self.data.y, ("c", "d"), evidence={"a": "low", "b": None}, title="T"
        )
        (image,) = axes.images
        ground = np.asarray(image.get_array())
        left, right, bottom, top = image.get_extent()
        n = len(ground)
        x, y = np.linspace(left, right, n)[[5, 80, 150]], np.linspace(bottom, top, n)[[9, 70, 99]]
        asked = pd.DataFrame({"a": ["low"] * 3, "b": [None] * 3, "c": x, "d": y})
        proba = self.clf.predict_proba(asked)
        colours = {0: 2, 1: 0, 2: 1}  # blue, orange and green: the strongest channel
        for i, (u, v) in enumerate(zip([9, 70, 99], [5, 80, 150], strict=True)):
            assert ground[u, v].argmax() == colours[int(proba[i].argmax())]
        assert axes.get_title(loc="left") == "T"
        assert "a = low" in " ".join(texts_of(axes))
        assert [t.get_text() for t in axes.get_legend().get_texts()] == list(self.clf.classes_)
        assert axes.get_legend().get_title().get_text() == "species"
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("c", "d")

    def test_rows_are_points_of_their_class(self):
        X = self.data.with_missing().pandas()
        axes = plot_decision_boundary(self.clf, X, self.data.y, ("c", "d"))
        drawn = [c.get_offsets() for c in axes.collections if len(c.get_offsets()) > 1]
        complete = X[["c", "d"]].notna().all(axis=1).to_numpy()
        for name, points in zip(self.clf.classes_, drawn, strict=True):
            expected = X.loc[complete & (self.data.y == name), ["c", "d"]].to_numpy()
            np.testing.assert_allclose(points, expected)

    def test_dollars_are_not_formulas_in_axes_of_the_user(self, tmp_path):
        X = {"${}_{{$": self.X["c"], "$^{$": self.X["d"]}
        labels = [f"$_{{{name}$" for name in self.data.y]
        clf = bg.NaiveBayesClassifier().fit(X, labels)
        figure = Figure()
        plot_decision_boundary(clf, X, labels, list(X), figure.subplots(), title="$_{$")
        figure.savefig(tmp_path / "a.svg")

    def test_other_axes_and_arrays(self):
        clf = bg.NaiveBayesClassifier().fit(cases.make_data("continuous").matrix(), self.data.y)
        matrix = cases.make_data("continuous").matrix()
        axes = plot_decision_boundary(clf, matrix, self.data.y, ("x0", "x3"), evidence={"x1": 0.5})
        again = plot_decision_boundary(clf, matrix, self.data.y, ("x0", "x3"), axes)
        assert again is axes

    @pytest.mark.parametrize(
        ("features", "given", "kind", "message"),
        [
            (("c", "e"), None, UnknownVariableError, "'e'"),
            (("c", "a"), None, DataError, "'a' is discrete"),
            (("c", "c"), None, DataError, "two features"),
            ("cd", None, DataError, "two features"),
            (("c", "d"), {"c": 1.0}, DataError, "'c' is drawn"),
            (("c", "d"), {"x": 1.0}, UnknownVariableError, "'x'"),
        ],
    )
    def test_what_is_refused(self, features, given, kind, message):
        with pytest.raises(kind, match=message):
            plot_decision_boundary(self.clf, self.X, self.data.y, features, evidence=given)

    def test_rows_that_do_not_fit(self):
        with pytest.raises(DataError, match="one label for each row"):
            plot_decision_boundary(self.clf, self.X, self.data.y[:5], ("c", "d"))
        nothing = self.X.assign(c=np.nan)
        with pytest.raises(DataError, match="nothing to draw"):
            plot_decision_boundary(self.clf, nothing, self.data.y, ("c", "d"))
        strict = bg.TANClassifier(unseen="error").fit(self.X, self.data.y)
        with pytest.raises(UnknownStateError, match="nowhere"):
            plot_decision_boundary(
                strict, self.X, self.data.y, ("c", "d"), evidence={"a": "nowhere"}
            )


@pytest.mark.slow
def test_the_same_picture_is_the_same_file(tmp_path):
    clf = fitted(bg.NaiveBayesClassifier)
    for i in range(2):
        save_figure(bg.plot(clf.contributions(evidence=row()), arcs=True), tmp_path / f"w{i}.svg")
        save_figure(nomogram_figure(clf), tmp_path / f"n{i}.svg")
    for name in "wn":
        one, two = ((tmp_path / f"{name}{i}.svg").read_bytes() for i in range(2))
        assert one == two


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.style", None)
    with pytest.raises(MissingDependencyError, match=r"bayesgraph\[plot\]"):
        bg.plot(fitted(bg.NaiveBayesClassifier).contributions(evidence=row()))


def test_pictures_need_no_scikit_learn():
    code = "import sys, bayesgraph.pictures; print('sklearn' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout.strip() == "False"
