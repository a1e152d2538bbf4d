"""Generated tables with a rare class: mixed columns, missing values and interactions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

# Shares of the rare class, from the first table to the last.
RAREST, LEAST_RARE = 0.002, 0.05
# Expected number of rare rows to learn from, and limits of the number of rows.
_RARE_ROWS, _FEWEST, _MOST = 60, 3_000, 20_000
# Steps of the bisection that finds the intercept of a share.
_STEPS = 60


@dataclass(frozen=True, eq=False)
class ImbalancedTable:
    """A table of which about `share` of the rows are of the class "yes", in two parts.

    Attributes
    ----------
    name : str
    share : float
        Mean probability of "yes" in the rows to learn from.
    train, test : pandas.DataFrame
    train_labels, test_labels : ndarray of "yes" and "no"
    """

    name: str
    share: float
    train: pd.DataFrame
    train_labels: NDArray[Any]
    test: pd.DataFrame
    test_labels: NDArray[Any]


def table(number: int, n_tables: int = 20, n_test: int = 20_000) -> ImbalancedTable:
    """Return one of `n_tables` tables, whose shares rise geometrically; its number is the seed."""
    at = number / max(n_tables - 1, 1)
    share = RAREST * (LEAST_RARE / RAREST) ** at
    n_train = int(np.clip(_RARE_ROWS / share, _FEWEST, _MOST))
    random = np.random.default_rng(number)
    columns = _columns(random, n_train + n_test)
    score = _score(random, columns)
    chance = _expit(score + _intercept(score[:n_train], share))
    labels = np.where(random.random(len(score)) < chance, "yes", "no")
    frame = _with_gaps(random, columns)
    return ImbalancedTable(
        f"table {number + 1}",
        share,
        frame[:n_train],
        labels[:n_train],
        frame[n_train:].reset_index(drop=True),
        labels[n_train:],
    )


def matrix(table: ImbalancedTable) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return both parts as numbers, for programs without categories: codes, NaN where missing."""
    together = pd.concat([table.train, table.test])
    for name in [name for name in together if name.startswith("c")]:
        codes = pd.Categorical(together[name]).codes
        together[name] = np.where(codes < 0, np.nan, codes)
    found = together.to_numpy(np.float64)
    return found[: len(table.train)], found[len(table.train) :]


def _columns(random: np.random.Generator, n: int) -> dict[str, NDArray[Any]]:
    """Return numbers n0, ..., amounts a0, ... and categories c0, ..., some of which go together."""
    hidden = random.normal(size=n)
    columns: dict[str, NDArray[Any]] = {}
    for j in range(int(random.integers(4, 7))):
        columns[f"n{j}"] = random.uniform(0, 0.6) * hidden + random.normal(size=n)
    for j in range(2):
        columns[f"a{j}"] = np.round(np.exp(random.normal(size=n) + 3), 2)
    for j in range(int(random.integers(3, 6))):
        k = int(random.integers(2, 9))
        levels = np.array([f"v{i}" for i in range(k)], dtype=object)
        place = random.dirichlet(np.full(k, 2.0)).cumsum()
        columns[f"c{j}"] = levels[np.minimum(np.searchsorted(place, random.random(n)), k - 1)]
    return columns


def _score(random: np.random.Generator, columns: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """Return the log odds of the rare class up to a constant: effects alone and of pairs."""
    parts = {name: _part(random, column) for name, column in columns.items()}
    names = list(parts)
    score = np.zeros(len(columns[names[0]]))
    for name in names:
        score += random.choice([0.0, 0.5, 1.0]) * parts[name]
    for _ in range(4):
        one, other = random.choice(names, 2, replace=False)
        score += 0.8 * parts[one] * parts[other]
    one, other = random.choice(names, 2, replace=False)
    return np.asarray(score + 2.0 * ((parts[one] > 0.8) & (parts[other] > 0.3)))


def _part(random: np.random.Generator, column: NDArray[Any]) -> NDArray[Any]:
    """Return an effect of a column, of mean 0 and variance 1 over its rows."""
    if column.dtype == object:
        levels, codes = np.unique(column, return_inverse=True)
        values = random.normal(size=len(levels))[codes]
    else:
        values = np.log(column) if column.min() > 0 else column
        values = random.choice([-1.0, 1.0]) * values
    return np.asarray((values - values.mean()) / values.std())


def _intercept(score: NDArray[Any], share: float) -> float:
    """Return the constant for which the mean probability is the share, by bisection."""
    low, high = -60.0, 60.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _expit(score + middle).mean() < share else (low, middle)
    return middle


def _expit(x: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(1.0 / (1.0 + np.exp(-x)))


def _with_gaps(random: np.random.Generator, columns: dict[str, NDArray[Any]]) -> pd.DataFrame:
    """Return the columns as a frame, every third one with missing values."""
    for name in list(columns)[::3]:
        column = columns[name]
        gone = random.random(len(column)) < random.uniform(0.02, 0.2)
        columns[name] = np.where(gone, None if column.dtype == object else np.nan, column)
    return pd.DataFrame(columns)
