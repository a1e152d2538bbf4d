"""Fit and predict of TAN beside pyAgrum (naive Bayes: bench_naive_bayes.py).

python benchmarks/bench_classifiers.py [--quick] [--json FILE]
"""

from __future__ import annotations

import warnings

import numpy as np
from harness import Row, options, pair, report
from pyagrum.skbn import createBNClassifier

import bayesgraph as bg


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


def main() -> None:
    """Run all cases."""
    chosen = options(__doc__)
    warnings.filterwarnings("ignore", category=FutureWarning)
    few = 200 if chosen.quick else 1_000
    n, repeats = (2_000, 3) if chosen.quick else (20_000, 5)
    rows = tan(n, 64, predicted=few, repeats=repeats)
    report(rows, chosen.json, ["pyagrum", "numpy", "numba"])


if __name__ == "__main__":
    main()
