"""The streams of bench_stream: blocks of the generated sets, and what river carries along."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from large_scale import GaussianConcept, drifting
from river import datasets
from river.datasets import synth

# River's side of a benchmark ends there: its rows take a millisecond each.
RIVER_ROWS = 20_000
# Numbers in a block of rows: 16 MB.
_BLOCK = 2**21
# Seeds of rows, by concept.
_TRAIN, _TEST = 1000, 2000


def note(text: str) -> None:
    """Tell what is being done."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def rows_in_blocks(
    concept: GaussianConcept, n: int, random: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield n rows and their classes, some thousands at a time."""
    size = max(1, _BLOCK // len(concept.shift))
    for first in range(0, n, size):
        yield concept.draw(min(size, n - first), random)


def training(number: int) -> np.random.Generator:
    """Return a generator of a concept's training rows."""
    return np.random.default_rng(_TRAIN + number)


def test_blocks(
    concept: GaussianConcept, number: int, n: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield a concept's test rows, the same each time."""
    return rows_in_blocks(concept, n, np.random.default_rng(_TEST + number))


def _abrupt(n: int) -> int:
    """Return the narrowest change for which river's formula stays finite at the first row."""
    return max(1, n // 300)


def _sea(n: int) -> Iterable[Any]:
    return synth.ConceptDriftStream(
        synth.SEA(variant=0, noise=0.1, seed=1),
        synth.SEA(variant=2, noise=0.1, seed=2),
        position=n // 2,
        width=_abrupt(n),
        seed=3,
    )


def _agrawal(n: int) -> Iterable[Any]:
    return synth.ConceptDriftStream(
        synth.Agrawal(classification_function=0, seed=1),
        synth.Agrawal(classification_function=2, seed=2),
        position=n // 2,
        width=max(1, n // 10),
        seed=3,
    )


def _hyperplane(n: int) -> Iterable[Any]:
    return synth.Hyperplane(
        n_features=10, n_drift_features=5, mag_change=10 / n, noise_percentage=0.05, seed=1
    )


def _rbf(n: int) -> Iterable[Any]:
    return synth.RandomRBFDrift(
        n_classes=4,
        n_features=10,
        n_centroids=20,
        n_drift_centroids=20,
        change_speed=1 / n,
        seed_model=1,
        seed_sample=2,
    )


def _led(n: int) -> Iterable[Any]:
    return synth.ConceptDriftStream(
        synth.LED(noise_percentage=0.1, irrelevant_features=True, seed=1),
        synth.LEDDrift(noise_percentage=0.1, irrelevant_features=True, n_drift_features=5, seed=2),
        position=n // 2,
        width=_abrupt(n),
        seed=3,
    )


# Real streams that river ships, then generated ones with drift.
_RIVER: dict[str, Callable[[int], Iterable[Any]]] = {
    "Phishing": lambda _: datasets.Phishing(),
    "Bananas": lambda _: datasets.Bananas(),
    "ImageSegments": lambda _: datasets.ImageSegments(),
    "Shuttle": lambda _: datasets.Shuttle(),
    "SEA, abrupt": _sea,
    "Agrawal, gradual": _agrawal,
    "Hyperplane": _hyperplane,
    "RandomRBFDrift": _rbf,
    "LED, abrupt": _led,
}
_GENERATED: dict[str, Callable[[int], tuple[np.ndarray, np.ndarray, np.ndarray]]] = {
    "gamma, abrupt": lambda n: drifting("gamma", n, random_state=0),
    "gamma, gradual": lambda n: drifting("gamma", n, width=n / 10, random_state=0),
}
STREAMS = (*_RIVER, "Elec2", *_GENERATED)


def stream(name: str, most: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return a stream's rows as numbers and its classes from 0 on; None if it is not there."""
    if name in _GENERATED:
        return _GENERATED[name](most)[:2]
    if name == "Elec2":
        elec = datasets.Elec2()
        return _columns(elec, most) if elec.is_downloaded else None
    return _columns(_RIVER[name](most), most)


def _columns(rows: Iterable[Any], most: int) -> tuple[np.ndarray, np.ndarray]:
    found = list(islice(rows, most))
    X = np.array([[float(value) for value in x.values()] for x, _ in found])
    return X, np.unique([y for _, y in found], return_inverse=True)[1]
