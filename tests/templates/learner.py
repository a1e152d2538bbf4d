"""A structure learner: a function from a count source to a graph. Copy this file and fill it in.

Room: `learning`; its `__init__.pyi` names the function.
The one list: the decorator `learner` enters the function under its name in `LEARNERS`.
Its test row: `Case("NAME", partial(bg.BayesianNetworkClassifier, "new_learner"))` in `CLASSIFIERS`
of `tests/cases.py`. If the structure depends on the rows, add what cannot apply to `without=`.
Docs: a line in `bayesgraph/__init__.pyi` and a row in `docs/models.md`; the docstring of
`BayesianNetworkClassifier`, `--model new-learner`, files and `partial_fit` read the list.

Replace the name `new_learner`, then each line with a TODO.
"""

from __future__ import annotations

import numpy as np

from bayesgraph.learning import Structure
from bayesgraph.learning.information import TIE_DECIMALS, arc_scores
from bayesgraph.learning.structure import ArcRules, below_class, learner, target_of
from bayesgraph.statistics import CountSource, Pairs, SmoothingLike, as_smoothing


# Whether all that is requested is known before the data are, so that rows can be added and
# forgotten; see `LearnerCard`.
@learner(counts_ahead=True)
def new_learner(source: CountSource, smoothing: SmoothingLike = "dirichlet") -> Structure:
    """Return the new structure.

    TODO(1): which arcs it has, in a sentence, and where the algorithm is from (author, year).

    Parameters
    ----------
    source : CountSource
    smoothing : name, number or Smoothing
        Smoothing of the moments from which scores are computed.

    Raises
    ------
    DataError
        If the source has no class.
    """
    target, features = target_of(source, "new_learner"), source.features
    # A learner asks the source, never a table: pairs of columns and the class here.
    summary = source.pairs(Pairs(features, target))
    # Rounded, so that ties break by the order of the columns and not by the last bit.
    gains = arc_scores(source, summary, as_smoothing(smoothing)).gains.round(TIE_DECIMALS)
    # No arc leads from a number to a discrete feature.
    allowed = ArcRules.of(None, None, [v.name for v in features]).admissible(features)
    chosen = np.argwhere(allowed & (gains > np.inf))  # TODO(2): pairs (parent, child), no cycle
    arcs = {
        (features[parent].name, features[child].name): float(gains[parent, child])
        for parent, child in chosen.tolist()
    }
    return below_class(target, features, arcs)
