"""Splits of grown trees, beside their definitions and published examples."""

import itertools
import math

import numpy as np
import pytest
from grown_trees import grown, table

import bayesgraph as bg
from bayesgraph.learning import ErrorRate, GainRatio

OUTLOOK = np.repeat(["sunny", "overcast", "rain"], [5, 4, 5])
WINDY = np.array([1, 1, 0, 0, 0, 1, 0, 1, 0, 1, 1, 0, 0, 0])
PLAY = np.array([1, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1])


# ---------------------------------------------------------------------------------------- C4.5


def test_gain_of_a_feature_with_a_missing_value():
    # Quinlan (1993, sections 2.2 and 3.2): the outlook of one of 14 days is not known.
    whole = grown(table(outlook=OUTLOOK), PLAY, GainRatio()).splits[0]
    assert whole.gain / 14 == pytest.approx(0.246, abs=1e-3)
    outlook = OUTLOOK.astype(object)
    outlook[5] = None
    tree = grown(table(outlook=outlook), PLAY, GainRatio())
    assert tree.splits[0].gain / 14 == pytest.approx(0.199, abs=1e-3)
    # That day goes to all three branches, by 3, 5 and 5 parts of 13.
    np.testing.assert_allclose(
        tree.counts[tree.children[0]], [[0, 3 + 3 / 13], [2, 3 + 5 / 13], [3, 2 + 5 / 13]]
    )


def bits(counts):
    """Return the entropy of counts in bits, times their sum."""
    shares = counts[counts > 0] / counts.sum()
    return -counts.sum() * float(np.sum(shares * np.log2(shares)))


def definition(data, y, weights, min_rows):
    """Return (ratio, feature, gain) of the best split, from the definitions of Quinlan."""
    n, found = weights.sum(), []
    for j, variable in enumerate(data.variables):
        column = data.column(variable)
        if isinstance(variable, bg.Discrete):
            parts = [[column == s for s in range(variable.cardinality)]]
            missing, cost = column < 0, 0.0
        else:
            missing = np.isnan(column)
            distinct = np.unique(column[~missing])
            parts = [[column <= v, column > v] for v in distinct[:-1]]
            cost = math.log2(max(1, len(distinct) - 1)) / n
            least = max(min_rows, min(25.0, 0.1 * weights[~missing].sum() / (y.max() + 1)))
            parts = [p for p in parts if min(weights[rows].sum() for rows in p) >= least]
        own = []
        for split in parts:
            if sum(weights[rows].sum() >= min_rows for rows in split) < 2:
                continue
            counts = [np.bincount(y[rows], weights[rows], minlength=3) for rows in split]
            gain = (bits(sum(counts)) - sum(map(bits, counts))) / n
            sizes = [c.sum() for c in counts] + [weights[missing].sum()]
            own.append((gain - cost, bits(np.array(sizes)) / sum(sizes)))
        if own and max(own)[0] > 1e-9:
            gain, information = max(own)
            found.append((gain / information, j, gain))
    average = np.mean([gain for *_, gain in found]) if found else 0.0
    return max((f for f in found if f[2] >= average - 1e-12), default=None)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(40))
def test_the_first_split_of_c45_is_the_definition(seed):
    random = np.random.default_rng(seed)
    n, hidden = 60, 0.25 * (seed % 2)
    y = random.integers(0, 3, n)
    numbers = [np.round(random.normal(size=n) + y * k, 1) for k in (0.0, 0.6)]
    texts = [np.array(list("abcd"))[(random.integers(0, 4, n) * (y > k)) % 4] for k in (-1, 0)]
    for column in numbers:
        column[random.random(n) < hidden] = np.nan
    texts = [[None if random.random() < hidden else s for s in column] for column in texts]
    weights = random.integers(1, 4, n).astype(float)
    data = table(a=texts[0], b=texts[1], c=list(numbers[0]), d=list(numbers[1]))
    split = grown(data, y, GainRatio(), weights, min_samples_leaf=2).splits[0]
    expected = definition(data, y, weights, 2)
    assert split.feature == expected[1]
    assert split.gain / weights.sum() == pytest.approx(expected[2])


def test_states_without_rows_have_the_frequencies_of_the_node():
    size = np.repeat(["small", "large"], [12, 12])
    shape = np.array(list("aaaaaaaabbbb" + "aaaaaaaaccbb"))
    y = np.repeat([0, 1, 2, 3], [8, 4, 10, 2])
    tree, counts = grown(table(size=size, shape=shape), y, GainRatio()).to_tree()
    for node in range(tree.n_nodes):
        if tree.feature[node] >= 0 and tree.heads[node] == node:
            below = [branch.node for branch in tree.branches(node)]
            np.testing.assert_allclose(counts[below].sum(axis=0), counts[node])
            states = np.array([branch.states for branch in tree.branches(node)])
            assert (states.sum(axis=0) == 1).all()
    # There is no small c, though there might be one.
    empty = np.flatnonzero(counts.sum(axis=1) == 0)
    assert len(empty) == 1
    assert tree.feature[empty[0]] < 0


def test_a_threshold_pays_for_its_choice():
    random = np.random.default_rng(0)
    noise, y = random.normal(size=40), random.integers(0, 2, 40)
    assert grown(table(x=list(noise)), y, GainRatio(), min_samples_leaf=2).splits[0] is None
    assert grown(table(x=list(noise)), y, ErrorRate()).splits[0] is not None


# --------------------------------------------------------------------------------------- error


@pytest.mark.parametrize("seed", range(6))
def test_the_first_split_by_error_equals_brute_force(seed):
    random = np.random.default_rng(seed)
    n, k = 24, 3
    X = random.integers(0, 5, size=(n, 3)).astype(float)
    X[random.random((n, 3)) < 0.2 * (seed % 2)] = np.nan
    y, w = random.integers(0, k, n), random.integers(1, 4, n).astype(float)
    fewest = 1 + seed // 2
    data = table(**{f"x{j}": list(X[:, j]) for j in range(3)})
    split = grown(data, y, ErrorRate(), w, max_depth=1, min_samples_leaf=fewest).splits[0]
    gains = []
    for j, cut, missing in itertools.product(range(3), np.arange(0.5, 6), (False, True)):
        left = np.where(np.isnan(X[:, j]), missing, X[:, j] < cut)
        sides = left, ~left
        both = (X[:, j] < cut).any() and (X[:, j] > cut).any()
        if both and min(side.sum() for side in sides) >= fewest:
            counts = [np.bincount(y[s], w[s], minlength=k) for s in sides]
            gains.append(sum(c.max() for c in counts) - sum(counts).max())
    assert split.gain == pytest.approx(max(gains))


def test_neighbouring_numbers_are_divided():
    odd = np.nextafter(1.0, 2.0)  # the number halfway rounds to the next
    x = [odd, float(np.nextafter(odd, 2.0))] * 5
    tree, _ = grown(table(x=x), np.array([0, 1] * 5), ErrorRate()).to_tree()
    assert tree.threshold[0] == odd


def test_splits_that_change_nothing_do_not_peel_off_rows():
    random = np.random.default_rng(0)
    X = random.normal(size=(1500, 3))
    data = table(a=list(X[:, 0]), b=list(X[:, 1]), c=list(X[:, 2]))
    tree, _ = grown(data, random.integers(0, 2, 1500), ErrorRate()).to_tree()
    assert tree.depth < 60
    # Nine of ten rows are of one class, so that no first split has fewer errors.
    x = np.arange(1000.0)
    y = ((x >= 900) & (x % 2 == 0)).astype(int)
    tree, _ = grown(table(x=list(x)), y, ErrorRate(), max_depth=2).to_tree()
    assert 890 < tree.threshold[0] < 910


# ---------------------------------------------------------------------------------- both of them


@pytest.mark.parametrize("criterion", [ErrorRate(), GainRatio()])
def test_rows_with_missing_values_are_kept(criterion):
    random = np.random.default_rng(1)
    X = random.normal(size=(300, 3))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    X[random.random(X.shape) < 0.2] = np.nan
    data = table(a=list(X[:, 0]), b=list(X[:, 1]), c=list(X[:, 2]))
    tree = grown(data, y, criterion, min_samples_leaf=10)
    for node, below in enumerate(tree.children):
        if below:
            np.testing.assert_allclose(tree.counts[below].sum(axis=0), tree.counts[node], atol=0.05)
            assert tree.counts[below].sum(axis=1).min() >= 10
