"""Small, long, wide and improbable: where answers by enumeration are out of reach."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from joint import Joint, random_network
from scipy.special import logsumexp

import bayesgraph as bg
from bayesgraph.core.errors import (
    EvidenceError,
    ImpossibleEvidenceError,
    MemoryLimitError,
    UnsupportedModelError,
)


def binary(prefix, n):
    return [bg.Discrete(f"{prefix}{i}", [0, 1]) for i in range(n)]


# ------------------------------------------------------------------------------------------ small


def test_a_single_variable():
    a = bg.Discrete("a", ["x", "y", "z"])
    network = bg.BayesianNetwork([bg.TableCPD(a, [0.2, 0.5, 0.3])])
    assert dict(network.marginals()) == {"a": network.query("a")}
    assert network.query("a").to_dict() == pytest.approx({"x": 0.2, "y": 0.5, "z": 0.3})
    assert network.query(["a"]).names == ("a",)
    assert [a["a"] for a in network.k_most_probable(5)] == ["y", "z", "x"]
    soft = {"a": {"x": 4.0, "y": 0.0, "z": 1.0}}
    assert network.query("a", soft).probabilities == pytest.approx([8 / 11, 0, 3 / 11])
    assert network.log_probability(soft) == pytest.approx(math.log(1.1))
    assert network.ask.conflict(soft).measure == pytest.approx(0.0, abs=1e-15)
    assert network.ask.sensitivity("a", "x").derivatives["a"] == pytest.approx([0.8, -0.2, -0.2])
    assert network.query_rows("a", {"a": ["x", None], "other": [1, 2]}) == pytest.approx(
        np.array([[0.2, 0.5, 0.3]] * 2)
    )


def test_a_variable_of_one_state():
    a, b = bg.Discrete("a", ["only"]), bg.Discrete("b", [0, 1])
    network = bg.BayesianNetwork([bg.TableCPD(a, [1.0]), bg.TableCPD(b, [[0.4, 0.6]], parents=[a])])
    assert network.query("a", {"b": 1}).to_dict() == {"only": 1.0}
    assert network.query(["b", "a"]).probabilities == pytest.approx(np.array([[0.4], [0.6]]))
    assert network.log_probability({"a": "only", "b": 0}) == pytest.approx(math.log(0.4))
    assert dict(network.most_probable(over=["a"])) == {"a": "only"}
    assert network.sample(3, random_state=0)["a"].tolist() == ["only"] * 3
    soft = {"a": {"only": 0.25}}
    assert network.log_probability(soft) == pytest.approx(math.log(0.25))


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(30))
def test_everything_observed_and_everything_but_one(seed):
    network = random_network(seed)
    joint = Joint.of(network)
    random = np.random.default_rng(seed)
    world = random.choice(np.flatnonzero(joint.weights > 0))
    evidence = {v.name: v.states[int(joint.column[v][world])] for v in joint.variables}
    log_mass = joint.log_mass(evidence)
    found = network.marginals(evidence)
    assert len(found) == 0
    assert list(found) == []
    assert found.log_evidence == pytest.approx(log_mass, abs=1e-11)
    assert network.log_probability(evidence) == pytest.approx(log_mass, abs=1e-11)
    rows = network.sample(2, evidence, frame="dict")
    assert {name: column.tolist() for name, column in rows.items()} == {
        name: [evidence[name]] * 2 for name in network.names
    }
    (alone,) = network.k_most_probable(4, evidence)
    assert dict(alone) == {}
    assert alone.log_probability == pytest.approx(log_mass, abs=1e-11)
    for name in network.names:
        rest = {n: state for n, state in evidence.items() if n != name}
        expected = joint.posterior([name], rest)
        assert network.query(name, rest).probabilities == pytest.approx(expected, abs=1e-12)
        assert network.marginals(rest)[name].probabilities == pytest.approx(expected, abs=1e-12)


def test_evidence_that_is_impossible_far_from_the_target():
    """b is separated from a, but what is said of it cannot be: the question has no answer."""
    a, b, c, d = (bg.Discrete(name, [0, 1]) for name in "abcd")
    network = bg.BayesianNetwork(
        [
            bg.TableCPD(a, [0.5, 0.5]),
            bg.TableCPD(b, [1.0, 0.0]),
            bg.TableCPD(c, [[1.0, 0.0], [0.5, 0.5]], parents=[b]),
            bg.TableCPD(d, [[0.5, 0.5], [0.1, 0.9]], parents=[a]),
        ]
    )
    for evidence in ({"b": 1}, {"c": 1}, {"b": {0: 0.0, 1: 1.0}}, {"c": np.array([0.0, 0.3])}):
        asked = (network.query, network.ask.sensitivity, partial(network.most_probable, over="a"))
        for ask, arguments in zip(asked, (("a",), ("a", 0), ()), strict=True):
            with pytest.raises(ImpossibleEvidenceError):
                ask(*arguments, evidence)
        with pytest.raises(ImpossibleEvidenceError):
            network.query(["a", "d"], evidence)


def test_impossible_evidence_far_from_the_target_of_a_large_network():
    """As above, where the network is not enumerated."""
    parts = [binary(f"p{k}_", 12) for k in range(3)]
    cpds = []
    for part in parts:
        cpds.append(bg.TableCPD(part[0], [0.25, 0.75]))
        for parent, child in itertools.pairwise(part):
            cpds.append(bg.TableCPD(child, np.eye(2), parents=[parent]))
    network = bg.BayesianNetwork(cpds)
    possible = {"p1_3": 1, "p1_9": 1, "p2_4": {0: 0.0, 1: 2.0}, "p2_8": {0: 1.0, 1: 0.5}}
    posterior = network.query("p0_11", possible)
    assert posterior.probabilities == pytest.approx([0.25, 0.75], abs=1e-15)
    assert posterior.log_evidence == pytest.approx(math.log(0.75) + math.log(0.75))
    for wrong in ({"p1_3": 0}, {"p1_5": {0: 1.0, 1: 0.0}}, {"p2_8": {0: 1.0, 1: 0.0}}):
        with pytest.raises(ImpossibleEvidenceError):
            network.query("p0_11", {**possible, **wrong})


def test_contradictory_likelihoods():
    a, b = (bg.Discrete(name, [0, 1]) for name in "ab")
    network = bg.BayesianNetwork(
        [bg.TableCPD(a, [0.5, 0.5]), bg.TableCPD(b, np.eye(2), parents=[a])]
    )
    evidence = {"a": {0: 1.0, 1: 0.0}, "b": {0: 0.0, 1: 1.0}}
    assert network.log_probability(evidence) == -math.inf
    for ask in (network.marginals, network.most_probable, network.ask.conflict):
        with pytest.raises(ImpossibleEvidenceError):
            ask(evidence)
    with pytest.raises(ImpossibleEvidenceError):
        network.query("a", evidence)
    for zero in ({0: 0.0, 1: 0.0}, np.zeros(2)):
        with pytest.raises(ImpossibleEvidenceError):
            network.query("b", {"a": zero})


def test_a_deterministic_network():
    """Parities of 14 coins, one after the other: the last says what a missing one was."""
    coins, sums = binary("coin", 14), binary("sum", 14)
    cpds = [bg.TableCPD(coin, [0.5, 0.5]) for coin in coins]
    cpds.append(bg.TableCPD(sums[0], np.eye(2), parents=[coins[0]]))
    xor = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
    cpds += [bg.TableCPD(sums[i], xor, parents=[sums[i - 1], coins[i]]) for i in range(1, 14)]
    network = bg.BayesianNetwork(cpds)
    shown = np.random.default_rng(0).integers(2, size=14)
    evidence = {f"coin{i}": int(shown[i]) for i in range(14) if i != 5}
    evidence["sum13"] = int(shown.sum() % 2)
    found = network.marginals(evidence)
    assert found["coin5"].argmax == shown[5]
    assert found.log_evidence == pytest.approx(14 * math.log(0.5))
    partial = np.cumsum(shown) % 2
    assert [found[f"sum{i}"][int(partial[i])] for i in range(13)] == [1.0] * 13
    (best,) = network.k_most_probable(10, evidence)
    assert best["coin5"] == shown[5]
    drawn = network.sample(5, {"sum13": 1}, random_state=2)
    assert [sum(int(drawn[f"coin{i}"][k]) for i in range(14)) % 2 for k in range(5)] == [1] * 5


# ---------------------------------------------------------------------------- long and improbable


def chain(tables, start):
    """Return a chain of variables with these transition tables."""
    variables = [bg.Discrete(i, range(len(start))) for i in range(len(tables) + 1)]
    cpds = [bg.TableCPD(variables[0], start)]
    for i, table in enumerate(tables):
        cpds.append(bg.TableCPD(variables[i + 1], table, parents=[variables[i]]))
    return bg.BayesianNetwork(cpds)


def log_forward_backward(start, tables, likelihoods):
    """Return log P(e) and the posteriors of a chain, in logs throughout."""
    with np.errstate(divide="ignore"):
        start, tables = np.log(start), [np.log(t) for t in tables]
        likelihoods = np.log(likelihoods)
    forward = [start + likelihoods[0]]
    for table, likelihood in zip(tables, likelihoods[1:], strict=True):
        forward.append(np.logaddexp.reduce(forward[-1][:, None] + table, axis=0) + likelihood)
    backward = [np.zeros(len(start))]
    for table, likelihood in zip(tables[::-1], likelihoods[:0:-1], strict=True):
        backward.append(np.logaddexp.reduce(table + likelihood + backward[-1], axis=1))
    total = logsumexp(forward[-1])
    return total, [np.exp(f + b - total) for f, b in zip(forward, backward[::-1], strict=True)]


@pytest.mark.slow
def test_a_chain_of_5000():
    step = np.array([[0.9, 0.1, 0.0], [0.05, 0.9, 0.05], [0.2, 0.0, 0.8]])
    start = np.array([0.2, 0.3, 0.5])
    network = chain([step] * 4999, start)
    found = network.marginals()
    assert len(found) == 5000
    for i in (0, 1, 2, 17, 4999):
        expected = start @ np.linalg.matrix_power(step, i)
        assert found[i].probabilities == pytest.approx(expected, abs=1e-12)
    evidence = {0: 2, 4999: 0, **{i: {0: 0.2, 1: 0.5, 2: 1.0} for i in range(1, 4999, 3)}}
    likelihoods = np.ones((5000, 3))
    for i, value in evidence.items():
        likelihoods[i] = np.eye(3)[value] if isinstance(value, int) else list(value.values())
    total, posteriors = log_forward_backward(start, [step] * 4999, likelihoods)
    found = network.marginals(evidence)
    assert found.log_evidence == pytest.approx(total, rel=1e-12)
    free = list(found)
    rows = np.array([found[i].probabilities for i in free])
    assert rows == pytest.approx(np.array([posteriors[i] for i in free]), abs=1e-10)
    query = network.query(2500, evidence)
    assert query.probabilities == pytest.approx(posteriors[2500], abs=1e-10)
    assert query.log_evidence == pytest.approx(total, rel=1e-12)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(6))
def test_chains_with_entries_of_1e_300(seed):
    random = np.random.default_rng(seed)
    tables = []
    for _ in range(60):
        powers = random.choice([0, -20, -150, -300], size=(3, 3))
        table = 10.0**powers * random.uniform(0.5, 1, (3, 3))
        table[range(3), random.integers(3, size=3)] = 1.0
        tables.append(table / table.sum(axis=1, keepdims=True))
    start = np.array([1.0, 1e-300, 1e-150])
    network = chain(tables, start / start.sum())
    evidence, likelihoods = {}, np.ones((61, 3))
    for i in range(0, 61, 4):
        if i % 3:
            evidence[i] = int(random.integers(3))
            likelihoods[i] = np.eye(3)[evidence[i]]
        else:
            likelihoods[i] = 10.0 ** random.choice([0, -100, -200, -300], size=3)
            evidence[i] = likelihoods[i]
    total, posteriors = log_forward_backward(start, tables, likelihoods)
    assert network.log_probability(evidence) == pytest.approx(total, rel=1e-11)
    found = network.marginals(evidence)
    assert found.log_evidence == pytest.approx(total, rel=1e-11)
    for name, posterior in found.items():
        assert posterior.probabilities == pytest.approx(posteriors[name], abs=1e-10)
        assert network.query(name, evidence).probabilities == pytest.approx(
            posteriors[name], abs=1e-10
        )
    best = network.most_probable(evidence)
    with np.errstate(divide="ignore"):
        score = np.log(start) + np.log(likelihoods[0])
        for table, likelihood in zip(tables, likelihoods[1:], strict=True):
            score = (score[:, None] + np.log(table)).max(axis=0) + np.log(likelihood)
    assert best.log_probability == pytest.approx(score.max(), rel=1e-11)


def star(n, seed, n_classes=3):
    """Return naive Bayes over n binary features, and its tables."""
    random = np.random.default_rng(seed)
    c = bg.Discrete("class", [f"c{k}" for k in range(n_classes)])
    prior = random.dirichlet(np.ones(n_classes))
    rows = random.uniform(0.01, 0.99, (n, n_classes))
    features = binary("x", n)
    cpds = [bg.TableCPD(c, prior)]
    for feature, p in zip(features, rows, strict=True):
        cpds.append(bg.TableCPD(feature, np.stack([1 - p, p], axis=1), parents=[c]))
    return bg.BayesianNetwork(cpds), prior, rows


def softmax(logs):
    return np.exp(logs - logsumexp(logs))


@pytest.mark.slow
def test_naive_bayes_of_5000_features():
    network, prior, rows = star(5000, 1)
    seen = np.random.default_rng(2).integers(2, size=5000)
    logs = np.log(prior) + np.log(np.where(seen[:, None], rows, 1 - rows)).sum(axis=0)
    evidence = {f"x{i}": int(seen[i]) for i in range(5000)}
    posterior = network.query("class", evidence)
    assert posterior.probabilities == pytest.approx(softmax(logs), abs=1e-10)
    assert posterior.log_evidence == pytest.approx(logsumexp(logs), rel=1e-12)
    assert network.marginals(evidence)["class"].probabilities == pytest.approx(
        softmax(logs), abs=1e-10
    )
    rows_found = network.query_rows("class", {n: [v, v] for n, v in evidence.items()})
    assert rows_found == pytest.approx(np.array([softmax(logs)] * 2), abs=1e-10)


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-30])
def test_naive_bayes_of_likelihoods_close_to_zero(scale):
    network, prior, rows = star(300, 3)
    random = np.random.default_rng(4)
    numbers = random.uniform(0.2, 1.0, (300, 2)) * scale
    logs = np.log(prior)
    with np.errstate(under="ignore"):
        terms = np.log(np.stack([1 - rows, rows], axis=2)) + np.log(numbers)[:, None, :]
    logs = logs + logsumexp(terms, axis=2).sum(axis=0)
    evidence = {f"x{i}": numbers[i] for i in range(300)}
    found = network.marginals(evidence)
    assert found["class"].probabilities == pytest.approx(softmax(logs), abs=1e-10)
    assert found.log_evidence == pytest.approx(logsumexp(logs), rel=1e-12)
    query = network.query("class", evidence)
    assert query.probabilities == pytest.approx(softmax(logs), abs=1e-10)


def test_likelihood_ratios_of_1e_200():
    """Each feature excludes one class all but surely; together they undo each other."""
    c = bg.Discrete("class", ["a", "b"])
    features = binary("x", 40)
    rows = [[1.0, 0.0], [0.0, 1.0]]
    network = bg.BayesianNetwork(
        [bg.TableCPD(c, [0.4, 0.6]), *(bg.TableCPD(x, rows, [c]) for x in features)]
    )
    evidence = {f"x{i}": {i % 2: 1.0, 1 - i % 2: 1e-200} for i in range(40)}
    for posterior in (network.query("class", evidence), network.marginals(evidence)["class"]):
        assert posterior.probabilities == pytest.approx([0.4, 0.6], abs=1e-10)
    assert network.log_probability(evidence) == pytest.approx(-20 * 200 * math.log(10), rel=1e-13)
    drawn = network.sample(2000, evidence, random_state=0)
    assert np.mean(drawn["class"] == "b") == pytest.approx(0.6, abs=0.06)
    assert network.ask.conflict(evidence).measure > 1000


@pytest.mark.slow
def test_a_tree_of_2000_features_with_every_third_missing():
    """Feature i depends on the class and on feature i - 1: a chain for each class."""
    random = np.random.default_rng(6)
    c, n = bg.Discrete("class", ["a", "b"]), 2000
    features = binary("x", n)
    first, tables = random.uniform(0.01, 0.2, 2), random.uniform(0.02, 0.98, (n - 1, 2, 2))
    cpds = [bg.TableCPD(c, [0.5, 0.5])]
    cpds.append(bg.TableCPD(features[0], np.stack([1 - first, first], axis=1), [c]))
    for i in range(1, n):
        rows = np.stack([1 - tables[i - 1], tables[i - 1]], axis=2)
        cpds.append(bg.TableCPD(features[i], rows, [c, features[i - 1]]))
    network = bg.BayesianNetwork(cpds)
    evidence = {f"x{i}": int(random.integers(2)) for i in range(n) if i % 3 != 1}
    likelihoods = np.ones((n, 2))
    for i in range(n):
        if i % 3 != 1:
            likelihoods[i] = np.eye(2)[evidence[f"x{i}"]]
    logs, inside = [], []
    for k in range(2):
        steps = [np.stack([1 - t[k], t[k]], axis=1) for t in tables]
        total, posteriors = log_forward_backward([1 - first[k], first[k]], steps, likelihoods)
        logs.append(math.log(0.5) + total)
        inside.append(posteriors)
    share = softmax(np.array(logs))
    found = network.marginals(evidence)
    assert found["class"].probabilities == pytest.approx(share, abs=1e-9)
    assert found.log_evidence == pytest.approx(logsumexp(logs), rel=1e-12)
    for i in (1, 1000, 1999):
        expected = share[0] * inside[0][i] + share[1] * inside[1][i]
        assert found[f"x{i}"].probabilities == pytest.approx(expected, abs=1e-9)
    rows = {name: [value, None] for name, value in evidence.items()}
    assert network.query_rows("class", rows)[0] == pytest.approx(share, abs=1e-9)


# ---------------------------------------------------------------------------------------- memory


def grid(n, coupling=0.3):
    random = np.random.default_rng(n)
    cells = {(i, j): bg.Discrete((i, j), [0, 1]) for i in range(n) for j in range(n)}
    factors = [bg.Factor([v], random.uniform(0.5, 1.5, 2)) for v in cells.values()]
    weight = [[math.exp(coupling), 1.0], [1.0, math.exp(coupling)]]
    for (i, j), v in cells.items():
        near = [cells[at] for at in ((i + 1, j), (i, j + 1)) if at in cells]
        factors += [bg.Factor([v, other], weight) for other in near]
    return bg.FactorGraph(factors)


@pytest.mark.slow
def test_a_grid_of_32_by_32_is_refused_with_its_size():
    graph = grid(32)
    with pytest.raises(MemoryLimitError, match=r"numbers \(.*B, induced width \d\d\)"):
        graph.marginals()
    plan = graph.plan((0, 0), [(5, 5)])
    assert plan.width >= 32
    assert "induced width" in str(plan)
    assert repr(plan) == str(plan)


def test_every_question_is_refused_with_its_size():
    graph = grid(14)
    for ask in (
        lambda **limit: graph.query((0, 0), {(5, 5): 1}, **limit),
        graph.marginals,
        lambda **limit: graph.most_probable(**limit, fallback=None),
        lambda **limit: graph.most_probable(**limit, over=[(0, 0), (13, 13)]),
        lambda **limit: graph.sample(1, **limit),
    ):
        with pytest.raises(MemoryLimitError, match=r"numbers \(.*B, induced width \d\d\)"):
            ask(memory_limit=2**12)
    # What cannot fall back is not told to.
    with pytest.raises(MemoryLimitError, match=r"memory_limit; query and marginals can fall back"):
        graph.most_probable(memory_limit=2**12, fallback=None)


def test_a_grid_answered_by_the_fallback():
    graph = grid(16)
    small = {"memory_limit": 2**12, "fallback": "loopy"}
    posterior = graph.query((12, 12), {(5, 5): 1}, **small)
    assert posterior.approximation.converged
    assert posterior.probabilities.sum() == pytest.approx(1.0)
    found = graph.marginals({(5, 5): 1}, **small)
    assert len(found) == 255
    assert found.approximation.converged
    assert "loopy" in repr(found)
    assert found[12, 12].probabilities == pytest.approx(posterior.probabilities, abs=1e-6)
    with pytest.raises(UnsupportedModelError):
        graph.query((12, 12), memory_limit=2**12, fallback="likelihood-weighting")


def test_the_fallback_is_not_used_where_the_answer_fits():
    graph = grid(4)
    joint = Joint.of(graph)
    posterior = graph.query((1, 1), {(3, 3): 1}, fallback="loopy")
    assert posterior.approximation is None
    expected = joint.posterior([(1, 1)], {(3, 3): 1})
    assert posterior.probabilities == pytest.approx(expected, abs=1e-12)
    assert graph.marginals(fallback="loopy").approximation is None
    small = graph.query((1, 1), {(3, 3): 1}, memory_limit=64, fallback="loopy")
    assert small.approximation is not None
    assert small.probabilities == pytest.approx(expected, abs=0.02)
    with pytest.raises(MemoryLimitError, match="the limit is 64 B"):
        graph.query((1, 1), memory_limit=64)


def test_approximate_methods_by_name():
    network = random_network(21, most=9, worlds=400, kinds=("positive",))
    joint = Joint.of(network)
    name = network.names[-1]
    evidence = {v.name: v.states[0] for v in network.variables[:1]}
    exact = joint.posterior([name], evidence)
    sampled = network.query(name, evidence, method="likelihood-weighting", random_state=1)
    assert sampled.probabilities == pytest.approx(exact, abs=0.02)
    assert sampled.approximation.n_samples == 100_000
    found = network.marginals(evidence, method="likelihood-weighting", random_state=1)
    assert list(found) == list(network.marginals(evidence))
    for other, posterior in found.items():
        expected = joint.posterior([other], evidence)
        assert posterior.probabilities == pytest.approx(expected, abs=0.02)
        assert posterior.approximation is found.approximation
    loopy = network.marginals(evidence, method="loopy")
    assert list(loopy) == list(found)
    for other, posterior in loopy.items():
        alone = network.query(other, evidence, method="loopy")
        if loopy.approximation.exact:
            expected = joint.posterior([other], evidence)
            assert posterior.probabilities == pytest.approx(expected, abs=1e-8)
        assert alone.approximation.converged
    with pytest.raises(EvidenceError, match="single variables"):
        network.query(list(network.names[1:3]), method="loopy")
    for wrong in ("gibbs", "", None):
        for ask in (network.marginals, lambda **options: network.query(name, **options)):
            with pytest.raises(EvidenceError, match="method is one of 'exact', 'loopy'"):
                ask(method=wrong)


@pytest.mark.parametrize("p", [1e-13, 1e-17, 1e-30])
@pytest.mark.parametrize("kind", ["tables", "numbers", "mixture", "soft", "apart"])
def test_derivatives_of_zero_are_zero_however_rare_a_state_is(kind, p):
    a, b, c, d = (bg.Discrete(name, [0, 1]) for name in "abcd")
    for seed in range(10):
        random = np.random.default_rng(seed)

        def table(child, *parents, random=random):
            return bg.TableCPD(child, random.dirichlet([1, 1], [2] * len(parents)), parents)

        above = (a,) if kind == "apart" else (a, d)
        cpds = [bg.TableCPD(d, [1 - p, p]), table(a, *above[1:]), table(b, *above), table(c, b)]
        if kind == "numbers":
            number = bg.Continuous("x")
            cpds.append(bg.GaussianCPD(number, random.normal(size=2), 1.0, [c]))
        model = bg.BayesianNetwork(cpds)
        if kind == "mixture":
            model = bg.Ensemble([model, model], [0.5, 0.5])
        evidence = {"b": 0} if kind == "apart" else {"d": 1}
        if kind == "soft":
            evidence = {"d": {0: 0.0, 1: 0.3}}
        if kind == "numbers":
            evidence["x"] = 0.5
        found = model.ask.sensitivity("c", 1, evidence)
        # The distribution of a root that is known, or bears on nothing, moves no answer.
        for key, slopes in found.covaried.items():
            if key == "d" or (isinstance(key, tuple) and key[1] == "d"):
                assert not slopes.any()
        first = found.largest(1)[0][0]
        assert (first[1] if isinstance(first, tuple) else first) != "d"
