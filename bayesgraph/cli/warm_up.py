"""Compile all kernels into the cache, by small models of every kind and questions to them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse

import bayesgraph as bg
from bayesgraph.classifiers import DISCRETIZERS
from bayesgraph.cli.models import models
from bayesgraph.core.compilation import Library, mode_is, tiers
from bayesgraph.core.errors import BayesGraphError
from bayesgraph.learning import ADWIN, ALL_SCHEMES
from bayesgraph.models import FAMILIES
from bayesgraph.statistics import SUMMARIES

# Rows of the tables, of which the first columns are states and the others numbers.
N_ROWS, N_STATES = 240, 6
# Where a model does not take a table or a question.
_REFUSALS = suppress(AttributeError, BayesGraphError, TypeError, ValueError)


def compile_all(report: Callable[[float, str], None]) -> None:
    """Compile all kernels.

    Parameters
    ----------
    report : callable
        Called as ``report(share of the steps that is done, name of the next step)``.
    """
    # "inline": each call compiles its kernel in this process, and waits for it.
    with mode_is("inline"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        steps = list(_steps())
        for done, (name, step) in enumerate(steps):
            report(done / len(steps), name)
            step()
        report(1.0, "")
    # Note in the list of compiled kernels that all are: later processes need not ask for each.
    tiers.library.add("", Library.ALL)


def _steps() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the name of each step and what it does, first what most programs need."""
    mixed, y = _table()
    states, numbers = mixed[:, :N_STATES], mixed[:, N_STATES:]
    # Numbers in (0, 1) and counts: each family takes one of them.
    shares = 1.0 / (1.0 + np.exp(-numbers))
    counts = [scipy.sparse.csr_array(states), states]
    stream = partial(bg.StreamingNaiveBayesClassifier, decay=0.99)
    every = models()
    first = {name: every.pop(name) for name in ("tan", "nb")}
    yield "questions to networks", partial(_ask, _network(16))
    # Small enough that all joint states are enumerated.
    yield "questions to small networks", partial(_ask, _network(5))
    for name, make in (first | every).items():
        yield f"model {name}", partial(_fit, make, mixed, y)
    yield "questions to networks of numbers", partial(_ask, _network(16, n_numbers=2))
    yield "structures without a class", partial(_learn, mixed)
    for name in ALL_SCHEMES:
        make = partial(bg.WeightedNaiveBayesClassifier, name)
        yield f"exponents {name}", partial(_use, make, [mixed, states], y)
    for name in FAMILIES:
        make = partial(bg.NaiveBayesClassifier, name)
        yield f"family {name}", partial(_use, make, [shares, *counts], y)
    for name in SUMMARIES:
        yield f"summary {name}", partial(_use, partial(stream, summary=name), [numbers], y)
    yield "complement", partial(_use, bg.ComplementNaiveBayesClassifier, counts, y)
    for name in DISCRETIZERS:
        yield f"intervals {name}", partial(DISCRETIZERS[name]().fit, numbers, y)
    # The mean of what a detector watches changes in the middle.
    values = [0] * (N_ROWS // 2) + [1] * (N_ROWS // 2)
    yield "detector adwin", partial(list, map(ADWIN().update, values))


def _network(n: int, n_numbers: int = 0) -> bg.BayesianNetwork:
    """Return a network with loops of n discrete variables, and Gaussians with a parent each."""
    rng = np.random.default_rng(0)
    variables = [bg.Discrete(f"v{i}", ["a", "b", "c"]) for i in range(n)]
    cpds: list[Any] = []
    for i, variable in enumerate(variables):
        parents = variables[max(0, i - 2) : i]
        table = rng.dirichlet(np.ones(3), size=(3,) * len(parents))
        cpds.append(bg.TableCPD(variable, table, parents=parents))
    for i in range(n_numbers):
        number = bg.Continuous(f"x{i}")
        cpds.append(bg.GaussianCPD(number, rng.normal(size=3), np.ones(3), [variables[i]]))
    return bg.BayesianNetwork(cpds)


def _ask(network: bg.BayesianNetwork) -> None:
    """Ask every kind of question, with states and likelihoods as evidence, and then numbers too."""
    evidence: dict[Any, Any] = {"v3": "a", "v1": {"a": 1.0, "b": 2.0, "c": 1.0}}
    numbers = [name for name in network.names if str(name).startswith("x")]
    for findings in (evidence, evidence | dict.fromkeys(numbers, 0.5)):
        for question in (
            partial(network.marginals, findings),
            partial(network.query, "v4", findings),
            partial(network.most_probable, findings),
            partial(network.k_most_probable, 3, findings),
            partial(network.most_probable, findings, over=["v0", "v2"]),
            partial(network.k_most_probable, 2, findings, method="search"),
            partial(network.sample, 20, findings, random_state=0),
            partial(network.ask.sensitivity, "v0", "a", findings),
        ):
            with _REFUSALS:
                question()
    rows = network.sample(N_ROWS, random_state=0, frame="pyarrow")
    network.log_likelihood(rows)
    network.query_rows("v4", rows.drop_columns("v4"))


def _table() -> tuple[Any, Any]:
    """Return numbers, of which the first columns are states, and classes that they tell."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N_ROWS)
    # The last array has the numbers of states of the columns.
    states = (y[:, None] + rng.integers(0, 3, (N_ROWS, N_STATES))) % [3, 3, 2, 2, 2, 2]
    numbers = rng.normal(y[:, None], 1.0, (N_ROWS, 4))
    return np.hstack([states, numbers]), np.array(["a", "b"])[y]


def _fit(make: Callable[..., Any], mixed: Any, y: Any) -> None:
    """Use a model on states, on states and numbers, and on numbers and on texts."""
    states = mixed[:, :N_STATES]
    _use(partial(make, categorical="all"), [states], y)
    _use(partial(make, categorical=[f"x{j}" for j in range(N_STATES)]), [mixed], y)
    _use(make, [mixed[:, N_STATES:], states.astype(str)], y)


def _use(make: Callable[..., Any], tables: list[Any], y: Any) -> None:
    """Fit, predict with and without missing values, and go on learning where there is a way to."""
    for X in tables:
        for options in ({}, {"sample_weight": np.linspace(0.5, 1.5, len(y))}):
            with _REFUSALS:
                classifier = make().fit(X, y, **options)
                classifier.predict_proba(X)
                classifier.predict(X[:1])
                classifier.partial_fit(X, y)
        if isinstance(X, np.ndarray) and X.dtype == float:
            holes = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
            for fitted in (X, holes):
                with _REFUSALS:
                    make().fit(fitted, y).predict_proba(holes)


def _learn(mixed: Any) -> None:
    """Learn structures over states and numbers, and over states alone."""
    rows: Any = {f"x{j}": column for j, column in enumerate(mixed.T)}
    states = list(rows)[:N_STATES]
    method = bg.learning.unrestricted
    for learner in (method, partial(method, score="bdeu"), bg.learning.pc):
        bg.BayesianNetwork.learn(rows, method=learner, categorical=states)
    of_states = {name: rows[name] for name in states}
    bg.BayesianNetwork.learn(of_states, method="pc", categorical="all")
