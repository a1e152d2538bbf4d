"""Log-linear models of the class: Bayesian networks trained to predict."""

from bayesgraph.learning.loglinear.learner import Discriminative, train_network
from bayesgraph.learning.loglinear.selection import Candidate, Choice

__all__ = ["Candidate", "Choice", "Discriminative", "train_network"]
