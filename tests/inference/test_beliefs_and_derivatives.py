"""Jeffrey's rule, derivatives of posteriors and conflicts, against the list of all worlds."""

import itertools
import math

import numpy as np
import pytest
from joint import Joint, hard_names, is_missing, random_evidence, random_graph, random_network

import bayesgraph as bg
from bayesgraph.core.errors import EvidenceError, ImpossibleEvidenceError, UnknownStateError

SOFT = ("positive", "zeros")


def network_case(seed):
    network = random_network(seed, most=7, worlds=300, kinds=SOFT)
    joint = Joint.of(network)
    return network, joint, random_evidence(np.random.default_rng(seed), joint, hard=0.2, soft=0.2)


def graph_case(seed):
    while True:
        graph = random_graph(seed)
        joint = Joint.of(graph)
        if joint.weights.sum() > 0:
            evidence = random_evidence(np.random.default_rng(seed), joint, hard=0.2, soft=0.2)
            return graph, joint, evidence
        seed += 1000


CASES = [*((network_case, seed) for seed in range(60)), *((graph_case, s) for s in range(20))]
CASE_IDS = [f"{make.__name__[:-5]}-{seed}" for make, seed in CASES]
_every = pytest.mark.parametrize(("make", "seed"), CASES, ids=CASE_IDS)


def cases(test):
    """Ask about all cases, a fifth of them by default."""
    return pytest.mark.one_in(8)(_every(test))


# --------------------------------------------------------------------------------- Jeffrey's rule


def fitted(joint, weights, beliefs):
    """Return weights of the worlds by iterative proportional fitting (Deming and Stephan 1940)."""
    weights = weights / weights.sum()
    for _ in range(100_000):
        off = 0.0
        for name, q in beliefs.items():
            p = joint.sums([name], weights)
            off = max(off, np.abs(p - q).max())
            ratio = np.divide(q, p, out=np.zeros_like(q), where=p > 0)
            weights = weights * ratio[joint.column[joint.variable(name)]]
        if off < 1e-13:
            return weights
    raise AssertionError("the fitting did not settle")


def random_beliefs(random, joint, evidence, names):
    """Return marginals of a distribution that the model and the evidence allow."""
    weights = joint.given(evidence)
    tilted = weights * random.gamma(0.7, size=len(weights)) ** 2
    return {name: joint.sums([name], tilted / tilted.sum()) for name in names}


def as_belief(joint, name, q):
    return bg.Belief(dict(zip(joint.variable(name).states, q.tolist(), strict=True)))


def distinct(joint, name):
    states = joint.variable(name).states
    return len(set(states)) == len(states)


@pytest.mark.one_in(2)
@cases
@pytest.mark.parametrize("size", [1, 2, 3])
def test_beliefs_are_the_nearest_distribution_with_these_marginals(make, seed, size):
    model, joint, evidence = make(seed)
    random = np.random.default_rng([seed, size])
    free = [n for n in model.names if n not in evidence and distinct(joint, n)]
    names = [free[i] for i in random.permutation(len(free))[:size]]
    beliefs = random_beliefs(random, joint, evidence, names)
    given = {**evidence, **{n: as_belief(joint, n, q) for n, q in beliefs.items()}}
    weights = fitted(joint, joint.given(evidence), beliefs)
    found = model.marginals(given)
    for name, posterior in found.items():
        assert posterior.probabilities == pytest.approx(joint.sums([name], weights), abs=1e-9)
    for name, q in beliefs.items():
        assert found[name].probabilities == pytest.approx(q, abs=1e-9)
    two = list(found)[:2]
    if two:
        assert model.query(two, given).probabilities == pytest.approx(
            joint.sums(two, weights), abs=1e-9
        )


@cases
def test_one_belief_by_hand(make, seed):
    """P'(world) = P(world | e) q(x) / p(x | e)."""
    model, joint, evidence = make(seed)
    free = [n for n in model.names if n not in evidence and distinct(joint, n)]
    if not free:
        return
    name = free[seed % len(free)]
    p = joint.posterior([name], evidence)
    q = np.where(p > 0, np.arange(1.0, len(p) + 1), 0.0)
    q /= q.sum()
    likelihood = np.divide(q, p, out=np.zeros_like(q), where=p > 0)
    same = dict(zip(joint.variable(name).states, likelihood.tolist(), strict=True))
    belief = model.marginals({**evidence, name: as_belief(joint, name, q)})
    for other, posterior in belief.items():
        expected = joint.posterior([other], {**evidence, name: same})
        assert posterior.probabilities == pytest.approx(expected, abs=1e-12)


def pair(table, p=(0.5, 0.5)):
    a, b = bg.Discrete("a", ["no", "yes"]), bg.Discrete("b", ["no", "yes"])
    return bg.BayesianNetwork([bg.TableCPD(a, p), bg.TableCPD(b, table, parents=[a])])


def believe(no):
    return bg.Belief({"no": no, "yes": 1 - no})


def test_a_belief_in_the_prior_changes_nothing():
    network = pair([[0.9, 0.1], [0.2, 0.8]])
    b = network.query("b", {"a": believe(0.5)})
    assert b.probabilities == pytest.approx([0.55, 0.45], abs=1e-15)


def test_a_certain_belief_is_a_finding():
    network = pair([[0.9, 0.1], [0.2, 0.8]])
    for given in ({"a": believe(0.0)}, {"a": "yes"}):
        assert network.query("b", given).probabilities == pytest.approx([0.2, 0.8], abs=1e-15)


@pytest.mark.slow
def test_beliefs_that_contradict_each_other():
    network = pair([[1.0, 0.0], [0.0, 1.0]])
    with pytest.raises(EvidenceError, match="contradict each other") as error:
        network.query("a", {"a": believe(0.2), "b": believe(0.5)})
    assert not isinstance(error.value, ImpossibleEvidenceError)
    # Together they can be had.
    both = network.query(["a", "b"], {"a": believe(0.2), "b": believe(0.2)})
    assert both.probabilities == pytest.approx(np.diag([0.2, 0.8]), abs=1e-12)


def test_a_belief_in_what_is_excluded():
    network = pair([[1.0, 0.0], [0.5, 0.5]])
    with pytest.raises(EvidenceError, match="'b' gives weight to states that have probability"):
        network.query("a", {"a": {"no": 1.0, "yes": 0.0}, "b": believe(0.5)})


@pytest.mark.parametrize(
    ("probabilities", "error", "message"),
    [
        ({"no": 0.5, "yes": 0.6}, EvidenceError, "sums to 1.1, not to 1"),
        ({"no": 1.0}, EvidenceError, "'yes'"),
        ({}, EvidenceError, "'no', 'yes'"),
        ({"no": 0.5, "yess": 0.5}, UnknownStateError, "Did you mean 'yes'"),
        ({"no": -0.5, "yes": 1.5}, EvidenceError, "non-negative"),
        ({"no": math.nan, "yes": 1.0}, EvidenceError, "finite"),
        ({"no": "half", "yes": 0.5}, EvidenceError, "numbers"),
    ],
)
def test_malformed_beliefs(probabilities, error, message):
    network = pair([[0.9, 0.1], [0.2, 0.8]])
    with pytest.raises(error, match=message):
        network.query("b", {"a": bg.Belief(probabilities)})


def test_a_belief_takes_a_mapping():
    for wrong in ([0.5, 0.5], 0.5, "no", None):
        with pytest.raises(EvidenceError, match="takes a mapping"):
            bg.Belief(wrong)


def test_a_belief_about_a_number_is_refused():
    a, x = bg.Discrete("a", ["no", "yes"]), bg.Continuous("x")
    network = bg.BayesianNetwork(
        [bg.TableCPD(a, [0.5, 0.5]), bg.GaussianCPD(x, [0, 3], [1, 1], parents=[a])]
    )
    with pytest.raises(EvidenceError, match="continuous"):
        network.query("a", {"x": believe(0.5)})
    # In a mixed network beliefs about discrete variables hold beside numbers.
    found = network.query("x", {"a": believe(0.25)})
    assert found.mean == pytest.approx(0.75 * 3)
    both = network.marginals({"a": believe(0.25), "x": 1.0})
    assert list(both) == ["a"]
    assert both["a"].probabilities == pytest.approx([0.25, 0.75], abs=1e-12)


def test_beliefs_about_the_ends_of_a_long_chain():
    variables = [bg.Discrete(i, [0, 1]) for i in range(300)]
    step = np.array([[0.99, 0.01], [0.02, 0.98]])
    cpds = [bg.TableCPD(b, step, [a]) for a, b in itertools.pairwise(variables)]
    network = bg.BayesianNetwork([bg.TableCPD(variables[0], [0.5, 0.5]), *cpds])
    given = {0: bg.Belief({0: 0.9, 1: 0.1}), 299: bg.Belief({0: 0.3, 1: 0.7})}
    ends = np.diag([0.5, 0.5]) @ np.linalg.matrix_power(step, 299)
    for _ in range(50):
        ends *= (np.array([0.9, 0.1]) / ends.sum(axis=1))[:, None]
        ends *= np.array([0.3, 0.7]) / ends.sum(axis=0)
    assert network.query([0, 299], given).probabilities == pytest.approx(ends, abs=1e-11)


# ------------------------------------------------------------------------------------ sensitivity


def posterior_of(joint, name, code, evidence):
    return joint.table([name], evidence)[code] / joint.mass(evidence)


def directional(joint, number, direction, ask, h=1e-5):
    """Return the central difference of a posterior as one table moves along a direction."""
    table = joint.tables[number][1]
    ahead, behind = (joint.changed(number, table + s * h * direction) for s in (1, -1))
    return (posterior_of(ahead, *ask) - posterior_of(behind, *ask)) / (2 * h)


def covariation(row, i):
    """Return how a row moves with its entry i if the others give way in proportion."""
    direction = np.zeros_like(row)
    if len(row) == 1:
        return direction
    if row[i] >= 1:
        direction[:] = -1 / (len(row) - 1)
    else:
        direction[:] = -row / (1 - row[i])
    direction[i] = 1.0
    return direction


def some_cells(random, shape, most=6):
    cells = list(np.ndindex(shape))
    return [cells[i] for i in random.permutation(len(cells))[:most]]


@cases
def test_derivatives_are_central_differences(make, seed):
    model, joint, evidence = make(seed)
    random = np.random.default_rng([seed, 1])
    free = [n for n in model.names if n not in hard_names(evidence)]
    if not free:
        return
    name = free[int(random.integers(len(free)))]
    code = int(random.integers(len(joint.variable(name).states)))
    found = model.ask.sensitivity(name, joint.variable(name).states[code], evidence)
    ask = (name, code, evidence)
    assert found.posterior == pytest.approx(posterior_of(joint, *ask), abs=1e-12)
    assert found.target == name
    is_network = isinstance(model, bg.BayesianNetwork)
    keys = list(model.names) if is_network else list(range(len(model.terms)))
    assert list(found.derivatives) == keys
    assert list(found.covaried) == (keys if is_network else [])
    for number, key in enumerate(keys):
        table = joint.tables[number][1]
        assert found.derivatives[key].shape == table.shape
        for cell in some_cells(random, table.shape):
            unit = np.zeros_like(table)
            unit[cell] = 1.0
            expected = directional(joint, number, unit, ask)
            assert found.derivatives[key][cell] == pytest.approx(expected, rel=1e-6, abs=1e-6)
            if is_network:
                along = np.zeros_like(table)
                along[cell[:-1]] = covariation(table[cell[:-1]], cell[-1])
                expected = directional(joint, number, along, ask)
                assert found.covaried[key][cell] == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_derivatives_at_zeros_and_ones():
    """P(a = yes | b = yes) with deterministic tables: entries of 0 and 1 have slopes too."""
    network = pair([[1.0, 0.0], [0.0, 1.0]])
    found = network.ask.sensitivity("a", "yes", {"b": "yes"})
    assert found.posterior == 1.0
    # d / d t of 0.5 / (0.5 + 0.5 t) at t = 0.
    assert found.derivatives["b"] == pytest.approx(np.array([[0.0, -1.0], [0.0, 0.0]]))
    assert found.covaried["b"] == pytest.approx(np.array([[1.0, -1.0], [0.0, 0.0]]))


def test_derivatives_of_a_factor_graph_are_those_of_its_own_numbers():
    a = bg.Discrete("a", [0, 1])
    graph = bg.FactorGraph([bg.Factor([a], [4.0, 12.0])])
    found = graph.ask.sensitivity("a", 1)
    # d / d t of t / (4 + t), and of 12 / (t + 12).
    assert found.derivatives[0] == pytest.approx([-12 / 256, 4 / 256])


def test_a_child_of_many_states_hides_no_other_line():
    a, b, c = (bg.Discrete(name, range(n)) for name, n in (("a", 2), ("b", 300), ("c", 2)))
    table = np.full((2, 300), 1 / 300)
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(a, [0.5, 0.5]),
            bg.TableCPD(b, table, [a]),
            bg.TableCPD(c, [[0.7, 0.3], [0.6, 0.4]], [a]),
        ]
    )
    evidence = {"b": {state: 1.0 + state % 2 for state in range(300)}, "c": {0: 1.0, 1: 1.1}}
    found = net.ask.sensitivity("a", 1, evidence)
    lines = [line.split("=")[0] for line in str(found).splitlines()[1:]]
    assert sorted(lines) == ["  P(a", "  P(b", "  P(b", "  P(c", "  P(c"]


def test_the_largest_derivatives_come_first():
    network = pair([[0.9, 0.1], [0.2, 0.8]], [0.7, 0.3])
    found = network.ask.sensitivity("a", "yes", {"b": "yes"})
    largest = found.largest(3)
    sizes = [abs(value) for _, _, value in largest]
    assert len(largest) == 3
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == max(np.abs(table).max() for table in found.covaried.values())
    for name, cell, value in largest:
        assert found.covaried[name][cell] == value
    assert "0.774194" in repr(found)
    with pytest.raises(bg.errors.DataError, match="k is a number of entries, 1 or more; got -1"):
        found.largest(-1)


def test_questions_that_sensitivity_refuses():
    network = pair([[0.9, 0.1], [0.2, 0.8]])
    with pytest.raises(UnknownStateError, match="Did you mean 'yes'"):
        network.ask.sensitivity("a", "yess")
    with pytest.raises(EvidenceError, match="both a target and observed"):
        network.ask.sensitivity("a", "yes", {"a": "no"})


# --------------------------------------------------------------------------------------- conflict


@cases
def test_conflict_by_retracting_each_finding(make, seed):
    model, joint, evidence = make(seed)
    used = {n: v for n, v in evidence.items() if not is_missing(v)}
    found = model.ask.conflict(evidence)
    total = joint.log_mass({})
    log_evidence = joint.log_mass(evidence) - total
    assert found.log_evidence == pytest.approx(log_evidence, rel=1e-11, abs=1e-11)
    alone = {n: joint.log_mass({n: v}) - total for n, v in used.items()}
    measure = sum(alone.values()) - log_evidence
    assert found.measure == pytest.approx(measure, rel=1e-10, abs=1e-10)
    assert set(found.findings) == set(used)
    assert list(found.findings.values()) == sorted(found.findings.values(), reverse=True)
    for name in used:
        others = {n: v for n, v in used.items() if n != name}
        given_others = joint.log_mass(used) - joint.log_mass(others)
        share = alone[name] - given_others
        assert found.findings[name] == pytest.approx(share, rel=1e-10, abs=1e-10)
        expected = joint.posterior([name], others)
        assert found.expected[name].probabilities == pytest.approx(expected, abs=1e-11)
    assert repr(found).startswith("Findings")


def test_two_findings_that_exclude_each_other_nearly():
    network = pair([[0.999, 0.001], [0.001, 0.999]])
    found = network.ask.conflict({"a": "no", "b": "yes"})
    assert found.measure == pytest.approx(math.log(0.25 / 0.0005))
    assert found.findings["b"] == pytest.approx(math.log(0.5 / 0.001))
    assert found.expected["b"].argmax == "no"
    assert "in conflict" in repr(found)
    assert "not in conflict" in repr(network.ask.conflict({"a": "no", "b": "no"}))
    assert network.ask.conflict({}).measure == pytest.approx(0.0, abs=1e-12)
