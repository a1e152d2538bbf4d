"""Laws that answers obey together: across calls, copies, threads, processes and libraries."""

import concurrent.futures
import copy
import itertools
import math
import pickle
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joint import Joint, hard_names, random_evidence, random_graph, random_network
from large_networks import bits, large_evidence, large_network

import bayesgraph as bg

SEEDS = st.integers(0, 10_000)


def network_and_evidence(seed, **options):
    network = random_network(seed, kinds=("positive", "zeros", "positive"))
    joint = Joint.of(network)
    return network, joint, random_evidence(np.random.default_rng(seed), joint, **options)


# ---------------------------------------------------------------------------- cache and threads


@pytest.fixture(
    scope="module", params=[10, pytest.param(24, marks=pytest.mark.slow)], ids="{} patterns".format
)
def many(request):
    """A network with many patterns of evidence and the answers of a fresh copy to each."""
    network = large_network(0)
    patterns = [large_evidence(seed, network) for seed in range(request.param)]
    return network, patterns, [bits(copy.deepcopy(network), e) for e in patterns]


@pytest.mark.one_in(2)
def test_patterns_in_turn_do_not_disturb_each_other(many):
    network, patterns, expected = many
    for _ in range(2):
        for evidence, answers in zip(patterns, expected, strict=True):
            assert bits(network, evidence) == answers


def test_other_states_of_the_same_pattern(many):
    """One program serves every value: it must read all of them anew."""
    network, patterns, _ = many
    for evidence in patterns[:6]:
        turned = {}
        for name, value in evidence.items():
            k = network.variable(name).cardinality
            turned[name] = value[::-1] if isinstance(value, np.ndarray) else (value + 1) % k
        assert bits(network, turned) == bits(copy.deepcopy(network), turned)


def test_copies_answer_alike(many):
    network, patterns, expected = many
    network.marginals(patterns[0])
    for twin in (copy.copy(network), copy.deepcopy(network), pickle.loads(pickle.dumps(network))):
        for evidence, answers in zip(patterns[:4], expected, strict=False):
            assert bits(twin, evidence) == answers
    graph = bg.FactorGraph.of(network)
    graph.marginals(patterns[1])
    twin = pickle.loads(pickle.dumps(graph))
    assert bits(twin, patterns[1]) == bits(graph, patterns[1])


def test_more_patterns_than_are_remembered():
    network = large_network(1, n=12)
    first = network.marginals({"v0": 0})
    for k in range(300):
        evidence = {f"v{i}": 0 for i in range(9) if k >> i & 1}
        network.query("v11", evidence)
    again = network.marginals({"v0": 0})
    for name, posterior in again.items():
        np.testing.assert_array_equal(posterior.probabilities, first[name].probabilities)


@pytest.mark.slow
def test_threads_get_the_answers_of_one(many):
    network, patterns, expected = many
    fresh = copy.deepcopy(network)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for _ in range(2):
                found = list(pool.map(lambda evidence: bits(fresh, evidence), patterns * 2))
                assert found == expected * 2
    finally:
        sys.setswitchinterval(interval)


def test_answers_outlive_later_questions():
    """Results are not views of memory that the next question writes to."""
    network = large_network(2)
    evidence = large_evidence(3, network)
    found = network.marginals(evidence)
    kept = [posterior.probabilities.copy() for posterior in found.values()]
    joint = network.query(list(found)[:3], evidence)
    table = joint.probabilities.copy()
    for seed in range(5):
        bits(network, large_evidence(seed, network))
    for posterior, before in zip(found.values(), kept, strict=True):
        np.testing.assert_array_equal(posterior.probabilities, before)
    np.testing.assert_array_equal(joint.probabilities, table)
    with pytest.raises(ValueError, match="read-only"):
        joint.probabilities[0] = 1.0


# --------------------------------------------------------------------------------------- the laws


@given(SEEDS)
def test_margins_of_a_joint_query_are_the_marginals(seed):
    network, _, evidence = network_and_evidence(seed, hard=0.2)
    found = network.marginals(evidence)
    random = np.random.default_rng(seed)
    names = [list(found)[i] for i in random.permutation(len(found))[:3]]
    if not names:
        return
    joint = network.query(names, evidence)
    for name in names:
        margin = joint.marginal(name)
        assert margin.probabilities == pytest.approx(found[name].probabilities, abs=1e-12)
        assert margin.log_evidence == pytest.approx(found.log_evidence, abs=1e-10)


@given(SEEDS)
def test_the_chain_rule(seed):
    """log P(e, f) = log P(e) + log P(f | e), for a state f of any variable that e leaves open."""
    network, _, evidence = network_and_evidence(seed)
    for name, posterior in network.marginals(evidence).items():
        if name in evidence:
            continue
        state = posterior.argmax
        both = network.log_probability({**evidence, name: state})
        one = network.log_probability(evidence)
        assert both == pytest.approx(one + math.log(posterior[state]), abs=1e-10)


@given(SEEDS)
def test_posteriors_are_averages_over_what_else_could_be_seen(seed):
    """P(x | e) = sum over y of P(y | e) P(x | y, e)."""
    network, _, evidence = network_and_evidence(seed, hard=0.3, soft=0.1)
    found = network.marginals(evidence)
    free = [name for name in found if name not in evidence]
    if len(free) < 2:
        return
    x, y = free[0], free[-1]
    total = np.zeros(len(found[x]))
    for state, p in found[y].items():
        if p > 0:
            total += p * network.query(x, {**evidence, y: state}).probabilities
    assert total == pytest.approx(found[x].probabilities, abs=1e-11)


@given(SEEDS)
def test_what_is_seen_is_certain_as_a_likelihood_too(seed):
    """Hard evidence, and soft evidence of zeros and a one, are the same; so are its multiples."""
    network, joint, evidence = network_and_evidence(seed, hard=0.4, soft=0.0)
    soft = {}
    for name in hard_names(evidence):
        variable = joint.variable(name)
        soft[name] = np.eye(variable.cardinality)[variable.index(evidence[name])]
    hard = network.marginals(evidence)
    same = network.marginals(soft)
    assert same.log_evidence == pytest.approx(hard.log_evidence, abs=1e-10)
    thrice = network.marginals({name: 3.0 * value for name, value in soft.items()})
    expected = hard.log_evidence + len(soft) * math.log(3)
    assert thrice.log_evidence == pytest.approx(expected, abs=1e-10)
    for name, posterior in hard.items():
        for other in (same, thrice):
            assert other[name].probabilities == pytest.approx(posterior.probabilities, abs=1e-12)
    for name in hard_names(evidence):
        assert same[name][evidence[name]] == pytest.approx(1.0, abs=1e-15)


@given(SEEDS)
def test_evidence_has_no_order(seed):
    network, _, evidence = network_and_evidence(seed, hard=0.3)
    turned = dict(reversed(evidence.items()))
    assert bits(network, evidence) == bits(network, turned)
    by_variable = {network.variable(name): value for name, value in evidence.items()}
    assert bits(network, evidence) == bits(network, by_variable)


@given(SEEDS)
def test_the_best_assignment_is_no_likelier_than_the_evidence(seed):
    network, _, evidence = network_and_evidence(seed)
    best = network.most_probable(evidence)
    log_evidence = network.log_probability(evidence)
    assert best.log_probability <= log_evidence + 1e-12
    certain = {name: state for name, state in best.items() if name not in evidence}
    both = network.log_probability({**evidence, **certain})
    assert both >= best.log_probability - 1e-10
    # Once it is seen it is still the best.
    again = network.most_probable({**evidence, **certain})
    assert again.log_probability == pytest.approx(best.log_probability, abs=1e-10)


@given(SEEDS)
def test_maps_of_more_variables_are_less_likely(seed):
    network, _, evidence = network_and_evidence(seed, hard=0.2)
    free = list(network.marginals(evidence))
    values = [
        network.most_probable(evidence, over=free[: k + 1]).log_probability
        for k in range(len(free))
    ]
    assert all(b <= a + 1e-10 for a, b in itertools.pairwise(values))
    if values:
        best = network.most_probable(evidence)
        assert values[-1] == pytest.approx(best.log_probability, abs=1e-10)


@given(SEEDS)
def test_a_network_is_the_graph_of_its_tables(seed):
    network, _, evidence = network_and_evidence(seed)
    graph = bg.FactorGraph.of(network)
    ours, theirs = network.marginals(evidence), graph.marginals(evidence)
    assert ours.log_evidence == pytest.approx(theirs.log_evidence, abs=1e-10)
    assert graph.log_partition == pytest.approx(0.0, abs=1e-12)
    assert list(network.names) == [v.name for v in network.variables]
    for name in ours:
        assert ours[name].probabilities == pytest.approx(theirs[name].probabilities, abs=1e-12)


@given(SEEDS)
def test_a_row_is_a_question(seed):
    """Batches answer as single questions do, network or graph."""
    model = random_network(seed) if seed % 2 else random_graph(seed)
    joint = Joint.of(model)
    if not joint.weights.sum() > 0:
        return
    random = np.random.default_rng(seed)
    rows = [random_evidence(random, joint, hard=0.5, soft=0.0) for _ in range(4)]
    rows = [{name: row[name] for name in hard_names(row)} for row in rows]
    target = model.names[-1]
    columns = {}
    for name in model.names:
        columns[name] = np.empty(4, dtype=object)
        columns[name][:] = [row.get(name) for row in rows]
    found = model.query_rows(target, columns)
    for row, values in zip(rows, found, strict=True):
        others = {name: state for name, state in row.items() if name != target}
        assert values == pytest.approx(model.query(target, others).probabilities, abs=1e-11)
    total = sum(model.log_probability(row) for row in rows)
    assert model.log_likelihood(columns).sum() == pytest.approx(total, abs=1e-9)


# ---------------------------------------------------------------------------------- another library


def in_pyagrum(gum, network):
    """Return the network as pyAgrum holds it, nodes named by their places."""
    twin = gum.BayesNet()
    ids = {}
    for i, v in enumerate(network.variables):
        ids[v] = twin.add(gum.LabelizedVariable(f"n{i}", "", v.cardinality))
    for cpd in network.cpds:
        for parent in cpd.parents:
            twin.addArc(ids[parent], ids[cpd.variable])
    for cpd in network.cpds:
        table = twin.cpt(ids[cpd.variable])
        order = [f"n{network.variables.index(v)}" for v in cpd.scope]
        axes = [order.index(name) for name in reversed(table.names)]
        table.fillWith(np.transpose(cpd.values, axes).ravel().tolist())
    return twin


@pytest.mark.one_in(20)
@pytest.mark.parametrize("seed", range(10))
def test_posteriors_of_pyagrum(seed):
    gum = pytest.importorskip("pyagrum")
    network = large_network(seed + 50, n=20 + 5 * seed)
    twin = in_pyagrum(gum, network)
    for k in range(6):
        evidence = large_evidence(100 * seed + k, network)
        engine = gum.LazyPropagation(twin)
        numbers = {
            f"n{i}": evidence[v.name] for i, v in enumerate(network.variables) if v.name in evidence
        }
        engine.setEvidence(
            {n: x.tolist() if isinstance(x, np.ndarray) else x for n, x in numbers.items()}
        )
        engine.makeInference()
        found = network.marginals(evidence)
        log_evidence = math.log(engine.evidenceProbability())
        assert found.log_evidence == pytest.approx(log_evidence, abs=1e-9)
        for i, v in enumerate(network.variables):
            if v.name in found:
                theirs = engine.posterior(f"n{i}").toarray()
                assert found[v.name].probabilities == pytest.approx(theirs, abs=1e-9)
                ours = network.query(v.name, evidence).probabilities
                assert ours == pytest.approx(theirs, abs=1e-9)
