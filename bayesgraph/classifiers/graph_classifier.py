"""Prediction with a fitted network through scikit-learn's methods."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from bayesgraph.classifiers.discretizers import Discretizer
from bayesgraph.classifiers.feature_layout import Layout
from bayesgraph.classifiers.model_queries import ModelQuestions
from bayesgraph.classifiers.parameters import Smoothed
from bayesgraph.classifiers.single_row import row_evidence
from bayesgraph.classifiers.validation import Columns, check_fitted, known_columns, known_table
from bayesgraph.decisions import DecisionRule
from bayesgraph.explain import Contrast, Contributions, TopItems, explain
from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.contract import Joint, Mass
from bayesgraph.inference.normalise import largest, log_normalised, normalised
from bayesgraph.models.model import warn_of_impossible
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.variables import Discrete, Name, State, Variable

# Rows that are encoded and predicted together: memory beyond the output does not grow with more.
_CHUNK_ROWS = 1 << 15


def chunks(found: Columns) -> Iterator[tuple[slice, int, Columns]]:
    """Yield stretches of rows, the number of all rows, and the stretch's columns."""
    n = found.n_rows
    for start in range(0, max(1, n), _CHUNK_ROWS):
        rows = slice(start, min(start + _CHUNK_ROWS, n))
        yield rows, n, found if n <= _CHUNK_ROWS else found.take(rows)


class GraphClassifier(Smoothed, ModelQuestions, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of all classifiers: predictions and explanations of a fitted network.

    A subclass fits: it sets the attributes below.
    """

    classes_: NDArray[Any]
    network_: BayesianNetwork
    target_: Discrete
    features_: tuple[Variable, ...]
    layout_: Layout
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    # Parameters that some subclasses lack.
    class_weight: Mapping[Any, float] | str | None = None
    categorical: Collection[Name] | str | None = None
    discretizer: Discretizer | str | None = None
    items: ArrayLike | None = None
    unseen: str = "missing"

    @property
    def _takes_sparse(self) -> bool:
        return False

    # ------------------------------------------------------------------------------- prediction

    def _evidence(self, X: Any) -> Iterator[tuple[slice, int, Evidence]]:
        """Yield stretches of rows, the number of all rows, and the stretch's evidence."""
        check_fitted(self, "network_")
        found = known_columns(self, X, self.layout_.columns, sparse=self._takes_sparse)
        for rows, n_rows, chunk in chunks(found):
            table = known_table(chunk, self.layout_, self.features_, self.unseen)
            yield rows, n_rows, table.evidence()

    def _scores(self, evidence: Evidence) -> tuple[Floats, int]:
        """Return log P(class, row), up to a term of the row, and how many rows are impossible."""
        return self.network_.rows_with_prior(self.target_, evidence)

    def _scored_chunks(self, X: Any) -> Iterator[tuple[slice, int, Floats, int]]:
        """Yield stretches of rows, the number of all rows, and what `_scores` returns of them."""
        for rows, n_rows, evidence in self._evidence(X):
            yield rows, n_rows, *self._scores(evidence)

    def _by_rows(self, X: Any, finish: Callable[[Floats], NDArray[Any]]) -> NDArray[Any]:
        """Return what `finish` makes of the joint log probabilities, in stretches of rows."""
        result: NDArray[Any] = np.empty(0)
        impossible = 0
        for rows, n_rows, joint, count in self._scored_chunks(X):
            impossible += count
            part = finish(joint)
            if len(part) == n_rows:
                result = part
                break
            if not rows.start:
                # States first in memory, as they come.
                result = np.empty((*part.shape[1:], n_rows), dtype=part.dtype).T
            result[rows] = part
        warn_of_impossible(impossible, len(result), self.target_)
        return result

    def predict_log_proba(self, X: Any) -> Floats:
        """Return natural logs of the class probabilities, shape (n_rows, n_classes).

        Missing values and unseen categories are marginalised. Rows to which the model gives
        probability zero get the prior, with one warning that counts them.
        """
        return self._by_rows(X, log_normalised)

    def predict_proba(self, X: Any) -> Floats:
        """Return class probabilities, shape (n_rows, n_classes); see predict_log_proba."""
        return self._by_rows(X, normalised)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row, shape (n_rows,); ties go to the first."""
        codes = self._by_rows(X, largest)
        return np.asarray(self.classes_[codes])

    def decide(
        self,
        X: Any,
        *,
        costs: Any = None,
        abstain: float | None = None,
        min_probability: float | None = None,
        abstained: Any = None,
    ) -> NDArray[Any]:
        """Return for each row the class of the minimum expected cost, or none if in doubt.

        Without options the most probable class, as `predict`. Decisions are as good as the
        probabilities: check these by `bayesgraph.evaluate`.

        Parameters
        ----------
        X : as for `predict`
        costs : array_like, shape (n_classes, n_classes), or mapping, optional
            Of deciding the column's class where the row's is true, both in the order of
            `classes_`; or from (true class, decided class) to cost, where what is not named is 0
            for a right decision and 1 for a wrong one. Negative costs are gains.
        abstain : float, optional
            The cost of abstaining: rows whose minimum expected cost is above it get no decision
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
            For costs of a wrong shape or that are no finite numbers, and for a minimum probability
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
        check_fitted(self, "network_")
        rule = DecisionRule.of(self.classes_, costs, abstain, min_probability)
        return rule.labels(self.classes_, self.predict_proba(X), abstained)

    def log_odds(self, X: Any, *, positive: Any = None, negative: Any = None) -> Floats:
        """Return the log odds of a class against another for each row, in nats.

        Parameters
        ----------
        X : as for `predict`
        positive : label, optional
            Whose log odds; by default the second of two classes.
        negative : label, optional
            Against which class; by default against all others together.

        Returns
        -------
        ndarray, shape (n_rows,)
            Of rows to which the model gives probability zero those of the prior, with one warning
            that counts them; NaN where only the classes compared are impossible.
        """
        check_fitted(self, "network_")
        return self._by_rows(X, Contrast.of(self.target_, positive, negative))

    def contributions(
        self,
        target: Name | None = None,
        evidence: Any = None,
        *,
        positive: State | None = None,
        negative: State | None = None,
    ) -> Contributions:
        """Return the log odds of the class as a sum of one term for each observed feature.

        Parameters
        ----------
        target : name, optional
            By default the class: ``clf.contributions(evidence={"age": 63})``.
        evidence : mapping from name to value, list or array of values, or table of one row
            What is not named, or missing, is not observed.
        positive, negative : state, optional
            As for `log_odds`.

        Returns
        -------
        Contributions
            A mapping from feature (of counts of words, from word) to its term, with `prior` and
            `total`; see :meth:`BayesianNetwork.contributions` for its meaning.

        Raises
        ------
        ImpossibleEvidenceError
            If the row is impossible under both sides, so that there are no odds.
        """
        model = self._fitted_model
        if target is not None and model.variable(target) != self.target_:
            return self._answering(Joint).contributions(
                target, evidence, positive=positive, negative=negative
            )
        contrast = Contrast.of(self.target_, positive, negative)
        return explain(self.network_, contrast, self._row(evidence))

    def _row(self, row: Any) -> Evidence:
        """Return one row as evidence, under the policy for unseen values."""
        return row_evidence(self, row)

    def top_items(
        self, target: Name | None = None, n: int = 10, *, feature: Name | None = None
    ) -> TopItems:
        """Return the words (items of a vector of counts) that speak most for each class.

        See :meth:`BayesianNetwork.top_items`; by default the target is the class.
        """
        model = self._fitted_model
        return model.top_items(self.target_.name if target is None else target, n, feature=feature)

    def log_likelihood(self, X: Any) -> Floats:
        """Return the natural log of each row's probability (density), shape (n_rows,)."""
        model = self._answering(Mass)
        parts = [model.log_evidence_rows(part) for _, _, part in self._evidence(X)]
        return np.concatenate(parts)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = not self._takes_sparse
        tags.input_tags.sparse = self._takes_sparse
        return tags
