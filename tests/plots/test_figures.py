"""Confusion matrices and ROC curves: the numbers equal scikit-learn's, the files are stable."""

import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from bayesgraph.errors import DataError, FileFormatError, MissingDependencyError
from bayesgraph.plots import (
    confusion_matrix_figure,
    evaluation_figure,
    macro_average,
    one_against_rest,
    roc_curve,
    roc_figure,
    save_figure,
)

MAGIC = {".svg": b"<?xml", ".png": b"\x89PNG\r\n\x1a\n", ".pdf": b"%PDF-"}


def made_up(n_classes, n=400, *, seed=0, decimals=None):
    random = np.random.default_rng(seed)
    classes = np.array([f"class {i}" for i in range(n_classes)])
    codes = random.integers(0, n_classes, n)
    logits = random.normal(size=(n, n_classes))
    logits[np.arange(n), codes] += 1.5
    proba = np.exp(logits)
    proba /= proba.sum(axis=1, keepdims=True)
    if decimals is not None:
        proba = proba.round(decimals)  # makes ties
    return classes[codes], classes[proba.argmax(axis=1)], proba, classes


def evaluated(name, y_true, y_pred, proba, classes):
    return SimpleNamespace(name=name, y_true=y_true, y_pred=y_pred, proba=proba, classes=classes)


def texts_of(axes):
    return [text.get_text() for text in axes.texts]


class TestRoc:
    @given(
        st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=2, max_size=60).filter(
            lambda rows: len({positive for positive, _ in rows}) == 2
        )
    )
    def test_equals_scikit_learn_with_ties(self, rows):
        positive, scores = zip(*rows, strict=True)
        curve = roc_curve(positive, scores)
        assert curve.area == pytest.approx(metrics.roc_auc_score(positive, scores), abs=1e-12)
        false, true, _ = metrics.roc_curve(positive, scores, drop_intermediate=False)
        np.testing.assert_allclose(curve.false_positive_rate, false, atol=1e-15)
        np.testing.assert_allclose(curve.true_positive_rate, true, atol=1e-15)

    def test_infinite_scores_are_scores(self):
        assert roc_curve([True, False, True], [np.inf, -np.inf, 0.0]).area == 1.0

    @pytest.mark.parametrize("decimals", [None, 1])
    def test_one_against_rest_equals_scikit_learn(self, decimals):
        y, _, proba, classes = made_up(5, decimals=decimals)
        for name, curve, scores in zip(
            classes, one_against_rest(y, proba, classes), proba.T, strict=True
        ):
            assert curve.area == pytest.approx(metrics.roc_auc_score(y == name, scores), abs=1e-12)

    def test_the_macro_average_equals_scikit_learn(self):
        y, _, proba, classes = made_up(5)
        curve = macro_average(one_against_rest(y, proba, classes))
        expected = metrics.roc_auc_score(y, proba, multi_class="ovr", average="macro")
        assert curve.area == pytest.approx(expected, abs=1e-12)

    @pytest.mark.parametrize("decimals", [None, 1])
    def test_the_average_curve_has_the_average_area(self, decimals):
        y, _, proba, classes = made_up(6, decimals=decimals)
        curve = macro_average(one_against_rest(y, proba, classes))
        area = np.trapezoid(curve.true_positive_rate, curve.false_positive_rate)
        assert area == pytest.approx(curve.area, abs=1e-12)
        assert (np.diff(curve.true_positive_rate) >= -1e-15).all()
        assert (np.diff(curve.false_positive_rate) >= 0).all()

    def test_long_curves_are_thinned(self):
        y, _, proba, classes = made_up(3, n=30_000)
        curve = macro_average(one_against_rest(y, proba, classes))
        assert len(curve.true_positive_rate) == 8000
        assert np.trapezoid(curve.true_positive_rate, curve.false_positive_rate) == pytest.approx(
            curve.area, abs=1e-4
        )

    def test_a_class_that_no_row_has(self):
        curves = one_against_rest([0, 1, 0], np.full((3, 3), 1 / 3), [0, 1, 2])
        assert [curve is None for curve in curves] == [False, False, True]

    @pytest.mark.parametrize(
        ("positive", "scores", "message"),
        [
            ([True, True], [0.1, 0.2], "2 and 0"),
            ([True, False], [0.1, np.nan], "NaN"),
            ([True, False], [0.1], "shapes"),
        ],
    )
    def test_bad_input(self, positive, scores, message):
        with pytest.raises(DataError, match=message):
            roc_curve(positive, scores)

    def test_wrong_shape(self):
        with pytest.raises(DataError, match=r"3 labels.*2 classes.*\(3, 3\)"):
            one_against_rest([0, 1, 0], np.ones((3, 3)), [0, 1])


class TestConfusionMatrix:
    @pytest.mark.parametrize("n_classes", [2, 10, 26])
    def test_every_count_is_written(self, n_classes):
        y, predicted, _, classes = made_up(n_classes)
        axes = confusion_matrix_figure(y, predicted, classes).axes[0]
        expected = metrics.confusion_matrix(y, predicted, labels=classes)
        written = sorted(int(text.replace(",", "")) for text in texts_of(axes) if text.isdigit())
        assert written == sorted(expected[expected > 0].tolist())

    def test_shares_of_rows_and_accuracy(self):
        figure = confusion_matrix_figure(list("aaab"), list("aabb"), ["a", "b"], title="Model")
        texts = texts_of(figure.axes[0])
        assert texts.count("66.7%") == texts.count("33.3%") == texts.count("100%") == 1
        assert "accuracy 75.0% (3 of 4)" in texts
        assert figure.axes[0].get_title(loc="left") == "Model"

    @pytest.mark.parametrize(
        "labels",
        [[True, False], [1, 2], [1.5, 2.5], ["a", "b"], [("t", 1), None], ["1", 1]],
    )
    def test_labels_of_any_type(self, labels):
        column = np.empty(3, dtype=object)
        column[:] = [labels[0], labels[1], labels[0]]
        axes = confusion_matrix_figure(column, column, labels).axes[0]
        assert {"2", "1"} <= set(texts_of(axes))
        assert len({tick.get_text() for tick in axes.get_xticklabels()}) == 2

    def test_dollars_are_not_formulas(self, tmp_path):
        labels = ["$x", "y$", "$_{$"]
        figure = confusion_matrix_figure(labels, labels, labels, title="$a$ $")
        save_figure(figure, tmp_path / "a.png")
        save_figure(roc_figure(labels, np.eye(3), labels, title="$"), tmp_path / "b.png")

    def test_a_class_without_rows(self):
        axes = confusion_matrix_figure(["a"], ["a"], ["a", "b"]).axes[0]
        assert texts_of(axes)[:2] == ["1", "100%"]

    @pytest.mark.parametrize(
        ("y_true", "y_pred", "labels", "message"),
        [
            (["a", "b"], ["a"], ["a", "b"], "2 and 1"),
            (["a", "c"], ["a", "a"], ["a", "b"], "'c'"),
            ([], [], ["a"], "at least one row"),
            ([1.0, np.nan], [1.0, 1.0], [1.0], "nan"),
            (["a"], ["a"], ["a", "a"], "once"),
            ([["a"]], ["a"], ["a"], r"\(1, 1\)"),
        ],
    )
    def test_bad_input(self, y_true, y_pred, labels, message):
        with pytest.raises(DataError, match=message):
            confusion_matrix_figure(y_true, y_pred, labels)


class TestRocFigure:
    def entries(self, figure):
        return [text.get_text() for text in figure.axes[0].get_legend().get_texts()]

    def test_two_classes_make_one_curve(self):
        y, _, proba, classes = made_up(2)
        area = metrics.roc_auc_score(y == classes[1], proba[:, 1])
        assert self.entries(roc_figure(y, proba, classes)) == [f"{area:.3f}  {classes[1]}"]

    def test_more_classes_and_their_average(self):
        y, _, proba, classes = made_up(10)
        entries = self.entries(roc_figure(y, proba, classes))
        assert len(entries) == 11
        expected = metrics.roc_auc_score(y, proba, multi_class="ovr")
        assert entries[0] == f"{expected:.3f}  macro average"

    def test_classes_are_told_apart_by_colour_and_dashes(self):
        y, _, proba, classes = made_up(26)
        handles = roc_figure(y, proba, classes).axes[0].get_legend().legend_handles
        looks = {
            (line.get_color(), line.get_linestyle(), str(line._dash_pattern)) for line in handles
        }
        assert len(looks) == 27

    def test_an_absent_class_is_listed(self):
        figure = roc_figure([0, 1, 0, 1], np.full((4, 3), 1 / 3), [0, 1, "absent"])
        assert self.entries(figure)[-1].strip() == "—    absent"

    @pytest.mark.parametrize("n_classes", [1, 2])
    def test_one_class_only(self, n_classes, tmp_path):
        classes = list(range(n_classes))
        figure = roc_figure([0, 0], np.full((2, n_classes), 1 / n_classes), classes)
        save_figure(figure, tmp_path / "one.png")
        assert len(self.entries(figure)) == n_classes

    def test_steep_curves_are_magnified(self):
        y, _, _, classes = made_up(3)
        perfect = (y[:, None] == classes).astype(float)
        assert len(roc_figure(y, perfect, classes).axes[0].child_axes) == 1
        assert not roc_figure(y, np.full((len(y), 3), 0.3), classes).axes[0].child_axes


def test_one_row_for_each_model(tmp_path):
    results = []
    for seed, name in enumerate(["Naive Bayes", "TAN", "forest"]):
        y, predicted, proba, classes = made_up(4, seed=seed)
        results.append(evaluated(name, y, predicted, proba, classes))
    figure = evaluation_figure(results)
    assert len(figure.axes) == 9
    titles = [axes.get_title(loc="left") for axes in figure.axes[::3]]
    assert titles == ["Naive Bayes", "TAN", "forest"]
    save_figure(figure, tmp_path / "all.png")
    with pytest.raises(DataError, match="at least one"):
        evaluation_figure([])


@pytest.mark.parametrize("suffix", MAGIC)
def test_saved_twice_the_same(suffix, tmp_path):
    y, predicted, proba, classes = made_up(3)
    contents = set()
    for i in range(2):
        figure = evaluation_figure([evaluated("model", y, predicted, proba, classes)])
        save_figure(figure, tmp_path / f"{i}{suffix}")
        contents.add((tmp_path / f"{i}{suffix}").read_bytes())
    (content,) = contents
    assert content.startswith(MAGIC[suffix])
    assert len(list(tmp_path.iterdir())) == 2


def test_unknown_suffix(tmp_path):
    figure = confusion_matrix_figure(["a"], ["a"], ["a"])
    with pytest.raises(FileFormatError, match=r"'\.svg', '\.png', '\.pdf'"):
        save_figure(figure, tmp_path / "figure.gif")


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.style", None)
    with pytest.raises(MissingDependencyError, match=r"bayesgraph\[plot\]"):
        confusion_matrix_figure(["a"], ["a"], ["a"])


def test_no_display_and_no_pyplot(tmp_path):
    script = (
        "import sys\n"
        "from bayesgraph.plots import confusion_matrix_figure, save_figure\n"
        "assert 'matplotlib' not in sys.modules\n"
        "save_figure(confusion_matrix_figure(['a'], ['a'], ['a', 'b']), sys.argv[1])\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    environment = {key: value for key, value in os.environ.items() if key != "DISPLAY"}
    environment["MPLBACKEND"] = "tkagg"
    command = [sys.executable, "-W", "error", "-c", script, str(tmp_path / "figure.png")]
    subprocess.run(command, check=True, env=environment, timeout=120)


def test_the_users_settings_stay_out_and_unchanged(tmp_path):
    import matplotlib

    contents = []
    for size in (9, 30):
        with matplotlib.rc_context({"font.size": size, "axes.grid": True}):
            figure = confusion_matrix_figure(["a"], ["a"], ["a"])
            save_figure(figure, tmp_path / f"{size}.png")
            assert matplotlib.rcParams["font.size"] == size
        contents.append((tmp_path / f"{size}.png").read_bytes())
    assert contents[0] == contents[1]
