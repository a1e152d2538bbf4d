"""The public surface: few names in the package, on a model and on a classifier."""

import inspect
import re

import numpy as np
import pytest
from sklearn.base import ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.ensemble import RandomForestClassifier

import bayesgraph as bg
from bayesgraph.classifiers import Evaluation

MOST_NAMES, MOST_ON_A_MODEL, MOST_ON_A_CLASSIFIER = 79, 36, 14
CLASSIFIERS = [getattr(bg, name) for name in bg.__all__ if name.endswith("Classifier")]
# It classifies sequences of rows.
CLASSIFIERS.remove(bg.TemporalNetworkClassifier)
# Methods that scikit-learn's own estimators have.
OF_SKLEARN = (
    {"partial_fit", "score_samples", "get_feature_names_out", "fit_transform", "set_output"}
    | {"transform"}
    | {name for kind in (ClassifierMixin, RegressorMixin, TransformerMixin) for name in dir(kind)}
    | set(dir(RandomForestClassifier))
)
# The protocol of river, which the classifiers of streams have too.
OF_RIVER = {"learn_one", "predict_one", "predict_proba_one"}
# A network is an ensemble of one: what every model has of the parts of an ensemble.
PARTS = {"networks", "weights", "exponents", "prior_ratios", "target", "arc_probabilities"}
PARAMETERS = {name for kind in CLASSIFIERS for name in kind().get_params(deep=False)}


def public(thing):
    return {name for name in dir(thing) if not name.startswith("_")}


def test_names_of_the_package():
    assert len(bg.__all__) <= MOST_NAMES


def test_a_network():
    rain = bg.Discrete("rain", ["no", "yes"])
    net = bg.BayesianNetwork([bg.TableCPD(rain, [0.75, 0.25])])
    assert len(public(net) - PARTS) <= MOST_ON_A_MODEL, sorted(public(net))


@pytest.mark.parametrize("kind", CLASSIFIERS, ids=lambda kind: kind.__name__)
def test_a_classifier(kind):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = rng.integers(0, 3, (60, 2)) + y[:, None]
    options = {"check_columns": False}
    if "max_steps" in kind().get_params():
        options |= {"max_steps": 5, "n_trees": 2}
    fitted = kind(**options).fit(X, y)
    more = {
        name
        for name in public(fitted) - OF_SKLEARN - OF_RIVER - PARAMETERS
        if not name.endswith("_") and not name.startswith("set_")
    }
    assert len(more) <= MOST_ON_A_CLASSIFIER, sorted(more)


def test_costs_are_prices_and_losses_those_of_wrong_decisions():
    asked = [getattr(bg.questions, name) for name in bg.questions.__all__]
    methods = [kind.decide for kind in (*CLASSIFIERS, Evaluation)]
    text = "\n".join(inspect.getdoc(asking) or "" for asking in (*asked, *methods))
    meanings = {name: re.findall(rf"^ *{name} : (.*)$", text, re.M) for name in ("costs", "losses")}
    assert meanings["costs"]
    assert meanings["losses"]
    # Prices are by name; losses are by classes.
    assert not any("class" in meaning for meaning in meanings["costs"])
    assert not any("name" in meaning for meaning in meanings["losses"])
