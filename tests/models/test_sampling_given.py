"""Rows drawn given some values: the distribution is the exact conditional one."""

import math

import cases
import numpy as np
import oracle as brute
import pytest
from scipy import stats

import bayesgraph as bg
from bayesgraph.core.errors import (
    ImpossibleEvidenceError,
    MemoryLimitError,
    UnknownStateError,
    UnknownVariableError,
    UnsupportedModelError,
)
from bayesgraph.inference import Draw

N = 20_000


def codes(variable, column):
    place = {(type(s), s): i for i, s in enumerate(variable.states)}
    return np.array([place[type(v), v] for v in column.tolist()])


def assert_follows(variables, drawn, probabilities):
    """Compare the joint counts of discrete columns with their distribution, chi-square."""
    shape = tuple(v.cardinality for v in variables)
    cells = np.ravel_multi_index([codes(v, drawn[v.name]) for v in variables], shape)
    counts = np.bincount(cells, minlength=math.prod(shape))
    expected = probabilities.ravel() * len(cells)
    assert (counts[expected == 0] == 0).all()
    large = expected > 5
    seen = np.append(counts[large], counts[~large].sum())
    hoped = np.append(expected[large], expected[~large].sum())
    if (hoped > 0).sum() > 1:
        result = stats.chisquare(seen[hoped > 0], hoped[hoped > 0], sum_check=False)
        assert result.pvalue > 1e-4


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(6))
def test_discrete_networks(seed):
    network = brute.random_network(seed, n_discrete=5, most_worlds=60, zeros=0.1)
    oracle = brute.Oracle.of(network)
    rows = network.sample(8, random_state=seed)
    # The last in topological order has all others above it or beside it, the first nothing.
    order = [cpd.variable for cpd in network._nodes()]
    for k, chosen in enumerate((order[:1], order[-1:], order[1:3], [order[0], order[-1]])):
        given = {v.name: rows[v.name].tolist()[k] for v in chosen}
        drawn = network.sample(N, evidence=given, random_state=seed)
        assert list(drawn) == list(network.names)
        for name, value in given.items():
            assert set(drawn[name].tolist()) == {value}
            assert type(drawn[name].tolist()[0]) is type(value)
        free = [v for v in oracle.discrete if v.name not in given]
        assert_follows(free, drawn, oracle.posterior([v.name for v in free], given))


@pytest.mark.parametrize("seed", [1003, 1012, 1020])
def test_mixed_networks(seed):
    network = brute.random_network(seed, n_discrete=3, n_continuous=3, most_worlds=24)
    oracle = brute.Oracle.of(network)
    row = {name: column.tolist()[0] for name, column in network.sample(1, random_state=2).items()}
    first, last = oracle.continuous[0], oracle.continuous[-1]
    for name in (last.name, oracle.discrete[-1].name):
        given = {name: row[name]}
        drawn = network.sample(N, evidence=given, random_state=seed)
        free = [v for v in oracle.discrete if v.name not in given]
        if free:
            assert_follows(free, drawn, oracle.posterior([v.name for v in free], given))
        names = [v.name for v in (first, last) if v.name not in given]
        mean, covariance = oracle.moments(names, given)
        scale = np.sqrt(np.diag(covariance))
        columns = np.stack([drawn[name] for name in names])
        np.testing.assert_allclose(
            columns.mean(axis=1) / scale, mean / scale, atol=5 / math.sqrt(N)
        )
        scaled = np.atleast_2d(np.cov(columns)) / np.outer(scale, scale)
        np.testing.assert_allclose(scaled, covariance / np.outer(scale, scale), atol=0.1)


def test_soft_evidence_and_beliefs():
    a, b = bg.Discrete("a", [0, 1]), bg.Discrete("b", ["x", "y"])
    net = bg.BayesianNetwork(
        [bg.TableCPD(a, [0.5, 0.5]), bg.TableCPD(b, [[0.9, 0.1], [0.3, 0.7]], parents=[a])]
    )
    for soft in ({"x": 1.0, "y": 4.0}, bg.Belief({"x": 0.2, "y": 0.8})):
        drawn = net.sample(N, evidence={"b": soft}, random_state=0)
        assert_follows([a], drawn, net.query("a", {"b": soft}).probabilities)
        assert_follows([b], drawn, net.query("b", {"b": soft}).probabilities)


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("case", "kind"), cases.pairs(kinds=("mixed",)), ids=str)
def test_classifiers(case, kind):
    data = cases.make_data(kind)
    classifier = cases.fitted(case, data)
    if not classifier.network_._answers(Draw):
        with pytest.raises(UnsupportedModelError, match="does not answer sample"):
            classifier.network_.sample(50, random_state=0)
        return
    drawn = classifier.network_.sample(50, evidence={"class": "setosa"}, random_state=0)
    assert set(drawn) == {"class", *cases.NAMES}
    assert set(drawn["class"].tolist()) == {"setosa"}
    assert drawn["b"].dtype == bool
    again = classifier.network_.sample(50, evidence={"class": "setosa"}, random_state=0)
    assert all(drawn[name].tolist() == again[name].tolist() for name in drawn)
    given = {"b": True, "c": data.columns["c"][0]}
    drawn = classifier.network_.sample(N, evidence=given, random_state=1)
    expected = classifier.query(evidence=given).probabilities
    assert_follows([classifier.target_], drawn, expected)
    plain = classifier.network_.sample(20, random_state=3)
    assert (
        plain["class"].tolist() == classifier.network_.sample(20, random_state=3)["class"].tolist()
    )


def test_nothing_given_is_the_joint_distribution():
    network = brute.random_network(3, n_discrete=4, most_worlds=40)
    plain = network.sample(30, random_state=1)
    for nothing in (None, {}, {network.names[0]: None}):
        drawn = network.sample(30, evidence=nothing, random_state=1)
        assert all(drawn[name].tolist() == plain[name].tolist() for name in plain)
    assert {len(c) for _, c in network.sample(0, {}, random_state=1).items()} == {0}


def test_what_cannot_be_given():
    a, b, c = (bg.Discrete(name, ["no", "yes"]) for name in "abc")
    table = [[1.0, 0.0], [0.5, 0.5]]
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(a, [0.5, 0.5]),
            bg.TableCPD(b, table, parents=[a]),
            bg.TableCPD(c, table, parents=[b]),
        ]
    )
    # Clamped, with everything above given, and by way of the posterior.
    for given in ({"a": "no", "b": "yes"}, {"a": "no", "c": "yes"}):
        with pytest.raises(ImpossibleEvidenceError, match="probability zero"):
            net.sample(5, evidence=given)
    with pytest.raises(UnknownVariableError, match="'d'"):
        net.sample(5, evidence={"d": "no"})
    with pytest.raises(UnknownStateError, match="'maybe'"):
        net.sample(5, evidence={"a": "maybe"})


def test_counts_that_are_observed_beside_a_free_number():
    label, words = bg.Discrete("label", ["a", "b"]), bg.CountVector("words", ["x", "y"])
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(label, [0.5, 0.5]),
            bg.MultinomialCPD(words, [[0.0, 1.0], [1.0, 0.0]], parents=[label]),
            bg.GaussianCPD(bg.Continuous("length"), [0.0, 10.0], [1.0, 1.0], [label]),
        ]
    )
    drawn = net.sample(N, {"words": {"x": 3}}, random_state=0)
    assert set(drawn["label"]) == {"b"}
    assert abs(drawn["length"].mean() - 10.0) < 0.05


def test_more_rows_than_memory_are_refused():
    net = bg.BayesianNetwork([bg.TableCPD(bg.Discrete("a", [0, 1]), [0.5, 0.5])])
    with pytest.raises(MemoryLimitError, match="1,000,000,000,000 rows of 1 columns"):
        net.sample(10**12)
    with pytest.raises(
        MemoryLimitError, match=r"100 rows of 1 columns take 800 B; the limit is 80"
    ):
        net.sample(100, memory_limit=80)
    assert len(net.sample(10, memory_limit=80)) == 10
