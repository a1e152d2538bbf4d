"""Fit and predict of naive Bayes and TAN beside scikit-learn and pyAgrum.

python benchmarks/bench_classifiers.py [--quick] [--json FILE]
"""

from __future__ import annotations

import warnings

import numpy as np
from harness import Row, options, pair, report
from pyagrum.skbn import createBNClassifier
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.naive_bayes import CategoricalNB, GaussianNB

import bayesgraph as bg


def digits() -> list[Row]:
    """A small real table, where what is done once a feature shows."""
    X, y = load_digits(return_X_y=True)
    return _both("Gaussian naive Bayes, digits", bg.NaiveBayesClassifier(), GaussianNB(), X, y)


def gaussian(n: int, d: int, k: int = 10) -> list[Row]:
    """Gaussian naive Bayes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, k, n)
    X = rng.normal(size=(n, d)) + 0.1 * y[:, None]
    ours, peer = bg.NaiveBayesClassifier(), GaussianNB()
    return _both(f"Gaussian naive Bayes {n:,} x {d}, {k} classes", ours, peer, X, y)


def discriminant(n: int, d: int, k: int = 10) -> list[Row]:
    """Linear and quadratic discriminant analysis."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, k, n)
    X = rng.normal(size=(n, d)) + 0.3 * rng.normal(size=(k, d))[y]
    case = f"discriminants {n:,} x {d}, {k} classes"
    linear = bg.LinearDiscriminantClassifier(), LinearDiscriminantAnalysis(solver="lsqr")
    quadratic = bg.QuadraticDiscriminantClassifier(), QuadraticDiscriminantAnalysis()
    return [
        *_both(f"linear {case}", *linear, X, y),
        *_both(f"quadratic {case}", *quadratic, X, y),
    ]


def categorical(n: int, d: int, k: int = 10) -> list[Row]:
    """Categorical naive Bayes on integer columns of five states."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, k, n)
    X = (rng.integers(0, 5, (n, d)) + (y[:, None] % 3)) % 5
    ours, peer = bg.NaiveBayesClassifier(categorical="all"), CategoricalNB()
    return _both(f"categorical naive Bayes {n:,} x {d}, {k} classes", ours, peer, X, y)


def tan(n: int, d: int, *, predicted: int, repeats: int) -> list[Row]:
    """TAN on columns of five states, two classes; pyAgrum predicts row by row, so few rows."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, n)
    X = rng.integers(0, 5, (n, d))
    X[:, 1:] = np.where(rng.random((n, d - 1)) < 0.4, X[:, :-1], X[:, 1:])
    X[:, 0] = (X[:, 0] + y) % 5
    ours, peer = bg.TANClassifier(categorical="all"), createBNClassifier(learningMethod="TAN")
    case = f"TAN {n:,} x {d}, 5 states"
    fit = (lambda: ours.fit(X, y)), (lambda: peer.fit(X, y))
    rows = [pair(case, "fit", *fit, "pyagrum.skbn", repeats=repeats)]
    part = X[:predicted]
    rows.append(
        pair(
            f"{case}, {predicted:,} rows",
            "proba",
            lambda: ours.predict_proba(part),
            lambda: peer.predict_proba(part),
            "pyagrum.skbn",
            repeats=repeats,
        )
    )
    return rows


def _both(case: str, ours: object, peer: object, X: np.ndarray, y: np.ndarray) -> list[Row]:
    name = f"sklearn.{type(peer).__name__}"
    return [
        pair(case, "fit", lambda: ours.fit(X, y), lambda: peer.fit(X, y), name),
        pair(case, "proba", lambda: ours.predict_proba(X), lambda: peer.predict_proba(X), name),
        pair(case, "predict", lambda: ours.predict(X), lambda: peer.predict(X), name),
    ]


def main() -> None:
    """Run all cases."""
    chosen = options(__doc__)
    warnings.filterwarnings("ignore", category=FutureWarning)
    n, few = (40_000, 200) if chosen.quick else (200_000, 1_000)
    rows = [
        *gaussian(n, 64),
        *gaussian(n // 10, 16),
        *gaussian(n // 10, 16, 2),
        *discriminant(n, 64),
        *digits(),
        *categorical(n, 64),
        *categorical(n // 10, 16),
        *categorical(n // 10, 16, 2),
        *tan(
            2_000 if chosen.quick else 20_000, 64, predicted=few, repeats=3 if chosen.quick else 5
        ),
    ]
    report(rows, chosen.json, ["scikit-learn", "pyagrum", "numpy", "numba"])


if __name__ == "__main__":
    main()
