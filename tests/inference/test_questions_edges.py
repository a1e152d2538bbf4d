"""Questions at the edges: tiny numbers, impossible evidence, odd calls."""

import copy
import itertools
import math
import pickle

import numpy as np
import pytest
from joint import Joint

import bayesgraph as bg
from bayesgraph.core.errors import (
    DataTypeError,
    EvidenceError,
    ImpossibleEvidenceError,
    MemoryLimitError,
    UnknownVariableError,
)


def binary(*names):
    return [bg.Discrete(name, [0, 1]) for name in names]


def chain(n, *, seed=0):
    """Return a chain of binary variables with random tables."""
    random = np.random.default_rng(seed)
    variables = binary(*(f"x{i}" for i in range(n)))
    cpds = [bg.TableCPD(variables[0], [0.3, 0.7])]
    for parent, child in itertools.pairwise(variables):
        cpds.append(bg.TableCPD(child, random.dirichlet([1, 1], 2), parents=[parent]))
    return bg.BayesianNetwork(cpds)


def sprinkler():
    """Return a -> b -> c where c = 1 needs b = 1."""
    a, b, c = binary("a", "b", "c")
    return bg.BayesianNetwork(
        [
            bg.TableCPD(a, [0.5, 0.5]),
            bg.TableCPD(b, [[0.5, 0.5], [0.2, 0.8]], parents=[a]),
            bg.TableCPD(c, [[1.0, 0.0], [0.3, 0.7]], parents=[b]),
        ]
    )


# ----------------------------------------------------------------------------- marginal map


def test_marginal_map_of_many_targets_needs_no_table_of_all_of_them():
    network = chain(80)
    everything = network.most_probable(over=list(network.names))
    best = network.most_probable()
    assert dict(everything) == dict(best)
    assert everything.log_probability == pytest.approx(best.log_probability, rel=1e-12)
    # The last half summed out: a shorter chain says the same.
    half = network.most_probable(over=[f"x{i}" for i in range(40)], memory_limit=10**6)
    shorter = bg.BayesianNetwork(network.cpds[:40]).most_probable()
    assert dict(half) == dict(shorter)
    assert half.log_probability == pytest.approx(shorter.log_probability, rel=1e-12)


def test_marginal_map_tells_the_probability_of_its_assignment():
    network = sprinkler()
    found = network.most_probable({"c": 1}, over=["b"])
    assert dict(found) == {"b": 1}
    assert math.exp(found.log_probability) == pytest.approx(0.65 * 0.7, rel=1e-14)
    assert math.exp(network.most_probable(over=["a"]).log_probability) == pytest.approx(
        0.5, rel=1e-14
    )


def test_marginal_map_takes_one_name_like_a_query():
    rain, wet = bg.Discrete("rain", ["no", "yes"]), bg.Discrete("wet", ["no", "yes"])
    network = bg.BayesianNetwork(
        [
            bg.TableCPD(rain, [0.8, 0.2]),
            bg.TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], parents=[rain]),
        ]
    )
    assert dict(network.most_probable({"wet": "yes"}, over="rain")) == {"rain": "yes"}


# --------------------------------------------------------------------------------- tiny numbers


def tiny_star():
    """Return b with two children that see b = 1 with 1e-200 only, and more that need it to be 1."""
    b, x, y, z, w, v = binary(*"bxyzwv")
    e = 1e-200
    network = bg.BayesianNetwork(
        [
            bg.TableCPD(b, [0.5, 0.5]),
            bg.TableCPD(x, [[0, 1], [1 - e, e]], parents=[b]),
            bg.TableCPD(y, [[0, 1], [1 - e, e]], parents=[b]),
            bg.TableCPD(z, [[1, 0], [0, 1]], parents=[b]),
            bg.TableCPD(w, [[0.3, 0.7], [0.6, 0.4]], parents=[b]),
            bg.TableCPD(v, [[0.3, 0.7], [0.6, 0.4]], parents=[w]),
            *(
                bg.TableCPD(bg.Discrete(f"u{p.name}", [0, 1]), [[0.9, 0.1], [0.2, 0.8]], [p])
                for p in (x, y, z)
            ),
        ]
    )
    columns = {"x": [1, None], "y": [1, None], "z": [1, None], "w": [None, 1], "v": [None, 1]}
    columns |= {"ux": [0, 0], "uy": [0, 0], "uz": [0, 0]}
    return network, columns


def test_rows_too_improbable_for_linear_numbers():
    network, columns = tiny_star()
    rows = [{name: c[i] for name, c in columns.items() if c[i] is not None} for i in range(2)]
    first = math.log(0.5) - 400 * math.log(10) + 3 * math.log(0.2)
    assert network.log_probability(rows[0]) == pytest.approx(first, rel=1e-12)
    total = sum(network.log_probability(row) for row in rows)
    assert network.log_likelihood(columns).sum() == pytest.approx(total, rel=1e-12)

    for graph in (network, bg.FactorGraph.of(network)):
        got = graph.query_rows("w", {name: columns[name] for name in columns if name != "w"})
        assert got[0] == pytest.approx([0.6, 0.4], abs=1e-12)
        assert graph.log_likelihood(columns).sum() == pytest.approx(total, rel=1e-12)


def test_answers_of_a_run_on_logarithms_sum_to_one():
    """A log mass of -9e4 leaves ten digits behind the point: the peak must go first."""
    a, *children = binary("a", *(f"x{i}" for i in range(100)))
    e = 1e-300
    rows = [[1 - e, e], [1 - e, e]]
    network = bg.BayesianNetwork(
        [bg.TableCPD(a, [0.5, 0.5]), *(bg.TableCPD(x, rows, [a]) for x in children)]
    )
    evidence = {x.name: 1 for x in children}
    for posterior in (network.query("a", evidence), network.marginals(evidence)["a"]):
        assert posterior.probabilities == pytest.approx([0.5, 0.5], abs=1e-15)
    assert network.log_probability(evidence) == pytest.approx(-30_000 * math.log(10), rel=1e-13)


def test_a_factor_graph_keeps_entries_that_floats_do_not_reach():
    a, b = binary("a", "b")
    wide = bg.FactorGraph([bg.Factor([a], [1e200, 1e-200])])
    assert wide.log_probability({"a": 1}) == pytest.approx(-400 * math.log(10), rel=1e-14)
    powered = bg.FactorGraph(
        [bg.Factor([a], [1.0, 1e-200]), bg.Factor([a, b], [[0, 0], [2, 6]])], exponents=[3, 1]
    )
    assert powered.log_partition == pytest.approx(math.log(8) - 600 * math.log(10), rel=1e-14)
    for posterior in (powered.query("b"), powered.marginals()["b"]):
        assert posterior.probabilities == pytest.approx([0.25, 0.75], abs=1e-12)
    assert powered.query("a").probabilities == pytest.approx([0.0, 1.0])
    assert dict(powered.most_probable()) == {"a": 1, "b": 1}
    rows = powered.query_rows("b", {"a": [1, None]})
    assert rows == pytest.approx(np.array([[0.25, 0.75]] * 2), abs=1e-12)
    assert set(powered.sample(20, random_state=0)["a"]) == {1}


def test_rows_of_a_factor_graph_with_entries_that_floats_do_not_reach():
    a, b, c = binary("a", "b", "c")
    graph = bg.FactorGraph(
        [
            bg.Factor([a, b], [[1.0, 0.5], [1e-200, 3e-200]]),
            bg.Factor([b, c], [[1.0, 2.0], [3.0, 4.0]]),
        ],
        exponents=[2, 1],
    )
    columns = {"a": [1, 1, None], "b": [None, None, 1], "c": [None, 1, 1]}
    rows = [{n: c[i] for n, c in columns.items() if c[i] is not None} for i in range(3)]
    base = -400 * math.log(10)
    weights = {0: 1 * 3 + 9 * 7, 1: 1 * 2 + 9 * 4}
    partition = math.log(1 * 3 + 0.25 * 7)
    assert graph.log_probability(rows[0]) == pytest.approx(
        math.log(weights[0]) + base - partition, rel=1e-13
    )
    total = sum(graph.log_probability(row) for row in rows)
    assert graph.log_likelihood(columns).sum() == pytest.approx(total, rel=1e-13)
    got = graph.query_rows("b", columns)
    assert got[0] == pytest.approx([3 / 66, 63 / 66], abs=1e-12)
    assert got[1] == pytest.approx([2 / 38, 36 / 38], abs=1e-12)


# ---------------------------------------------------------------------------- impossible evidence


def test_impossible_evidence_as_a_row_of_a_frame_is_named():
    import pandas as pd

    network = sprinkler()
    row = pd.Series({"c": 1, "b": 0})
    for ask in (
        lambda: network.query("a", row),
        lambda: network.marginals(row),
        lambda: network.most_probable(row),
        lambda: network.ask.sensitivity("a", 1, row),
    ):
        with pytest.raises(ImpossibleEvidenceError, match="'c': 1, 'b': 0"):
            ask()
    possible = network.ask.sensitivity("a", 1, pd.Series({"c": 1}))
    assert possible.posterior == pytest.approx(0.8 / 1.3)


@pytest.mark.parametrize(
    "evidence",
    [
        {"c": 1, "b": 0},
        {"c": 1, "b": {0: 1.0, 1: 0.0}, "a": 0},
        {"c": 1, "b": {0: 0.0, 1: 0.0}},
        {"a": np.zeros(2)},
    ],
)
def test_every_question_refuses_impossible_evidence(evidence):
    network = sprinkler()
    assert network.log_probability(evidence) == -math.inf
    target = next(name for name in "abc" if name not in evidence or name == "b")
    target = "a" if "a" not in evidence else "c" if "c" not in evidence else target
    asks = [
        lambda: network.marginals(evidence),
        lambda: network.most_probable(evidence),
        lambda: network.k_most_probable(3, evidence),
        lambda: network.sample(5, evidence),
        lambda: network.ask.conflict(evidence),
    ]
    free = [n for n in "abc" if n not in evidence or not isinstance(evidence[n], int)]
    for name in free:
        asks += [
            lambda name=name: network.query(name, evidence),
            lambda name=name: network.most_probable(evidence, over=[name]),
            lambda name=name: network.ask.sensitivity(name, 0, evidence),
        ]
    for ask in asks:
        with pytest.raises(ImpossibleEvidenceError, match="probability zero"):
            ask()


def test_a_belief_beside_impossible_evidence():
    belief = bg.Belief({0: 0.5, 1: 0.5})
    with pytest.raises(ImpossibleEvidenceError, match="'c': 1"):
        sprinkler().query("a", {"c": 1, "b": 0, "a": belief})


# -------------------------------------------------------------------------------------- odd calls


def test_options_that_no_method_takes_are_refused():
    """A misspelt `evidence` must not be answered with the prior."""
    network = sprinkler()
    for ask in (network.query, network.marginals):
        targets = ["a"] if ask == network.query else []
        with pytest.raises(DataTypeError, match="'given'"):
            ask(*targets, given={"c": 1})
        with pytest.raises(DataTypeError, match=r"'c': .* Evidence is a dict: query\("):
            ask(*targets, c=1)
        with pytest.raises(TypeError):
            ask(*targets, n=10)
        with pytest.raises(EvidenceError, match="'exakt'"):
            ask(*targets, method="exakt")
        with pytest.raises(EvidenceError, match="'lopy'"):
            ask(*targets, fallback="lopy")


def mixture():
    a, x = bg.Discrete("a", [0, 1]), bg.Continuous("x")
    return bg.BayesianNetwork(
        [bg.TableCPD(a, [0.5, 0.5]), bg.GaussianCPD(x, [0, 1], [1, 1], parents=[a])]
    )


def test_lazy_marginals_keep_the_evidence_of_their_question():
    network = mixture()
    evidence = {"x": 0.0}
    found = network.marginals(evidence)
    evidence["x"] = 5.0
    expected = network.query("a", {"x": 0.0})
    assert found["a"].probabilities == pytest.approx(expected.probabilities)


def test_marginals_can_be_pickled_and_copied():
    for network, evidence in ((sprinkler(), {"c": 1}), (mixture(), {})):
        found = network.marginals(evidence)
        for twin in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
            assert list(twin) == list(found)
            assert twin.log_evidence == found.log_evidence
            np.testing.assert_array_equal(twin["a"].probabilities, found["a"].probabilities)


def test_an_observed_variable_has_no_posterior_and_the_error_says_why():
    found = sprinkler().marginals({"a": 0})
    with pytest.raises(UnknownVariableError, match="'a'"):
        found["a"]


def test_no_memory():
    network = chain(12)
    for ask in (
        lambda: network.query("x11", memory_limit=8),
        lambda: network.marginals(memory_limit=8),
        lambda: network.most_probable(memory_limit=8),
        lambda: network.sample(1, {"x11": 0}, memory_limit=8),
        lambda: network.ask.sensitivity("x3", 0, memory_limit=8),
        lambda: network.ask.conflict({"x1": 0}, memory_limit=8),
        lambda: network.log_probability({"x9": 0}, memory_limit=8),
    ):
        with pytest.raises(MemoryLimitError, match="the limit is 8 B"):
            ask()


def test_the_answer_counts_towards_the_memory_limit():
    """The table of 14 targets is made in a workspace and handed out: 131 kB twice, and a tile."""
    network = chain(20)
    names = list(network.names[:14])
    with pytest.raises(MemoryLimitError, match="the limit is 250 kB"):
        network.query(names, memory_limit=250_000)
    assert len(network.query(names, memory_limit=400_000)) == 2**14


def test_a_factor_graph_of_constants():
    (a,) = binary("a")
    graph = bg.FactorGraph([bg.Factor([], 3.0), bg.Factor([a], [1, 3])])
    assert graph.log_partition == pytest.approx(math.log(12))
    assert graph.query("a").probabilities == pytest.approx([0.25, 0.75])
    assert Joint.of(graph).posterior(["a"], {}) == pytest.approx([0.25, 0.75])
