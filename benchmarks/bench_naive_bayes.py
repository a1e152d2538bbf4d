"""Fit and predict of the naive Bayes family beside scikit-learn, in one process.

python benchmarks/bench_naive_bayes.py [--quick] [--json FILE] [--case TEXT]

The rows of the group "targets" have their target behind the name of the peer: set OMP_NUM_THREADS
and NUMBA_NUM_THREADS to the same number, so that both sides have as many threads.

The rows called "sum" set the time of a plain numpy sum over the same array against ours: the
share of the memory's bandwidth that is reached. The rows called "memory" hold megabytes instead of
seconds: the peak beyond the result.
"""

from __future__ import annotations

import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from harness import Row, pair, parser, report
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import bayesgraph as bg
from bayesgraph.classifiers.intake import labels_of

_CLASSES = 10


def compared(case: str, ours: Any, peer: Any, X: Any, y: np.ndarray, *, n: int = 5) -> list[Row]:
    """Return fit, probabilities and labels of two classifiers on one table."""
    name = f"sklearn.{type(peer).__name__}"
    return [
        pair(case, "fit", lambda: ours.fit(X, y), lambda: peer.fit(X, y), name, repeats=n),
        pair(
            case,
            "proba",
            lambda: ours.predict_proba(X),
            lambda: peer.predict_proba(X),
            name,
            repeats=n,
        ),
        pair(case, "predict", lambda: ours.predict(X), lambda: peer.predict(X), name, repeats=n),
    ]


def against_sum(case: str, ours: Any, X: np.ndarray, y: np.ndarray) -> list[Row]:
    """Return how the time of a plain sum over the array compares."""
    return [
        pair(case, "fit/sum", lambda: ours.fit(X, y), X.sum, "numpy.sum"),
        pair(case, "predict/sum", lambda: ours.predict(X), X.sum, "numpy.sum"),
    ]


def peak(case: str, ours: Any, peer: Any, X: Any) -> Row:
    """Return the peak of memory in predict beyond the result, in megabytes."""
    mine, theirs = (_extra(lambda model=model: model.predict(X)) for model in (ours, peer))
    return Row(case, "memory", mine, theirs, f"sklearn.{type(peer).__name__}", theirs / mine)


def _extra(call: Callable[[], np.ndarray]) -> float:
    tracemalloc.start()
    result = call()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (most - result.nbytes) / 1e6


def gaussian(rows: int, columns: int, classes: int = _CLASSES) -> Iterator[Row]:
    """Yield Gaussian naive Bayes."""
    random = np.random.default_rng(0)
    y = random.integers(0, classes, rows)
    X = random.normal(size=(rows, columns)) + 0.1 * y[:, None]
    ours, peer = bg.NaiveBayesClassifier("gaussian"), GaussianNB()
    case = f"Gaussian {rows:,} x {columns}, {classes} classes"
    yield from compared(case, ours, peer, X, y)
    chooses, name = bg.NaiveBayesClassifier(), "sklearn.GaussianNB, which chooses nothing"
    metric = "fit, families chosen by BIC"
    yield pair(case, metric, lambda: chooses.fit(X, y), lambda: peer.fit(X, y), name)
    if rows >= 40_000:
        yield from against_sum(case, ours, X, y)
        yield peak(case, ours, peer, X)


def digits() -> Iterator[Row]:
    """Yield a small real table, where what is done once a feature shows."""
    X, y = load_digits(return_X_y=True)
    yield from compared("Gaussian, digits", bg.NaiveBayesClassifier("gaussian"), GaussianNB(), X, y)


def categorical(rows: int, columns: int, classes: int = _CLASSES) -> Iterator[Row]:
    """Yield categorical naive Bayes on integer columns of five states."""
    random = np.random.default_rng(1)
    y = random.integers(0, classes, rows)
    X = (random.integers(0, 5, (rows, columns)) + (y[:, None] % 3)) % 5
    ours, peer = bg.NaiveBayesClassifier("categorical"), CategoricalNB()
    case = f"categorical {rows:,} x {columns}, {classes} classes"
    yield from compared(case, ours, peer, X, y)
    if rows >= 40_000:
        yield peak(case, ours, peer, X)


def strings(rows: int, columns: int) -> Iterator[Row]:
    """Yield categorical naive Bayes on a pandas frame of text, where encoding dominates."""
    random = np.random.default_rng(2)
    y = random.integers(0, _CLASSES, rows)
    words = np.array(["alpha", "beta", "gamma", "delta", "epsilon"])
    codes = (random.integers(0, 5, (rows, columns)) + (y[:, None] % 3)) % 5
    X = pd.DataFrame({f"c{j}": words[codes[:, j]] for j in range(columns)})
    peer = make_pipeline(OrdinalEncoder(), CategoricalNB())
    yield from compared(f"text frame {rows:,} x {columns}", bg.NaiveBayesClassifier(), peer, X, y)


def counts(rows: int, columns: int) -> Iterator[Row]:
    """Yield Bernoulli and multinomial on a dense matrix."""
    random = np.random.default_rng(3)
    y = random.integers(0, _CLASSES, rows)
    X = random.poisson(0.7 + 0.1 * ((y[:, None] + np.arange(columns)) % 3)).astype(np.float64)
    for name, peer in (("bernoulli", BernoulliNB()), ("multinomial", MultinomialNB())):
        ours = bg.NaiveBayesClassifier(name)
        case = f"{name}, dense {rows:,} x {columns}"
        yield from compared(case, ours, peer, X, y)
        yield from against_sum(case, ours, X, y)
        yield peak(case, ours, peer, X)


def documents(rows: int, items: int, each: int) -> Iterator[Row]:
    """Yield Bernoulli, multinomial and complement on a sparse matrix of documents."""
    X, y = sparse_documents(rows, items, each)
    pairs = [
        ("bernoulli", bg.NaiveBayesClassifier("bernoulli"), BernoulliNB()),
        ("multinomial", bg.NaiveBayesClassifier("multinomial"), MultinomialNB()),
        ("complement", bg.ComplementNaiveBayesClassifier(), ComplementNB()),
    ]
    for name, ours, peer in pairs:
        case = f"{name}, CSR {rows:,} x {items:,}"
        yield from compared(case, ours, peer, X, y)


def sparse_documents(rows: int, items: int, each: int) -> tuple[Any, np.ndarray]:
    """Return a sparse matrix of documents, and their classes."""
    random = np.random.default_rng(4)
    y = random.integers(0, _CLASSES, rows)
    # Frequent words and rare ones, shifted a little by the class; hardly any twice in a row.
    drawn = (items * random.random((rows, each)) ** 2 + 17 * y[:, None]).astype(np.int64) % items
    at = (np.repeat(np.arange(rows), each), drawn.reshape(-1))
    X = sp.csr_array((np.ones(rows * each), at), shape=(rows, items))
    X.sum_duplicates()
    return X, y


def discriminant(rows: int, columns: int) -> Iterator[Row]:
    """Yield linear and quadratic discriminant analysis."""
    random = np.random.default_rng(5)
    y = random.integers(0, _CLASSES, rows)
    mixing = np.eye(columns) + 0.5 * random.normal(size=(columns, columns)) / np.sqrt(columns)
    X = random.normal(size=(rows, columns)) @ mixing + 0.1 * y[:, None]
    linear = bg.DiscriminantAnalysisClassifier(), LinearDiscriminantAnalysis(solver="lsqr")
    quadratic = bg.DiscriminantAnalysisClassifier("class"), QuadraticDiscriminantAnalysis()
    yield from compared(f"LDA {rows:,} x {columns}", *linear, X, y)
    yield from compared(f"QDA {rows:,} x {columns}", *quadratic, X, y)


def targets(rows: int) -> Iterator[Row]:
    """Yield the cases with a target: memory speed, labels, and thousands of columns."""
    random = np.random.default_rng(6)
    yield bandwidth(rows * 10, 20)
    yield from products(rows // 2, 50_000, 100)
    for columns, classes in ((16, 10), (64, 10), (64, 2), (128, 10), (256, 10)):
        yield linear(rows // 2, columns, classes)
    yield from labels(rows * 3 // 2)
    y = random.integers(0, 2, rows // 100)
    X = random.normal(size=(len(y), 5000)) + 0.1 * y[:, None]
    case = f"Gaussian {len(y):,} x {X.shape[1]:,}"
    ours, peer = bg.NaiveBayesClassifier("gaussian"), GaussianNB()
    name = "sklearn.GaussianNB (target: 1)"
    yield pair(case, "fit", lambda: ours.fit(X, y), lambda: peer.fit(X, y), name)


def bandwidth(rows: int, columns: int) -> Row:
    """Return the fit of Gaussians beside the sums of the columns."""
    random = np.random.default_rng(7)
    y = random.integers(0, _CLASSES, rows)
    X = random.normal(size=(rows, columns))
    ours = bg.NaiveBayesClassifier("gaussian")
    case = f"Gaussian {rows:,} x {columns}"
    sums = "X.sum(axis=0) (target: 0.5)"
    return pair(case, "fit", lambda: ours.fit(X, y), lambda: X.sum(axis=0), sums)


def products(rows: int, items: int, each: int) -> Iterator[Row]:
    """Yield predictions of sparse documents beside the product that they need."""
    X, y = sparse_documents(rows, items, each)
    ours = bg.NaiveBayesClassifier("multinomial").fit(X, y)
    table = np.random.default_rng(8).normal(size=(items, _CLASSES))
    case = f"multinomial, CSR {rows:,} x {items:,}"
    product = "CSR product (target: 0.91)"
    yield pair(case, "predict", lambda: ours.predict(X), lambda: X @ table, product)


def linear(rows: int, columns: int, classes: int) -> Row:
    """Return predictions of LDA beside scikit-learn's, or of many columns beside the product."""
    random = np.random.default_rng(9)
    y = random.integers(0, classes, rows)
    X = random.normal(size=(rows, columns)) + 0.1 * y[:, None]
    ours = bg.DiscriminantAnalysisClassifier().fit(X, y)
    case = f"LDA {rows:,} x {columns}, {classes} classes"
    if columns > 64:
        table = random.normal(size=(columns, classes))
        product = "product (target: 0.77)"
        return pair(case, "predict", lambda: ours.predict(X), lambda: X @ table, product)
    peer = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    name = "sklearn.LDA (target: 2)"
    return pair(case, "predict", lambda: ours.predict(X), lambda: peer.predict(X), name)


def labels(rows: int) -> Iterator[Row]:
    """Yield the coding of labels of several types beside pandas; the targets are seconds."""
    random = np.random.default_rng(10)
    words = np.array(["alpha", "beta", "gamma", "delta", "epsilon"], dtype=object)
    y = words[random.integers(0, len(words), rows)]
    arrow = pd.Series(y.tolist(), dtype="string[pyarrow]")
    for kind, given, seconds in (
        ("str", pd.Series(y.tolist(), dtype="str"), 0.03),
        ("Arrow", arrow, 0.03),
        ("object", y, 0.1),
    ):
        yield pair(
            f"labels of type {kind}, {rows:,}",
            "code",
            lambda given=given: labels_of(given),
            lambda given=given: pd.factorize(given),
            f"pandas.factorize (target: {seconds * rows / 300_000:.3g} s)",
        )


def main() -> None:
    """Run all cases, or those whose name contains a text."""
    command = parser(__doc__ or "")
    command.add_argument("--case", default="", help="only groups whose name contains this")
    chosen = command.parse_args()
    warnings.filterwarnings("ignore", category=FutureWarning)
    n = 40_000 if chosen.quick else 200_000
    groups: dict[str, Callable[[], Iterator[Row]]] = {
        "gaussian": lambda: gaussian(n, 64),
        "gaussian small": lambda: gaussian(n // 10, 16),
        "gaussian two classes": lambda: gaussian(n // 10, 16, 2),
        "digits": digits,
        "categorical": lambda: categorical(n, 64),
        "categorical small": lambda: categorical(n // 10, 16),
        "categorical two classes": lambda: categorical(n // 10, 16, 2),
        "strings": lambda: strings(n, 16),
        "counts": lambda: counts(n, 64),
        "documents": lambda: documents(n // 2, 50_000, 100),
        "discriminant": lambda: discriminant(n, 64),
        "targets": lambda: targets(n),
    }
    rows = [row for name, run in groups.items() if chosen.case in name for row in run()]
    report(rows, chosen.json, ["scikit-learn", "numpy", "numba", "pandas"])


if __name__ == "__main__":
    main()
