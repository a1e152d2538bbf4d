"""scikit-learn estimators: each one is a choice of structure, of CPDs and of exponents."""

from bayesgraph.classifiers.any_structure import (
    BayesianNetworkClassifier,
    WeightedNaiveBayesClassifier,
)
from bayesgraph.classifiers.complement import ComplementNaiveBayesClassifier
from bayesgraph.classifiers.discriminant import (
    DiscriminantAnalysisClassifier,
    LinearDiscriminantClassifier,
    QuadraticDiscriminantClassifier,
)
from bayesgraph.classifiers.mixtures import AODEClassifier, AveragedTANClassifier
from bayesgraph.classifiers.network_classifiers import (
    KDBClassifier,
    NaiveBayesClassifier,
    SelectiveKDBClassifier,
    TANClassifier,
)
from bayesgraph.classifiers.streaming import StreamingNaiveBayesClassifier
from bayesgraph.classifiers.streaming_weighted import StreamingWeightedNaiveBayesClassifier
from bayesgraph.classifiers.trees import (
    DecisionTreeNetworkClassifier,
    DecisionTreeNetworkRegressor,
)

__all__ = [
    "AODEClassifier",
    "AveragedTANClassifier",
    "BayesianNetworkClassifier",
    "ComplementNaiveBayesClassifier",
    "DecisionTreeNetworkClassifier",
    "DecisionTreeNetworkRegressor",
    "DiscriminantAnalysisClassifier",
    "KDBClassifier",
    "LinearDiscriminantClassifier",
    "NaiveBayesClassifier",
    "QuadraticDiscriminantClassifier",
    "SelectiveKDBClassifier",
    "StreamingNaiveBayesClassifier",
    "StreamingWeightedNaiveBayesClassifier",
    "TANClassifier",
    "WeightedNaiveBayesClassifier",
]
