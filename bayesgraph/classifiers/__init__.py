"""scikit-learn estimators: each is a choice of structure, CPDs and exponents of CPDs."""

from bayesgraph.classifiers.aode import AODEClassifier
from bayesgraph.classifiers.bayesian_network import BayesianNetworkClassifier
from bayesgraph.classifiers.complement import ComplementNaiveBayesClassifier
from bayesgraph.classifiers.decision_trees import (
    DecisionTreeNetworkClassifier,
    DecisionTreeNetworkRegressor,
)
from bayesgraph.classifiers.discriminant import DiscriminantAnalysisClassifier
from bayesgraph.classifiers.kdb import KDBClassifier
from bayesgraph.classifiers.naive_bayes import NaiveBayesClassifier
from bayesgraph.classifiers.streaming import StreamingNaiveBayesClassifier
from bayesgraph.classifiers.streaming_weighted import StreamingWeightedNaiveBayesClassifier
from bayesgraph.classifiers.tan import AveragedTANClassifier, TANClassifier
from bayesgraph.classifiers.weighted_naive_bayes import WeightedNaiveBayesClassifier

__all__ = [
    "AODEClassifier",
    "AveragedTANClassifier",
    "BayesianNetworkClassifier",
    "ComplementNaiveBayesClassifier",
    "DecisionTreeNetworkClassifier",
    "DecisionTreeNetworkRegressor",
    "DiscriminantAnalysisClassifier",
    "KDBClassifier",
    "NaiveBayesClassifier",
    "StreamingNaiveBayesClassifier",
    "StreamingWeightedNaiveBayesClassifier",
    "TANClassifier",
    "WeightedNaiveBayesClassifier",
]
