"""Loopy belief propagation: exact on trees, truthful about itself elsewhere."""

import itertools
import math

import numpy as np
import oracle as brute
import pytest

import bayesgraph as bg
from bayesgraph.core import Evidence
from bayesgraph.core.errors import (
    EvidenceError,
    ImpossibleEvidenceError,
    ModelError,
    UnsupportedModelError,
)
from bayesgraph.inference.loopy import loopy_belief_propagation


def oracle_of(factors):
    return brute.Oracle([(factor, 1.0) for factor in factors])


def random_tree(seed, *, zeros=0.0, n_factors=5):
    """Return factors of 1 to 4 variables that form trees: each new one shares one variable."""
    random = np.random.default_rng(seed)
    variables = [brute.random_variable(random, 0)]
    factors, worlds = [], variables[0].cardinality
    for _ in range(n_factors):
        scope = [variables[random.integers(len(variables))]]
        if random.random() < 0.1:
            scope = []
        for _ in range(int(random.integers(0, 4))):
            variable = brute.random_variable(random, len(variables))
            if worlds * variable.cardinality <= 600:
                worlds *= variable.cardinality
                scope.append(variable)
                variables.append(variable)
        scope = [scope[i] for i in random.permutation(len(scope))]
        values = random.gamma(0.5, size=[v.cardinality for v in scope])
        factors.append(bg.Factor(scope, values * (random.random(values.shape) >= zeros)))
    used = {v for factor in factors for v in factor.scope}
    return factors, [v for v in variables if v in used]


def grid(rows, columns, coupling, field, seed):
    """Return the factors of a spin glass: random couplings and fields of the given size."""
    random = np.random.default_rng(seed)
    nodes = [[bg.Discrete((i, j), [0, 1]) for j in range(columns)] for i in range(rows)]
    spin = np.array([-1.0, 1.0])
    factors = []
    for i, j in itertools.product(range(rows), range(columns)):
        factors.append(bg.Factor([nodes[i][j]], np.exp(spin * random.normal(0, field))))
        for k, m in ((i + 1, j), (i, j + 1)):
            if k < rows and m < columns:
                table = np.exp(np.outer(spin, spin) * random.normal(0, coupling))
                factors.append(bg.Factor([nodes[i][j], nodes[k][m]], table))
    return factors


# --------------------------------------------------------------------------------- on trees


@pytest.mark.one_in(9)
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("damping", [None, 0.3])
def test_exact_on_trees(seed, damping):
    factors, variables = random_tree(seed, zeros=0.3 * (seed % 3 == 0))
    oracle = oracle_of(factors)
    if oracle.partition() == 0:
        with pytest.raises(ImpossibleEvidenceError):
            loopy_belief_propagation(factors, variables, damping=damping)
        return
    result = loopy_belief_propagation(factors, variables, damping=damping)
    assert result.report.converged
    assert result.report.exact
    assert list(result.marginals) == variables
    close = 1e-12 if damping is None else 1e-8
    for variable, probabilities in result.marginals.items():
        assert probabilities == pytest.approx(oracle.posterior([variable.name]), abs=close)
    assert result.report.log_partition == pytest.approx(math.log(oracle.partition()), abs=close)


def test_the_evidence_of_a_network_is_the_log_partition():
    """A network whose cycle the evidence cuts."""
    a, b, c, d = (bg.Discrete(name, [0, 1, 2]) for name in "abcd")
    random = np.random.default_rng(0)
    cpds = [
        bg.TableCPD(a, brute.random_table(random, (3,))),
        bg.TableCPD(b, brute.random_table(random, (3, 3)), [a]),
        bg.TableCPD(c, brute.random_table(random, (3, 3)), [a]),
        bg.TableCPD(d, brute.random_table(random, (3, 3, 3)), [b, c]),
    ]
    evidence = Evidence(1, {a: np.array([2])})
    result = loopy_belief_propagation([cpd.potential(evidence) for cpd in cpds])
    oracle = brute.Oracle.of(bg.BayesianNetwork(cpds))
    assert result.report.exact
    assert result.report.log_partition == pytest.approx(oracle.log_probability({"a": 2}))
    assert result.marginals[d] == pytest.approx(oracle.posterior(["d"], {"a": 2}))
    everything = loopy_belief_propagation([cpd.to_factor() for cpd in cpds])
    assert not everything.report.exact


# ------------------------------------------------------------------------- on graphs with cycles


def reference(factors, variables, iterations):
    """Sum-product as the textbook has it: one number at a time, in linear space, all at once."""
    edges = [(f, v) for f, factor in enumerate(factors) for v in factor.scope]
    messages = {(f, v): np.ones(v.cardinality) for f, v in edges}

    def cavity(f, v):
        others = [messages[g, u] for g, u in edges if u == v and g != f]
        return np.prod(others, axis=0) if others else np.ones(v.cardinality)

    for _ in range(iterations):
        renewed = {}
        for f, v in edges:
            scope = factors[f].scope
            message = np.zeros(v.cardinality)
            for cell in np.ndindex(*factors[f].values.shape):
                term = factors[f].values[cell]
                for u, code in zip(scope, cell, strict=True):
                    term *= cavity(f, u)[code] if u != v else 1.0
                message[cell[scope.index(v)]] += term
            renewed[f, v] = message / message.sum()
        messages = renewed
    beliefs = {v: np.prod([messages[g, u] for g, u in edges if u == v], axis=0) for v in variables}
    return {v: belief / belief.sum() for v, belief in beliefs.items()}


@pytest.mark.one_in(14)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("iterations", [1, 2, 5])
def test_messages_are_those_of_the_textbook(seed, iterations):
    random = np.random.default_rng(seed)
    sizes = (2, 3, 2, 4)
    variables = [bg.Discrete(i, range(size)) for i, size in enumerate(sizes)]
    factors = []
    for scope in ([0, 1], [1, 2], [2, 0], [3, 1, 0], [2, 3], [1], [0, 1, 2, 3]):
        table = random.gamma(3.0, size=[sizes[i] for i in scope])
        factors.append(bg.Factor([variables[i] for i in scope], table))
    # Messages of factors over one variable never change: here they are there from the start, as if
    # the textbook had sent them one iteration earlier.
    warm = [bg.Factor(f.scope, f.values) for f in factors if len(f.scope) > 1]
    unary = [bg.Factor([v], np.ones(v.cardinality)) for v in variables]
    result = loopy_belief_propagation(warm, max_iterations=iterations, damping=0.0)
    expected = reference(warm + unary, variables, iterations)
    for variable in variables:
        assert result.marginals[variable] == pytest.approx(expected[variable], abs=1e-12)
    settled = loopy_belief_propagation(factors, damping=0.0)
    assert settled.report.converged
    expected = reference(factors, variables, settled.report.iterations + 5)
    for variable in variables:
        assert settled.marginals[variable] == pytest.approx(expected[variable], abs=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_close_on_a_weakly_coupled_grid(seed):
    factors = grid(3, 3, 0.2, 0.5, seed)
    oracle = oracle_of(factors)
    result = loopy_belief_propagation(factors)
    assert result.report.converged
    assert not result.report.exact
    for variable, probabilities in result.marginals.items():
        assert probabilities == pytest.approx(oracle.posterior([variable.name]), abs=5e-3)
    assert result.report.log_partition == pytest.approx(math.log(oracle.partition()), abs=5e-3)


def test_a_large_grid_settles():
    result = loopy_belief_propagation(grid(40, 40, 0.4, 0.3, 0))
    assert result.report.converged
    assert len(result.marginals) == 1600
    assert all(p.sum() == pytest.approx(1.0) for p in result.marginals.values())


@pytest.mark.parametrize("coupling", [0.3, 1.0, 3.0])
def test_the_report_is_truthful(coupling):
    factors = grid(8, 8, coupling, 0.1, 5)
    result = loopy_belief_propagation(factors, max_iterations=300)
    report = result.report
    assert report.converged == (report.message_change <= report.tolerance)
    text = str(report)
    if report.converged:
        again = loopy_belief_propagation(factors, max_iterations=3000, tolerance=1e-12)
        for variable, probabilities in result.marginals.items():
            assert probabilities == pytest.approx(again.marginals[variable], abs=1e-7)
        assert "NOT" not in text
    else:
        assert report.iterations == 300
        assert report.message_change > 1e-3
        assert "NOT converged after 300 iterations" in text
    assert report.converged == (coupling < 1)


def test_damping_helps_where_messages_oscillate():
    """All pairs of eight spins repel each other."""
    nodes = [bg.Discrete(i, [0, 1]) for i in range(8)]
    pairs = [bg.Factor(pair, [[1, 2.5], [2.5, 1]]) for pair in itertools.combinations(nodes, 2)]
    field = [bg.Factor([nodes[0]], [2, 1])]
    undamped = loopy_belief_propagation(pairs + field, damping=0.0)
    assert not undamped.report.converged
    assert undamped.report.belief_change > 0.1
    chosen = loopy_belief_propagation(pairs + field)
    assert chosen.report.converged
    assert chosen.report.damping > 0
    fixed = loopy_belief_propagation(pairs + field, damping=0.5)
    for node in nodes:
        assert chosen.marginals[node] == pytest.approx(fixed.marginals[node], abs=1e-7)


# ------------------------------------------------------------------------------------- zeros


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(30))
def test_impossible_states_get_no_belief(seed):
    """Deterministic parents and children with cycles."""
    random = np.random.default_rng(seed)
    network = brute.random_network(seed, zeros=0.6, n_discrete=6)
    oracle = brute.Oracle.of(network)
    factors = [cpd.to_factor() for cpd in network.cpds]
    observed = {
        v.name: v.states[int(random.integers(v.cardinality))]
        for v in network.variables
        if random.random() < 0.3
    }
    for variable in network.variables:
        if variable.name in observed:
            code = brute.position(variable, observed[variable.name])
            factors.append(bg.Factor([variable], np.arange(variable.cardinality) == code))
    possible = oracle.probability(observed) > 0
    try:
        result = loopy_belief_propagation(factors, max_iterations=200)
    except ImpossibleEvidenceError:
        assert not possible
        return
    assert possible or not result.report.exact
    if possible:
        for variable, probabilities in result.marginals.items():
            assert np.isfinite(probabilities).all()
            exact = oracle.posterior([variable.name], observed)
            # Removed only what is impossible.
            assert (exact[probabilities == 0] == 0).all()
    assert math.isfinite(result.report.log_partition)


def test_contradictions_are_found_far_away():
    nodes = [bg.Discrete(i, [0, 1, 2]) for i in range(30)]
    same = [bg.Factor(pair, np.eye(3)) for pair in itertools.pairwise(nodes)]
    ends = [bg.Factor([nodes[0]], [1, 1, 0]), bg.Factor([nodes[-1]], [0, 0, 1])]
    with pytest.raises(ImpossibleEvidenceError, match="exclude every state of"):
        loopy_belief_propagation([*same, *ends])
    with pytest.raises(ImpossibleEvidenceError, match="zero everywhere"):
        loopy_belief_propagation([*same, bg.Factor([nodes[3]], [0, 0, 0])])
    with pytest.raises(ImpossibleEvidenceError, match="zero everywhere"):
        loopy_belief_propagation([bg.Factor([], 0.0)])
    known = loopy_belief_propagation([*same, ends[1], bg.Factor([nodes[4]], [1, 0, 5])])
    assert known.marginals[nodes[0]].tolist() == [0.0, 0.0, 1.0]
    assert known.report.log_partition == pytest.approx(math.log(5))


def test_a_contradiction_among_cycles_may_go_unnoticed():
    """Three spins that all differ: every pair of them can."""
    nodes = [bg.Discrete(i, [0, 1]) for i in range(3)]
    differ = [bg.Factor(pair, 1 - np.eye(2)) for pair in itertools.combinations(nodes, 2)]
    assert not loopy_belief_propagation(differ).report.exact


# ----------------------------------------------------------------------------------- numbers


@pytest.mark.parametrize("shift", [-1e6, 700.0, 1e6])
def test_the_scale_of_the_factors_does_not_matter(shift):
    factors, _ = random_tree(11)
    moved = [bg.Factor.from_log(f.scope, f.log_values + shift) for f in factors]
    one, other = loopy_belief_propagation(factors), loopy_belief_propagation(moved)
    for variable, probabilities in one.marginals.items():
        assert other.marginals[variable] == pytest.approx(probabilities, abs=1e-9)
    difference = other.report.log_partition - one.report.log_partition
    assert difference == pytest.approx(shift * len(factors), rel=1e-12)


def test_likelihoods_beyond_the_smallest_double():
    """A log density of -1e50 on one side and what it says on the other."""
    a, b, c = (bg.Discrete(name, [0, 1]) for name in "abc")
    outlier = bg.Factor.from_log([a], np.array([[-1e50, -2e50]]))
    loud = bg.Factor.from_log([b], np.array([[-2000.0, 0.0]]))
    chain = [bg.Factor([a, b], [[9, 1], [1, 9]]), bg.Factor([b, c], [[3, 1], [1, 3]])]
    result = loopy_belief_propagation([outlier, loud, *chain])
    assert result.marginals[a].tolist() == [1.0, 0.0]
    assert result.marginals[b] == pytest.approx([0.0, 1.0])
    assert result.marginals[c] == pytest.approx([0.25, 0.75])
    assert result.report.log_partition == pytest.approx(-1e50)


def test_variables_without_factors_are_uniform():
    a, b = bg.Discrete("a", [0, 1, 2, 3]), bg.Discrete("b", [0, 1])
    result = loopy_belief_propagation([bg.Factor([b], [1, 3]), bg.Factor([], 2.0)], [a])
    assert list(result.marginals) == [a, b]
    assert result.marginals[a] == pytest.approx(np.full(4, 0.25))
    assert result.marginals[b] == pytest.approx([0.25, 0.75])
    assert result.report.log_partition == pytest.approx(math.log(2 * 4 * 4))
    assert loopy_belief_propagation([], [a]).report.converged
    assert loopy_belief_propagation([]).report.log_partition == 0.0


def test_nothing_is_changed_and_nothing_can_be():
    factors = [bg.Factor(f.scope, f.values) for f in grid(3, 3, 1.0, 0.5, 2)]
    before = [factor.log_values.copy() for factor in factors]
    result = loopy_belief_propagation(factors)
    assert all((f.log_values == b).all() for f, b in zip(factors, before, strict=True))
    with pytest.raises(ValueError, match="read-only"):
        next(iter(result.marginals.values()))[0] = 1.0


# ------------------------------------------------------------------------------------ refusals


def test_wrong_input_is_refused():
    a, x = bg.Discrete("a", [0, 1]), bg.Continuous("x")
    gaussian = bg.GaussianCPD(x, [0.0, 1.0], 1.0, parents=[a]).potential(Evidence(1, {}))
    with pytest.raises(UnsupportedModelError, match="'x'"):
        loopy_belief_propagation([gaussian])
    with pytest.raises(ModelError, match="one row"):
        loopy_belief_propagation([bg.Factor.from_log([a], np.zeros((3, 2)))])
    for options in ({"max_iterations": 0}, {"tolerance": 0.0}, {"damping": 1.0}, {"damping": -1}):
        with pytest.raises(EvidenceError, match="damping"):
            loopy_belief_propagation([bg.Factor([a], [1, 2])], **options)
    for options in ({"max_iterations": math.nan}, {"max_iterations": 1.5}, {"damping": "x"}):
        with pytest.raises(EvidenceError, match="Expected max_iterations of 1 or more"):
            loopy_belief_propagation([bg.Factor([a], [1, 2])], **options)
