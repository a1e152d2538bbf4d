"""Marginals, queries, explanations and draws of discrete models against the list of all worlds."""

import math
from collections.abc import Mapping

import numpy as np
import oracle as brute
import pytest
from joint import (
    Joint,
    hard_names,
    place,
    random_evidence,
    random_graph,
    random_network,
    random_rows,
    same,
)

import bayesgraph as bg

NETWORKS = range(120)
KINDS = ("positive", "positive", "zeros", "deterministic", "positive")
# Of the variables with hard and with soft evidence.
SHARES = ((0.35, 0.25), (0.2, 0.0), (0.0, 0.0), (0.0, 0.3), (0.1, 0.1))
GRAPHS = range(60)


def network_case(seed):
    network = random_network(seed, kinds=KINDS[seed % 4 :])
    joint = Joint.of(network)
    hard, soft = SHARES[seed % 5]
    evidence = random_evidence(np.random.default_rng(seed), joint, hard=hard, soft=soft)
    return network, joint, evidence


def graph_case(seed):
    """Return a factor graph whose product is not zero everywhere."""
    while True:
        graph = random_graph(seed)
        joint = Joint.of(graph)
        if joint.weights.sum() > 0:
            return graph, joint, random_evidence(np.random.default_rng(seed), joint)
        seed += 1000


CASES = [*((network_case, seed) for seed in NETWORKS), *((graph_case, seed) for seed in GRAPHS)]
CASE_IDS = [f"{make.__name__[:-5]}-{seed}" for make, seed in CASES]
_every = pytest.mark.parametrize(("make", "seed"), CASES, ids=CASE_IDS)


def cases(test):
    """Ask about all cases; each of KINDS and of SHARES comes up in a seventh of them, too."""
    return pytest.mark.one_in(11)(_every(test))


def log_mass(joint, evidence):
    return pytest.approx(joint.log_mass(evidence), rel=1e-11, abs=1e-11)


def log_probability(joint, evidence):
    return pytest.approx(joint.log_mass(evidence) - joint.log_mass({}), rel=1e-11, abs=1e-11)


def free_names(model, evidence):
    return [name for name in model.names if name not in hard_names(evidence)]


def is_log_mass(model, joint, evidence):
    """Return what log_evidence is: for a factor graph it is not normalised."""
    graph = isinstance(model, bg.FactorGraph)
    return log_mass(joint, evidence) if graph else log_probability(joint, evidence)


# ------------------------------------------------------------------------- marginals and queries


@cases
def test_marginals(make, seed):
    model, joint, evidence = make(seed)
    found = model.marginals(evidence)
    assert isinstance(found, Mapping)
    assert list(found) == free_names(model, evidence)
    assert len(found) == len(list(found))
    assert found.log_evidence == is_log_mass(model, joint, evidence)
    assert found.approximation is None
    for name, posterior in found.items():
        assert name in found
        assert posterior.names == (name,)
        states = joint.variable(name).states
        assert all(map(same, posterior, states))
        expected = joint.posterior([name], evidence)
        assert posterior.probabilities == pytest.approx(expected, abs=1e-12)
        assert posterior.probabilities.sum() == pytest.approx(1.0, abs=1e-14)
        assert posterior.log_evidence == found.log_evidence
        for state, p in zip(states, expected, strict=True):
            assert posterior[state] == pytest.approx(p, abs=1e-12)
    for name in hard_names(evidence):
        assert name not in found
        with pytest.raises(bg.errors.UnknownVariableError):
            found[name]


@cases
def test_single_and_joint_queries(make, seed):
    model, joint, evidence = make(seed)
    random = np.random.default_rng(seed)
    free = free_names(model, evidence)
    assert model.log_probability(evidence) == log_probability(joint, evidence)
    for name in free:
        posterior = model.query(name, evidence)
        assert posterior.probabilities == pytest.approx(
            joint.posterior([name], evidence), abs=1e-12
        )
        assert posterior.log_evidence == is_log_mass(model, joint, evidence)
    for size in range(1, len(free) + 1):
        names = [free[i] for i in random.permutation(len(free))[:size]]
        posterior = model.query(names, evidence)
        assert posterior.names == tuple(names)
        expected = joint.posterior(names, evidence)
        assert posterior.probabilities.shape == expected.shape
        assert posterior.probabilities == pytest.approx(expected, abs=1e-12)
        assert posterior.log_evidence == is_log_mass(model, joint, evidence)


def test_log_evidence_is_computed_when_asked_and_keeps_the_evidence_of_its_query():
    model, joint, _ = network_case(3)
    evidence = {model.names[0]: None}
    posterior = model.query(model.names[0], evidence)
    evidence[model.names[0]] = model.variables[0].states[0]
    assert posterior.log_evidence == log_probability(joint, {})


@pytest.mark.one_in(11)
@pytest.mark.parametrize("seed", range(4000, 4060))
def test_marginals_of_mixed_networks(seed):
    case = brute.random_case(seed, n_discrete=3, n_continuous=3, most_worlds=24)
    found = case.network.marginals(case.given)
    assert list(found) == [v.name for v in case.free]
    expected = case.oracle.log_probability(case.evidence)
    assert found.log_evidence == pytest.approx(expected, rel=1e-10, abs=1e-10)
    for variable in case.free:
        answer = found[variable.name]
        if isinstance(variable, bg.Discrete):
            posterior = case.oracle.posterior([variable.name], case.evidence)
            assert answer.probabilities == pytest.approx(posterior, abs=1e-10)
        else:
            mean, covariance = case.oracle.moments([variable.name], case.evidence)
            assert answer.mean == pytest.approx(mean[0], rel=1e-10, abs=1e-10)
            assert answer.variance == pytest.approx(covariance[0, 0], rel=1e-10, abs=1e-10)
    assert repr(found).startswith(f"Marginals of {len(case.free)} variables")


@pytest.mark.parametrize("learner", [bg.NaiveBayesClassifier, bg.TANClassifier])
def test_marginals_of_a_fitted_classifier(learner):
    random = np.random.default_rng(5)
    y = random.integers(3, size=80)
    frame = {
        f"f{j}": np.array(["x", "y", "z"])[(y * (j + 1) + random.integers(2, size=80)) % 3]
        for j in range(4)
    }
    import pandas as pd

    network = learner().fit(pd.DataFrame(frame), y).network_
    joint = Joint.of(network)
    for seed in range(20):
        evidence = random_evidence(np.random.default_rng(seed), joint)
        found = network.marginals(evidence)
        assert found.log_evidence == log_probability(joint, evidence)
        for name, posterior in found.items():
            expected = joint.posterior([name], evidence)
            assert posterior.probabilities == pytest.approx(expected, abs=1e-12)


def wide_joint(seed, n_binary):
    """Return a graph of pairs over all variables: one clique, treated tile by tile."""
    random = np.random.default_rng(seed)
    variables = [bg.Discrete(f"b{i}", [0, 1]) for i in range(n_binary - 2)]
    variables.insert(3, bg.Discrete("three", ["u", "v", "w"]))
    pairs = [(a, b) for i, a in enumerate(variables) for b in variables[:i]]
    factors = []
    for a, b in pairs:
        scope = (a, b) if random.random() < 0.5 else (b, a)
        shape = tuple(len(v.states) for v in scope)
        factors.append(bg.Factor(scope, random.uniform(0.2, 1.0, shape)))
    graph = bg.FactorGraph(factors)
    return graph, Joint.of(graph)


@pytest.mark.parametrize("n_binary", [12, 15, pytest.param(17, marks=pytest.mark.slow)])
def test_cliques_larger_than_a_tile(n_binary):
    graph, joint = wide_joint(n_binary, n_binary)
    soft = {"three": {"u": 0.5, "v": 0.0, "w": 2.0}, "b5": np.array([0.3, 0.9])}
    for evidence in ({}, soft, {"b1": 1, **soft}):
        found = graph.marginals(evidence)
        assert found.log_evidence == log_mass(joint, evidence)
        for name, posterior in found.items():
            expected = joint.posterior([name], evidence)
            assert posterior.probabilities == pytest.approx(expected, abs=1e-12)
        names = ["b4", "three", "b0"]
        assert graph.query(names, evidence).probabilities == pytest.approx(
            joint.posterior(names, evidence), abs=1e-12
        )
    best = joint.best(soft)[:5]
    found = graph.k_most_probable(5, soft)
    assert [a.log_probability for a in found] == pytest.approx(np.log(best), rel=1e-12)
    drawn = graph.sample(3, soft, random_state=1)
    assert "v" not in drawn["three"]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(12))
def test_junction_trees_of_large_cliques(seed):
    """Networks of 16 binary variables whose cliques get intermediate tables and new roots."""
    random = np.random.default_rng([seed, 3])
    cpds, known = [], []
    for i in range(16):
        variable = bg.Discrete(f"b{i}", [0, 1])
        near = known[-9:]
        size = min(len(near), int(random.integers(2, 8)))
        parents = [near[j] for j in random.permutation(len(near))[:size]]
        kind = ("positive", "zeros")[seed % 2]
        rows = random_rows(random, (*(2 for _ in parents), 2), kind)
        cpds.append(bg.TableCPD(variable, rows, parents))
        known.append(variable)
    network = bg.BayesianNetwork(cpds)
    joint = Joint.of(network)
    for hard in (0.0, 0.15):
        evidence = random_evidence(random, joint, hard=hard, soft=0.1)
        found = network.marginals(evidence)
        assert found.log_evidence == log_probability(joint, evidence)
        for name, posterior in found.items():
            expected = joint.posterior([name], evidence)
            assert posterior.probabilities == pytest.approx(expected, abs=1e-12)
        free = list(found)
        names = [free[i] for i in random.permutation(len(free))[:3]]
        assert network.query(names, evidence).probabilities == pytest.approx(
            joint.posterior(names, evidence), abs=1e-12
        )
        best = network.k_most_probable(4, evidence)
        values = joint.best(evidence)[:4]
        assert [a.log_probability for a in best] == pytest.approx(np.log(values), rel=1e-11)


# ----------------------------------------------------------------------------------- explanations


def tied(weights):
    """Return groups of equal weights, best first, as (weight, how many)."""
    groups = []
    for weight in weights:
        if groups and weight >= groups[-1][0] * (1 - 1e-12):
            groups[-1][1] += 1
        else:
            groups.append([weight, 1])
    return groups


@cases
def test_most_probable_and_k_most_probable(make, seed):
    model, joint, evidence = make(seed)
    weights = joint.best(evidence)
    scale = 1.0 if isinstance(model, bg.FactorGraph) else joint.weights.sum()
    logs = np.log(weights / scale)
    best = model.most_probable(evidence)
    assert best.log_probability == pytest.approx(logs[0], rel=1e-11, abs=1e-11)
    assert set(best) == set(free_names(model, evidence))
    # More than there are, so that zeros are met and left out.
    found = model.k_most_probable(len(weights) + 5, evidence)
    assert len(found) == len(weights)
    assert [a.log_probability for a in found] == pytest.approx(logs, rel=1e-10, abs=1e-10)
    seen = set()
    for assignment in found:
        seen.add(tuple(place(joint.variable(name), assignment[name]) for name in assignment))
        value = joint.weight_of(assignment, evidence) / scale
        assert assignment.log_probability == pytest.approx(math.log(value), rel=1e-10, abs=1e-10)
    assert len(seen) == len(found)
    for k in (1, 2, 3):
        first = model.k_most_probable(k, evidence)
        assert [dict(a) for a in first] == [dict(a) for a in found[:k]]


def test_ties_are_all_found_once():
    variables = [bg.Discrete(name, [0, 1, 2]) for name in "abc"]
    network = bg.BayesianNetwork([bg.TableCPD(v, np.full(3, 1 / 3)) for v in variables])
    found = network.k_most_probable(100)
    assert len(found) == 27
    assert len({tuple(a.values()) for a in found}) == 27
    assert dict(found[0]) == {"a": 0, "b": 0, "c": 0}


@pytest.mark.one_in(11)
@pytest.mark.parametrize(("make", "seed"), CASES[::2], ids=CASE_IDS[::2])
def test_marginal_map(make, seed):
    model, joint, evidence = make(seed)
    random = np.random.default_rng(seed)
    scale = 1.0 if isinstance(model, bg.FactorGraph) else joint.weights.sum()
    free = free_names(model, evidence)
    for size in range(1, len(free) + 1):
        names = [free[i] for i in random.permutation(len(free))[:size]]
        found = model.most_probable(evidence, over=names)
        assert list(found) == names
        table = joint.table(names, evidence) / scale
        assert found.log_probability == pytest.approx(math.log(table.max()), rel=1e-11, abs=1e-11)
        value = joint.weight_of(found, evidence) / scale
        assert math.log(value) == pytest.approx(found.log_probability, rel=1e-11, abs=1e-11)
        if size == 1:
            posterior = joint.posterior(names, evidence)
            state = place(joint.variable(names[0]), found[names[0]])
            assert posterior[state] == pytest.approx(posterior.max(), abs=1e-12)
        if size == len(free):
            best = model.most_probable(evidence)
            assert found.log_probability == pytest.approx(best.log_probability, abs=1e-11)


@pytest.mark.one_in(11)
@pytest.mark.parametrize(("make", "seed"), CASES[1::3], ids=CASE_IDS[1::3])
def test_the_k_best_of_some_variables(make, seed):
    model, joint, evidence = make(seed)
    random = np.random.default_rng(seed)
    scale = 1.0 if isinstance(model, bg.FactorGraph) else joint.weights.sum()
    free = free_names(model, evidence)
    names = [free[i] for i in random.permutation(len(free))[:3]]
    if not names:
        return
    table = joint.table(names, evidence) / scale
    expected = np.sort(table[table > 0])[::-1]
    found = model.k_most_probable(12, evidence, over=names)
    assert len(found) == min(12, len(expected))
    np.testing.assert_allclose(
        np.exp([a.log_probability for a in found]), expected[: len(found)], rtol=1e-11
    )
    assert len({repr(tuple(a.values())) for a in found}) == len(found)
    for assignment in found:
        value = joint.weight_of(assignment, evidence) / scale
        assert math.log(value) == pytest.approx(assignment.log_probability, rel=1e-11, abs=1e-11)
    assert found[0] == model.most_probable(evidence, over=names)


# ------------------------------------------------------------------------------------------ draws


@pytest.mark.one_in(11)
@pytest.mark.parametrize(("make", "seed"), CASES[::4], ids=CASE_IDS[::4])
def test_draws_have_the_frequencies_of_the_posterior(make, seed):
    """Every cell of the joint posterior within five standard deviations; no impossible world."""
    model, joint, evidence = make(seed)
    n = 4000
    drawn = model.sample(n, evidence, random_state=seed)
    free = free_names(model, evidence)
    assert list(drawn) == list(model.names)
    if not free:
        return
    codes = []
    for name in free:
        assert len(drawn[name]) == n
        codes.append([place(joint.variable(name), value) for value in drawn[name].tolist()])
    p = joint.posterior(free, evidence)
    counts = np.zeros(p.shape)
    np.add.at(counts, tuple(codes), 1)
    assert not counts[p == 0].any()
    spread = np.sqrt(n * p * (1 - p))
    assert (np.abs(counts - n * p) <= 5 * spread + 3).all()
    again = model.sample(n, evidence, random_state=np.random.default_rng(seed))
    for name in free:
        np.testing.assert_array_equal(drawn[name], again[name])


def test_draws_by_a_chi_square():
    from scipy import stats

    model, joint, evidence = next(
        case for case in map(network_case, NETWORKS) if np.sum(case[1].given(case[2]) > 0) >= 30
    )
    free = free_names(model, evidence)
    n = 20_000
    drawn = model.sample(n, evidence, random_state=11)
    p = joint.posterior(free, evidence)
    codes = [[place(joint.variable(name), x) for x in drawn[name].tolist()] for name in free]
    counts = np.zeros(p.shape)
    np.add.at(counts, tuple(codes), 1)
    often = n * p >= 5
    if (~often & (p > 0)).any():
        observed = [*counts[often], counts[~often].sum()]
        expected = [*(n * p[often]), n * p[~often].sum()]
    else:
        observed, expected = counts[often], n * p[often]
    assert stats.chisquare(observed, np.array(expected) * n / np.sum(expected)).pvalue > 1e-4


# ---------------------------------------------------------------------------------------- batches


def frame_of(rows, names):
    """Return rows (mappings from name to state) as columns of objects, None where missing."""
    columns = {}
    for name in names:
        column = np.empty(len(rows), dtype=object)
        column[:] = [row.get(name) for row in rows]
        columns[name] = column
    return columns


def random_rows_of_evidence(random, joint, n):
    return [
        {name: row[name] for name in hard_names(row)}
        for row in (
            random_evidence(random, joint, hard=random.random(), soft=0.0) for _ in range(n)
        )
    ]


@pytest.mark.one_in(11)
@pytest.mark.parametrize(("make", "seed"), CASES[::2], ids=CASE_IDS[::2])
def test_rows_with_any_pattern_of_missing_values(make, seed):
    model, joint, _ = make(seed)
    random = np.random.default_rng([seed, 5])
    rows = [{}, *random_rows_of_evidence(random, joint, 9)]
    frame = frame_of(rows, model.names)
    total = sum(joint.log_mass(row) - joint.log_mass({}) for row in rows)
    assert model.log_likelihood(frame).sum() == pytest.approx(total, rel=1e-10, abs=1e-10)
    for target in model.names:
        got = model.query_rows(target, frame)
        assert got.shape == (len(rows), len(joint.variable(target).states))
        for row, values in zip(rows, got, strict=True):
            others = {name: state for name, state in row.items() if name != target}
            assert values == pytest.approx(joint.posterior([target], others), abs=1e-11)
        assert got.sum(axis=1) == pytest.approx(np.ones(len(rows)), abs=1e-12)


@pytest.mark.one_in(11)
@pytest.mark.parametrize("make", [network_case, graph_case])
@pytest.mark.parametrize("seed", range(200, 225))
def test_impossible_rows_get_the_prior_and_one_warning(make, seed):
    """States drawn blindly, so that some rows have probability zero."""
    model, joint, _ = make(seed)
    random = np.random.default_rng([seed, 9])
    rows = [
        {v.name: v.states[random.integers(len(v.states))] for v in model.variables}
        for _ in range(12)
    ]
    for row in rows:
        for name in model.names:
            if random.random() < 0.3:
                del row[name]
    target = model.names[int(random.integers(len(model.names)))]
    others = [{name: s for name, s in row.items() if name != target} for row in rows]
    lost = [joint.mass(row) == 0 for row in others]
    expected = [
        joint.posterior([target], {} if gone else row)
        for row, gone in zip(others, lost, strict=True)
    ]
    frame = frame_of(others, [name for name in model.names if name != target])
    if not frame:
        return
    if any(lost):
        with pytest.warns(bg.errors.ImpossibleEvidenceWarning, match=f"^{sum(lost)} of 12 rows"):
            got = model.query_rows(target, frame)
    else:
        got = model.query_rows(target, frame)
    for values, posterior in zip(got, expected, strict=True):
        assert values == pytest.approx(posterior, abs=1e-11)
    likelihood = model.log_likelihood(frame).sum()
    if any(lost):
        assert likelihood == -math.inf
    else:
        total = sum(joint.log_mass(row) - joint.log_mass({}) for row in others)
        assert likelihood == pytest.approx(total, rel=1e-10, abs=1e-10)


def test_a_value_that_is_no_state_is_refused_in_a_batch():
    a, b = bg.Discrete("a", ["x", "y"]), bg.Discrete("b", ["x", "y"])
    network = bg.BayesianNetwork(
        [bg.TableCPD(a, [0.5, 0.5]), bg.TableCPD(b, [[0.9, 0.1], [0.3, 0.7]], parents=[a])]
    )
    with pytest.raises(bg.errors.UnknownStateError, match="'z'"):
        network.query_rows("a", {"b": ["z"]})
    with pytest.raises(bg.errors.UnknownStateError, match="'z'"):
        network.log_likelihood({"b": ["z"]}).sum()
    # Columns that are no variables, and the target's own, do not matter.
    got = network.query_rows("a", {"b": ["x", None], "a": ["y", "y"], "other": [1.5, 2.5]})
    assert got == pytest.approx(np.array([[0.75, 0.25], [0.5, 0.5]]))
