"""A classifier: scikit-learn's contract around a learned network. Copy this file and fill it in.

Room: `classifiers`.
The one list: the names of `bayesgraph.classifiers`, and those of `bayesgraph` for the users.
Its test row: `Case("NAME", bg.NewClassifier, searched=("theta", (0.0, 0.1)))` in `CLASSIFIERS` of
`tests/cases.py`; `without=` names tests that cannot apply, each with its reason in a sentence.
Docs: a row in `docs/models.md`. The command line has it under the name of its class ("new"), and
options and help from the annotations and the docstring; files hold the parameters, and what
`_fitted` names besides the common attributes.

`@estimator` makes `__init__` of the annotations, and puts the inherited parameters and attributes
into the docstring. Replace the names `NewClassifier` and `theta`, then each line with a
TODO. A classifier whose model is not one network overrides `_network` instead of `_learner`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from bayesgraph.classifiers.base import estimator
from bayesgraph.classifiers.network_classifier import ColumnClassifier
from bayesgraph.learning import Structure, forest
from bayesgraph.statistics import CountSource, Smoothing


@estimator
class NewClassifier(ColumnClassifier):
    """TODO(1): the model in a sentence.

    TODO(2): how it is learned, and where that is from (author, year).

    Parameters
    ----------
    theta : float, default 0.1
        TODO(3): its meaning, with the unit.
    {parameters}

    Attributes
    ----------
    {attributes}
    """

    theta: float = 0.1

    def _learner(self) -> Callable[[CountSource, Smoothing], Structure]:
        return partial(forest, score="bic")  # TODO(4): a learner, with the options that it takes
