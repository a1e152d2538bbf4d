"""Base class of all classifiers: scikit-learn's prediction methods for a fitted network."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from bayesgraph.checks import check_coverage
from bayesgraph.classifiers.conformal import conformalize, prediction_sets
from bayesgraph.classifiers.discretizers import Discretizer
from bayesgraph.classifiers.feature_layout import Layout
from bayesgraph.classifiers.model_queries import ModelQuestions
from bayesgraph.classifiers.parameters import Smoothed
from bayesgraph.classifiers.rows import encoded_chunks, joined, known_table, warn_of_empty
from bayesgraph.classifiers.single_row import row_evidence
from bayesgraph.classifiers.updates import Updated
from bayesgraph.classifiers.validation import check_fitted, known_columns
from bayesgraph.decisions import DecisionRule
from bayesgraph.explain import (
    Contrast,
    Contributions,
    Shapes,
    contributions,
    explain,
    shapes,
)
from bayesgraph.explain.by_rows import together
from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.contract import Joint, Mass
from bayesgraph.inference.normalise import largest, log_normalised, normalised
from bayesgraph.models.evidence import has_intervals
from bayesgraph.models.model import warn_of_impossible
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.parallel import in_order, one_blas_thread
from bayesgraph.typing import Intervention
from bayesgraph.variables import (
    CountVector,
    Discrete,
    MissingIndicator,
    Name,
    State,
    Variable,
)


class GraphClassifier(Smoothed, Updated, ModelQuestions, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of all classifiers: predictions and explanations by a fitted network.

    Subclasses define `fit`, which sets the attributes `network_`, `classes_` and so on.
    """

    classes_: NDArray[Any]
    network_: BayesianNetwork
    target_: Discrete
    features_: tuple[Variable, ...]
    layout_: Layout
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    # Defaults of parameters that only some subclasses declare.
    class_weight: Mapping[Any, float] | str | None = None
    categorical: Collection[Name] | str | None = None
    discretizer: Discretizer | str | None = None
    items: ArrayLike | None = None
    unseen: str = "warn"

    @property
    def _takes_sparse(self) -> bool:
        return False

    # ------------------------------------------------------------------------------- prediction

    def _evidence(self, X: Any) -> Iterator[tuple[slice, int, Evidence]]:
        """Yield X in chunks: (slice of the rows, total number of rows, evidence of the chunk)."""
        check_fitted(self, "network_")
        found = known_columns(self, X, self.layout_.columns, sparse=self._takes_sparse)
        encode = partial(known_table, layout=self.layout_, variables=self.features_)
        empty: Collection[MissingIndicator] = self._indicators
        for rows, n_rows, table in encoded_chunks(found, self.unseen, encode):
            empty = [v for v in empty if table.column(v).all()]
            if rows.stop == n_rows:
                warn_of_empty(empty, n_rows)
            yield rows, n_rows, table.evidence()

    @property
    def _indicators(self) -> tuple[MissingIndicator, ...]:
        """The indicators of missing values among the features, which are the last ones."""
        features = self.features_
        if not features or not isinstance(features[-1], MissingIndicator):
            return ()
        return tuple(v for v in features if isinstance(v, MissingIndicator))

    def _scores(self, evidence: Evidence) -> tuple[Floats, int]:
        """Return log P(class, row) up to a constant per row, and the number of impossible rows.

        The scores have the shape (n_rows, n_classes); a row is impossible if it has probability
        zero.
        """
        return self.network_.rows_with_prior(self.target_, evidence)

    def _scored_chunks(self, X: Any) -> Iterator[tuple[slice, int, Floats, int]]:
        """Yield (slice of the rows, total number of rows, log scores, number of impossible rows).

        Each item is one chunk of X. The log scores, shape (n_chunk_rows, n_classes), are log
        P(class, row) up to a constant per row.
        """

        def scored(part: tuple[slice, int, Evidence]) -> tuple[slice, int, Floats, int]:
            rows, n_rows, evidence = part
            # Chunks have a thread each: each with several threads of BLAS, there were too many.
            with nullcontext() if evidence.n_rows == n_rows else one_blas_thread():
                return rows, n_rows, *self._scores(evidence)

        yield from in_order(scored, self._evidence(X))

    def _by_rows(self, X: Any, finish: Callable[[Floats], NDArray[Any]]) -> NDArray[Any]:
        """Apply a function to the log scores of all rows, chunk by chunk, and join the results.

        Parameters
        ----------
        X : table
        finish : callable
            From log P(class, row) up to a constant per row, shape (n_rows, n_classes), to one
            result for each row, such as the normalised probabilities.
        """
        result, impossible = self._counted_rows(X, finish)
        warn_of_impossible(impossible, len(result), self.target_)
        return result

    def _counted_rows(
        self, X: Any, finish: Callable[[Floats], NDArray[Any]]
    ) -> tuple[NDArray[Any], int]:
        """Return what `_by_rows` returns, and the number of impossible rows, without a warning."""
        return joined(self._scored_chunks(X), finish)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return natural logs of the class probabilities, shape (n_rows, n_classes).

        Missing values and unseen categories are marginalised. Rows to which the model gives
        probability zero get the prior, with one warning that counts these rows.
        """
        return self._by_rows(X, log_normalised)

    def predict_proba(self, X: Any) -> Floats:
        """Return class probabilities, shape (n_rows, n_classes); see predict_log_proba."""
        return self._by_rows(X, normalised)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class (the first of ties) of each row, shape (n_rows,)."""
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
        """Return the class of minimum expected cost of each row; doubtful rows may get no decision.

        Without options it is the most probable class, as in `predict`. Decisions need calibrated
        probabilities: check the calibration by `bayesgraph.evaluate`.

        Parameters
        ----------
        X : as for `predict`
        costs : array_like, shape (n_classes, n_classes), or mapping, optional
            Matrix with true classes as rows and decided classes as columns, both in the order of
            `classes_`; or a mapping from (true class, decided class) to cost, in which pairs that
            are not named cost 0 if the decision is correct and 1 if not. Negative costs are gains.
        abstain : float, optional
            Cost of abstaining: rows whose minimum expected cost is higher get no decision (Chow
            1970). Without `costs`, 0.1 means no decision for rows in which every class has a
            probability below 0.9.
        min_probability : float, optional
            Rows get no decision if the class to decide has a smaller probability.
        abstained : label, optional
            Value for rows without a decision; None by default.

        Returns
        -------
        ndarray, shape (n_rows,)
            Of dtype object if rows may have no decision, unless `abstained` is a number or a text
            like the classes.

        Raises
        ------
        DataError
            If costs have a wrong shape or are not finite, or if `min_probability` is outside
            [0, 1].
        UnknownStateError
            If a cost is of an unknown class.

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

    def conformalize(self, X: Any, y: Any, *, cv: Any = None, by_class: bool = False) -> Self:
        """Calibrate the sets of `predict_set` by rows with known classes.

        Parameters
        ----------
        X : as for `predict`
        y : array_like, shape (n_rows,)
            The classes of the rows.
        cv : int or splitter, optional
            None for rows that the classifier was *not* fitted on: split conformal prediction. A
            number of folds, such as 10, for those that it was fitted on: cross-conformal
            prediction, which fits a copy of the classifier to the rows outside each fold, all of
            which count alike.
        by_class : bool
            Whether to calibrate each class by its own rows, so that the sets have their coverage
            among the rows of each class; it takes more rows.

        Returns
        -------
        self
            With the calibration as `calibration_`, which files do not keep, and which no longer
            serves once the classifier has learned more rows.

        Raises
        ------
        DataError
            For a class that was not fitted, or an invalid `cv`.

        Examples
        --------
        >>> import bayesgraph as bg
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = bg.NaiveBayesClassifier().fit(X, y).conformalize(X, y, cv=10)
        >>> clf.predict_set(X[[0, 77, 133]], coverage=0.98).astype(int)
        array([[1, 0, 0],
               [0, 1, 1],
               [0, 1, 1]])
        """
        check_fitted(self, "network_")
        self.calibration_ = conformalize(self, X, y, cv=cv, by_class=by_class)
        return self

    def predict_set(self, X: Any, coverage: float = 0.9) -> NDArray[np.bool_]:
        """Return the set of classes of each row that holds the true one with some probability.

        The classifier has to be calibrated by `conformalize`. Of rows that are exchangeable with
        those of the calibration, at least the share `coverage` has its class in its set, on average
        over calibrations, whatever the model: split conformal prediction guarantees it, and
        cross-conformal prediction the share ``2 coverage - 1``, and reaches `coverage` in practice.

        Parameters
        ----------
        X : as for `predict`
        coverage : float
            Between 0 and 1. With n calibration rows (of a class, if it is calibrated by itself),
            sets of a coverage above n / (n + 1) have all classes.

        Returns
        -------
        ndarray of bool, shape (n_rows, n_classes)
            Columns in the order of `classes_`. The most probable class is always in the set.

        Raises
        ------
        DataError
            If the classifier is not calibrated, or has learned since.
        """
        check_fitted(self, "network_")
        check_coverage(coverage)
        known = vars(self).get("calibration_")
        return prediction_sets(self, known, X, coverage)

    def log_odds(self, X: Any, *, positive: Any = None, negative: Any = None) -> Floats:
        """Return the log odds of a class against another class, in nats, for each row.

        Parameters
        ----------
        X : as for `predict`
        positive : label, optional
            Class in the numerator of the odds; by default the second of two classes.
        negative : label, optional
            Class in the denominator; by default all other classes together.

        Returns
        -------
        ndarray, shape (n_rows,)
            Rows to which the model gives probability zero have the log odds of the prior, with one
            warning that counts these rows. NaN if only the compared classes are impossible.
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
        do: Intervention = None,
    ) -> Contributions:
        """Decompose the log odds of the class into the prior log odds and a term per feature.

        Parameters
        ----------
        target : name, optional
            By default the class: ``clf.contributions(evidence={"age": 63})``.
        evidence : mapping from name to value, list or array of values, or table of one row
            Features that are not named, or missing, are not observed; those of a mapping may lie
            in an interval, :class:`Between`.
        positive, negative : state, optional
            Classes to compare, as for `log_odds`.
        do : mapping from name to value, optional
            Features that are set from outside; see :meth:`BayesianNetwork.contributions`.

        Returns
        -------
        Contributions
            A mapping from each feature (for counts of words, from each word) to its term, with
            `prior` and `total`; see :meth:`BayesianNetwork.contributions` for its meaning.

        Raises
        ------
        ImpossibleEvidenceError
            If the row is impossible under both compared classes, so that there are no odds.
        """
        model = self._answering(Joint)
        name = self.target_.name if target is None else target
        if do or model.variable(name) != self.target_ or has_intervals(evidence):
            return contributions(model, name, evidence, positive=positive, negative=negative, do=do)
        contrast = Contrast.of(self.target_, positive, negative)
        return explain(self.network_, contrast, self._row(evidence))

    def shapes(self, X: Any = None, *, positive: Any = None, negative: Any = None) -> Shapes:
        """Return the effect of each feature, and of each pair of features, on the log odds.

        If the network consists of tables, and each feature has the class and at most three other
        features as parents, then the log odds of a row without missing values are the intercept
        plus one term of each feature, of each arc between features, and, where a feature has
        several other parents, of three or four features: these are the shapes. Other models, such
        as an average with random trees, take rows, over which their log odds are averaged with one
        or two features set to a value (partial dependence).

        Parameters
        ----------
        X : as for `predict`, optional
            Rows for models that are no sum of terms; at most 400 of them are used.
        positive, negative : label, optional
            Classes to compare, as for `log_odds`. Of more than two classes, each is by default
            compared with the geometric mean of all.

        Returns
        -------
        Shapes
            A mapping from the name of a feature, or a tuple of names, to a `Shape`;
            `bayesgraph.plot` draws it.

        Raises
        ------
        UnsupportedModelError
            If the log odds are no sum of terms and `X` is not given.
        DataError
            If a state is impossible in a class, so that log odds are infinite.

        Examples
        --------
        >>> import bayesgraph as bg
        >>> from sklearn.datasets import load_breast_cancer
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> clf = bg.NaiveBayesClassifier(discretizer="mdlp").fit(X.iloc[:, :2], y)
        >>> clf.shapes()
        Shapes of target: mean absolute effect on the log odds
          'mean radius'   2.3445  ████████████████████████
          'mean texture'  1.0531  ███████████
        """
        model = self._fitted_model
        rows = None if X is None else _together([part for _, _, part in self._evidence(X)])
        return shapes(model, self.target_, rows, positive=positive, negative=negative)

    def _row(self, row: Any) -> Evidence:
        """Return a row as evidence; the parameter `unseen` governs unknown categories."""
        return row_evidence(self, row)

    def _encoded(self, X: Any) -> Evidence:
        """Return all rows of X as evidence."""
        return together([part for _, _, part in self._evidence(X)])

    def log_likelihood(self, X: Any) -> Floats:
        """Return log p(x) of the observed features x of each row, in nats, shape (n_rows,)."""
        model = self._answering(Mass)
        parts = [model.log_evidence_rows(part) for _, _, part in self._evidence(X)]
        return np.concatenate(parts)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = not self._takes_sparse
        tags.input_tags.sparse = self._takes_sparse
        return tags


def _together(parts: Sequence[Evidence]) -> Evidence:
    """Return chunks of rows as one; vectors of counts are left out."""
    columns: dict[Variable, NDArray[Any]] = {
        v: np.concatenate([part.columns[v] for part in parts])
        for v in parts[0].columns
        if not isinstance(v, CountVector)
    }
    return Evidence(sum(part.n_rows for part in parts), columns)
