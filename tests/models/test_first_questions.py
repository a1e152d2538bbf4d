"""The first questions to a network, and marginals of the same variables with other values."""

import copy
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import oracle as brute
import pytest

import bayesgraph as bg
from bayesgraph.core.errors import EvidenceError, ImpossibleEvidenceError, UnknownStateError
from bayesgraph.inference import tables


@pytest.fixture(autouse=True, params=["joined at once", "copied when needed"])
def few_entries(request, monkeypatch):
    """Every test runs with tables that are joined at once, and with tables copied when needed."""
    if request.param == "copied when needed":
        monkeypatch.setattr(tables, "_FEW_ENTRIES", 0)
    return request.param


def chains(n=30, seed=0):
    """Two chains side by side, with a common child of their second nodes."""
    random = np.random.default_rng(seed)
    variables = [bg.Discrete(f"x{i}", ["a", "b", "c"]) for i in range(n)]
    cpds = [bg.TableCPD(v, random.dirichlet(np.ones(3))) for v in variables[:2]]
    for i in range(2, n):
        parents = [variables[2], variables[3]] if i == 4 else [variables[i - 2]]
        table = random.dirichlet(np.ones(3), size=[3] * len(parents))
        cpds.append(bg.TableCPD(variables[i], table, parents=parents))
    return bg.BayesianNetwork(cpds)


@pytest.mark.parametrize(
    ("target", "evidence"),
    [
        ("x0", {}),
        ("x5", {"x4": "b"}),
        ("x3", {"x7": "a", "x4": "c"}),
        ("x2", {"x4": {"a": 0.5, "b": 1.0, "c": 0.0}}),
        (["x2", "x3"], {"x4": "a"}),
    ],
)
def test_the_first_posterior_has_the_same_bits(target, evidence):
    fresh, asked = chains(), chains()
    asked.marginals()  # joins all tables
    first, later = fresh.query(target, evidence), asked.query(target, evidence)
    assert np.array_equal(first.probabilities, later.probabilities)
    assert first.log_evidence == pytest.approx(later.log_evidence, abs=1e-12)
    assert fresh.plan(target, evidence) == asked.plan(target, evidence)
    again = fresh.query(target, evidence)
    assert np.array_equal(first.probabilities, again.probabilities)


def test_posteriors_of_late_targets():
    net = chains()
    net.query("x29")
    net.query("x28")
    for name in ("x28", "x29"):
        chain = [0, *range(2, 30, 2)] if name == "x28" else [1, *range(3, 30, 2)]
        share = net[f"x{chain[0]}"].values
        for i in chain[1:]:
            table = net[f"x{i}"].values
            share = np.einsum("a,ab->b", share, table) if table.ndim == 2 else _common(net)
        assert net.query(name).probabilities == pytest.approx(share, abs=1e-12)


def _common(net):
    both = [net[f"x{i}"].values @ net[f"x{i + 2}"].values for i in range(2)]
    return np.einsum("a,b,abc->c", *both, net["x4"].values)


def test_the_first_posterior_of_impossible_evidence():
    a, b = bg.Discrete("a", [0, 1]), bg.Discrete("b", [0, 1])
    rest = [bg.TableCPD(bg.Discrete(f"x{i}", [0, 1]), [0.5, 0.5]) for i in range(20)]
    table = bg.TableCPD(b, [[1.0, 0.0], [1.0, 0.0]], parents=[a])
    net = bg.BayesianNetwork([bg.TableCPD(a, [0.5, 0.5]), table, *rest])
    with pytest.raises(ImpossibleEvidenceError):
        net.query("a", {"b": 1})


def test_only_the_tables_that_a_question_needs_are_copied(few_entries):
    net = chains()
    net.query("x6", {"x2": "a"})
    kept = net._compiled_tables.tables.pending
    if few_entries == "joined at once":
        assert not kept
    else:
        assert [i for i, table in enumerate(kept) if table is None] == [0, 1, 2, 3, 4, 6]
    asked = chains()
    asked.marginals()
    assert np.array_equal(net._compiled_tables.tables.values, asked._compiled_tables.tables.values)


def test_a_zero_that_the_evidence_separates_is_noticed_before_its_table_is_needed():
    net = chains()
    a, b = bg.Discrete("a", [0, 1]), bg.Discrete("b", [0, 1])
    apart = [bg.TableCPD(a, [0.5, 0.5]), bg.TableCPD(b, [[1, 0], [1, 0]], parents=[a])]
    net = bg.BayesianNetwork([*net.cpds, *apart])
    with pytest.raises(ImpossibleEvidenceError):
        net.query("x29", {"b": 1})
    assert net.query("x29", {"b": 0}) == chains().query("x29")


def test_first_questions_of_many_threads():
    expected = {name: p.probabilities for name, p in chains().marginals().items()}
    for _ in range(20):
        net = chains()
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(net.query, net.names))
        for name, posterior in zip(net.names, answers, strict=True):
            assert posterior.probabilities == pytest.approx(expected[name], abs=1e-12)


def test_a_copy_of_a_network_is_asked_anew():
    net = chains()
    net.query("x0")
    twin = copy.deepcopy(net)
    assert twin.query("x0").probabilities == pytest.approx(net.query("x0").probabilities)


@pytest.mark.parametrize("seed", range(6))
def test_marginals_of_the_same_variables_with_other_values(seed):
    random = np.random.default_rng(seed)
    net = brute.random_network(seed, n_discrete=5)
    name, other = net.names[int(random.integers(5))], net.names[0]
    for state in net.variable(name).states:
        try:
            found = net.marginals({name: state})
        except ImpossibleEvidenceError:
            assert net.query(name)[state] == 0.0
            continue
        for target in found:
            expected = net.query(target, {name: state}).probabilities
            assert found[target].probabilities == pytest.approx(expected, abs=1e-12)
    assert net.marginals()[other].probabilities == pytest.approx(net.query(other).probabilities)


def test_marginals_after_others_take_no_errors():
    net = chains()
    expected = net.marginals({"x0": "a"})["x9"].probabilities
    with pytest.raises(UnknownStateError, match="no state 'z'"):
        net.marginals({"x0": "z"})
    with pytest.raises(EvidenceError):
        net.marginals({"x0": ["a"]})
    soft = net.marginals({"x0": {"a": 1.0, "b": 0.0, "c": 0.0}})
    assert soft["x9"].probabilities == pytest.approx(expected, abs=1e-12)
    assert "x0" in net.marginals({"x0": None})
    assert "x0" in net.marginals({"x0": float("nan")})
