"""Figures of evaluations: a row of panels for each model; files are stable."""

import os
import pickle
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
import scipy
from sklearn import metrics

import bayesgraph as bg
from bayesgraph.classifiers import Evaluation
from bayesgraph.core.errors import DataError, FileFormatError, MissingDependencyError
from bayesgraph.pictures import evaluation_figure, ranking_figure, save_figure

MAGIC = {".svg": b"<?xml", ".png": b"\x89PNG\r\n\x1a\n", ".pdf": b"%PDF-"}


def made_up(n_classes, name="model", *, names="class {}", n=400, seed=0):
    random = np.random.default_rng(seed)
    classes = np.array([names.format(i) for i in range(n_classes)])
    codes = random.integers(0, n_classes, n)
    logits = random.normal(size=(n, n_classes))
    logits[np.arange(n), codes] += 1.5
    proba = np.exp(logits)
    proba /= proba.sum(axis=1, keepdims=True)
    y_true, y_pred = classes[codes], classes[proba.argmax(axis=1)]
    fold_accuracy = np.array([np.mean(y_true == y_pred)])
    return Evaluation(
        name,
        classes,
        y_true,
        y_pred,
        proba,
        fold_accuracy,
        np.zeros(len(y_true), int),
        0.1,
        0.1,
        None,
    )


def entries(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_one_row_for_each_model():
    figure = evaluation_figure([made_up(4, name) for name in ("Naive Bayes", "TAN", "forest")])
    assert len(figure.axes) == 9
    titles = [axes.get_title(loc="left") for axes in figure.axes[::3]]
    assert titles == ["Naive Bayes", "TAN", "forest"]
    with pytest.raises(DataError, match="at least one"):
        evaluation_figure([])


def test_one_panel_has_the_roc_curves_of_all_models():
    results = [made_up(2, f"model {seed} $", seed=seed) for seed in range(9)]
    (axes,) = ranking_figure(results, title="Which ranks best?").axes
    chance, *curves = axes.lines
    assert chance.get_xydata().tolist() == [[0.0, 0.0], [1.0, 1.0]]
    for result, curve, entry in zip(results, curves, entries(axes), strict=True):
        false, true, _ = metrics.roc_curve(result.y_true == "class 1", result.proba[:, 1])
        np.testing.assert_allclose(curve.get_xydata(), np.column_stack([false, true]))
        area = metrics.roc_auc_score(result.y_true == "class 1", result.proba[:, 1])
        assert entry == f"{result.name} ({area:.3f})"
    looks = {(curve.get_color(), curve.get_linestyle()) for curve in curves}
    assert len(looks) == len(results)
    assert axes.get_title(loc="left") == "Which ranks best?"


def test_precision_recall_curves_are_scikit_learns():
    results = [made_up(3, f"model {seed}", seed=seed) for seed in range(2)]
    (axes,) = ranking_figure(results, curve="precision_recall", positive="class 2").axes
    chance, *curves = axes.lines
    truth = [result.y_true == "class 2" for result in results]
    np.testing.assert_allclose(chance.get_ydata(), truth[0].mean())
    for result, true, curve, entry in zip(results, truth, curves, entries(axes), strict=True):
        precision, recall, _ = metrics.precision_recall_curve(true, result.proba[:, 2])
        np.testing.assert_allclose(curve.get_xydata(), np.column_stack([recall, precision]))
        area = metrics.average_precision_score(true, result.proba[:, 2])
        assert entry == f"{result.name} ({area:.3f})"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("recall", "precision")
    panel = bg.plot(results[0], curve="precision_recall").axes[1]
    assert panel.get_title(loc="left") == "Precision-recall curves"
    areas = [
        metrics.average_precision_score(results[0].y_true == f"class {k}", results[0].proba[:, k])
        for k in range(3)
    ]
    assert entries(panel) == [f"class {k} (AP = {area:.2f})" for k, area in enumerate(areas)]
    for draw in (ranking_figure, bg.plot):
        with pytest.raises(DataError, match="curve= is one of 'roc', 'precision_recall'"):
            draw(made_up(2), curve="lift")


def test_the_positive_class_of_roc_curves():
    result = made_up(3)
    (axes,) = ranking_figure([result], positive="class 0").axes
    area = metrics.roc_auc_score(result.y_true == "class 0", result.proba[:, 0])
    assert entries(axes) == [f"model ({area:.3f})"]
    with pytest.raises(DataError, match="positive= says which of 'class 0', 'class 1'"):
        ranking_figure([result])
    with pytest.raises(DataError, match="positive="):
        ranking_figure([result], positive="class 7")
    with pytest.raises(DataError, match="at least one"):
        ranking_figure([])
    alone = made_up(2)
    alone.y_true[:] = "class 1"
    with pytest.raises(DataError, match="All of the rows of model are 'class 1'"):
        ranking_figure([alone])
    with pytest.raises(DataError, match="None of the rows of model are 'class 0'"):
        ranking_figure([alone], positive="class 0")


@pytest.mark.parametrize("n_classes", [2, 10])
def test_every_count_is_written(n_classes):
    result = made_up(n_classes)
    axes = evaluation_figure([result]).axes[0]
    written = [text.get_text().replace(",", "") for text in axes.texts]
    assert sorted(t for t in written if t.isdigit()) == sorted(map(str, result.confusion.flat))


def test_two_classes_make_one_curve():
    result = made_up(2)
    _, roc, calibration = evaluation_figure([result]).axes
    area = metrics.roc_auc_score(result.y_true == "class 1", result.proba[:, 1])
    assert entries(roc) == [f"class 1 (AUC = {area:.2f})"]
    assert calibration.get_xlabel() == "P(class 1)"


def test_more_classes_make_a_curve_each():
    _, roc, calibration = evaluation_figure([made_up(5)]).axes
    assert len(entries(roc)) == 5
    assert calibration.get_xlabel() == "probability of the predicted class"


@pytest.mark.slow
@pytest.mark.parametrize("suffix", MAGIC)
def test_saved_twice_the_same_and_dollars_are_not_formulas(suffix, tmp_path):
    contents = set()
    for i in range(2):
        figure = evaluation_figure([made_up(3, "$", names="${}_{{$")])
        save_figure(figure, tmp_path / f"{i}{suffix}", dpi=80)
        contents.add((tmp_path / f"{i}{suffix}").read_bytes())
    (content,) = contents
    assert content.startswith(MAGIC[suffix])
    assert len(list(tmp_path.iterdir())) == 2


def test_calibration_shows_where_it_knows_little():
    # Nearly all rows are easy: bins of equal width would have a row or two each above them.
    result = made_up(2, n=1000)
    proba = np.where(np.arange(1000) < 990, 0.02, np.linspace(0.1, 0.9, 1000))
    result.proba[:] = np.column_stack([1 - proba, proba])
    axes = evaluation_figure([result]).axes[2]
    points = axes.containers[0].lines[0].get_xydata()
    segments = axes.containers[0].lines[2][0].get_segments()
    true = result.y_true == "class 1"
    for (x, share), segment, rows in zip(points, segments, (true[:990], true[990:]), strict=True):
        assert share == pytest.approx(rows.mean())
        jeffreys = scipy.stats.beta(rows.sum() + 0.5, (~rows).sum() + 0.5).interval(0.95)
        np.testing.assert_allclose(segment, [[x, jeffreys[0]], [x, jeffreys[1]]])
    assert np.ptp(segments[1], axis=0)[1] > 0.4
    assert "points of some 500 rows" in " ".join(text.get_text() for text in axes.texts)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_points_of_the_calibration_are_of_equally_many_rows(n_classes):
    axes = evaluation_figure([made_up(n_classes, n=400)]).axes[2]
    points = axes.containers[0].lines[0].get_xydata()
    assert len(points) == 15  # twice the cube root of 400
    segments = np.array(axes.containers[0].lines[2][0].get_segments())[:, :, 1]
    assert (segments[:, 0] <= points[:, 1]).all()
    assert (points[:, 1] <= segments[:, 1]).all()
    assert np.ptp(segments, axis=1).min() > 0.05


def notebook_figures():
    rain, wet = bg.Discrete("rain", ["no", "yes"]), bg.Discrete("wet", ["no", "yes"])
    binned, age = bg.Binned("depth", [1.5, 2.5]), bg.Continuous("age")
    tables = [bg.TableCPD(rain, [0.8, 0.2]), bg.TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], [rain])]
    numbers = [bg.TableCPD(binned, [0.2, 0.5, 0.3]), bg.GaussianCPD(age, 40.0, 9.0)]
    net = bg.BayesianNetwork([*tables, *numbers])
    yield net.query("rain")
    yield net.query(["rain", "wet"])
    yield net.query("depth")
    yield net.query("age")
    yield net.ask.tornado("rain", "yes", {"wet": "yes"})
    yield net.ask.next_question("rain")
    yield made_up(2)


@pytest.mark.parametrize("result", [*notebook_figures()], ids=lambda result: type(result).__name__)
def test_a_notebook_shows_figures(result):
    figure = bg.plot(result)
    assert figure._repr_png_().startswith(MAGIC[".png"])
    again = pickle.loads(pickle.dumps(figure))
    assert again._repr_png_().startswith(MAGIC[".png"])


def test_states_and_intervals_of_a_posterior_are_bars():
    many = bg.Discrete("many", range(50))
    p = np.r_[np.full(49, 0.01), 0.51]
    (axes,) = bg.plot(bg.BayesianNetwork([bg.TableCPD(many, p)]).query("many"), n=3).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0", "1", "49"]
    assert [patch.get_width() for patch in axes.patches] == pytest.approx([0.01, 0.01, 0.51])
    assert "47 more states" in " ".join(text.get_text() for text in axes.texts)
    depth = bg.BayesianNetwork([bg.TableCPD(bg.Binned("depth", [1.5, 2.5]), [0.2, 0.5, 0.3])])
    (axes,) = bg.plot(depth.query("depth"), title="How deep").axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["(-inf, 1.5]", "(1.5, 2.5]", "(2.5, inf)"]
    with pytest.raises(DataError, match="n is a number of states, 1 or more; got 0"):
        bg.plot(depth.query("depth"), n=0)


def test_unknown_suffix(tmp_path):
    with pytest.raises(FileFormatError, match=r"'\.svg', '\.png', '\.pdf'"):
        save_figure(evaluation_figure([made_up(2)]), tmp_path / "figure.gif")


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.style", None)
    with pytest.raises(MissingDependencyError, match=r"bayesgraph\[plot\]"):
        evaluation_figure([made_up(2)])


@pytest.mark.slow
def test_no_display_is_needed(tmp_path):
    script = (
        "import sys, bayesgraph as bg\n"
        "from bayesgraph.pictures import save_figure\n"
        "coin, side = bg.Discrete('coin', [*'ab']), bg.Discrete('side', [*'ht'])\n"
        "net = bg.BayesianNetwork([bg.TableCPD(coin, [0.5, 0.5]),\n"
        "    bg.TableCPD(side, [[0.5, 0.5], [0.9, 0.1]], [coin])])\n"
        "save_figure(bg.plot(net.ask.tornado('coin', 'a', {'side': 'h'})), sys.argv[1], dpi=50)\n"
    )
    environment = {key: value for key, value in os.environ.items() if key != "DISPLAY"}
    environment |= {"MPLBACKEND": "tkagg", "PYTHONPATH": os.pathsep.join(sys.path)}
    environment |= {"BAYESGRAPH_COMPILE": "never"}
    command = [sys.executable, "-W", "error", "-c", script, str(tmp_path / "figure.png")]
    subprocess.run(command, check=True, env=environment, timeout=120)
    assert (tmp_path / "figure.png").read_bytes().startswith(MAGIC[".png"])


@pytest.mark.slow
def test_the_users_settings_stay_out_and_unchanged(tmp_path):
    contents = []
    for size in (9, 30):
        with mpl.rc_context({"font.size": size, "axes.grid": True}):
            save_figure(evaluation_figure([made_up(2)]), tmp_path / f"{size}.png", dpi=80)
            assert mpl.rcParams["font.size"] == size
        contents.append((tmp_path / f"{size}.png").read_bytes())
    assert contents[0] == contents[1]
