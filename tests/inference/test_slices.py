"""What does not fit into memory is answered slice by slice; orders are searched by mutations."""

import itertools
import re

import numpy as np
import pytest
from joint import Joint, random_network

import bayesgraph as bg
from bayesgraph.core.errors import ImpossibleEvidenceError, MemoryLimitError
from bayesgraph.inference import All, Mass, Pattern, order_kernels
from bayesgraph.inference.programs import held_bytes
from bayesgraph.inference.table_solvers import query_of, sliced_program


def band(n, width, seed=0, pendants=0):
    """Pairs of binary variables at most `width` apart, and a chain of others that hang on them."""
    random = np.random.default_rng(seed)
    variables = [bg.Discrete(f"v{i}", [0, 1]) for i in range(n + pendants)]
    pairs = [(i, j) for i, j in itertools.combinations(range(n), 2) if j - i <= width]
    pairs += [(i - n, i) for i in range(n, n + pendants)]
    tables = [np.exp(random.normal(0, 0.3, (2, 2))) for _ in pairs]
    factors = [([variables[i], variables[j]], t) for (i, j), t in zip(pairs, tables, strict=True)]
    return bg.FactorGraph([bg.Factor(scope, table) for scope, table in factors])


def assert_slices(model, question, evidence, limit):
    """Check that a limit leaves no way but slices."""
    pattern = Pattern(tuple(sorted(model._index_of[name] for name in evidence)))
    compiled = model._compiled_tables
    query = query_of(compiled, question, pattern)
    cut, program = sliced_program(compiled, query, compiled.tree(query), limit)
    assert cut
    assert held_bytes(program) <= limit


@pytest.mark.parametrize("soft", [False, True])
def test_slices_agree_with_enumeration(soft):
    graph = band(14, 7)
    joint = Joint.of(graph)
    evidence, limit = {"v3": 1}, {"memory_limit": 3_000}
    if soft:
        evidence["v9"] = {0: 0.9, 1: 0.2}
    else:
        assert_slices(graph, All(), evidence, 3_000)
        assert_slices(graph, Mass(), evidence, 3_000)
    marginals = graph.marginals(evidence, **limit)
    for name in graph.names:
        if name != "v3":
            expected = joint.posterior([name], evidence)
            assert marginals[name].probabilities == pytest.approx(expected, abs=1e-13)
    pair = graph.query(["v0", "v13"], evidence, **limit)
    expected = joint.posterior(["v0", "v13"], evidence)
    assert pair.probabilities == pytest.approx(expected, abs=1e-13)
    exact = graph.log_probability(evidence)
    assert graph.log_probability(evidence, **limit) == pytest.approx(exact, abs=1e-12)
    mass = graph.marginals(evidence).log_evidence
    assert marginals.log_evidence == pytest.approx(mass, abs=1e-12)
    assert pair.log_evidence == pytest.approx(mass, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_slices_without_probability_are_passed_over(seed):
    net = random_network(seed, most=14, worlds=30_000, kinds=("zeros", "deterministic"))
    row = {name: column[0] for name, column in net.sample(1, random_state=seed).items()}
    evidence = {name: row[name] for name in net.names[-2:]}
    exact = net.marginals(evidence)
    for limit in (2_000, 1_000, 500):
        try:
            marginals = net.marginals(evidence, memory_limit=limit)
        except MemoryLimitError:  # the result alone takes more
            continue
        for name, posterior in exact.items():
            assert marginals[name].probabilities == pytest.approx(
                posterior.probabilities, abs=1e-13
            )


def test_impossible_evidence_is_told():
    graph = band(12, 7)
    a, b = graph.variables[:2]
    none = bg.FactorGraph([*(t.source for t in graph.terms), bg.Factor([a, b], [[0, 1], [1, 1]])])
    assert none.log_probability({"v0": 0, "v1": 0}, memory_limit=2_000) == -np.inf
    with pytest.raises(ImpossibleEvidenceError):
        none.query("v9", {"v0": 0, "v1": 0}, memory_limit=2_000)


def test_the_plan_tells_slices(monkeypatch):
    graph = band(14, 7)
    monkeypatch.setattr("bayesgraph.inference.table_solvers.default_memory_limit", lambda: 3_000)
    plan = graph.plan("v0", {"v3": 1})
    assert plan.slices == ()  # one pass fits
    monkeypatch.setattr("bayesgraph.inference.table_solvers.default_memory_limit", lambda: 1_500)
    monkeypatch.setattr("bayesgraph.inference.programs.default_memory_limit", lambda: 1_500)
    plan = graph.plan("v0", {"v3": 1})
    n_slices = 2 ** len(plan.slices)
    assert n_slices > 1
    assert re.search(rf"slices +{n_slices}\b", repr(plan))
    assert plan.multiplications % n_slices == 0


def test_hours_are_refused_with_a_figure():
    graph = band(60, 45)
    with pytest.raises(MemoryLimitError, match=r"would take some .*(s|years); the limit is"):
        graph.query("v0")


@pytest.mark.slow
def test_a_thousand_variables_of_treewidth_25():
    graph = band(29, 25, pendants=971)
    assert len(graph.variables) == 1000
    limit = 2**27  # messages of both passes take 16 times as much
    assert_slices(graph, All(), {}, limit)
    exact = graph.marginals()
    marginals = graph.marginals(memory_limit=limit)
    for name, posterior in exact.items():
        assert marginals[name].probabilities == pytest.approx(posterior.probabilities, abs=1e-12)


def entries_of(n, pairs, order):
    """Return the entries of all products of an elimination order over binary variables, by sets."""
    near = {v: set() for v in range(n)}
    for i, j in pairs:
        near[i].add(j)
        near[j].add(i)
    total = 0
    for v in order:
        around = near.pop(v)
        total += 2 ** (len(around) + 1)
        for u in around:
            near[u] |= around - {u}
            near[u].discard(v)
    return total


def order_of(n, pairs, effort):
    start, item = 2 * np.arange(len(pairs) + 1), np.array(pairs).ravel()
    stage = np.zeros(n, np.int64)
    return order_kernels.elimination_order(np.full(n, 2), start, item, stage, effort).tolist()


def test_more_effort_finds_better_orders():
    ratios = []
    for seed in range(8):
        random = np.random.default_rng(seed)
        n = 80
        pairs = [(i, j) for i in range(n) for j in random.choice(n, 2) if i != j]
        orders = [
            order_of(n, pairs, effort) for effort in (0.0, order_kernels.ONCE, order_kernels.OFTEN)
        ]
        assert all(sorted(order) == list(range(n)) for order in orders)
        first, once, often = (entries_of(n, pairs, order) for order in orders)
        assert often <= once <= first
        ratios.append(once / often)
    assert np.exp(np.mean(np.log(ratios))) > 1.15
