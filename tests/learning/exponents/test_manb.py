"""Model-averaged naive Bayes, against the average over all subsets of five features."""

from itertools import product
from math import gamma, prod

import numpy as np
import pytest
from exponent_samples import sample

from bayesgraph.errors import DataError
from bayesgraph.learning.exponents import model_averaged_tables


def evidence(columns, alpha):
    """Return P(D | structure) of one feature and its tables, from the definition."""
    r = len(columns)
    found = 1.0
    for column in columns.T:
        found *= gamma(r * alpha) / gamma(column.sum() + r * alpha)
        found *= prod(gamma(n + alpha) / gamma(alpha) for n in column)
    return found, (columns + alpha) / (columns.sum(axis=0) + r * alpha)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("alpha", [1.0, 0.3])
def test_the_average_over_all_subsets(seed, alpha):
    terms = sample(seed, n=40, d=5, k=2 + seed % 2, card=2 + seed % 3)
    k = terms.n_classes
    arc_prior = np.array([0.5, 0.2, 0.9, 0.5, 0.01])
    found = model_averaged_tables(terms.counts, alpha=alpha, arc_prior=arc_prior)

    weight, joint, arcs = 0.0, 0.0, np.zeros(5)
    row = np.array([0, 1, 0, 1, 1])
    for subset in product([0, 1], repeat=5):
        p, likelihood = 1.0, np.ones(k)
        for i, present in enumerate(subset):
            columns = terms.counts[i] if present else terms.counts[i].sum(axis=1)[:, None]
            marginal, theta = evidence(columns, alpha)
            p *= marginal * (arc_prior[i] if present else 1 - arc_prior[i])
            likelihood = likelihood * theta[row[i]]
        weight, joint, arcs = weight + p, joint + p * likelihood, arcs + p * np.array(subset)
    product_ = np.prod([table[x] for table, x in zip(found.tables, row, strict=True)], axis=0)
    np.testing.assert_allclose(product_, joint / weight, rtol=1e-10)
    np.testing.assert_allclose(found.arc_probability, arcs / weight, rtol=1e-10)
    for table in found.tables:
        np.testing.assert_allclose(table.sum(axis=0), 1)


def test_limits():
    counts = [np.array([[400.0, 3.0], [5.0, 500.0]]), np.array([[300.0, 303.0], [105.0, 200.0]])]
    always, never = (model_averaged_tables(counts, arc_prior=p) for p in (1.0, 0.0))
    np.testing.assert_allclose(always.tables[0], (counts[0] + 1) / (counts[0].sum(axis=0) + 2))
    pooled = counts[0].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(never.tables[0], np.tile((pooled + 1) / (908 + 2), 2))
    assert always.arc_probability.tolist() == [1, 1]
    assert never.arc_probability.tolist() == [0, 0]
    # More rows than any product of probabilities could hold.
    large = model_averaged_tables([1e6 * np.eye(3), np.full((4, 3), 1e6)])
    np.testing.assert_allclose(large.arc_probability, [1, 0], atol=1e-12)
    assert model_averaged_tables([]).tables == ()


@pytest.mark.parametrize(
    "wrong", [{"alpha": 0.0}, {"alpha": np.inf}, {"arc_prior": 1.5}, {"arc_prior": [0.5, 0.5]}]
)
def test_wrong_priors(wrong):
    with pytest.raises(DataError, match=next(iter(wrong))):
        model_averaged_tables([np.ones((2, 2))], **wrong)
