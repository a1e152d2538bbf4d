"""scikit-learn estimators: each one is a choice of structure, of CPDs and of exponents."""

from bayesgraph.classifiers.discriminant import (
    DiscriminantAnalysisClassifier,
    LinearDiscriminantClassifier,
    QuadraticDiscriminantClassifier,
)
from bayesgraph.classifiers.network_classifiers import (
    BayesianNetworkClassifier,
    NaiveBayesClassifier,
    TANClassifier,
)

__all__ = [
    "BayesianNetworkClassifier",
    "DiscriminantAnalysisClassifier",
    "LinearDiscriminantClassifier",
    "NaiveBayesClassifier",
    "QuadraticDiscriminantClassifier",
    "TANClassifier",
]
