"""The most probable explanation: crafted networks whose answers are known."""

import itertools
import math
import tracemalloc

import numpy as np
import oracle as brute
import pytest

import bayesgraph as bg


def two_way(first, rows):
    a, b = bg.Discrete("a", ["p", "q"]), bg.Discrete("b", ["x", "y", "z"])
    return bg.BayesianNetwork([bg.TableCPD(a, first), bg.TableCPD(b, rows, parents=[a])])


def test_it_differs_from_the_most_probable_states_one_by_one():
    # P(a=p) = 0.55 leads, but its mass is spread over b; (q, x) is the best pair: 0.45 * 1.
    net = two_way([0.55, 0.45], [[0.34, 0.33, 0.33], [1.0, 0.0, 0.0]])
    assert net.query("a").argmax == "p"
    best = net.most_probable()
    assert dict(best) == {"a": "q", "b": "x"}
    assert best.log_probability == pytest.approx(math.log(0.45), abs=1e-14)


def test_it_differs_from_the_argmax_with_a_missing_feature():
    """The row {f: 1, g missing}: the class by its marginal is c0, in the best world it is c1."""
    c = bg.Discrete("c", ["c0", "c1"])
    f, g = bg.Discrete("f", [0, 1]), bg.Discrete("g", [0, 1, 2, 3])
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(c, [0.5, 0.5]),
            bg.TableCPD(f, [[0.4, 0.6], [0.5, 0.5]], parents=[c]),
            bg.TableCPD(g, [[0.25] * 4, [0.97, 0.01, 0.01, 0.01]], parents=[c]),
        ]
    )
    row = {"f": 1, "g": None}
    assert net.query("c", row).argmax == "c0"
    assert net.most_probable(row)["c"] == "c1"


def test_the_path_back_follows_what_was_chosen_later():
    """Each variable's best state depends on its neighbour's: single argmaxima do not fit."""
    net = two_way([0.5, 0.5], [[0.1, 0.2, 0.7], [0.05, 0.9, 0.05]])
    assert dict(net.most_probable()) == {"a": "q", "b": "y"}
    assert dict(net.most_probable({"a": "p"})) == {"b": "z"}
    assert dict(net.most_probable({"b": "x"})) == {"a": "p"}


@pytest.mark.parametrize("seed", range(10))
def test_ties_go_to_the_first_states(seed):
    """Uniform tables: everything is equally probable; the first state of every variable wins."""
    random = np.random.default_rng(seed)
    variables = [bg.Discrete(f"v{i}", ["a", "b", "c", "d"][: 2 + i % 3]) for i in range(6)]
    cpds = []
    for i, variable in enumerate(variables):
        parents = brute.pick_parents(random, variables[:i], 3)
        shape = (*(p.cardinality for p in parents), variable.cardinality)
        cpds.append(bg.TableCPD(variable, np.full(shape, 1 / variable.cardinality), parents))
    net = bg.BayesianNetwork(cpds)
    assert dict(net.most_probable()) == {v.name: "a" for v in variables}
    for variable in variables:
        assert net.query(variable.name).argmax == "a"


def test_zeros_are_avoided():
    net = two_way([0.9, 0.1], [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]])
    best = net.most_probable({"b": "x"})
    assert dict(best) == {"a": "q"}
    assert best.log_probability == pytest.approx(math.log(0.1), abs=1e-14)


def test_impossible_evidence_is_refused():
    net = two_way([1.0, 0.0], [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]])
    with pytest.raises(bg.errors.ImpossibleEvidenceError, match="'b': 'x'"):
        net.most_probable({"b": "x"})


@pytest.mark.parametrize("k", [True, 0, -1, 1.5, "2", None])
def test_a_number_of_assignments_that_is_none(k):
    net = two_way([0.5, 0.5], [[0.2, 0.3, 0.5]] * 2)
    with pytest.raises(
        (ValueError, TypeError), match=f"number of assignments, 1 or more; got {k!r}"
    ):
        net.k_most_probable(k)


def test_soft_evidence_leaves_the_variable_free():
    net = two_way([0.5, 0.5], [[0.1, 0.2, 0.7], [0.05, 0.9, 0.05]])
    best = net.most_probable({"b": {"x": 1.0, "y": 0.1, "z": 0.1}})
    assert dict(best) == {"a": "p", "b": "x"}
    assert best.log_probability == pytest.approx(math.log(0.05), abs=1e-14)


def mixed():
    c, x = bg.Discrete("c", ["wide", "narrow"]), bg.Continuous("x")
    return bg.BayesianNetwork(
        [
            bg.TableCPD(c, [0.6, 0.4]),
            bg.GaussianCPD(x, [0.0, 5.0], [100.0, 0.01], parents=[c]),
        ]
    )


def test_continuous_variables_are_integrated_out_unless_joint():
    """The density at the mode favours the narrow component, the probability the wide one."""
    net = mixed()
    best = net.most_probable()
    assert dict(best) == {"c": "wide", "x": 0.0}
    assert best.log_probability == pytest.approx(math.log(0.6), abs=1e-14)
    mode = net.most_probable(joint=True)
    assert mode["c"] == "narrow"
    assert mode["x"] == pytest.approx(5.0)
    density = math.log(0.4) - 0.5 * math.log(2 * math.pi * 0.01)
    assert mode.log_probability == pytest.approx(density, abs=1e-12)


def test_a_joint_mode_beside_variables_that_are_summed_out_is_refused():
    with pytest.raises(bg.errors.UnsupportedModelError, match="leave out one of both"):
        mixed().most_probable(over="c", joint=True)


def test_joint_mode_of_a_pair_given_their_child():
    x, y, z = (bg.Continuous(name) for name in "xyz")
    net = bg.BayesianNetwork(
        [
            bg.GaussianCPD(z, 0.0, 0.5, parents=[x, y], coefficients=[1.0, 1.0]),
            bg.GaussianCPD(x, 1.0, 1.0),
            bg.GaussianCPD(y, 0.0, 3.0, parents=[x], coefficients=[0.5]),
        ]
    )
    value, ties = brute.Oracle.of(net).best({"z": 4.0}, joint=True)
    mode = net.most_probable({"z": 4.0}, joint=True)
    assert mode.log_probability == pytest.approx(value, abs=1e-12)
    found = [mode[v.name] for v in ties[0].free]
    assert found == pytest.approx(list(ties[0].mean), abs=1e-12)
    # Without discrete variables both are the conditional means.
    assert dict(net.most_probable({"z": 4.0})) == pytest.approx(dict(mode))


def test_a_long_chain_of_certain_steps():
    """2,000 nodes: the product of the maxima underflows, its log does not."""
    n = 2000
    nodes = [bg.Discrete(i, ["a", "b"]) for i in range(n)]
    cpds = [bg.TableCPD(nodes[0], [0.4, 0.6])]
    for parent, child in itertools.pairwise(nodes):
        cpds.append(bg.TableCPD(child, [[0.3, 0.7], [0.6, 0.4]], parents=[parent]))
    best = bg.BayesianNetwork(cpds).most_probable({n - 1: "a"})
    # a -> b costs 0.7 and b -> a costs 0.6; staying at b costs 0.4: alternate.
    path = [best[i] for i in range(n - 1)]
    assert path == ["ba"[(n - 1 - i) % 2 == 0] for i in range(n - 1)]
    expected = math.log(0.6) if path[0] == "b" else math.log(0.4)
    for a, b in zip(path, [*path[1:], "a"], strict=True):
        expected += math.log({"ab": 0.7, "ba": 0.6}[a + b])
    assert best.log_probability == pytest.approx(expected, rel=1e-12)


def test_continuous_variables_that_nobody_asked_about_cost_nothing():
    """Thirty of them in a chain, each with a discrete parent of its own: no table over all."""
    cpds, above = [], []
    expected = {}
    for i in range(30):
        d, c = bg.Discrete(f"d{i}", ["a", "b"]), bg.Continuous(f"c{i}")
        cpds += [
            bg.TableCPD(d, [0.6, 0.4]),
            bg.GaussianCPD(c, [1.0, -1.0], [1.0, 2.0], [d, *above], [[0.5]] * 2 if above else None),
        ]
        expected[c.name] = 1.0 + 0.5 * expected[above[0].name] if above else 1.0
        above = [c]
    best = bg.BayesianNetwork(cpds).most_probable()
    assert best.log_probability == pytest.approx(30 * math.log(0.6))
    assert all(best[f"d{i}"] == "a" for i in range(30))
    assert {name: best[name] for name in expected} == pytest.approx(expected)


def test_more_assignments_than_memory_holds_are_refused():
    coins = [bg.TableCPD(bg.Discrete(f"c{i}", ["h", "t"]), [0.5, 0.5]) for i in range(30)]
    network = bg.BayesianNetwork(coins)
    with pytest.raises(bg.errors.MemoryLimitError, match="2,000,000 rows of 30 columns"):
        network.k_most_probable(2_000_000, memory_limit=10**8)
    # What there is of few variables fits, whatever k is.
    small = bg.BayesianNetwork(coins[:2])
    assert len(small.k_most_probable(10**12, memory_limit=10**6)) == 4


def noisy_or(n):
    """A noisy or of n causes, whose table has 2**n entries given the effect."""
    causes = [bg.Discrete(f"q{i}", ["no", "yes"]) for i in range(n)]
    effect = bg.NoisyOrCPD(bg.Discrete("w", ["no", "yes"]), [0.3] * n, causes, leak=0.01)
    return bg.BayesianNetwork([*[bg.TableCPD(cause, [0.9, 0.1]) for cause in causes], effect])


@pytest.mark.parametrize("ask", ["most_probable", "k_most_probable"])
@pytest.mark.parametrize(("n", "limit"), [(60, None), (70, None), (24, 0.2e9), (12, 100_000)])
def test_tables_that_are_not_within_the_limit_are_told_before_they_are_made(ask, n, limit):
    arguments = (2,) if ask == "k_most_probable" else ()
    with pytest.raises(bg.errors.MemoryLimitError, match=r"A table .* needs .*raise memory"):
        getattr(noisy_or(n), ask)(*arguments, {"w": "yes"}, memory_limit=limit)


def test_what_is_within_the_limit_holds_no_more_than_it():
    network, limit = noisy_or(14), 6.5 * 8 * 2**14
    best = network.most_probable({"w": "yes"}, memory_limit=limit)  # compiles and caches
    tracemalloc.start()
    network.most_probable({"w": "yes"}, memory_limit=limit)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak <= limit + 100_000
    # One cause explains the effect best: 0.9**13 * 0.1 * (1 - 0.99 * 0.7).
    assert sorted(best.values()) == ["no"] * 13 + ["yes"]
    expected = 13 * math.log(0.9) + math.log(0.1) + math.log(1 - 0.99 * 0.7)
    assert best.log_probability == pytest.approx(expected, abs=1e-9)
