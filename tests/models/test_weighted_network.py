"""Tempered conditionals, against sums over the whole joint distribution."""

import copy
import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from tree_oracle import oracle_of

import bayesgraph as bg
from bayesgraph.core.errors import ModelError, UnknownVariableError, UnsupportedModelError

C, A, B = bg.Discrete("c", ["u", "v", "w"]), bg.Discrete("a", [0, 1]), bg.Discrete("b", list("xyz"))
X = bg.Continuous("x")
FULL = {"a": 1, "b": "z", "x": 0.3}


def network(seed=0):
    random = np.random.default_rng(seed)
    return bg.BayesianNetwork(
        [
            bg.TableCPD(C, random.dirichlet([1] * 3)),
            bg.TableCPD(A, random.dirichlet([1] * 2, 3), [C]),
            bg.TableCPD(B, random.dirichlet([1] * 3, (3, 2)), [C, A]),
            bg.GaussianCPD(X, random.normal(size=3), [1.0, 2.0, 3.0], [C]),
        ]
    )


def weighted(seed=0):
    random = np.random.default_rng(seed + 10)
    exponents = {"a": 0.5, "b": random.uniform(0, 2, 3), "x": random.uniform(0, 1)}
    return bg.WeightedNetwork(
        network(seed), "c", exponents, bias=random.normal(size=3), prior_exponent=0.8
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_known", range(4))
def test_every_answer_is_the_definition(seed, n_known):
    model = weighted(seed)
    oracle = oracle_of(model)
    for names in itertools.combinations(FULL, n_known):
        row = {name: FULL[name] for name in names}
        np.testing.assert_allclose(
            model.query("c", row).probabilities, oracle.posterior(["c"], row), rtol=1e-10
        )
        for target in {"a", "b"} - set(names):
            np.testing.assert_allclose(
                model.query(target, row).probabilities,
                oracle.posterior([target], row),
                rtol=1e-10,
            )


def test_rows_of_any_pattern_equal_single_questions():
    model = weighted()
    rows = [
        {k: v for k, v in FULL.items() if k in names}
        for n in range(4)
        for names in itertools.combinations(FULL, n)
    ]
    frame = pd.DataFrame([{k: row.get(k) for k in FULL} for row in rows])
    for target in ("c", "a"):
        asked = [{k: v for k, v in row.items() if k != target} for row in rows]
        found = model.query_rows(target, frame)
        expected = [model.query(target, row).probabilities for row in asked]
        np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_a_factor_graph_agrees_where_everything_is_observed_and_only_there():
    model = weighted()
    graph = bg.FactorGraph.of(model)
    np.testing.assert_allclose(
        graph.query("c", FULL).probabilities, model.query("c", FULL).probabilities, rtol=1e-12
    )
    part = {"b": "z"}
    apart = graph.query("c", part).probabilities - model.query("c", part).probabilities
    assert np.abs(apart).max() > 1e-3


def test_exponents_of_one_are_the_network():
    net = network()
    model = bg.WeightedNetwork(net, "c")
    for row in ({}, {"b": "y"}, FULL):
        np.testing.assert_allclose(
            model.query("c", row).probabilities, net.query("c", row).probabilities, rtol=1e-12
        )
    assert model.query("x", {"b": "y"}).mean == pytest.approx(net.query("x", {"b": "y"}).mean)


def test_zero_to_the_power_zero_is_one():
    net = bg.BayesianNetwork(
        [bg.TableCPD(A, [0.5, 0.5]), bg.TableCPD(B, [[1, 0, 0], [0.5, 0.5, 0]], [A])]
    )
    silent = bg.WeightedNetwork(net, "a", {"b": 0.0})
    assert silent.query("a", {"b": "y"})[0] == pytest.approx(0.5)
    certain = bg.WeightedNetwork(net, "a", {"b": 0.25})
    assert certain.query("a", {"b": "y"})[1] == pytest.approx(1.0)


def test_soft_evidence_counts_for_features_and_for_the_class():
    model = weighted()
    alone = model.query("c", {"a": 1}).probabilities
    judged = model.query("c", {"a": 1, "c": {"u": 2, "v": 1, "w": 1}}).probabilities
    np.testing.assert_allclose(judged, alone * [2, 1, 1] / (alone @ [2, 1, 1]), rtol=1e-12)
    certain = model.query("c", {"a": {0: 0.0, 1: 1.0}}).probabilities
    np.testing.assert_allclose(certain, alone, rtol=1e-12)


def test_contributions_add_up_to_the_log_odds():
    model = weighted()
    for row in ({"b": "z"}, FULL):
        why = model.contributions("c", row, positive="v", negative="u")
        p = model.query("c", row)
        assert why.total == pytest.approx(np.log(p["v"] / p["u"]))
        assert set(why) == set(row)
    both = model.contributions("c", FULL, positive="v", negative="u").terms
    (b,) = (term for term in both if term.name == "b")
    assert b.log_odds == pytest.approx(b.alone + b.arcs["a"])
    with pytest.raises(ValueError, match="those of its class"):
        model.contributions("a", {"b": "z"})


def test_files_and_copies_keep_it(tmp_path):
    model = weighted()
    model.save(tmp_path / "m.bayesgraph")
    for twin in (bg.load(tmp_path / "m.bayesgraph"), copy.deepcopy(model)):
        assert twin == model
        assert twin.query("c", FULL).probabilities.tolist() == (
            model.query("c", FULL).probabilities.tolist()
        )
    assert pickle.loads(pickle.dumps(model)) == model
    assert model != weighted(1)
    assert "2 of them" in repr(bg.WeightedNetwork(network(), "c", {"a": 0.5, "b": 0.0}))


def test_pictures_write_the_exponents_on_the_arcs():
    text = bg.pictures.to_dot(
        bg.WeightedNetwork(network(), "c", {"a": 0.25, "b": [1, 0.5, 0], "x": 0.0})
    )
    assert 'label=" 0.25 "' in text
    assert 'label=" 1, 0.5, 0 "' in text
    assert "dashed" in text


def test_a_gaussian_takes_negative_exponents_where_it_is_observed():
    exponents = {"x": [-0.5, 0.25, -1.0], "a": 0.5}
    model = bg.WeightedNetwork(network(), "c", exponents, domain="free")
    row = {"x": 0.7}
    logs = np.array(
        [
            model.network.log_probability({**row, "c": state})
            - model.network.log_probability({"c": state})
            for state in model.target.states
        ]
    )
    prior = model.network.query("c").probabilities
    expected = prior * np.exp(exponents["x"] * logs)
    np.testing.assert_allclose(
        model.query("c", row).probabilities, expected / expected.sum(), rtol=1e-10
    )
    np.testing.assert_allclose(model.query("c").probabilities, prior)
    with pytest.raises(ModelError, match=r"p\(x \| .*not negative"):
        bg.FactorGraph.of(model)


def test_what_is_wrong_is_said():
    net = network()
    for arguments, message in (
        ({"target": "x"}, "without parents"),
        ({"target": "a"}, "without parents"),
        ({"target": "c", "exponents": {"a": -1}}, "nonnegative"),
        ({"target": "c", "exponents": {"a": [1, 2]}}, "one for each class"),
        ({"target": "c", "exponents": {"a": "much"}}, "takes numbers"),
        ({"target": "c", "bias": [1, 2]}, "3 finite numbers"),
        ({"target": "c", "domain": "any"}, "domain is one of"),
        ({"target": "c", "exponents": {"a": 1.5}, "domain": "unit"}, "unit"),
    ):
        with pytest.raises(ModelError, match=message):
            bg.WeightedNetwork(net, **arguments)
    with pytest.raises(UnknownVariableError, match="'aa'"):
        bg.WeightedNetwork(net, "c", {"aa": 1})
    with pytest.raises(ModelError, match="made of a BayesianNetwork"):
        bg.WeightedNetwork(object(), "c")
    model = weighted()
    for ask in (
        lambda: model.log_probability({"a": 1}),
        lambda: model.log_likelihood(pd.DataFrame({"a": [1]})),
    ):
        with pytest.raises(UnsupportedModelError, match="no distribution of rows"):
            ask()


def test_joint_answers_are_those_of_the_joint_distribution():
    net = bg.BayesianNetwork([cpd for cpd in network().cpds if cpd.variable != X])
    model = bg.WeightedNetwork(net, "c", {"a": 0.3, "b": [2, 1, 0]}, bias=[0.0, 1.0, 0.5])
    oracle = oracle_of(model)
    shares = oracle.posterior(["c"], {"b": "y"})
    given = np.array([net.query("a", {"b": "y", "c": s}).probabilities for s in "uvw"])
    joint = shares[:, None] * given
    found = model.query(["c", "a"], {"b": "y"})
    np.testing.assert_allclose(found.probabilities, joint, rtol=1e-12)
    best = model.most_probable({"b": "y"})
    c, a = np.unravel_index(joint.argmax(), joint.shape)
    assert best == {"c": C.states[c], "a": A.states[a]}
    marginals = model.marginals({"b": "y"})
    np.testing.assert_allclose(marginals["c"].probabilities, shares, rtol=1e-12)
    np.testing.assert_allclose(marginals["a"].probabilities, joint.sum(axis=0), rtol=1e-12)


def test_a_belief_about_the_class_is_its_posterior_and_others_are_refused():
    model = weighted()
    belief = bg.Belief({"u": 0.2, "v": 0.5, "w": 0.3})
    found = model.query("a", {"b": "y", "c": belief}).probabilities
    parts = [model.network.query("a", {"b": "y", "c": s}).probabilities for s in "uvw"]
    np.testing.assert_allclose(found, [0.2, 0.5, 0.3] @ np.array(parts), rtol=1e-9)
    with pytest.raises(UnsupportedModelError, match="a Belief about its class"):
        model.query("c", {"a": bg.Belief({0: 0.5, 1: 0.5})})
    for ask in (
        lambda: model.ask.sensitivity("c", "u", {"a": 1}),
        lambda: model.ask.conflict({"a": 1}),
    ):
        with pytest.raises(
            UnsupportedModelError,
            match=r"WeightedNetwork does not answer .* query its `network`",
        ):
            ask()
