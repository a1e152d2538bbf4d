"""Most probable assignments by search: equal to enumeration, with valid bounds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayesgraph as bg
from bayesgraph.inference import Budget
from bayesgraph.inference.search import rank, summed


def product(cards, costs):
    """Return the sum of tables as one array."""
    total = np.zeros(cards)
    for scope, table in costs:
        axes = sorted(range(len(scope)), key=lambda i: scope[i])
        shape = [cards[v] if v in scope else 1 for v in range(len(cards))]
        total = total + table.transpose(axes).reshape(shape)
    return total


@st.composite
def problems(draw):
    """Draw random tables over few variables, with ties and impossible entries."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 8))
    cards = [draw(st.integers(1, 3)) for _ in range(n)]
    costs = []
    for _ in range(draw(st.integers(0, 2 * n + 2))):
        scope = tuple(random.permutation(n)[: random.integers(0, min(n, 4) + 1)].tolist())
        table = random.exponential(size=[cards[v] for v in scope]) * random.choice([1, 10]) - 1
        if random.random() < 0.6:
            table = np.where(random.random(table.shape) < 0.3, np.inf, table)
        costs.append((scope, np.round(table) if random.random() < 0.3 else table))
    return cards, costs


@settings(max_examples=60, deadline=None)
@given(problems(), st.sampled_from([1, 4]))
def test_the_best_assignments_are_those_of_enumeration(problem, k):
    cards, costs = problem
    total = product(cards, costs)
    expected = np.sort(total[np.isfinite(total)])[:k]
    ranking = rank(cards, costs, k)
    np.testing.assert_allclose(ranking.costs, expected, atol=1e-9)
    assert [total[tuple(s)] for s in ranking.states] == pytest.approx(ranking.costs, abs=1e-9)
    assert len({tuple(s) for s in ranking.states}) == len(expected)
    assert all(ranking.lower >= cost for cost in ranking.costs)
    others = np.sort(total, axis=None)[k:]
    assert ranking.lower <= min(others, default=np.inf) + 1e-9


@settings(max_examples=40, deadline=None)
@given(problems(), st.integers(1, 4))
def test_the_bound_is_valid_whenever_the_search_stops(problem, steps):
    cards, costs = problem
    ranking = rank(cards, costs, 1, Budget(max_steps=steps))
    least = product(cards, costs).min()
    assert min([ranking.lower, *ranking.costs]) <= least + 1e-9
    assert all(cost >= least - 1e-9 for cost in ranking.costs)


@settings(max_examples=40, deadline=None)
@given(problems(), st.sampled_from([1, 4, 10**6]), st.data())
def test_mini_buckets_bound_sums(problem, most, data):
    cards, costs = problem
    hidden = data.draw(st.sets(st.integers(0, len(cards) - 1)))
    left, is_exact = summed(cards, costs, hidden, most)
    bound = product([1 if v in hidden else card for v, card in enumerate(cards)], left)
    with np.errstate(divide="ignore"):
        mass = np.exp(-product(cards, costs)).sum(axis=tuple(hidden), keepdims=True)
        true = -np.log(mass)
    assert (bound <= true + 1e-9).all()
    if is_exact:
        np.testing.assert_allclose(bound, true, atol=1e-9)


def grid(size, strength=2.0, seed=0):
    """Return a grid of variables with random couplings, as a factor graph."""
    random = np.random.default_rng(seed)
    cells = {at: bg.Discrete(f"x{at[0]}_{at[1]}", [0, 1]) for at in np.ndindex(size, size)}
    factors = [bg.Factor([v], np.exp(random.normal(size=2))) for v in cells.values()]
    for (i, j), v in cells.items():
        for other in ((i + 1, j), (i, j + 1)):
            if other in cells:
                table = np.exp(strength * random.normal(size=(2, 2)))
                factors.append(bg.Factor([v, cells[other]], table))
    return bg.FactorGraph(factors)


def test_search_finds_what_elimination_does():
    graph = grid(7)
    exact, best = graph.most_probable(), graph.most_probable(method="search")
    assert dict(best) == dict(exact)
    assert best.log_probability == pytest.approx(exact.log_probability, abs=1e-9)
    assert best.proved
    assert best.upper_bound == best.log_probability


def test_search_answers_where_elimination_needs_too_much_memory():
    graph = grid(6)
    exact = graph.most_probable({"x0_0": 1})
    best = graph.most_probable({"x0_0": 1}, memory_limit=600)
    assert dict(best) == dict(exact)
    (first, second) = graph.k_most_probable(2, {"x0_0": 1}, memory_limit=600)
    assert [first, second] == graph.k_most_probable(2, {"x0_0": 1})
    with pytest.raises(bg.errors.MemoryLimitError):
        graph.most_probable({"x0_0": 1}, memory_limit=600, fallback=None)


def test_a_search_that_stops_early_tells_a_bound():
    graph = grid(12, strength=4.0)
    best = graph.most_probable(method="search", max_steps=1)
    again = graph.most_probable(method="search", max_steps=1)
    exact = graph.most_probable()
    assert dict(best) == dict(again)
    assert best.upper_bound == again.upper_bound
    assert best.log_probability <= exact.log_probability + 1e-9 <= best.upper_bound + 2e-9
    assert not best.proved
    assert "not proved: at most" in str(best)


def test_a_search_tells_its_progress():
    told = []
    best = grid(12, strength=4.0).most_probable(
        method="search", max_steps=500, progress=lambda *numbers: told.append(numbers)
    )
    logs, bounds = zip(*told, strict=True)
    assert sorted(logs) == list(logs)
    assert logs[-1] <= best.log_probability <= best.upper_bound <= bounds[0]


def test_soft_evidence_of_a_factor_graph_counts():
    graph = grid(4)
    evidence = {"x1_1": {0: 0.1, 1: 3.0}, "x2_2": 0}
    exact, best = graph.most_probable(evidence), graph.most_probable(evidence, method="search")
    assert dict(best) == dict(exact)
    assert best.log_probability == pytest.approx(exact.log_probability, abs=1e-9)


@pytest.mark.parametrize("evidence", [{}, {"s": 1}, {"s": {0: 1.0, 1: 0.2}}])
def test_noisy_ors_and_interventions(evidence):
    causes = [bg.Discrete(f"c{i}", [0, 1]) for i in range(4)]
    effect = bg.NoisyOrCPD(bg.Discrete("s", [0, 1]), [0.9, 0.3, 0.6, 0.8], causes, leak=0.05)
    network = bg.BayesianNetwork([*[bg.TableCPD(c, [0.6, 0.4]) for c in causes], effect])
    for options in ({}, {"do": {"c1": 1}}, {"over": ["c0", "c2"]}):
        exact = network.most_probable(evidence, **options)
        best = network.most_probable(evidence, method="search", **options)
        assert dict(best) == dict(exact)
        assert best.log_probability == pytest.approx(exact.log_probability, abs=1e-9)


@pytest.mark.parametrize(
    "evidence",
    [{}, {"d": 1}, {"b": {0: 0.2, 1: 0.0, 2: 0.7}}, {"b": {0: 0.2, 1: 1, 2: 0.1}, "a": 0}],
)
def test_networks_with_evidence(evidence):
    random = np.random.default_rng(3)
    a, b, c, d = (bg.Discrete(n, range(k)) for n, k in zip("abcd", (2, 3, 2, 3), strict=True))
    families = [(a, []), (b, [a]), (c, [a, b]), (d, [c, a])]
    network = bg.BayesianNetwork(
        [
            bg.TableCPD(
                v, random.dirichlet(np.ones(v.cardinality), [u.cardinality for u in us]), us
            )
            for v, us in families
        ]
    )
    for over in (None, ["c"], ["c", "d"]):
        if over and "d" in over and "d" in evidence:
            continue
        exact = network.k_most_probable(4, evidence, over=over)
        best = network.k_most_probable(4, evidence, over=over, method="search")
        assert [dict(x) for x in best] == [dict(x) for x in exact]
        logs = [x.log_probability for x in exact]
        assert [x.log_probability for x in best] == pytest.approx(logs, abs=1e-9)
        assert all(x.proved for x in best)


def test_the_marginal_map_by_mini_buckets_is_that_of_enumeration(monkeypatch):
    monkeypatch.setattr("bayesgraph.inference.search._BUCKET", 4)
    graph = grid(3, seed=5)
    over = ["x0_0", "x1_1", "x2_2"]
    exact = graph.k_most_probable(3, over=over)
    best = graph.k_most_probable(3, over=over, method="search")
    assert [dict(x) for x in best] == [dict(x) for x in exact]
    assert [x.log_probability for x in best] == pytest.approx([x.log_probability for x in exact])


def test_numbers_get_their_conditional_means():
    c = bg.Discrete("c", ["p", "q"])
    x, y = bg.Continuous("x"), bg.Continuous("y")
    network = bg.BayesianNetwork(
        [
            bg.TableCPD(c, [0.4, 0.6]),
            bg.GaussianCPD(x, [0.0, 5.0], [1.0, 2.0], parents=[c]),
            bg.GaussianCPD(y, 1.0, 1.0, parents=[x], coefficients=[0.5]),
        ]
    )
    for evidence in ({}, {"y": 1.2}):
        exact, best = (
            network.most_probable(evidence),
            network.most_probable(evidence, method="search"),
        )
        assert dict(best) == pytest.approx(dict(exact))
        assert best.log_probability == pytest.approx(exact.log_probability)
    with pytest.raises(bg.errors.UnsupportedModelError, match="by elimination"):
        network.most_probable(method="search", joint=True)


def test_impossible_evidence_and_wrong_options_are_told():
    a, b = bg.Discrete("a", [0, 1]), bg.Discrete("b", [0, 1])
    network = bg.BayesianNetwork(
        [bg.TableCPD(a, [1.0, 0.0]), bg.TableCPD(b, [[1.0, 0.0], [0.5, 0.5]], parents=[a])]
    )
    with pytest.raises(bg.errors.ImpossibleEvidenceError):
        network.most_probable({"b": 1}, method="search")
    for options, message in {
        ("method", "loopy"): "'exact' or 'search'",
        ("fallback", "loopy"): "'search' or None",
        ("max_steps", 0): "max_steps",
        ("max_seconds", 0): "positive number of seconds",
    }.items():
        with pytest.raises(ValueError, match=message):
            network.most_probable(**dict([options]))


def test_the_plan_of_a_search_is_printed():
    plan = grid(3).plan(question="most_probable", method="search")
    assert "branch and bound" in str(plan)


def parities(n, solution):
    """Return random sums of three bits that a solution has, as a factor graph."""
    random = np.random.default_rng(1)
    bits = [bg.Discrete(f"b{i}", [0, 1]) for i in range(n)]
    factors = []
    for _ in range(n - 4):
        i, j, k = random.permutation(n)[:3]
        odd = (solution[i] + solution[j] + solution[k]) % 2
        table = np.indices((2, 2, 2)).sum(axis=0) % 2 == odd
        factors.append(bg.Factor([bits[i], bits[j], bits[k]], table.astype(float)))
    return bg.FactorGraph([*factors, *(bg.Factor([b], [1.0, 2.0]) for b in bits)])


def test_a_search_that_finds_nothing_does_not_call_evidence_impossible():
    graph = parities(60, np.random.default_rng(0).integers(0, 2, 60))
    with pytest.raises(bg.errors.MemoryLimitError, match="before it found an assignment"):
        graph.most_probable(method="search", max_steps=1)
