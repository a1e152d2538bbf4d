"""Mixtures of networks: every answer equals the weighted sum taken by brute force."""

import copy
import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joint import Joint, random_evidence, random_rows
from oracle import Oracle

import bayesgraph as bg
from bayesgraph.core import Evidence
from bayesgraph.core.errors import (
    DataError,
    DataTypeError,
    EvidenceError,
    ImpossibleEvidenceError,
    ModelError,
    UnknownVariableError,
    UnsupportedModelError,
)
from bayesgraph.inference import ensembles as assignments
from bayesgraph.models import read_case

A = bg.Discrete("a", ["x", "y", "z"])
B = bg.Discrete("b", [True, 1, "1"])
C = bg.Discrete("c", [0, 1])
D = bg.Discrete("d", ["p", "q"])
VARIABLES = (A, B, C, D)


def random_network(random, kinds=("positive", "zeros", "deterministic"), variables=VARIABLES):
    """Return a network over the given variables, parents before children in a random order."""
    order = [variables[i] for i in random.permutation(len(variables))]
    cpds = {}
    for i, variable in enumerate(order):
        parents = [order[j] for j in range(i) if random.random() < 0.6][:2]
        shape = (*(p.cardinality for p in parents), variable.cardinality)
        table = random_rows(random, shape, kinds[random.integers(len(kinds))])
        cpds[variable] = bg.TableCPD(variable, table, parents)
    return bg.BayesianNetwork([cpds[v] for v in variables])


def random_mixture(seed, n=3, **options):
    random = np.random.default_rng([seed, 5])
    networks = [random_network(random, **options) for _ in range(n)]
    return bg.Ensemble(networks, random.uniform(0.1, 2.0, n))


def joint_of(mixture):
    """Return all worlds with their probabilities: the weighted sum of those of the networks."""
    parts = [Joint.of(network) for network in mixture.networks]
    joint = Joint(mixture.variables, [])
    joint.weights = sum(
        weight * aligned(part, joint) for weight, part in zip(mixture.weights, parts, strict=True)
    )
    return joint


def aligned(part, joint):
    shape = [len(v.states) for v in part.variables]
    return part.weights.reshape(shape)[tuple(joint.column[v] for v in part.variables)]


def evidence_of(random, joint):
    while True:
        evidence = random_evidence(random, joint)
        if joint.mass(evidence) > 0:
            return evidence


# -------------------------------------------------------------------------------- one question


@given(st.integers(0, 10**6))
def test_queries_equal_brute_force(seed):
    mixture = random_mixture(seed)
    joint, random = joint_of(mixture), np.random.default_rng(seed)
    evidence = evidence_of(random, joint)
    seen = read_case(mixture, evidence).hard
    free = [v.name for v in VARIABLES if mixture._index_of[v.name] not in seen]
    expected = joint.log_mass(evidence)
    assert mixture.log_probability(evidence) == pytest.approx(expected, abs=1e-9)
    for name in free:
        found = mixture.query(name, evidence)
        np.testing.assert_allclose(
            found.probabilities, joint.posterior([name], evidence), rtol=1e-9, atol=1e-12
        )
        assert found.log_evidence == pytest.approx(expected, abs=1e-9)
    if len(free) > 1:
        found = mixture.query(free, evidence)
        np.testing.assert_allclose(
            found.probabilities, joint.posterior(free, evidence), rtol=1e-9, atol=1e-12
        )
    everything = mixture.marginals(evidence)
    assert list(everything) == free
    assert everything.log_evidence == pytest.approx(expected, abs=1e-9)
    shares = [
        w * Joint.of(n).mass(evidence)
        for w, n in zip(mixture.weights, mixture.networks, strict=True)
    ]
    np.testing.assert_allclose(
        mixture.posterior_weights(evidence), np.array(shares) / sum(shares), atol=1e-12
    )


@given(st.integers(0, 10**6), st.integers(1, 40))
def test_the_most_probable_assignments_equal_brute_force(seed, k):
    mixture = random_mixture(seed)
    joint, random = joint_of(mixture), np.random.default_rng(seed)
    evidence = evidence_of(random, joint)
    best = joint.best(evidence)
    found = mixture.k_most_probable(k, evidence)
    assert len(found) == min(k, len(best))
    values = [math.exp(a.log_probability) for a in found]
    np.testing.assert_allclose(values, best[: len(found)], rtol=1e-9)
    for assignment, value in zip(found, values, strict=True):
        assert joint.weight_of(dict(assignment), evidence) == pytest.approx(value, rel=1e-9)
    kinds = {tuple((type(v), v) for v in a.values()) for a in found}
    assert len(kinds) == len(found)
    assert mixture.most_probable(evidence).log_probability == found[0].log_probability


def test_the_best_of_a_mixture_need_not_be_the_best_of_a_network():
    a = bg.Discrete("a", [0, 1, 2])
    networks = [bg.BayesianNetwork([bg.TableCPD(a, p)]) for p in ([0.5, 0.1, 0.4], [0.1, 0.5, 0.4])]
    mixture = bg.Ensemble(networks)
    assert mixture.most_probable()["a"] == 2
    assert {net.most_probable()["a"] for net in networks} == {0, 1}


def test_a_search_that_does_not_settle_says_so(monkeypatch):
    monkeypatch.setattr(assignments, "_MAXIMUM", 8)
    variables = [bg.Discrete(name, [0, 1]) for name in "abcdefgh"]
    rows = [[0.5 + s * 0.001 * i, 0.5 - s * 0.001 * i] for s in (1, -1) for i in range(8)]
    networks = [
        bg.BayesianNetwork([bg.TableCPD(v, rows[8 * s + i]) for i, v in enumerate(variables)])
        for s in range(2)
    ]
    with pytest.raises(UnsupportedModelError, match="do not decide"):
        bg.Ensemble(networks).most_probable()


@pytest.mark.parametrize("seed", range(6))
def test_marginal_map_is_the_argmax_of_the_joint_posterior(seed):
    mixture = random_mixture(seed, kinds=("positive",))
    joint = joint_of(mixture)
    found = mixture.most_probable({"c": 1}, over=["d", "b"])
    table = joint.table(["d", "b"], {"c": 1})
    assert math.exp(found.log_probability) == pytest.approx(table.max())
    assert joint.weight_of(dict(found), {"c": 1}) == pytest.approx(table.max())
    assert mixture.most_probable(over=["a"])["a"] == mixture.query("a").argmax


def test_beliefs_hold_for_the_mixture():
    mixture = random_mixture(3, kinds=("positive",))
    belief = bg.Belief({0: 0.9, 1: 0.1})
    found = mixture.query(["c", "a"], {"c": belief, "d": "q"})
    np.testing.assert_allclose(found.marginal("c").probabilities, [0.9, 0.1])
    plain = joint_of(mixture).posterior(["c", "a"], {"d": "q"})
    expected = plain / plain.sum(axis=1, keepdims=True) * [[0.9], [0.1]]
    np.testing.assert_allclose(found.probabilities, expected, rtol=1e-9)
    conditioned = mixture.conditioned({"c": belief, "d": "q"})
    np.testing.assert_allclose(conditioned.query(["c", "a"]).probabilities, expected, rtol=1e-9)
    with pytest.raises(EvidenceError, match="no probability"):
        mixture.log_probability({"c": belief})


# ------------------------------------------------------------------------------------- batches


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3, 1.0]))
def test_rows_equal_single_queries(seed, share):
    mixture = random_mixture(seed)
    random = np.random.default_rng(seed)
    joint = joint_of(mixture)
    n = 17
    codes = {v: random.integers(v.cardinality, size=n) for v in VARIABLES}
    codes = {v: np.where(random.random(n) < share, -1, c) for v, c in codes.items()}
    target = VARIABLES[random.integers(len(VARIABLES))]
    columns = {v: c for v, c in codes.items() if v != target}
    found = mixture._log_posterior_rows(target, Evidence(n, columns))
    whole = mixture._log_evidence_rows(Evidence(n, codes))
    for i in range(n):
        row = {v.name: v.states[c[i]] for v, c in columns.items() if c[i] >= 0}
        np.testing.assert_allclose(
            np.exp(found[i]), joint.table([target.name], row), rtol=1e-9, atol=1e-13
        )
        if codes[target][i] >= 0:
            row[target.name] = target.states[codes[target][i]]
        assert math.exp(whole[i]) == pytest.approx(joint.mass(row), rel=1e-9, abs=1e-13)


def test_soft_evidence_and_an_observed_target_in_rows():
    mixture = random_mixture(8, kinds=("positive",))
    joint = joint_of(mixture)
    logs = np.log([[0.2, 0.5, 0.9]])
    evidence = Evidence(2, {C: np.array([0, 1]), D: np.array([1, -1])}, {A: logs})
    found = mixture._log_posterior_rows(C, evidence)
    assert np.isneginf(found[[0, 1], [1, 0]]).all()
    soft = {"a": np.exp(logs[0])}
    assert math.exp(found[0, 0]) == pytest.approx(joint.mass({**soft, "c": 0, "d": "q"}))
    assert math.exp(found[1, 1]) == pytest.approx(joint.mass({**soft, "c": 1}))


def test_tables_of_rows_and_the_engine_agree():
    # Many rows, so that blocks, threads and rows that are left to the engine all occur.
    mixture = random_mixture(11, n=5)
    random = np.random.default_rng(0)
    n = 3000
    columns = {v: random.integers(-1, v.cardinality, size=n) for v in VARIABLES if v != A}
    found = mixture._log_posterior_rows(A, Evidence(n, columns))
    with np.errstate(divide="ignore"):
        logs = np.log(mixture.weights)
        parts = [
            w + network._log_posterior_rows(A, Evidence(n, columns))
            for w, network in zip(logs, mixture.networks, strict=True)
        ]
        np.testing.assert_allclose(found, np.logaddexp.reduce(parts), rtol=1e-11, atol=1e-12)


def test_frames():
    mixture = random_mixture(4, kinds=("positive",))
    frame = {"a": ["x", None, "z"], "c": [0, 1, 1]}
    rows = mixture.query_rows("d", frame)
    np.testing.assert_allclose(rows[1], mixture.query("d", {"c": 1}).probabilities)
    total = sum(
        mixture.log_probability(row) for row in ({"a": "x", "c": 0}, {"c": 1}, {"a": "z", "c": 1})
    )
    assert mixture.log_likelihood(frame).sum() == pytest.approx(total)


# ------------------------------------------------------------------------- continuous variables

U, V = bg.Continuous("u"), bg.Continuous("v")


def mixed_mixture():
    first = bg.BayesianNetwork([
        bg.TableCPD(C, [0.3, 0.7]),
        bg.TableCPD(D, [[0.9, 0.1], [0.2, 0.8]], [C]),
        bg.GaussianCPD(U, [0.0, 2.0], [1.0, 0.5], [C]),
        bg.GaussianCPD(V, [1.0, -1.0], [1.0, 2.0], [U, D], [[0.5], [-0.7]]),
    ])  # fmt: skip
    second = bg.BayesianNetwork([
        bg.TableCPD(C, [0.5, 0.5]),
        bg.TableCPD(D, [0.4, 0.6]),
        bg.GaussianCPD(U, [[0.5, 1.0], [-1.0, 3.0]], [[1.0, 2.0], [0.3, 0.5]], [C, D]),
        bg.GaussianCPD(V, 0.3, 1.7),
    ])  # fmt: skip
    return bg.Ensemble([first, second], [0.4, 0.6])


def test_continuous_posteriors_are_mixtures():
    mixture = mixed_mixture()
    oracles = [Oracle.of(network) for network in mixture.networks]
    for evidence in ({}, {"d": "q"}, {"v": 0.7}, {"c": 1, "v": -0.4}):
        masses = np.array([oracle.probability(evidence) for oracle in oracles]) * mixture.weights
        assert mixture.log_probability(evidence) == pytest.approx(math.log(masses.sum()))
        shares = masses / masses.sum()
        moments = [oracle.moments(["u"], evidence) for oracle in oracles]
        mean = shares @ [float(m[0][0]) for m in moments]
        second = shares @ [float(c[0, 0] + m[0] ** 2) for m, c in moments]
        found = mixture.query("u", evidence)
        assert found.mean == pytest.approx(mean)
        assert found.variance == pytest.approx(second - mean**2)
        assert found.log_evidence == pytest.approx(math.log(masses.sum()))


def test_mixed_posteriors():
    mixture = mixed_mixture()
    evidence = {"v": 0.7}
    found = mixture.query(["d", "u"], evidence)
    np.testing.assert_allclose(
        found.discrete.probabilities, mixture.query("d", evidence).probabilities
    )
    for state in D.states:
        expected = mixture.query("u", {**evidence, "d": state})
        assert found.given(state).mean == pytest.approx(expected.mean)
        assert found.given(state).variance == pytest.approx(expected.variance)


def test_the_most_probable_with_continuous_variables():
    mixture = mixed_mixture()
    best = mixture.most_probable({"v": 0.7})
    table = mixture.query(["c", "d"], {"v": 0.7})
    assert (best["c"], best["d"]) == table.argmax
    given_best = {"c": best["c"], "d": best["d"], "v": 0.7}
    assert best["u"] == pytest.approx(mixture.query("u", given_best).mean)
    assert best.log_probability == pytest.approx(mixture.log_probability(dict(given_best)))
    with pytest.raises(UnsupportedModelError, match="no closed form"):
        mixture.most_probable(joint=True)


# --------------------------------------------------------------------------------------- draws


def test_samples_follow_the_mixture():
    mixture = random_mixture(21)
    joint = joint_of(mixture)
    n = 20_000
    for given_ in (None, {"c": 1}):
        drawn = mixture.sample(n, evidence=given_, random_state=3)
        assert list(drawn) == list(mixture.names)
        again = mixture.sample(n, evidence=given_, random_state=3)
        assert all((drawn[name] == again[name]).all() for name in drawn)
        table = joint.posterior(["a", "d"], given_ or {})
        for (i, x), (j, y) in itertools.product(enumerate(A.states), enumerate(D.states)):
            share = np.mean((drawn["a"] == x) & (drawn["d"] == y))
            assert abs(share - table[i, j]) < 5 * math.sqrt(0.25 / n)
    drawn = mixture.sample(n, {"c": 1}, random_state=3)
    assert abs(np.mean(drawn["d"] == "q") - joint.posterior(["d"], {"c": 1})[1]) < 0.02
    assert len(mixture.sample(0)["a"]) == 0
    with pytest.raises(DataError, match="number of rows"):
        mixture.sample(-1)
    with pytest.raises(DataTypeError, match="whole number of rows"):
        mixture.sample(1.5)


# ------------------------------------------------------------------------ what it is and is not


def two_networks():
    apart = bg.BayesianNetwork([bg.TableCPD(C, [0.5, 0.5]), bg.TableCPD(D, [0.5, 0.5])])
    up = bg.BayesianNetwork([
        bg.TableCPD(C, [[1.0, 0.0], [0.0, 1.0]], [D]), bg.TableCPD(D, [0.5, 0.5]),
    ], arc_scores={("d", "c"): 0.5})  # fmt: skip
    return apart, up


def test_structure():
    apart, up = two_networks()
    down = bg.BayesianNetwork([
        bg.TableCPD(C, [0.5, 0.5]), bg.TableCPD(D, [[1.0, 0.0], [0.0, 1.0]], [C]),
    ], order=[D, C])  # fmt: skip
    mixture = bg.Ensemble([apart, up, down], [2, 1, 1])
    assert mixture.variables == (C, D)
    np.testing.assert_allclose(mixture.weights, [0.5, 0.25, 0.25])
    assert mixture.arc_probabilities == {("d", "c"): 0.25, ("c", "d"): 0.25}
    assert mixture.arc_scores == {("d", "c"): 0.5}
    assert mixture.n_parameters == 2 + 3 + 3 + 2
    assert len(mixture.cpds) == 6
    assert repr(mixture) == (
        "Ensemble (joint) of 3 networks over 2 variables, 2 different arcs and 10 parameters"
    )
    np.testing.assert_allclose(
        mixture.query(["c", "d"]).probabilities, [[0.375, 0.125]] * 1 + [[0.125, 0.375]]
    )
    given_ = bg.Ensemble([apart, up], arc_probabilities={("d", "c"): 0.75})
    assert given_.arc_probabilities == {("d", "c"): 0.75}


def test_copies_are_equal():
    mixture = random_mixture(2)
    mixture.query("a")
    mixture._log_posterior_rows(A, Evidence(2, {C: np.array([0, -1])}))
    for other in (copy.deepcopy(mixture), pickle.loads(pickle.dumps(mixture))):
        assert other == mixture
        assert other.query("a") == mixture.query("a")
    assert mixture != random_mixture(3)
    assert mixture != bg.Ensemble(mixture.networks)


def test_a_network_of_weight_zero_is_not_asked():
    apart, up = two_networks()
    mixture = bg.Ensemble([apart, up], [0, 1])
    assert mixture.query("c", {"d": "q"})[1] == 1.0
    assert mixture.posterior_weights({"d": "q"}).tolist() == [0.0, 1.0]
    with pytest.raises(ImpossibleEvidenceError, match="probability zero"):
        mixture.query("c", {"d": {"p": 0, "q": 0}})


def test_impossible_evidence():
    _, up = two_networks()
    mixture = bg.Ensemble([up, up])
    evidence = {"c": 0, "d": "q"}
    assert mixture.log_probability(evidence) == -math.inf
    three = bg.Ensemble([
        bg.BayesianNetwork([*up.cpds, bg.TableCPD(A, [1, 0, 0])]),
    ])  # fmt: skip
    for ask in (three.marginals, three.most_probable, three.posterior_weights):
        with pytest.raises(ImpossibleEvidenceError):
            ask(evidence)
    with pytest.raises(ImpossibleEvidenceError):
        three.query("a", evidence)
    with pytest.raises(ImpossibleEvidenceError):
        three.sample(3, evidence)
    codes = {C: np.array([0, 0]), D: np.array([1, 0])}
    with pytest.warns(bg.errors.ImpossibleEvidenceWarning, match="1 of 2"):
        rows = three._normalised_rows(A, Evidence(2, codes))
    np.testing.assert_allclose(np.exp(rows), [[1, 0, 0], [1, 0, 0]])


def test_what_is_refused():
    apart, up = two_networks()
    with pytest.raises(ModelError, match="at least one"):
        bg.Ensemble([])
    with pytest.raises(ModelError, match="takes BayesianNetworks"):
        bg.Ensemble([apart, "up"])
    with pytest.raises(ModelError, match=r"same variables.*'a'"):
        bg.Ensemble([apart, bg.BayesianNetwork([*apart.cpds, bg.TableCPD(A, [1, 0, 0])])])
    for wrong in ([1], [-1, 2], [0, 0], [math.nan, 1], [[1, 1]]):
        with pytest.raises(ModelError, match=r"[Ww]eights"):
            bg.Ensemble([apart, up], wrong)
    with pytest.raises(ModelError, match="an arc of none"):
        bg.Ensemble([apart, up], arc_probabilities={("c", "d"): 0.5})
    with pytest.raises(ModelError, match="between 0 and 1"):
        bg.Ensemble([apart, up], arc_probabilities={("d", "c"): 1.5})
    mixture = bg.Ensemble([apart, up])
    with pytest.raises(UnknownVariableError, match="'e'"):
        mixture.query("e")
    with pytest.raises(EvidenceError, match="both a target and observed"):
        mixture.query("c", {"c": 1})
    with pytest.raises(DataError, match="1 or more"):
        mixture.k_most_probable(0)
    asks = (
        lambda: mixture.query("c", method="loopy"),
        lambda: mixture.query("c", method="likelihood-weighting"),
        lambda: mixture.weighted_samples("c"),
    )
    for ask in asks:
        with pytest.raises(UnsupportedModelError, match=r"of its `networks`"):
            ask()


def test_contributions_add_up():
    mixture = random_mixture(6, kinds=("positive",))
    evidence = {"a": "x", "b": 1, "d": "q"}
    terms = mixture.contributions("c", evidence)
    posterior = mixture.query("c", evidence).probabilities
    assert terms.total == pytest.approx(math.log(posterior[1] / posterior[0]))
    alone = mixture.query("c", {"d": "q"}).probabilities
    before = mixture.query("c").probabilities
    expected = math.log(alone[1] / alone[0]) - math.log(before[1] / before[0])
    assert terms.terms[-1].alone == pytest.approx(expected)
