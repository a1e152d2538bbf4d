"""Rows and models for the tests of log-linear training."""

import numpy as np

from bayesgraph.core import Binned, Discrete
from bayesgraph.learning.loglinear.sample import Sample
from bayesgraph.learning.loglinear.terms import Terms
from bayesgraph.learning.loglinear.training import start


def features_of(cards, binned=()):
    """Return features of so many states each, some of them intervals."""
    return [
        Binned(f"x{j}", range(1, k)) if j in binned else Discrete(f"x{j}", range(k))
        for j, k in enumerate(cards)
    ]


def make_sample(cards=(3, 12, 2), n_rows=80, n_classes=3, *, binned=(1,), seed=0, missing=0.0):
    """Return rows whose features follow the class a little, each class among them."""
    random = np.random.default_rng(seed)
    labels = np.concatenate(
        [np.arange(n_classes), random.integers(n_classes, size=n_rows - n_classes)]
    )
    codes = np.column_stack(
        [
            (random.integers(k, size=n_rows) + labels * (random.random(n_rows) < 0.4)) % k
            for k in cards
        ]
    )
    codes[random.random(codes.shape) < missing] = -1
    return Sample.of(features_of(cards, binned), codes, labels, np.empty(0), n_classes)


def random_parameters(terms: Terms, n_classes: int, seed=0, scale=1.0):
    """Return a model that was not trained."""
    shape = start(terms, np.full(n_classes, 1.0 / n_classes)).shape
    return scale * np.random.default_rng(seed).normal(size=shape)
