"""scikit-learn estimators: each one is a choice of structure, of CPDs and of exponents."""

from bayesgraph.classifiers.complement import ComplementNaiveBayesClassifier
from bayesgraph.classifiers.network_classifiers import (
    BayesianNetworkClassifier,
    NaiveBayesClassifier,
    TANClassifier,
)
from bayesgraph.classifiers.trees import (
    DecisionTreeNetworkClassifier,
    DecisionTreeNetworkRegressor,
)

__all__ = [
    "BayesianNetworkClassifier",
    "ComplementNaiveBayesClassifier",
    "DecisionTreeNetworkClassifier",
    "DecisionTreeNetworkRegressor",
    "NaiveBayesClassifier",
    "TANClassifier",
]
