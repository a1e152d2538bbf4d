"""Decisions by expected cost: equal to enumeration, and to Chow's rule."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesgraph.core.errors import DataError, UnknownStateError
from bayesgraph.questions import DecisionRule

CLASSES = np.array(["flu", "cold", "none"])
PROBA = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7], [0.34, 0.33, 0.33]])


def rule(**options):
    return DecisionRule(CLASSES, **options)


def test_least_expected_loss_equals_enumeration():
    random = np.random.default_rng(0)
    losses, proba = random.normal(size=(3, 3)), random.dirichlet(np.ones(3), 50)
    expected = [
        min(range(3), key=lambda d: sum(row[t] * losses[t, d] for t in range(3))) for row in proba
    ]
    assert rule(losses=losses).codes(proba).tolist() == expected


def test_two_classes_by_threshold():
    # Elkan (2001, equation 2): positive if P is at least c10 / (c10 + c01), losses of right ones 0.
    proba = np.column_stack([1 - np.linspace(0, 1, 101), np.linspace(0, 1, 101)])
    decided = DecisionRule([0, 1], {(0, 1): 1, (1, 0): 4}).codes(proba)
    assert (decided == (proba[:, 1] > 0.2 + 1e-9)).all()


def test_without_options_the_most_probable_class():
    assert rule().labels(CLASSES, PROBA).tolist() == ["flu", "none", "flu"]
    # A difference that 1 - p does not show.
    assert rule().codes(np.array([[1e-20, 2e-20, 1.0]])).tolist() == [2]
    assert rule().codes(np.array([[1e-20, 2e-20, 0.0]])).tolist() == [1]


@given(st.floats(0.01, 0.6), st.integers(0, 9))
def test_chow(cost, seed):
    """Without losses, abstain where the largest probability is below 1 - cost (Chow 1970)."""
    proba = np.random.default_rng(seed).dirichlet(np.ones(3), 20)
    decided = rule(abstain=cost).codes(proba)
    np.testing.assert_array_equal(decided < 0, proba.max(axis=1) < 1 - cost)
    np.testing.assert_array_equal(decided, rule(min_probability=1 - cost).codes(proba))


def test_losses_of_pairs_may_be_a_series():
    losses = {("flu", "none"): 10.0, ("cold", "none"): 5.0}
    series = pd.Series(losses)
    np.testing.assert_array_equal(rule(losses=series).losses, rule(losses=losses).losses)
    with pytest.raises(DataError, match="the key 'flu'"):
        rule(losses=pd.Series({"flu": 1.0}))


def test_abstaining_is_weighed_against_the_losses():
    losses = {("flu", "none"): 10.0, ("cold", "none"): 5.0}
    # Expected losses of the second row: flu 0.9, cold 0.8, none 2.0.
    assert rule(losses=losses).codes(PROBA)[1] == 1
    assert rule(losses=losses, abstain=0.85).codes(PROBA)[1] == 1
    assert rule(losses=losses, abstain=0.75).codes(PROBA)[1] == -1
    assert rule(losses=losses, min_probability=0.3).codes(PROBA)[1] == -1


def test_a_matrix_and_a_mapping_say_the_same():
    matrix = [[0, 1, 7], [1, -2, 1], [1, 1, 0]]
    named = {("flu", "none"): 7, ("cold", "cold"): -2}
    np.testing.assert_array_equal(rule(losses=named).losses, rule(losses=matrix).losses)


class TestLabels:
    def test_none_by_default(self):
        found = rule(abstain=0.4).labels(CLASSES, PROBA)
        assert found.tolist() == [None, "none", None]
        assert found.dtype == object

    def test_the_type_does_not_depend_on_the_rows(self):
        assert rule(abstain=0.9).labels(CLASSES, PROBA).dtype == object
        assert rule().labels(CLASSES, PROBA).dtype == CLASSES.dtype

    @pytest.mark.parametrize(
        ("classes", "label", "kind"),
        [
            (["a", "b", "c"], "in doubt", "U"),
            ([1, 2, 3], -1, "i"),
            ([4, 2, 3], "in doubt", "O"),
            ([4, 2, 3], np.nan, "O"),
            ([True, False, "maybe"], None, "O"),
            (["a", "b", "c"], ("to", "ask"), "O"),
        ],
    )
    def test_a_label_of_any_kind(self, classes, label, kind):
        array = np.array(classes, dtype=object if kind == "O" and True in classes else None)
        found = DecisionRule(array, abstain=0.4).labels(array, PROBA, label)
        assert found.dtype.kind == kind
        assert found[0] is label or found[0] == label
        assert found[1] == classes[2]


def test_classes_that_are_equal_stay_apart():
    classes = np.array([1, True, "1"], dtype=object)
    losses = DecisionRule(classes[1:], {(True, "1"): 3}).losses
    assert losses.tolist() == [[0, 3], [1, 0]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"losses": [[0, 1], [1, 0]]}, r"'flu', 'cold', 'none'; got shape \(2, 2\)"),
        ({"losses": [[0, 1, np.inf]] * 3}, "finite"),
        ({"losses": "high"}, "matrix of numbers or a mapping; got 'high'"),
        ({"losses": {"flu": 3}}, "pairs .true class, decided class.*'flu'"),
        ({"losses": {("flu", "cold"): "much"}}, "'much'"),
        ({"losses": {("flu", "cold"): np.nan}}, "nan"),
        ({"abstain": "cheap"}, "loss of abstaining, is a finite number; got 'cheap'"),
        ({"abstain": True}, "finite number"),
        ({"min_probability": 1.2}, r"from 0 to 1; got 1\.2"),
        ({"min_probability": [0.5]}, r"\[0\.5\]"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(DataError, match=message):
        rule(**options)


def test_a_misspelt_class_is_named():
    with pytest.raises(UnknownStateError, match="Did you mean 'cold'"):
        rule(losses={("colt", "flu"): 1})


def test_losses_of_a_frame_go_by_its_names():
    import pandas as pd

    rule = DecisionRule(["no", "yes"], {("yes", "no"): 50.0})
    frame = pd.DataFrame([[0, 50], [1, 0]], index=["yes", "no"], columns=["yes", "no"])
    np.testing.assert_array_equal(DecisionRule(["no", "yes"], frame).losses, rule.losses)
    with pytest.raises(DataError, match="names of its rows"):
        DecisionRule(["no", "yes"], frame.rename(columns={"no": "none"}))
    with pytest.raises(DataError, match="each of the classes once"):
        DecisionRule(["no", "yes"], frame.loc[["no", "yes", "yes"]])
    # Names that pandas would take for a mask of rows.
    answers = frame.rename(index=lambda name: name == "yes", columns=lambda name: name == "yes")
    np.testing.assert_array_equal(DecisionRule([False, True], answers).losses, rule.losses)
    for cell in (True, "1"):
        with pytest.raises(DataError, match=r"the loss of .* is a finite number"):
            DecisionRule(["no", "yes"], frame.astype(object).replace(50, cell))
