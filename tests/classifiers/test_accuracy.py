"""Ten-fold accuracies that the defaults must reach on the data sets of scikit-learn."""

import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_score

import bayesgraph as bg

PINS = [
    (bg.NaiveBayesClassifier, load_digits, 0.90),
    (bg.TANClassifier, load_digits, 0.94),
    (bg.TANClassifier, load_iris, 0.96),
    (bg.TANClassifier, load_wine, 0.975),
    (bg.TANClassifier, load_breast_cancer, 0.945),
]


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("estimator", "load", "least"), PINS)
def test_accuracy(estimator, load, least):
    X, y = load(return_X_y=True)
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    assert cross_val_score(estimator(), X, y, cv=folds, error_score="raise").mean() >= least
