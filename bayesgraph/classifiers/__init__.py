"""scikit-learn estimators: each one is a choice of structure, of CPDs and of exponents."""

from bayesgraph.classifiers.network_classifiers import (
    BayesianNetworkClassifier,
    NaiveBayesClassifier,
    TANClassifier,
)

__all__ = ["BayesianNetworkClassifier", "NaiveBayesClassifier", "TANClassifier"]
