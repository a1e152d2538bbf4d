"""Pictures of trees: what stands in them, and that Graphviz draws them."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import bayesgraph as bg
from bayesgraph.core.errors import DataTypeError, FileFormatError, GraphError
from bayesgraph.pictures import render, to_dot

AGE = bg.Continuous("age <&>")
PLACE = bg.Discrete("place", list("abcdef"))
SICK = bg.Discrete("sick", ["no", "yes"])
CPD = bg.models.TreesCPD(
    SICK,
    bg.Split(
        AGE,
        40.25,
        bg.Split(
            PLACE, ["a"], [0.9, 0.1], bg.Split(PLACE, ["a", "b", "c"], [0.5, 0.5], [0.2, 0.8])
        ),
        [1.0, 0.0],
    ),
    [AGE, PLACE],
)


def test_questions_answers_and_leaves():
    text = to_dot(CPD)
    assert 'label="P(sick | age <&amp;>, place)"' in text
    assert '[label=" ≤ 40.25 "' in text
    assert '[label=" > 40.25 "' in text
    assert '[label=" a "' in text
    assert '[label=" not a "' in text
    # What the split above has taken away is no longer listed.
    assert '[label=" b, c "' in text
    assert '[label=" d, e, f "' in text
    for share in ("90.0%", "50.0%", "80.0%", "100%"):
        assert share in text
    assert " rows<" not in text
    assert text == to_dot(CPD)


def test_counts_and_depth():
    known = bg.models.TreesCPD(
        SICK,
        replace(CPD.trees, counts=np.array([10.0, 8.5, 1.5, 4, 4.5, 2.5, 2])),
        CPD.parents,
    )
    text = to_dot(known)
    assert "10 rows" in text
    assert "8.5 rows" in text
    short = to_dot(known, max_depth=1)
    assert "… 3 leaves" in short
    assert short.count("->") == 2
    assert "… 4 leaves" in to_dot(known, max_depth=0)
    assert to_dot(known, max_depth=None) == text
    assert to_dot(bg.models.TreesCPD(SICK, [0.5, 0.5])).count("50.0%") == 2


def test_many_way_splits_are_drawn_as_one():
    last = bg.Split(AGE, 60.0, [0.5, 0.5], [0.3, 0.7], continues=True)
    rest = bg.Split(PLACE, ["b", "c"], [0.4, 0.6], bg.Split(AGE, 40.0, [1, 0], last), True)
    cpd = bg.models.TreesCPD(SICK, bg.Split(PLACE, ["a"], [0.9, 0.1], rest), [AGE, PLACE])
    text = to_dot(cpd, max_depth=1)
    assert [text.count(f"n0 -> n{k}") for k in range(5)] == [0, 1, 0, 1, 1]
    assert "… 3 leaves" in text
    for label in (" a ", " b, c ", " d, e, f ", " ≤ 40 ", " 40 … 60 ", " > 60 "):
        assert f'[label="{label}"' in to_dot(cpd)


def test_numbers_at_the_leaves():
    X, y = {"s": ["u", "u", "v", "v"]}, [1.0, 3.0, 11.0, 13.0]
    reg = bg.DecisionTreeNetworkRegressor(smoothing=bg.Smoothing(shrinkage=0)).fit(X, y)
    text = bg.pictures.to_dot(reg)
    assert "2.0 ± 1.0" in text
    assert "12.0 ± 1.0" in text
    assert "p(target | s)" in text
    assert "2 rows" in text
    clf = bg.DecisionTreeNetworkClassifier().fit(X, ["l", "l", "h", "h"])
    assert "100%" in bg.pictures.to_dot(clf)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("suffix", ["svg", "png", "pdf", "dot"])
def test_files(tmp_path, suffix):
    path = tmp_path / f"tree.{suffix}"
    render(CPD, path, rankdir="LR")
    first = path.read_bytes()
    assert len(first) > 500
    render(CPD, path, rankdir="LR")
    assert path.read_bytes() == first
    clf = bg.DecisionTreeNetworkClassifier().fit({"s": ["u", "v"]}, [0, 1])
    clf.render(tmp_path / f"clf.{suffix}")
    clf.network_.render(tmp_path / f"net.{suffix}", tables=True)


def test_beliefs_of_a_network_with_a_tree():
    net = bg.BayesianNetwork(
        [
            bg.models.HistogramCPD(AGE, [0, 50, 99], [0, 0.4, 0.6, 0]),
            bg.TableCPD(PLACE, [1 / 6] * 6),
            CPD,
        ]
    )
    text = bg.pictures.to_dot(net, beliefs=True, tables=True)
    assert "%" in text
    shares = net.query("sick").probabilities
    assert f"{100 * shares[0]:.1f}%" in text


def test_errors(tmp_path):
    with pytest.raises(DataTypeError, match="TreesCPD"):
        to_dot(bg.TableCPD(SICK, [0.5, 0.5]))
    with pytest.raises(GraphError, match="'TB' or 'LR'; got 'RL'"):
        to_dot(CPD, rankdir="RL")
    with pytest.raises(GraphError, match="max_depth"):
        to_dot(CPD, max_depth=-1)
    with pytest.raises(GraphError, match="only parent is 'sick'"):
        to_dot(CPD, numbers=bg.GaussianCPD(bg.Continuous("x"), 0.0, 1.0))
    with pytest.raises(FileFormatError, match=r"\.bmp"):
        render(CPD, tmp_path / "tree.bmp")


def test_a_tree_of_many_leaves_grows_to_the_right():
    x = bg.Continuous("x")
    branch = bg.Split(x, 0.5, [0.9, 0.1], [0.4, 0.6])
    for cut in range(1, 12):
        branch = bg.Split(x, cut + 0.5, branch, [0.2, 0.8])
    assert 'rankdir="LR"' in to_dot(bg.models.TreesCPD(SICK, branch, [x]), max_depth=None)
    assert 'rankdir="TB"' in to_dot(bg.models.TreesCPD(SICK, branch, [x]), max_depth=3)
    assert 'rankdir="TB"' in to_dot(
        bg.models.TreesCPD(SICK, branch, [x]), max_depth=None, rankdir="TB"
    )


def test_leaves_of_many_classes_show_most_of_the_rows():
    kind = bg.Discrete("kind", list("abcdefgh"))
    shares = [0.6, 0.36, 0.01, 0.01, 0.01, 0.01, 0.0, 0.0]
    text = to_dot(bg.models.TreesCPD(kind, shares))
    assert "60.0%" in text
    assert "36.0%" in text
    assert "1.0%" not in text
    assert "… 6 more" in text
    even = to_dot(bg.models.TreesCPD(kind, [0.125] * 8))
    assert even.count("12.5%") == 6


def test_impurities_are_those_of_scikit_learns_trees(tmp_path):
    figure = bg.pictures.impurity_figure()
    (axes,) = figure.axes
    entropy, half, gini, error = (line.get_ydata() for line in axes.lines)
    share = axes.lines[0].get_xdata()
    for criterion, curve in (("entropy", entropy), ("gini", gini)):
        for i in (1, 40, 100, 200, 333):
            tree = DecisionTreeClassifier(criterion=criterion, max_depth=1)
            tree.fit([[0], [0]], [0, 1], sample_weight=[share[i], 1 - share[i]])
            assert curve[i] == pytest.approx(tree.tree_.impurity[0])
    np.testing.assert_array_equal(half, entropy / 2)
    np.testing.assert_allclose(error, 1 - np.maximum(share, 1 - share), atol=1e-15)
    assert entropy[[0, 200, 400]].tolist() == [0.0, 1.0, 0.0]
    bg.pictures.save_figure(figure, tmp_path / "impurity.svg")
