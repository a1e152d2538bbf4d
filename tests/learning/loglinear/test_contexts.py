import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loglinear_rows import features_of, make_sample

from bayesgraph.learning.loglinear.context_trees import _Search, contexts_of
from bayesgraph.learning.loglinear.contexts import Contexts
from bayesgraph.learning.loglinear.pair_trees import WithoutPairs
from bayesgraph.learning.loglinear.sample import Sample

CARDS = (3, 1, 4, 2)


@st.composite
def trees(draw, cards=CARDS):
    """Return the regions of a tree of splits on features of so many states."""
    found = [{}]
    for _ in range(draw(st.integers(1, 6))):
        region = found.pop(draw(st.integers(0, len(found) - 1)))
        j = draw(st.sampled_from([j for j, k in enumerate(cards) if k > 1]))
        here = region.get(j, np.ones(cards[j], dtype=bool))
        cut = draw(st.integers(1, cards[j] - 1))
        left = here & (np.arange(cards[j]) < cut)
        if not left.any() or not (here & ~left).any():
            found.append(region)
            continue
        found += [{**region, j: left}, {**region, j: here & ~left}]
    return found


def context_of(regions, states):
    """Return the context of a row, None where a missing state (-1) leaves it open."""
    able = [
        at
        for at, region in enumerate(regions)
        if all(states[j] < 0 or mask[states[j]] for j, mask in region.items())
    ]
    return able[0] if len(able) == 1 else None


@given(trees())
def test_each_row_has_the_context_of_its_region(regions):
    if len(regions) == 1:
        return
    contexts = Contexts.of(regions)
    rows = np.array(list(itertools.product(*(range(-1, k) for k in CARDS))))
    found = contexts.rows(rows)
    for states, context in zip(rows, found, strict=True):
        expected = context_of(regions, states)
        assert context == (-1 if expected is None else expected)
    assert contexts.n == len(regions)
    complete = rows[(rows >= 0).all(axis=1)][:, contexts.features]
    np.testing.assert_array_equal(contexts.cells[tuple(complete.T)], found[(rows >= 0).all(axis=1)])


@given(trees())
def test_the_share_is_that_of_independent_features(regions):
    if len(regions) == 1:
        return
    contexts = Contexts.of(regions)
    random = np.random.default_rng(len(regions))
    shares = [random.dirichlet(np.ones(k)) for k in CARDS]
    rows = np.array(list(itertools.product(*(range(k) for k in CARDS))))
    mass = np.prod([share[codes] for share, codes in zip(shares, rows.T, strict=True)], axis=0)
    expected = np.bincount(contexts.rows(rows), mass, contexts.n)
    np.testing.assert_allclose(contexts.share(shares), expected, atol=1e-12)


def test_merged_states_stay_in_their_contexts():
    contexts = Contexts.of([{0: np.arange(6) < 3}, {0: np.arange(6) >= 3}])
    merged = contexts.merged([np.array([0, 1, 1, 2, 2, 3])])
    np.testing.assert_array_equal(
        merged.rows(np.array([[0], [1], [2], [3], [-1]])), [0, 0, 1, 1, -1]
    )


# -------------------------------------------------------------------------------- growing


def exclusive(n_rows=400, n_classes=2):
    """Return rows whose class is an exclusive or of thresholds, and a feature of noise."""
    random = np.random.default_rng(1)
    codes = np.column_stack([random.integers(k, size=n_rows) for k in (8, 6, 5)])
    labels = ((codes[:, 0] >= 3) ^ (codes[:, 1] >= 4)).astype(int) * (n_classes - 1)
    features = features_of((8, 6, 5), binned=(0, 1, 2))
    return Sample.of(features, codes, labels, np.empty(0), n_classes)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_exclusive_or_is_found(n_classes):
    sample = exclusive(n_classes=n_classes)
    contexts = contexts_of(WithoutPairs(sample))
    found = contexts.rows(sample.codes)
    for context in range(contexts.n):
        assert len(set(sample.labels[found == context])) == 1
    assert {0, 1} <= set(contexts.features)


def test_the_gain_of_the_best_split_is_the_largest_of_all():
    sample = make_sample((4, 5, 3), 300, 3, binned=(1,), seed=2, missing=0.1)
    search = _Search(WithoutPairs(sample), ())
    leaf = search.leaf(np.arange(len(sample.labels)), {})
    residuals, spreads = WithoutPairs(sample).derivatives

    def worth(rows):
        return np.sum(residuals[rows].sum(0) ** 2 / (spreads[rows].sum(0) + 3.0))

    codes = sample.codes[:, 1]
    gains = []
    for cut in range(1, 5):
        left, right = (codes >= 0) & (codes < cut), codes >= cut
        if min(sample.weights[left].sum(), sample.weights[right].sum()) >= 3.0:
            gains.append(worth(left) + worth(right) - worth(left | right))
    np.testing.assert_allclose(leaf.gains[1], max(0.0, *gains), atol=1e-8)
    goes = leaf.goes[search.starts[1] : search.starts[2]]
    assert goes[: goes.sum()].all()


def test_the_order_of_categories_is_that_of_their_residuals():
    """The states of an even number have one class: a split by order finds them at once."""
    random = np.random.default_rng(0)
    codes = random.integers(12, size=(600, 2))
    labels = codes[:, 0] % 2
    sample = Sample.of(features_of((12, 12)), codes, labels, np.empty(0), 2)
    search = _Search(WithoutPairs(sample), ())
    goes = search.leaf(np.arange(len(sample.labels)), {}).goes[:12]
    assert set(np.flatnonzero(goes) % 2) in ({0}, {1})
    assert goes.sum() == 6


@pytest.mark.parametrize("pairs", [(), ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5))])
def test_features_with_contexts_and_pairs_are_a_tree_of_cliques(pairs):
    sample = make_sample((3, 4, 5, 3, 4, 3), 500, 3, binned=(1, 2), seed=5)
    contexts = contexts_of(WithoutPairs(sample), pairs)
    features = contexts.features
    assert 1 <= len(features) <= 4
    assert contexts.n <= 16
    if pairs:  # a chain: neighbours
        assert features[-1] - features[0] == len(features) - 1


def test_no_split_without_rows():
    sample = exclusive(4)
    assert contexts_of(WithoutPairs(sample)) is None
