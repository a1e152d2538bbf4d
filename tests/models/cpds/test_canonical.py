"""Canonical CPDs against their tables, written down from the definitions."""

import copy
import math
import pickle

import numpy as np
import pytest
from canonical_networks import KINDS, joint_of, random_cpd, random_network, table_of
from joint import random_evidence

import bayesgraph as bg
from bayesgraph.core import Evidence
from bayesgraph.core.errors import (
    CPDError,
    ImpossibleEvidenceError,
    LossyExportError,
    LossyExportWarning,
    MemoryLimitError,
    UnknownStateError,
    UnsupportedModelError,
)
from bayesgraph.inference import approximate as unfolded
from bayesgraph.models import CanonicalCPD
from bayesgraph.models.cpds import noisy_max as canonical
from bayesgraph.models.cpds.noisy_max import LinkName

NO_YES = ["no", "yes"]
VARIABLES = [bg.Discrete("a", [0, 1, 2]), bg.Discrete("b", NO_YES), bg.Discrete("c", [0, 1])]


@pytest.fixture
def chains(monkeypatch):
    """Let small distributions be chains too."""
    monkeypatch.setattr(canonical, "SMALL", 0)


def causes(n, probability=0.1):
    parents = [bg.Discrete(f"p{i}", NO_YES) for i in range(n)]
    return parents, [bg.TableCPD(p, [1 - probability, probability]) for p in parents]


# ------------------------------------------------------------------------------ definitions


@pytest.mark.parametrize("n_states", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_tables_and_chains_equal_the_definition(kind, n_states):
    random = np.random.default_rng(n_states)
    child = bg.Discrete("y", ["none", "some", "much"][:n_states])
    cpd = random_cpd(random, kind, child, [*VARIABLES, bg.Discrete("d", NO_YES)])
    table = table_of(cpd)
    np.testing.assert_allclose(cpd.to_table().values, table, rtol=0, atol=1e-12)
    np.testing.assert_allclose(cpd.to_factor().values, table, rtol=0, atol=1e-12)
    state = np.ones((1, 1))
    for link in cpd.links():
        state = np.einsum("xs,sct->xct", state, link).reshape(-1, link.shape[2])
    np.testing.assert_allclose(state.reshape(table.shape), table, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_potentials_of_rows(kind):
    random = np.random.default_rng(5)
    child = bg.Discrete("y", NO_YES)
    cpd = random_cpd(random, kind, child, VARIABLES)
    table = table_of(cpd)
    a, b, c = VARIABLES
    codes = {a: np.array([2, 0, 1]), child: np.array([1, -1, 0])}
    found = cpd.potential(Evidence(3, codes))
    assert found.scope == (b, c)
    expected = [table[2, :, :, 1], np.ones((2, 2)), table[1, :, :, 0]]
    np.testing.assert_allclose(np.exp(found.log_values), expected, atol=1e-12)
    seen = {a: np.array([2, 0, 1]), b: np.array([0, 1, 1]), c: np.array([1, 1, 0])}
    found = cpd.potential(Evidence(3, seen))
    np.testing.assert_allclose(
        np.exp(found.log_values), [table[2, 0, 1], table[0, 1, 1], table[1, 1, 0]], atol=1e-12
    )
    factors = cpd.potentials(Evidence(1, {b: np.array([1]), child: np.array([0])}))
    product = math.prod(factors[1:], start=factors[0])
    np.testing.assert_allclose(product.marginal([a, c]).values, table[:, 1, :, 0], atol=1e-12)


def test_small_probabilities_keep_their_digits():
    parents, roots = causes(12)
    rare = bg.NoisyOrCPD(bg.Discrete("y", NO_YES), [1e-30] * 12, parents)
    net = bg.BayesianNetwork([*roots, rare])
    assert net.log_probability({"y": "yes"}) == pytest.approx(math.log(12 * 0.1 * 1e-30))
    assert net.query("p0", {"y": "yes"})["yes"] == pytest.approx(0.1 + 0.9 / 12)


def test_rounded_rows_are_normalised():
    parents, roots = causes(25)
    rounded = [[[1, 0, 0], [0.3333335, 0.3333335, 0.3333335]]] * 25
    cpd = bg.NoisyMaxCPD(bg.Discrete("y", [0, 1, 2]), rounded, parents)
    net = bg.BayesianNetwork([*roots, cpd])
    assert net.query("y")[0] == pytest.approx((0.9 + 0.1 / 3) ** 25)
    with_all = cpd.with_parents_set(dict.fromkeys(parents, 1))
    assert with_all.leak.sum() == pytest.approx(1.0, abs=1e-12)


# ------------------------------------------------------------------- questions of networks


@pytest.mark.one_in(16)
@pytest.mark.parametrize("seed", range(30))
def test_answers_equal_the_joint(chains, monkeypatch, seed):
    monkeypatch.setattr(unfolded, "_MANY", 0 if seed % 2 else 2**14)
    network = random_network(seed)
    assert len(network._unfolded.variables) >= len(network.variables)
    joint = joint_of(network)
    random = np.random.default_rng(seed)
    for _ in range(3):
        evidence = random_evidence(random, joint, hard=0.2, soft=0.1)
        hard = {n for n, v in evidence.items() if not isinstance(v, dict | np.ndarray)}
        free = [n for n in network.names if n not in hard or evidence[n] is None]
        free = [n for n in free if not isinstance(evidence.get(n), float)]
        if not free:
            continue
        marginals = network.marginals(evidence)
        assert list(marginals) == [n for n in network.names if n in marginals]
        for name in marginals:
            expected = joint.posterior([name], evidence)
            np.testing.assert_allclose(marginals[name].probabilities, expected, atol=1e-9)
            np.testing.assert_allclose(
                network.query(name, evidence).probabilities, expected, atol=1e-9
            )
        log = joint.log_mass(evidence)
        assert network.log_probability(evidence) == pytest.approx(log, abs=1e-9)
        assert marginals.log_evidence == pytest.approx(log, abs=1e-9)
        pair = list(marginals)[:2]
        np.testing.assert_allclose(
            network.query(pair, evidence).probabilities, joint.posterior(pair, evidence), atol=1e-9
        )
        weights = joint.best(evidence)
        best = network.k_most_probable(3, evidence)
        np.testing.assert_allclose(
            np.exp([a.log_probability for a in best]), weights[:3], rtol=1e-9
        )
        assert joint.weight_of(best[0], evidence) == pytest.approx(weights[0])
        assert network.most_probable(evidence).log_probability == pytest.approx(
            best[0].log_probability
        )
        found = network.most_probable(evidence, over=pair)
        assert math.exp(found.log_probability) == pytest.approx(joint.table(pair, evidence).max())


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(6))
def test_absent_effects_say_something_about_each_cause(chains, monkeypatch, seed):
    monkeypatch.setattr(unfolded, "_MANY", 0)
    network = random_network(seed, ("noisy_or", "noisy_max"), n_roots=4, n_children=3)
    joint = joint_of(network)
    assert set(network._no_effect_factors) == {network._index_of[f"c{i}"] for i in range(3)}
    soft = {"r0": np.arange(1.0, 1 + network.variable("r0").cardinality)}
    for evidence in (
        {"c0": "no", "c1": "no"},
        {"c0": "no", "c2": "no", "last": "yes", **soft},
        {"c0": "no", "c1": network.variable("c1").states[1], "r1": 1},
    ):
        if joint.mass(evidence) == 0:
            assert network.log_probability(evidence) == -np.inf
            continue
        found = network.marginals(evidence)
        assert found.log_evidence == pytest.approx(joint.log_mass(evidence), abs=1e-9)
        assert network.log_probability(evidence) == pytest.approx(joint.log_mass(evidence))
        for name, posterior in found.items():
            expected = joint.posterior([name], evidence)
            np.testing.assert_allclose(posterior.probabilities, expected, atol=1e-9)
        pair = list(found)[:2]
        best = network.most_probable(evidence, over=pair)
        assert np.exp(best.log_probability) == pytest.approx(joint.table(pair, evidence).max())
        posterior = network.query(pair, evidence)
        assert posterior.log_evidence == pytest.approx(joint.log_mass(evidence))
        np.testing.assert_allclose(
            posterior.probabilities, joint.posterior(pair, evidence), atol=1e-9
        )
    sure = [bg.TableCPD(v, [0.5, 0.5]) for v in VARIABLES[1:]]
    always = bg.NoisyOrCPD(bg.Discrete("y", NO_YES), [1.0, 0.5], VARIABLES[1:])
    net = bg.BayesianNetwork([*sure, always])
    assert net.log_probability({"y": "no", "b": "yes"}) == -np.inf
    with pytest.raises(ImpossibleEvidenceError):
        net.query("c", {"y": "no", "b": "yes"})


@pytest.mark.parametrize("seed", range(2))
def test_absent_effects_beside_numbers_keep_the_log_evidence(chains, monkeypatch, seed):
    monkeypatch.setattr(unfolded, "_MANY", 0)
    network = random_network(seed, ("noisy_or",), n_roots=4, n_children=3, numbers=True)
    joint = joint_of(network.without("y").without("x"))  # the numbers are below all the others
    evidence = {"c0": "no", "c1": "no", "r0": 0}
    expected = pytest.approx(joint.log_mass(evidence), abs=1e-9)
    assert network.log_probability(evidence) == expected
    assert network.marginals(evidence).log_evidence == expected
    for targets in (["last"], ["x"], ["last", "x"]):
        assert network.query(targets, evidence).log_evidence == expected
    best = network.most_probable(evidence, over=["r1", "last"])
    assert np.exp(best.log_probability) == pytest.approx(
        joint.table(["r1", "last"], evidence).max()
    )


def test_many_absent_effects_are_cheap():
    random = np.random.default_rng(0)
    causes_, roots = causes(30, 0.03)
    effects = [bg.Discrete(f"e{i}", NO_YES) for i in range(30)]
    cpds = [
        bg.NoisyOrCPD(e, random.random(6), [causes_[i] for i in random.permutation(30)[:6]], 0.01)
        for e in effects
    ]
    net = bg.BayesianNetwork([*roots, *cpds])
    found = net.marginals({e.name: "no" for e in effects})
    odds = 0.03 / 0.97
    for cpd in cpds:
        if causes_[0] in cpd.parents:
            odds *= 1 - cpd.probabilities[cpd.parents.index(causes_[0])][1]
    assert found["p0"]["yes"] == pytest.approx(odds / (1 + odds), abs=1e-12)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(4))
def test_rows_equal_the_joint(chains, seed):
    network = random_network(seed, n_children=1)
    joint = joint_of(network)
    rows = network.sample(40, random_state=seed, frame="dict")
    table = {
        name: [None if (i + len(name)) % 5 == 0 else v for i, v in enumerate(column.tolist())]
        for name, column in rows.items()
    }
    found = network.log_likelihood(table)
    posterior = network.query_rows("c0", {n: c for n, c in table.items() if n != "c0"})
    for i in range(40):
        row = {name: column[i] for name, column in table.items()}
        assert found[i] == pytest.approx(joint.log_mass(row), abs=1e-9)
        row.pop("c0")
        np.testing.assert_allclose(posterior[i], joint.posterior(["c0"], row), atol=1e-9)


def test_networks_with_numbers_answer_as_with_tables(chains):
    for seed in range(3):
        network = random_network(seed, numbers=True)
        tables = bg.models.expanded(network)
        evidence = {"y": 0.3, "last": "yes"}
        for name in ("c0", "r1"):
            np.testing.assert_allclose(
                network.query(name, evidence).probabilities,
                tables.query(name, evidence).probabilities,
                atol=1e-9,
            )
        assert network.query("x", evidence).mean == pytest.approx(tables.query("x", evidence).mean)
        marginals = network.marginals(evidence)
        assert set(marginals) == set(network.names) - set(evidence)
        assert marginals.log_evidence == pytest.approx(tables.log_probability(evidence))
        assert marginals["c1"] == network.query("c1", evidence)
        assert network.most_probable(evidence) == tables.most_probable(evidence)


def test_other_questions(chains):
    network = random_network(3, kinds=("noisy_max",))
    tables = bg.models.expanded(network)
    evidence = {"last": "yes", "r0": 1}
    drawn = network.sample(4000, evidence, random_state=0, frame="dict")
    assert list(drawn) == list(network.names)
    expected = tables.query("r2", evidence)
    for state, p in expected.items():
        assert np.mean(drawn["r2"] == state) == pytest.approx(p, abs=0.04)
    weighted = network.weighted_samples("r2", evidence, n=4000, random_state=0).posterior("r2")
    np.testing.assert_allclose(weighted.probabilities, expected.probabilities, atol=0.05)
    loopy = network.marginals(evidence, method="loopy", max_iterations=500)
    assert set(loopy) == set(network.names) - set(evidence)
    assert loopy.approximation is not None
    assert set(network.query("r2", evidence, method="loopy")) == set(network.variable("r2").states)
    slopes = network.ask.sensitivity("r2", 0, evidence)
    for name, table in tables.ask.sensitivity("r2", 0, evidence).derivatives.items():
        np.testing.assert_allclose(slopes.derivatives[name], table, atol=1e-12)
    assert network.ask.conflict(evidence).measure == pytest.approx(
        tables.ask.conflict(evidence).measure
    )
    for done in ({"r1": 0}, {"c0": "no"}):
        np.testing.assert_allclose(
            network.query("last", {"r0": 1}, do=done).probabilities,
            tables.query("last", {"r0": 1}, do=done).probabilities,
            atol=1e-12,
        )
    plan = network.plan("r2", evidence)
    assert plan.solver == "auxiliary variables"
    assert "parents" in repr(plan)
    again = pickle.loads(pickle.dumps(copy.deepcopy(network)))
    assert again == network
    assert again.query("r2", evidence) == network.query("r2", evidence)


def test_many_causes_are_linear():
    n = 25
    random = np.random.default_rng(0)
    parents, roots = causes(n)
    p, child = random.random(n), bg.Discrete("y", NO_YES)
    net = bg.BayesianNetwork([*roots, bg.NoisyOrCPD(child, p, parents, leak=0.01)])
    assert net._unfolded._compiled_tables.tables.values.size < 10 * n
    absent = 0.99 * np.prod(1 - 0.1 * p)
    assert net.query("y")["no"] == pytest.approx(absent, abs=1e-12)
    with_third = 1 - absent / (1 - 0.1 * p[3]) * (1 - p[3])
    found = net.query("p3", {"y": "yes"})["yes"]
    assert found == pytest.approx(0.1 * with_third / (1 - absent), abs=1e-12)
    votes = bg.DeterministicCPD.fold(
        bg.Discrete("most", [False, True]), lambda k, vote: k + (vote == "yes"), parents,
        start=0, finish=lambda k: k > 2,
    )  # fmt: skip
    assert [len(step) for step in votes.steps][-4:] == [4, 4, 4, 3]
    expected = sum(math.comb(n, k) * 0.1**k * 0.9 ** (n - k) for k in range(3, n + 1))
    assert bg.BayesianNetwork([*roots, votes]).query("most")[True] == pytest.approx(expected)
    equal = bg.BayesianNetwork([*roots, bg.LogisticCPD(child, -2.0, [0.5] * n, parents)])
    expected = sum(
        math.comb(n, k) * 0.1**k * 0.9 ** (n - k) / (1 + math.exp(2.0 - 0.5 * k))
        for k in range(n + 1)
    )
    assert equal.query("y")["yes"] == pytest.approx(expected, abs=1e-12)


def test_a_huge_weight_leaves_the_others_their_digits():
    cpd = bg.LogisticCPD(bg.Discrete("y", NO_YES), -1.0, [1e14, 0.25, 0.5], causes(3)[0])
    state = np.ones((1, 1))
    for link in cpd.links():
        state = np.einsum("xs,sct->xct", state, link).reshape(-1, link.shape[2])
    np.testing.assert_allclose(state.reshape(2, 2, 2, 2), cpd.to_table().values, atol=1e-12)


def test_results_of_a_fold_keep_their_types():
    cpd = bg.DeterministicCPD.fold(
        bg.Discrete("y", ["int", "bool"]),
        lambda _, state: True if state == "yes" else 1,
        causes(2)[0],
        start=0,
        finish=lambda result: type(result).__name__,
    )
    assert cpd.to_table().values[0].tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_weights_without_a_chain_take_evidence():
    child = bg.Discrete("y", NO_YES)
    parents, roots = causes(25)
    weights = np.random.default_rng(0).normal(size=25)
    net = bg.BayesianNetwork([*roots, bg.LogisticCPD(child, 0.0, weights, parents)])
    assert net._unfolded is None
    evidence = {p.name: "yes" for p in parents[2:]}
    total = sum(weights[2:]) + np.array([[0, weights[1]], [weights[0], weights[0] + weights[1]]])
    shares = np.outer([0.9, 0.1], [0.9, 0.1])
    expected = float((shares / (1 + np.exp(-total))).sum())
    assert net.query("y", evidence)["yes"] == pytest.approx(expected, abs=1e-12)
    rows = {p.name: ["yes", "no"] for p in parents[2:]}
    assert net.query_rows("y", rows)[0, 1] == pytest.approx(expected, abs=1e-12)
    parents, roots = causes(45)
    net = bg.BayesianNetwork([*roots, bg.LogisticCPD(child, 0.0, np.arange(45.0) ** 0.5, parents)])
    with pytest.raises(MemoryLimitError):
        net.query("y")


# ------------------------------------------------------------------------------ other models


def test_mixtures_averages_and_factor_graphs(chains):
    network = random_network(2, n_children=1)
    tables = bg.models.expanded(network)
    evidence = {"last": "no"}
    expected = tables.query("c0", evidence).probabilities
    for model in (
        bg.Ensemble([network, tables], [1, 2]),
        bg.Ensemble([network, tables], combine="posterior"),
        bg.FactorGraph.of(network),
    ):
        np.testing.assert_allclose(model.query("c0", evidence).probabilities, expected, atol=1e-9)
    root = network._nodes()[0].variable.name
    weighted = [bg.WeightedNetwork(n, root, {"c0": 0.5}) for n in (network, tables)]
    seen = {"last": "no", "c0": "no"}
    np.testing.assert_allclose(*(w.query(root, seen).probabilities for w in weighted), atol=1e-9)


# ----------------------------------------------------------------------------------- files


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", KINDS)
def test_native_files_keep_them(tmp_path, kind):
    random = np.random.default_rng(1)
    child = bg.Discrete("y", NO_YES)
    roots = [bg.TableCPD(v, np.full(v.cardinality, 1 / v.cardinality)) for v in VARIABLES]
    net = bg.BayesianNetwork([*roots, random_cpd(random, kind, child, VARIABLES)])
    net.save(tmp_path / "net.bayesgraph")
    again = bg.load(tmp_path / "net.bayesgraph")
    assert again == net
    assert type(again["y"]) is type(net["y"])
    assert again.query("a", {"y": "yes"}) == net.query("a", {"y": "yes"})
    assert "y" in bg.pictures.to_dot(net)
    for suffix in (".bif", ".uai"):
        options = {"strict": False}
        with pytest.warns(LossyExportWarning, match="written as its table"):
            net.save(tmp_path / f"net{suffix}", **options)
        read = bg.load(tmp_path / f"net{suffix}")
        np.testing.assert_array_equal(read.cpds[-1].values, net["y"].to_table().values)


def test_tables_of_pgmpy_and_tables_too_large(tmp_path):
    pytest.importorskip("pgmpy")
    parents, roots = causes(3)
    cpd = bg.NoisyOrCPD(bg.Discrete("y", NO_YES), [0.5, 0.4, 0.3], parents, 0.1)
    with pytest.warns(LossyExportWarning, match="'y' has a NoisyOrCPD"):
        found = bg.files.to_pgmpy(bg.BayesianNetwork([*roots, cpd])).get_cpds("y").get_values()
    np.testing.assert_allclose(found[1, 1], 1 - 0.9 * 0.7)
    parents, roots = causes(25)
    large = bg.BayesianNetwork(
        [*roots, bg.NoisyOrCPD(bg.Discrete("y", NO_YES), [0.5] * 25, parents)]
    )
    with pytest.raises(LossyExportError, match="67,108,864 numbers"):
        large.save(tmp_path / "large.bif")
    with pytest.raises(LossyExportError, match="NoisyOrCPD"):
        bg.files.to_pgmpy(large)
    large.save(tmp_path / "large.bayesgraph")
    assert bg.load(tmp_path / "large.bayesgraph") == large


def test_damaged_arrays_are_told():
    child = bg.Discrete("y", NO_YES)
    for kind in KINDS:
        cpd = random_cpd(np.random.default_rng(0), kind, child, VARIABLES)
        for name, array in cpd.to_arrays().items():
            damaged = [array[..., None], np.append(array, 0)]
            damaged += [array + 7] if isinstance(cpd, bg.DeterministicCPD) else [array * np.nan]
            for wrong in damaged:
                with pytest.raises(ValueError, match=r"."):  # readers tell it as they tell others
                    cpd.from_arrays([child], VARIABLES, {**cpd.to_arrays(), name: wrong})


# --------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda y, a, b: bg.NoisyOrCPD(y, [0.5], [a, b]), CPDError, "one entry for each"),
        (lambda y, a, b: bg.NoisyOrCPD(y, [0.5, 0.5], [a, b]), CPDError, r"shape \(3,\)"),
        (lambda y, a, b: bg.NoisyOrCPD(y, [1.5], [b]), CPDError, "between 0 and 1"),
        (lambda y, a, b: bg.NoisyOrCPD(y, [0.5], [b], leak=2), CPDError, "between 0 and 1"),
        (lambda y, a, b: bg.NoisyOrCPD(a, [0.5], [b]), CPDError, "Use NoisyMaxCPD"),
        (lambda y, a, b: bg.NoisyOrCPD(y, 0.5, [b]), CPDError, "one entry for each"),
        (lambda y, a, b: bg.NoisyMaxCPD(y, [[[1, 0], [0.5, 0.4]]], [b]), CPDError, "sum to 0.9"),
        (lambda y, a, b: bg.NoisyMaxCPD(y, [], [], [0.4, 0.4]), CPDError, "leak.*sum to 0.8"),
        (lambda y, a, b: bg.LogisticCPD(y, 0, [1, 2], [b]), CPDError, "one entry for each"),
        (lambda y, a, b: bg.LogisticCPD(y, [0, 0, 0], [1], [b]), CPDError, r"shape \(2,\)"),
        (lambda y, a, b: bg.LogisticCPD(y, 0, [math.inf], [b]), CPDError, "finite"),
        (lambda y, a, b: bg.LogisticCPD(y, [[1], [2, 3]], [1], [b]), CPDError, "takes numbers"),
        (lambda y, a, b: bg.LogisticCPD(y, 0, [[[1], [2, 3]]], [b]), CPDError, "takes numbers"),
        (lambda y, a, b: bg.NoisyOrCPD(y, [[[1], [2, 3]]], [b]), CPDError, "takes numbers"),
        (lambda y, a, b: bg.LogisticCPD(y, 0, [1.0], [a]), CPDError, r"shape \(3,\)"),
        (lambda y, a, b: bg.LogisticCPD(y, 1e308, [1e308], [b]), CPDError, r"beyond 1e\+290"),
        (lambda y, a, b: bg.DeterministicCPD(y, lambda x: "yess", [a]), UnknownStateError, "yes"),
        (lambda y, a, b: bg.DeterministicCPD(y, lambda: "yes", []), CPDError, "one parent"),
        (
            lambda y, a, b: bg.DeterministicCPD(y, max, causes(21)[0]),
            CPDError,
            "DeterministicCPD.fold",
        ),
        (
            lambda y, a, b: bg.DeterministicCPD.fold(
                y, lambda so_far, state: (so_far, state), causes(13)[0], start=()
            ),
            CPDError,
            "different results",
        ),
        (lambda y, a, b: bg.NoisyOrCPD(bg.Continuous("x"), [0.5], [b]), CPDError, "type Discrete"),
        (lambda y, a, b: bg.NoisyOrCPD(y, [0.5], [bg.Continuous("x")]), CPDError, "discrete"),
    ],
)
def test_mistakes_are_told(make, error, said):
    with pytest.raises(error, match=said):
        make(bg.Discrete("y", NO_YES), VARIABLES[0], VARIABLES[1])


def test_printed():
    child = bg.Discrete("y", NO_YES)
    shown = repr(bg.LogisticCPD(child, -1.0, [0.5, [0.0, 1.0, 2.0]], [VARIABLES[1], VARIABLES[0]]))
    assert "intercept" in shown
    assert shown.count("\n") == 7
    many, _ = causes(30)
    assert "more rows" in repr(bg.NoisyOrCPD(child, [0.5] * 30, many))
    assert "more rows" in repr(bg.LogisticCPD(child, 0.0, [0.5] * 30, many))
    flat = bg.DeterministicCPD.fold(child, lambda s, v: v, many, start="no")
    assert "more rows and 22 more parents" in repr(flat)
    assert flat.n_parameters == 0
    assert bg.NoisyOrCPD(child, [0.5] * 30, many).n_parameters == 30
    assert bg.LogisticCPD(child, 0.0, [0.5] * 30, many).n_parameters == 31
    assert str(LinkName("y", 3)) == "y, 3 parents"
    assert issubclass(bg.NoisyOrCPD, CanonicalCPD)
    with pytest.raises(UnsupportedModelError, match="ascend"):
        bg.NoisyOrCPD(child, [0.5], many[:1]).permuted(child, [1, 0])
