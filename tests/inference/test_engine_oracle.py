"""The engine against brute-force enumeration on random networks and random evidence."""

import math

import numpy as np
import oracle as brute
import pytest

import bayesgraph as bg

TOLERANCE = {"rel": 1e-10, "abs": 1e-10}

DISCRETE = range(200)
MIXED = range(1000, 1200)
GRAPHS = range(2000, 2100)
MIXED_GRAPHS = range(3000, 3100)


def discrete(variables):
    return [v for v in variables if isinstance(v, bg.Discrete)]


def continuous(variables):
    return [v for v in variables if isinstance(v, bg.Continuous)]


def check_queries(model, oracle, given, evidence, free, seed):
    """Compare every kind of question with the oracle."""
    random = np.random.default_rng(seed)
    log_evidence = oracle.log_probability(evidence)
    assert model.log_probability(given) == pytest.approx(log_evidence, **TOLERANCE)
    if isinstance(model, bg.FactorGraph):
        log_evidence += math.log(oracle.partition())
    for variable in discrete(free):
        posterior = model.query(variable.name, given)
        expected = oracle.posterior([variable.name], evidence)
        assert posterior.probabilities == pytest.approx(expected, abs=1e-10)
        assert posterior.log_evidence == pytest.approx(log_evidence, **TOLERANCE)
    for variable in continuous(free):
        mixture = model.query(variable.name, given)
        mean, covariance = oracle.moments([variable.name], evidence)
        assert mixture.mean == pytest.approx(mean[0], **TOLERANCE)
        assert mixture.variance == pytest.approx(covariance[0, 0], **TOLERANCE)
        at = float(random.normal(mean[0], math.sqrt(covariance[0, 0])))
        density = oracle.density(variable.name, at, evidence)
        assert mixture.density(at) == pytest.approx(density, **TOLERANCE)
        assert mixture.log_evidence == pytest.approx(log_evidence, **TOLERANCE)
    check_joint(model, oracle, given, evidence, free, random)


def check_joint(model, oracle, given, evidence, free, random):
    """Compare one joint query over up to three variables in random order."""
    targets = brute.pick_parents(random, list(free), 3)
    if len(targets) < 2:
        return
    answer = model.query([v.name for v in targets], given)
    names = [v.name for v in discrete(targets)]
    numbers = [v.name for v in continuous(targets)]
    if names:
        table = oracle.posterior(names, evidence)
        posterior = answer.discrete if numbers else answer
        assert posterior.names == tuple(names)
        assert posterior.probabilities == pytest.approx(table, abs=1e-10)
    if not numbers:
        return
    if not names:
        mean, covariance = oracle.moments(numbers, evidence)
        assert np.atleast_1d(answer.mean) == pytest.approx(mean, **TOLERANCE)
        assert answer.covariance == pytest.approx(covariance, **TOLERANCE)
        return
    for code, state in zip(np.ndindex(table.shape), answer.discrete, strict=True):
        if table[code] < 1e-12:
            continue
        mixture = answer.given(state)
        fixed = dict(zip(names, code, strict=True))
        mean, covariance = oracle.moments(numbers, evidence, given=fixed)
        assert np.atleast_1d(mixture.mean) == pytest.approx(mean, **TOLERANCE)
        assert mixture.covariance == pytest.approx(covariance, **TOLERANCE)


def check_best(model, oracle, given, evidence, *, joint):
    """Compare the most probable explanation: its value, and that it is one that reaches it."""
    value, ties = oracle.best(evidence, joint=joint)
    answer = model.most_probable(given, joint=joint)
    if isinstance(model, bg.FactorGraph):
        value += math.log(oracle.partition())
    assert answer.log_probability == pytest.approx(value, **TOLERANCE)
    assert len(answer) == len(set(model.names) - hard_names(evidence))
    for world in ties:
        states = {v: v.states[code] for v, code in world.codes.items() if v.name in answer}
        if all(same_state(answer[v.name], state) for v, state in states.items()):
            break
    else:
        pytest.fail(f"{answer!r} is none of the {len(ties)} best worlds")
    for variable, mean in zip(world.free, world.mean, strict=True):
        assert answer[variable.name] == pytest.approx(mean, **TOLERANCE)


def hard_names(evidence):
    return {n for n, v in evidence.items() if v is not None and not isinstance(v, list)}


def same_state(a, b):
    return type(a) is type(b) and a == b


@pytest.mark.one_in(12)
@pytest.mark.parametrize("seed", DISCRETE)
def test_discrete_network(seed):
    case = brute.random_case(seed, n_discrete=6)
    check_queries(case.network, case.oracle, case.given, case.evidence, case.free, seed)
    check_best(case.network, case.oracle, case.given, case.evidence, joint=False)


@pytest.mark.one_in(24)
@pytest.mark.parametrize("seed", MIXED)
def test_mixed_network(seed):
    case = brute.random_case(seed, n_discrete=4, n_continuous=4, most_worlds=48)
    check_queries(case.network, case.oracle, case.given, case.evidence, case.free, seed)
    for joint in (False, True):
        check_best(case.network, case.oracle, case.given, case.evidence, joint=joint)


def graph_case(seed, **options):
    sources, exponents = brute.random_factor_graph(seed, **options)
    graph = bg.FactorGraph(sources, exponents=exponents)
    ones = [1.0 if exponent is None else exponent for exponent in exponents]
    oracle = brute.Oracle(list(zip(sources, ones, strict=True)))
    random = np.random.default_rng(seed)
    if not oracle.partition() > 0:
        return graph, oracle, None
    return graph, oracle, brute.random_evidence(random, oracle)


@pytest.mark.one_in(12)
@pytest.mark.parametrize(
    ("seed", "n_continuous"), [*((s, 0) for s in GRAPHS), *((s, 3) for s in MIXED_GRAPHS)]
)
def test_factor_graph_with_exponents(seed, n_continuous):
    graph, oracle, evidence = graph_case(seed, n_continuous=n_continuous)
    if evidence is None:
        with pytest.raises(bg.errors.ImpossibleEvidenceError):
            graph.query(graph.names[0])
        return
    given = brute.as_given(graph.variables, evidence)
    free = [v for v in graph.variables if v.name not in hard_names(evidence)]
    assert graph.log_partition == pytest.approx(math.log(oracle.partition()), **TOLERANCE)
    check_queries(graph, oracle, given, evidence, free, seed)
    for joint in (False, True) if n_continuous else (False,):
        check_best(graph, oracle, given, evidence, joint=joint)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(40))
def test_factor_graph_of_ones_is_the_network(seed):
    case = brute.random_case(seed, n_discrete=4, n_continuous=seed % 3, most_worlds=48)
    graph = bg.FactorGraph.of(case.network)
    assert graph.log_partition == pytest.approx(0.0, abs=1e-10)
    expected = case.network.log_probability(case.given)
    assert graph.log_probability(case.given) == pytest.approx(expected, **TOLERANCE)
    for variable in case.free:
        ours, theirs = (
            graph.query(variable.name, case.given),
            case.network.query(variable.name, case.given),
        )
        if isinstance(variable, bg.Discrete):
            assert ours.probabilities == pytest.approx(theirs.probabilities, abs=1e-12)
        else:
            assert ours.mean == pytest.approx(theirs.mean, **TOLERANCE)
            assert ours.variance == pytest.approx(theirs.variance, **TOLERANCE)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(60))
def test_evidence_of_any_state_is_answered_or_refused(seed):
    """States drawn blindly: where the oracle finds probability zero, the query says so."""
    network = brute.random_network(seed, n_discrete=5, zeros=0.5)
    oracle = brute.Oracle.of(network)
    random = np.random.default_rng(seed)
    evidence = {
        v.name: v.states[int(random.integers(v.cardinality))]
        for v in network.variables
        if random.random() < 0.7
    }
    expected = oracle.log_probability(evidence)
    assert network.log_probability(evidence) == pytest.approx(expected, abs=1e-10)
    free = [v for v in network.variables if v.name not in evidence]
    if expected > -math.inf:
        for variable in free:
            posterior = network.query(variable.name, evidence).probabilities
            answer = oracle.posterior([variable.name], evidence)
            assert posterior == pytest.approx(answer, abs=1e-10)
        return
    assert network.log_probability(evidence) == -math.inf
    with pytest.raises(bg.errors.ImpossibleEvidenceError, match="probability zero") as error:
        network.most_probable(evidence)
    for name, state in evidence.items():
        assert f"{name!r}: {state!r}" in str(error.value)
    for variable in free:
        with pytest.raises(bg.errors.ImpossibleEvidenceError):
            network.query(variable.name, evidence)


def test_posteriors_of_a_single_binary_node():
    a = bg.Discrete("a", [0, 1])
    net = bg.BayesianNetwork([bg.TableCPD(a, [0.25, 0.75])])
    assert net.query("a").to_dict() == pytest.approx({0: 0.25, 1: 0.75}, abs=1e-15)
    assert net.log_probability({}) == 0.0
    assert net.log_probability({"a": 1}) == pytest.approx(math.log(0.75), abs=1e-15)
    everything = net.most_probable({"a": 0})
    assert dict(everything) == {}
    assert everything.log_probability == pytest.approx(math.log(0.25), abs=1e-15)
