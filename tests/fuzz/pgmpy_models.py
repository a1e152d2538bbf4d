"""pgmpy models whose parts were changed after they had been checked."""

from __future__ import annotations

import contextlib
import functools
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pgmpy.factors.continuous
import pgmpy.factors.discrete
import pgmpy.models

_STATES = {"a": ["n", "y"], "b": [0, 1, 2], "c": [True, False]}
_LABELS: tuple[Any, ...] = (
    *(["q", "r"], ["n", "n"], ["y", "n"], [], [0], [[1], [2]], None, [None, 1], [2, 1, 0]),
    *([float("nan"), 1], ["x", 1, 2.0], "no", 7, {"a": 1}),
)
_NAMES: tuple[Any, ...] = ("a", "b", "c", "z", None, [1], ("a",), 5, float("nan"), {"a": 1})
_NUMBERS = (np.nan, np.inf, -1.0, 0.0, 1e308, 1.000001, 1 + 1e-9)
_DTYPES = ("f4", "O", "c16", "i8", "U5")


def _discrete() -> Any:
    table = functools.partial(pgmpy.factors.discrete.TabularCPD)
    model = pgmpy.models.DiscreteBayesianNetwork([("a", "c"), ("b", "c")])
    values = np.linspace(0.05, 0.95, 6)
    model.add_cpds(
        table("a", 2, [[0.2], [0.8]], state_names={"a": _STATES["a"]}),
        table("b", 3, [[0.2], [0.3], [0.5]], state_names={"b": _STATES["b"]}),
        table("c", 2, [values, 1 - values], ["a", "b"], [2, 3], state_names=dict(_STATES)),
    )
    return model


def _markov() -> Any:
    model = pgmpy.models.DiscreteMarkovNetwork([("a", "b"), ("b", "c")])
    for scope in (["a", "b"], ["b", "c"]):
        cards = [len(_STATES[name]) for name in scope]
        states = {name: _STATES[name] for name in scope}
        values = np.arange(1.0, np.prod(cards) + 1)
        model.add_factors(
            pgmpy.factors.discrete.DiscreteFactor(scope, cards, values, state_names=states)
        )
    return model


def _gaussian() -> Any:
    cpd = pgmpy.factors.continuous.LinearGaussianCPD
    model = pgmpy.models.LinearGaussianBayesianNetwork([("a", "c"), ("b", "c")])
    model.add_cpds(cpd("a", [1.0], 2.0), cpd("b", [0.0], 0.5), cpd("c", [1, 2, 3], 1, ["a", "b"]))
    return model


_MAKERS: tuple[Callable[[], Any], ...] = (_discrete, _markov, _gaussian)


@functools.cache
def _attributes(maker: Callable[[], Any]) -> list[str]:
    return [
        name
        for name in (
            "values",
            "state_names",
            "variables",
            "cardinality",
            "variable",
            "beta",
            "std",
            "evidence",
        )
        if any(hasattr(part, name) for part in _parts(maker()))
    ]


def _parts(model: Any) -> list[Any]:
    return model.factors if hasattr(model, "factors") else model.cpds


def damaged_model(chance: random.Random) -> Any:
    """Return a pgmpy model with one change or two that pgmpy does not notice."""
    model = chance.choice(_MAKERS)()
    for _ in range(chance.choice((1, 1, 2))):
        chance.choice(_CHANGES)(chance, model)
    return model


def _of(chance: random.Random, model: Any, attribute: str) -> Any:
    """Return a CPD or factor that has an attribute, or None."""
    having = [part for part in _parts(model) if hasattr(part, attribute)]
    return chance.choice(having) if having else None


def _scaled(chance: random.Random, model: Any) -> None:
    part = _of(chance, model, "values")
    if part is not None and np.asarray(part.values).dtype.kind != "U":
        with np.errstate(all="ignore"):
            part.values = np.asarray(part.values) * chance.choice(_NUMBERS)


def _flat(chance: random.Random, model: Any) -> None:
    if part := _of(chance, model, "values"):
        part.values = np.asarray(part.values).reshape(-1)[: chance.randrange(1, 5)]


def _retyped(chance: random.Random, model: Any) -> None:
    if part := _of(chance, model, "values"):
        dtype = chance.choice(_DTYPES)
        # Not every text, after another change, is a number.
        with warnings.catch_warnings(), contextlib.suppress(ValueError):
            warnings.simplefilter("ignore")
            part.values = np.asarray(part.values).astype(dtype)


def _relabelled(chance: random.Random, model: Any) -> None:
    part = _of(chance, model, "state_names")
    if part is not None and part.state_names:
        part.state_names[chance.choice(list(part.state_names))] = chance.choice(_LABELS)


def _renamed(chance: random.Random, model: Any) -> None:
    attribute = chance.choice(("variables", "evidence"))
    if part := _of(chance, model, attribute):
        try:
            setattr(part, attribute, [chance.choice(_NAMES) for _ in getattr(part, attribute)])
        except (AttributeError, TypeError):  # a property, or a method
            part.variable = chance.choice(_NAMES)


def _resized(chance: random.Random, model: Any) -> None:
    if part := _of(chance, model, "cardinality"):
        part.cardinality = np.array([chance.choice((1, 2, 3, 10**9)) for _ in part.cardinality])


def _unnamed(chance: random.Random, model: Any) -> None:
    if part := _of(chance, model, "state_names"):
        part.state_names = chance.choice(({}, None, [], {"a": 1}))


def _reparameterised(chance: random.Random, model: Any) -> None:
    if part := _of(chance, model, "beta"):
        value: Any = chance.choice((*_NUMBERS, "x", None, [1.0], [[1.0]], []))
        setattr(part, chance.choice(("beta", "std")), value)


def _removed(chance: random.Random, model: Any) -> None:
    parts = _parts(model)
    if parts:
        del parts[chance.randrange(len(parts))]


def _doubled(chance: random.Random, model: Any) -> None:
    parts = _parts(model)
    if parts:
        parts.append(chance.choice(parts))


def _node(chance: random.Random, model: Any) -> None:
    model.add_node(chance.choice(("z", 5, ("a",))))


_CHANGES: tuple[Callable[[random.Random, Any], None], ...] = (
    *(_scaled, _flat, _retyped, _relabelled, _renamed, _resized, _unnamed, _reparameterised),
    *(_removed, _doubled, _node),
)
