"""Decisions of a classifier that take into account what mistakes cost."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from bayesgraph.classifiers.checks import check_fitted
from bayesgraph.decisions import DecisionRule
from bayesgraph.factors.algebra import Floats


class Deciding:
    """Mixed into classifiers with probabilities: `decide`."""

    classes_: NDArray[Any]

    def predict_proba(self, X: Any) -> Floats:
        """Return class probabilities, shape (n_rows, n_classes)."""
        raise NotImplementedError

    def decide(
        self,
        X: Any,
        *,
        costs: Any = None,
        abstain: float | None = None,
        min_probability: float | None = None,
        abstained: Any = None,
    ) -> NDArray[Any]:
        """Return for each row the class of the least expected cost, or none if in doubt.

        Without options the most probable class, as `predict`. Decisions are as good as the
        probabilities: check these by the reliability of a cross-validation.

        Parameters
        ----------
        X : as for `predict`
        costs : array_like, shape (n_classes, n_classes), or mapping, optional
            Of deciding the column's class where the row's is true, both in the order of
            `classes_`; or from (true class, decided class) to cost, where what is not named is 0
            for a right decision and 1 for a wrong one. Negative costs are gains.
        abstain : float, optional
            The cost of abstaining: rows whose least expected cost is above it get no decision
            (Chow 1970). Without `costs`, 0.1 leaves rows open where no class has a probability of
            at least 0.9.
        min_probability : float, optional
            Rows whose class to decide has a smaller probability get no decision.
        abstained : label, optional
            What rows without a decision get; None by default.

        Returns
        -------
        ndarray, shape (n_rows,)
            Of dtype object where rows may be left open, unless `abstained` is a number or a text
            as the classes are.

        Raises
        ------
        DataError
            For costs of a wrong shape or that are no finite numbers, and for a least probability
            outside [0, 1].
        UnknownStateError
            For a cost of a class that there is not.

        Examples
        --------
        >>> import bayesgraph as bg
        >>> from sklearn.datasets import load_breast_cancer
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> clf = bg.NaiveBayesClassifier().fit(X[:, :5], y)
        >>> overlooked, false_alarm = (0, 1), (1, 0)  # class 0 is malignant
        >>> clf.predict(X[12:18, :5]).tolist()
        [0, 0, 1, 0, 1, 0]
        >>> clf.decide(X[12:18, :5], costs={overlooked: 10, false_alarm: 1}).tolist()
        [0, 0, 0, 0, 0, 0]
        >>> clf.decide(X[12:18, :5], abstain=0.1).tolist()
        [0, 0, None, None, None, 0]
        """
        check_fitted(self)
        rule = DecisionRule.of(self.classes_, costs, abstain, min_probability)
        return rule.labels(self.classes_, self.predict_proba(X), abstained)
