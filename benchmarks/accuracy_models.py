"""The models of bench_accuracy, by name, and the peers that see the same folds.

Each fits in one thread.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pandas import CategoricalDtype
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import bayesgraph as bg


def _one_hot(classifier: Any, *scaled: Any) -> Any:
    """Return a classifier of one-hot columns; a missing category is a level, a number the mean."""
    numeric = make_column_selector(dtype_include="number")
    nominal = make_column_selector(dtype_exclude="number")
    numbers = make_pipeline(SimpleImputer(keep_empty_features=True), *scaled)
    return make_pipeline(
        FunctionTransformer(_plain_frame),
        ColumnTransformer(
            [
                ("numeric", numbers, numeric),
                ("nominal", OneHotEncoder(handle_unknown="ignore", sparse_output=False), nominal),
            ]
        ),
        classifier,
    )


def random_forest() -> Any:
    """Return 300 trees on one-hot columns."""
    return _one_hot(RandomForestClassifier(300, random_state=0))


def logistic_regression() -> Any:
    """Return scikit-learn's logistic regression on one-hot columns and standardised numbers."""
    return _one_hot(LogisticRegression(max_iter=2000), StandardScaler())


class CategoriesTo(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A peer that takes a pandas frame with categories, made of a pyarrow table.

    Parameters
    ----------
    make : callable
        Called with the names of nominal columns; returns the peer.
    category : bool
        Whether nominal columns have pandas' type of categories; else they are text.
    """

    def __init__(self, make: Callable[[list[str]], Any], *, category: bool = False) -> None:
        self.make, self.category = make, category

    def fit(self, X: Any, y: Any) -> Any:
        """Learn from a pyarrow table."""
        frame = _plain_frame(X)
        self.nominal_ = [n for n in frame.columns if frame[n].dtype.kind not in "biuf"]
        self.levels_ = {n: sorted(set(frame[n])) for n in self.nominal_}
        self.model_ = self.make(self.nominal_)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.model_.fit(self._prepared(frame), codes)
        return self

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the classes."""
        return self.model_.predict_proba(self._prepared(_plain_frame(X)))

    def _prepared(self, frame: Any) -> Any:
        if self.category:
            for name in self.nominal_:
                frame[name] = frame[name].astype(CategoricalDtype(self.levels_[name]))
        return frame


def _calibrated_boosting(nominal: list[str]) -> Any:
    trees = HistGradientBoostingClassifier(
        categorical_features="from_dtype" if nominal else None, random_state=0
    )
    return CalibratedClassifierCV(trees, method="sigmoid", cv=5)


def _cat_boost(nominal: list[str]) -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        cat_features=nominal, thread_count=1, verbose=False, allow_writing_files=False
    )


def _boosting_machine(nominal: list[str]) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(n_jobs=1, random_state=0)


def _needs(library: str, peer: Any) -> Any:
    """Return a peer; raise an ImportError without its library."""
    if importlib.util.find_spec(library) is None:
        raise ImportError(f"{library} is not installed")
    return peer


def _plain_frame(table: Any) -> Any:
    frame = table.to_pandas()
    for name in frame.columns:
        if frame[name].dtype.kind not in "biuf":
            text = frame[name].astype(object)
            frame[name] = text.where(text.notna(), "missing").astype(str)
    return frame


class KernelNaiveBayes(bg.NaiveBayesClassifier):  # type: ignore[misc]
    """Naive Bayes with a kernel density for each number, if there is any."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Learn from a pyarrow table."""
        numeric = any(pa.types.is_floating(t) or pa.types.is_integer(t) for t in X.schema.types)
        self.distributions = "kernel" if numeric else None
        return super().fit(X, y, sample_weight)


# The criterion that Khiops uses; categories stay as they are, for features act together.
_GRANULAR = {"discretizer": bg.MODL(group_values=False, granular=True), "smoothing": "backoff"}

# What is not there yet is skipped with a note; --try adds to these.
MODELS: dict[str, Callable[[], Any]] = {
    "nb": bg.NaiveBayesClassifier,
    "nb-kernel": KernelNaiveBayes,
    "nb-width": lambda: bg.NaiveBayesClassifier(discretizer="width"),
    "nb-frequency": lambda: bg.NaiveBayesClassifier(discretizer="frequency"),
    "nb-mdlp": lambda: bg.NaiveBayesClassifier(discretizer="mdlp"),
    "nb-modl": lambda: bg.NaiveBayesClassifier(discretizer="modl"),
    "tan": bg.TANClassifier,
    "tan-mdlp": lambda: bg.TANClassifier(discretizer="mdlp"),
    "tan-modl": lambda: bg.TANClassifier(discretizer="modl"),
    "aode": lambda: bg.AODEClassifier(discretizer="mdlp"),
    "aode-modl": lambda: bg.AODEClassifier(discretizer="modl"),
    "tan-backoff": lambda: bg.TANClassifier(**_GRANULAR),
    "aode-backoff": lambda: bg.AODEClassifier(**_GRANULAR),
    "tan-averaged": lambda: bg.AveragedTANClassifier(discretizer="mdlp"),
    "kdb": lambda: bg.KDBClassifier(**_GRANULAR),
    "selective-kdb": lambda: bg.BayesianNetworkClassifier(
        partial(bg.learning.selective_kdb, loss="log"), **_GRANULAR
    ),
    "hill-climb": lambda: bg.BayesianNetworkClassifier("hill_climb", discretizer="mdlp"),
    "tree": lambda: bg.DecisionTreeNetworkClassifier(ccp_alpha="cv"),
    "c45": lambda: bg.DecisionTreeNetworkClassifier(criterion="gain_ratio", min_samples_leaf=2),
    "chaid": lambda: bg.DecisionTreeNetworkClassifier(criterion="chaid", min_samples_leaf=5),
    "wanbia": bg.WeightedNaiveBayesClassifier,
    "weighted-class": lambda: bg.WeightedNaiveBayesClassifier("class"),
    "weighted-mixed": lambda: bg.WeightedNaiveBayesClassifier("mixed"),
    "selective": lambda: bg.WeightedNaiveBayesClassifier("selective", discretizer="modl"),
    "fractional": lambda: bg.WeightedNaiveBayesClassifier("fractional", discretizer="modl"),
    "tan-cells": lambda: bg.BayesianNetworkClassifier("tan", exponents="cells"),
    "default": bg.BayesianNetworkClassifier,
    "single": lambda: bg.BayesianNetworkClassifier(n_trees=0),
}
# Slow ones run on request only; --peer adds the first.
PEERS: dict[str, Callable[[], Any]] = {
    "random-forest": random_forest,
    "logistic": logistic_regression,
    "histgb-calibrated": lambda: CategoriesTo(_calibrated_boosting, category=True),
    "catboost": lambda: _needs("catboost", CategoriesTo(_cat_boost)),
    "boosting-machine": lambda: _needs("interpret", CategoriesTo(_boosting_machine)),
}


def estimator(model: str, expression: str | None) -> Any:
    """Return an unfitted model.

    Raises
    ------
    AttributeError, TypeError
        If the library has no such class, or the class no such option.
    """
    if expression is not None:
        return eval(
            expression, {"bg": bg, "np": np, "partial": partial}
        )  # the caller's own command line
    return (MODELS | PEERS)[model]()


def settings_of(model: Any) -> str:
    """Return what a model was made with; the addresses of functions differ between processes."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(model))
