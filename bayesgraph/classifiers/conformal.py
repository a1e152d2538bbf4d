"""Conformal prediction: sets of classes that hold the true one with a given probability.

Rows that a model was not fitted on, and whose classes are known, are its calibration rows. The
score of a row and a class is -log P(class | row). A class belongs to the set of a new row unless
the share of calibration rows with a score at least as high is too small (Vovk, Gammerman, Shafer
2005, section 2.2). If calibration rows and new rows are exchangeable, the true class is in the set
with at least the given probability, whatever the model. In cross-conformal prediction (Vovk 2015)
each row calibrates the model that was fitted without its fold, and new rows are scored by the
models of all folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.classifiers.evaluation import copy_for_fold, folds_of, rows_of
from bayesgraph.classifiers.intake import labels_of
from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import DataError, quoted

# Scores of one row that differ by less are equal: rounding must not leave out the true class.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Calibration:
    """The scores of calibration rows, and the models that gave them.

    Attributes
    ----------
    models : tuple of classifiers
        The models of the folds; empty if the classifier itself was calibrated.
    scores : tuple of ndarray
        The scores of the rows held out from each model: the classifier itself, or those of folds.
    codes : tuple of ndarray
        The classes of these rows, as positions in `classes_`.
    by_class : bool
        Whether each class is calibrated by its own rows alone.
    network : object
        The network of the classifier when it was calibrated.
    """

    models: tuple[Any, ...]
    scores: tuple[Floats, ...]
    codes: tuple[NDArray[np.intp], ...]
    by_class: bool
    network: object

    def __repr__(self) -> str:
        n = sum(map(len, self.scores))
        return f"Calibration of {n:,} rows" + f" in {len(self.models)} folds" * bool(self.models)

    def p_values(self, scores: Sequence[Floats]) -> Floats:
        """Return for each row and class the share of calibration rows at least as strange.

        Parameters
        ----------
        scores : sequence of ndarray, shape (n_rows, n_classes)
            Those of each model.

        Returns
        -------
        ndarray, shape (n_rows, n_classes)
            The new row counts as one of the calibration rows.
        """
        n_classes = scores[0].shape[1]
        higher, total = np.ones((len(scores[0]), n_classes)), np.ones(n_classes)
        for own, known, codes in zip(scores, self.scores, self.codes, strict=True):
            for code in range(n_classes):
                chosen = np.sort(known[codes == code] if self.by_class else known)
                place = np.searchsorted(chosen, own[:, code] - _ROUNDING)
                higher[:, code] += len(chosen) - place
                total[code] += len(chosen)
        return higher / total


def conformalize(classifier: Any, X: Any, y: Any, *, cv: Any, by_class: bool) -> Calibration:
    """Return the calibration of a fitted classifier; see `GraphClassifier.conformalize`."""
    labels, classes = labels_of(y), classifier.classes_
    unknown = set(labels.classes.tolist()) - set(classes.tolist())
    if unknown:
        raise DataError(
            f"Calibration takes rows of the classes that were fitted; {quoted(sorted(unknown))} "
            f"is not one of {quoted(classes.tolist())}."
        )
    codes = labels.among(classes).codes
    network = classifier.network_
    if cv is None:
        scores = scores_of(classifier, X, classes)[np.arange(len(codes)), codes]
        return Calibration((), (scores,), (codes,), by_class, network)
    models, found, held = [], [], []
    for train, test in folds_of(labels.values, cv, 0):
        model = copy_for_fold(classifier)
        models.append(model.fit(rows_of(X, train), labels[train].values))
        scores = scores_of(model, rows_of(X, test), classes)
        found.append(scores[np.arange(len(test)), codes[test]])
        held.append(codes[test])
    return Calibration(tuple(models), tuple(found), tuple(held), by_class, network)


def scores_of(model: Any, X: Any, classes: NDArray[Any]) -> Floats:
    """Return -log P(class | row), shape (n_rows, n_classes).

    A class that a fold lacks has an infinite score.
    """
    logs = model.predict_log_proba(X)
    found = np.full((len(logs), len(classes)), np.inf)
    found[:, np.searchsorted(classes, model.classes_)] = -logs
    return found


def prediction_sets(
    classifier: Any, calibration: Any, X: Any, coverage: float
) -> NDArray[np.bool_]:
    """Return the sets of a calibrated classifier; see `GraphClassifier.predict_set`."""
    if not isinstance(calibration, Calibration):
        raise DataError(
            "Sets take rows with known classes that were not fitted: call conformalize(X, y) with "
            "such rows, or conformalize(X, y, cv=10) with those that were fitted. (Files do not "
            "keep the calibration.)"
        )
    if calibration.network is not classifier.network_:
        raise DataError("The classifier has learned since it was calibrated; conformalize again.")
    classes = classifier.classes_
    own = scores_of(classifier, X, classes)
    models = calibration.models
    scores = [scores_of(model, X, classes) for model in models] if models else [own]
    sets = calibration.p_values(scores) > 1.0 - coverage
    sets[np.arange(len(sets)), np.argmin(own, axis=1)] = True
    return sets
