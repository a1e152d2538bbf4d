"""Compile all kernels into the cache, by small models of every kind and questions to them."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import Any

import numpy as np
import scipy.sparse

import bayesgraph as bg
from bayesgraph.classifiers import DISCRETIZERS
from bayesgraph.cli.models import models
from bayesgraph.cli.progress import say_share
from bayesgraph.core.compilation import mark_complete, mode_is
from bayesgraph.core.errors import BayesGraphError
from bayesgraph.learning import ADWIN, ALL_SCHEMES
from bayesgraph.models import FAMILIES
from bayesgraph.statistics import SUMMARIES

# Rows of the tables, of which the first columns are states and the others numbers.
N_ROWS, N_STATES = 240, 6


def compile_all(report: Callable[[int, int, str], None]) -> None:
    """Compile all kernels.

    Parameters
    ----------
    report : callable
        Called as ``report(done, total, name of the next step)``.
    """
    with mode_is("inline"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        steps = list(_steps())
        for done, (name, step) in enumerate(steps):
            report(done, len(steps), name)
            step()
        report(len(steps), len(steps), "")
    mark_complete()


def with_progress() -> None:
    """Compile all kernels, and say how far that is."""
    compile_all(lambda done, total, name: say_share(done / total, name))


def in_background() -> None:
    """Compile all kernels with low priority, until the end of standard input."""
    Thread(target=_end_with_the_input, daemon=True).start()
    with suppress(AttributeError, OSError):
        os.nice(10)
    compile_all(lambda done, total, name: None)


def _end_with_the_input() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def _steps() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the name of each step and what it does, first what most programs need."""
    yield "questions to networks", lambda: _ask(_network(16, numbers=False))
    yield "questions to small networks", lambda: _ask(_network(5, numbers=False))
    for name in ("tan", "nb"):
        yield f"model {name}", partial(_fit, models()[name])
    yield "questions to networks of numbers", lambda: _ask(_network(16, numbers=True))
    for name, make in models().items():
        if name not in ("tan", "nb"):
            yield f"model {name}", partial(_fit, make)
    yield "structures without a class", _learn
    for name in ALL_SCHEMES:
        yield f"exponents {name}", partial(_fit, partial(bg.WeightedNaiveBayesClassifier, name))
    yield "text", _fit_text
    for name in FAMILIES:
        yield f"family {name}", partial(_fit_family, name)
    for name in SUMMARIES:
        yield f"summary {name}", partial(_fit_stream, name)
    for name in DISCRETIZERS:
        yield f"intervals {name}", partial(_discretize, name)
    yield "detector adwin", _detect


def _network(n: int, numbers: bool) -> bg.BayesianNetwork:
    """Return a network with loops of n discrete variables; the states of five are enumerated."""
    rng = np.random.default_rng(0)
    variables = [bg.Discrete(f"v{i}", ["a", "b", "c"]) for i in range(n)]
    cpds: list[Any] = []
    for i, variable in enumerate(variables):
        parents = variables[max(0, i - 2) : i]
        table = rng.dirichlet(np.ones(3), size=(3,) * len(parents))
        cpds.append(bg.TableCPD(variable, table, parents=parents))
    if numbers:
        for i in range(2):
            mean, variance = rng.normal(size=3), np.ones(3)
            cpds.append(
                bg.GaussianCPD(bg.Continuous(f"x{i}"), mean, variance, parents=[variables[i]])
            )
    return bg.BayesianNetwork(cpds)


def _ask(network: bg.BayesianNetwork) -> None:
    evidence: dict[Any, Any] = {"v3": "a", "v1": {"a": 1.0, "b": 2.0, "c": 1.0}}
    numbers = [name for name in network.names if str(name).startswith("x")]
    for known in (evidence, evidence | dict.fromkeys(numbers, 0.5)):
        for question in (
            partial(network.marginals, known),
            partial(network.query, "v4", known),
            partial(network.most_probable, known),
            partial(network.k_most_probable, 3, known),
            partial(network.marginal_map, ["v0", "v2"], known),
            partial(network.sample, 20, known, random_state=0),
            partial(network.sensitivity, "v0", "a", known),
        ):
            with suppress(BayesGraphError, ValueError, TypeError):
                question()
    rng = np.random.default_rng(0)
    columns = {
        name: rng.normal(size=N_ROWS) if name in numbers else rng.choice(list("abc"), N_ROWS)
        for name in network.names
    }
    network.log_likelihood(columns)
    seen = {name: values for name, values in columns.items() if name != "v4"}
    network.query_rows("v4", seen)


def _table() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return numbers, of which the first columns are states, and classes that they tell."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N_ROWS)
    states = (y[:, None] + rng.integers(0, 3, (N_ROWS, N_STATES))) % [3, 3, 2, 2, 2, 2]
    numbers = rng.normal(y[:, None], 1.0, (N_ROWS, 4))
    return np.hstack([states, numbers]), np.array(["a", "b"])[y]


def _use(classifier: Any, X: Any, y: Any, **weights: Any) -> None:
    """Fit, predict with and without missing values, and go on learning where there is a way to."""
    for given in ({}, weights):
        classifier.fit(X, y, **given)
        classifier.predict_proba(X)
        classifier.predict(X[:1])
    if isinstance(X, np.ndarray) and X.dtype == float:
        holes = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
        with suppress(BayesGraphError, ValueError):
            classifier.predict_proba(holes)
            classifier.fit(holes, y)
            classifier.predict_proba(holes)
    with suppress(AttributeError, BayesGraphError, ValueError):
        classifier.partial_fit(X, y)


def _fit(make: Callable[..., Any]) -> None:
    X, y = _table()
    weights = np.linspace(0.5, 1.5, len(y))
    for columns, categorical in (
        (X[:, :N_STATES], "all"), (X[:, N_STATES:], None), (X, [f"x{j}" for j in range(N_STATES)]),
    ):  # fmt: skip
        with suppress(BayesGraphError, ValueError, TypeError):
            _use(make(categorical=categorical), columns, y, sample_weight=weights)
    with suppress(BayesGraphError, ValueError, TypeError):
        _use(make(), X[:, :N_STATES].astype(str), y)


def _learn() -> None:
    X, _ = _table()
    rows: Any = {f"x{j}": column for j, column in enumerate(X.T)}
    states = list(rows)[:N_STATES]
    for method in (bg.unrestricted, partial(bg.unrestricted, score="bdeu"), bg.pc):
        bg.BayesianNetwork.learn(rows, method=method, categorical=states)
    of_states = {name: rows[name] for name in states}
    bg.BayesianNetwork.learn(of_states, method="pc", categorical="all")


def _fit_text() -> None:
    X, y = _table()
    counts = scipy.sparse.csr_array(X[:, :N_STATES])
    for make in (
        partial(bg.NaiveBayesClassifier, "multinomial"),
        partial(bg.NaiveBayesClassifier, "bernoulli"),
        bg.ComplementNaiveBayesClassifier,
    ):
        for table in (counts, X[:, :N_STATES]):
            with suppress(BayesGraphError, ValueError, TypeError):
                _use(make(), table, y)


def _fit_family(name: str) -> None:
    X, y = _table()
    shares = 1.0 / (1.0 + np.exp(-X[:, N_STATES:]))
    for table in (
        shares,
        X[:, :N_STATES],
    ):  # numbers in (0, 1) and counts: each family takes one of them
        with suppress(BayesGraphError, ValueError):
            _use(bg.NaiveBayesClassifier(name), table, y)


def _fit_stream(name: str) -> None:
    X, y = _table()
    _use(bg.StreamingNaiveBayesClassifier(summary=name, decay=0.99), X[:, N_STATES:], y)


def _discretize(name: str) -> None:
    X, y = _table()
    DISCRETIZERS[name]().fit(X[:, N_STATES:], y)


def _detect() -> None:
    detector = ADWIN()
    for value in (np.arange(N_ROWS) // (N_ROWS // 2)).tolist():
        detector.update(value)
