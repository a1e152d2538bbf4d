"""The one classifier: a network with a class variable, fitted and asked through scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from bayesgraph import upward
from bayesgraph.classifiers.inputs import (
    fit_table,
    predict_table,
    target_column,
    target_name,
    weighted_rows,
)
from bayesgraph.encoding.table import check_unseen
from bayesgraph.errors import DataError, DataTypeError, quoted
from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference import Assignment
from bayesgraph.learning import Smoothing, Structure, estimate_network
from bayesgraph.network import BayesianNetwork
from bayesgraph.statistics import TableSource
from bayesgraph.variables import Discrete, Name, Variable


class NetworkClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the classifiers whose parameters are estimated from additive statistics.

    A subclass says which structure it learns.
    """

    classes_: NDArray[Any]
    network_: BayesianNetwork
    target_: Discrete
    features_: tuple[Variable, ...]
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        shrinkage: float = 20.0,
        var_smoothing: float = 1e-9,
        priors: ArrayLike | None = None,
        categorical: Any = None,
        unseen: str = "missing",
    ) -> None:
        self.alpha = alpha
        self.shrinkage = shrinkage
        self.var_smoothing = var_smoothing
        self.priors = priors
        self.categorical = categorical
        self.unseen = unseen

    def _learner(self) -> Callable[[TableSource, Smoothing], Structure]:
        raise NotImplementedError

    def _smoothing(self) -> Smoothing:
        return Smoothing(self.alpha, self.shrinkage, self.var_smoothing)

    # ---------------------------------------------------------------------------------- fitting

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Any:
        """Learn structure and parameters.

        Parameters
        ----------
        X : array or data frame (pandas, polars, pyarrow, ...), shape (n_rows, n_features)
            Text, category and boolean columns are discrete, numeric ones continuous unless named in
            `categorical`. None, NaN and NA are missing and left out where they occur.
        y : array_like, shape (n_rows,)
            Labels; none may be missing.
        sample_weight : array_like, shape (n_rows,), optional

        Returns
        -------
        self
        """
        smoothing = self._smoothing()
        check_unseen(self.unseen)
        labels, name = target_column(y)
        n_labels = len(labels)
        rows = weighted_rows(sample_weight, n_labels)
        if rows is not None:
            # A row of no weight must not even add a state.
            labels, sample_weight = labels[rows], np.asarray(sample_weight)[rows]
        features = fit_table(self, X, self.categorical, n_labels, rows)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        target = Discrete(target_name(name, features.variables), self.classes_.tolist())
        source = TableSource(features.with_column(target, codes), target, sample_weight)
        structure = self._learner()(source, smoothing)
        if not isinstance(structure, Structure):
            raise DataTypeError(
                "structure= is a function from a count source and a Smoothing to a "
                f"bayesgraph.Structure; {self._learner()!r} returned {type(structure).__name__}."
            )
        self._set_network(structure, source, smoothing, target, features.variables)
        return self

    def _set_network(
        self,
        structure: Structure,
        source: TableSource,
        smoothing: Smoothing,
        target: Discrete,
        features: tuple[Variable, ...],
    ) -> None:
        self.network_ = estimate_network(
            structure, source, smoothing, priors=checked_priors(self.priors, target)
        )
        self.target_ = target
        self.features_ = features

    # ------------------------------------------------------------------------------- prediction

    def _evidence(self, X: Any) -> Evidence:
        check_is_fitted(self, "network_")
        return predict_table(self, X, self.features_, self.unseen).evidence()

    def predict_log_proba(self, X: Any) -> Floats:
        """Return natural logs of the class probabilities, shape (n_rows, n_classes).

        Missing values and unseen categories are marginalised. Rows to which the model gives
        probability zero get the prior, with one warning that counts them.
        """
        evidence = self._evidence(X)
        return self.network_.normalised_rows(self.target_, evidence)

    def predict_proba(self, X: Any) -> Floats:
        """Return class probabilities, shape (n_rows, n_classes); see predict_log_proba."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row, shape (n_rows,); ties go to the first."""
        evidence = self._evidence(X)
        joint = self.network_.settled_rows(self.target_, evidence)
        return np.asarray(self.classes_[np.argmax(joint, axis=1)])

    def log_likelihood(self, X: Any) -> Floats:
        """Return the natural log of each row's probability (density), shape (n_rows,)."""
        evidence = self._evidence(X)
        return self.network_.log_evidence_rows(evidence)

    # ------------------------------------------------------------------------------ the network

    def query(self, evidence: Mapping[Name, Any] | None = None, *, target: Any = None) -> Any:
        """Return the posterior of the class, or of any other variable, given some features.

        Parameters
        ----------
        evidence : mapping from name to value, optional
            As for :meth:`BayesianNetwork.query`; what is not named is not observed.
        target : name or list of names, optional
            The class by default.
        """
        check_is_fitted(self, "network_")
        wanted = self.target_.name if target is None else target
        return self.network_.query(wanted, evidence)

    def most_probable(
        self, evidence: Mapping[Name, Any] | None = None, *, joint: bool = False
    ) -> Assignment:
        """Return the most probable assignment; see :meth:`BayesianNetwork.most_probable`."""
        check_is_fitted(self, "network_")
        return self.network_.most_probable(evidence, joint=joint)

    def save(self, path: Any) -> None:
        """Save to the native format; ``bayesgraph.load`` returns the classifier."""
        check_is_fitted(self, "network_")
        upward.call("save", self, path)

    def render(self, path: Any, **options: Any) -> None:
        """Draw the network to an SVG, PNG or PDF file, the class highlighted."""
        check_is_fitted(self, "network_")
        self.network_.render(path, **{"target": self.target_.name, **options})

    def to_dot(self, **options: Any) -> str:
        """Return the network in Graphviz' DOT language, the class highlighted."""
        check_is_fitted(self, "network_")
        return self.network_.to_dot(**{"target": self.target_.name, **options})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags


def checked_priors(priors: ArrayLike | None, target: Discrete) -> Floats | None:
    """Return class priors as an array, or None.

    Raises
    ------
    DataError
        For a wrong number of them, a negative one, or a sum other than one.
    """
    if priors is None:
        return None
    values = np.asarray(priors, dtype=np.float64)
    if values.shape != (target.cardinality,):
        raise DataError(
            f"Number of priors must match number of classes: priors= needs one number for each of "
            f"{quoted(target.states)}; got shape {values.shape}."
        )
    if not (values >= 0).all():
        raise DataError(f"Priors must be non-negative; got {values.tolist()}.")
    if not np.isclose(values.sum(), 1.0):
        raise DataError(f"The sum of the priors should be 1; got {values.sum():.9g}.")
    return np.asarray(values / values.sum())
