"""The models of bench_accuracy, by name, and the peers that see the same folds."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

import bayesgraph as bg


def random_forest() -> Any:
    """Return 300 trees on one-hot columns; a missing category is a level, a number the mean."""
    numeric = make_column_selector(dtype_include="number")
    nominal = make_column_selector(dtype_exclude="number")
    return make_pipeline(
        FunctionTransformer(_plain_frame),
        ColumnTransformer(
            [
                ("numeric", SimpleImputer(keep_empty_features=True), numeric),
                ("nominal", OneHotEncoder(handle_unknown="ignore", sparse_output=False), nominal),
            ]
        ),
        RandomForestClassifier(300, random_state=0),
    )


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
        partial(bg.selective_kdb, loss="log"), **_GRANULAR
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
}
# Slow ones run on request only.
PEERS: dict[str, Callable[[], Any]] = {
    "random-forest": random_forest,
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
