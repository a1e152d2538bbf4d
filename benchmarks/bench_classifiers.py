"""Fit and predict of TAN beside pyAgrum, and of the default beside a forest of scikit-learn.

The default's intervals and contributions are beside their bounds, and its log loss where missing
cells tell about the class beside that of a forest. Naive Bayes is in bench_naive_bayes.py.

python benchmarks/bench_classifiers.py [--quick] [--json FILE]
"""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pandas as pd
from harness import Row, options, pair, report
from pyagrum.skbn import createBNClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline

import bayesgraph as bg
from bayesgraph.core import Binned


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


def mixed_table(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return seven columns of numbers and five of categories, with a class of interactions."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 7)), columns=[f"x{j}" for j in range(7)])
    for j, k in enumerate((2, 3, 5, 8, 20)):
        codes = rng.integers(k, size=n)
        frame[f"c{j}"] = pd.Categorical.from_codes(codes, [f"v{i}" for i in range(k)])
    score = frame["x0"] * frame["x1"] + np.sin(2 * frame["x2"])
    score += 0.5 * (frame["c1"] == "v1") * frame["x5"] + 0.6 * rng.logistic(size=n)
    return frame, np.where(score > 0, "yes", "no")


def average(n: int, predicted: list[int], *, repeats: int) -> list[Row]:
    """The default, an average with random trees, beside a forest of 300 trees on one thread."""
    (X, y), peer_name = mixed_table(n, 0), "sklearn"
    ours = bg.BayesianNetworkClassifier()
    peer = RandomForestClassifier(300, n_jobs=1, random_state=0)
    wide = pd.get_dummies(X).to_numpy(float)
    case = f"default {n:,} x 12, mixed"
    fit = (lambda: ours.fit(X, y)), (lambda: peer.fit(wide, y))
    rows = [pair(case, "fit", *fit, peer_name, repeats=1)]
    for m in predicted:
        part = mixed_table(m, 1)[0]
        encoded = pd.get_dummies(part).to_numpy(float)
        asks = (partial(ours.predict_proba, part), partial(peer.predict_proba, encoded))
        rows.append(pair(f"{case}, {m:,} rows", "proba", *asks, peer_name, repeats=repeats))
    return [*rows, *readable(case, ours, X.iloc[:100])]


def readable(case: str, model: bg.BayesianNetworkClassifier, X: pd.DataFrame) -> list[Row]:
    """How many intervals a number has, and how exactly contributions sum to the log odds.

    Beside the bounds of the project, six intervals in the median and 1e-9; no times.
    """
    network = model.network_
    if isinstance(network, bg.Ensemble):
        network = network.members[0].network
    intervals = [len(v.states) for v in network.variables if isinstance(v, Binned)]
    sums = model.ask.contributions_rows(X, positive="yes").total
    off = np.abs(sums - bg.classifiers.log_odds(model, X, positive="yes")).max()
    found = {
        "intervals of a number, median": (float(np.median(intervals)), 6.0),
        "contributions against log odds": (max(float(off), np.finfo(float).eps), 1e-9),
    }
    return [Row(case, m, ours, most, "bound", most / ours) for m, (ours, most) in found.items()]


def many_classes(n: int, d: int, n_classes: int) -> Row:
    """Fit of the default on numbers around a centre of each class, beside a forest of 300 trees."""
    rng = np.random.default_rng(3)
    y = rng.integers(n_classes, size=n)
    X = 0.7 * rng.normal(size=(n_classes, d))[y] + rng.normal(size=(n, d))
    ours = bg.BayesianNetworkClassifier()
    peer = RandomForestClassifier(300, n_jobs=1, random_state=0)
    fit = (lambda: ours.fit(X, y)), (lambda: peer.fit(X, y))
    return pair(f"default {n:,} x {d}, {n_classes} classes", "fit", *fit, "sklearn", repeats=1)


def missing_cells(n: int, d: int) -> Row:
    """Held-out log loss where missing cells tell about the class, beside a forest with indicators.

    Half of the columns lack 10 % of the values of the first class and 30 % of those of the second,
    the others 20 % of both.
    """
    rng = np.random.default_rng(4)
    y = rng.integers(2, size=n)
    X = 0.2 * y[:, None] + rng.normal(size=(n, d))
    X[rng.random((n, d)) < np.where(np.arange(d) % 2, 0.2, 0.1 + 0.2 * y[:, None])] = np.nan
    imputed = SimpleImputer(add_indicator=True)
    peer = make_pipeline(imputed, RandomForestClassifier(300, n_jobs=1, random_state=0))
    half, losses = n // 2, []
    for model in (bg.BayesianNetworkClassifier(), peer):
        fitted = model.fit(X[:half], y[:half])
        losses.append(log_loss(y[half:], fitted.predict_proba(X[half:])))
    case = f"default {n:,} x {d}, missing cells that tell"
    return Row(case, "log loss", *losses, "sklearn, indicators", losses[1] / losses[0])


def main() -> None:
    """Run all cases."""
    chosen = options(__doc__)
    warnings.filterwarnings("ignore", category=FutureWarning)
    few = 200 if chosen.quick else 1_000
    n, repeats = (2_000, 3) if chosen.quick else (20_000, 5)
    rows = tan(n, 64, predicted=few, repeats=repeats)
    many = [1_000] if chosen.quick else [1_000, 100_000]
    rows += average(n // 2, many, repeats=repeats)
    rows += [many_classes(n // 5, 16, k) for k in (2, 8, 32, 100)]
    rows.append(missing_cells(n // 5, 10))
    report(rows, chosen.json, ["pyagrum", "scikit-learn", "numpy", "numba"])


if __name__ == "__main__":
    main()
