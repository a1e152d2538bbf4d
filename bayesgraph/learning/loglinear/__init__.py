"""Log-linear class models: Bayesian networks whose tables are trained by conditional likelihood."""

from bayesgraph.learning.loglinear.cross_validation import Candidate, Choice
from bayesgraph.learning.loglinear.effort import Effort, Progress
from bayesgraph.learning.loglinear.learner import Discriminative, train_network

__all__ = ["Candidate", "Choice", "Discriminative", "Effort", "Progress", "train_network"]
