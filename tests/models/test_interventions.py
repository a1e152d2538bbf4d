"""Interventions against the truncated factorisation, for every kind of model."""

import itertools
import pickle
from functools import partial

import numpy as np
import pytest
from oracle import Oracle, random_network
from sklearn.datasets import load_iris

import bayesgraph as bg
from bayesgraph.core.errors import (
    EvidenceError,
    ImpossibleEvidenceError,
    UnknownStateError,
    UnknownVariableError,
    UnsupportedModelError,
)

SEEDS = range(24)
RAIN, WET = bg.Discrete("rain", ["no", "yes"]), bg.Discrete("wet", ["no", "yes"])


def rainy():
    return bg.BayesianNetwork(
        [bg.TableCPD(RAIN, [0.8, 0.2]), bg.TableCPD(WET, [[0.9, 0.1], [0.2, 0.8]], [RAIN])]
    )


class Truncated(Oracle):
    """The truncated factorisation: the terms of variables that are set are left out.

    The oracle walks over all their values; queries observe them.
    """

    def __init__(self, network, names):
        terms = [(cpd, 1.0) for cpd in network.cpds if cpd.variable.name not in names]
        for name in names:
            variable = network.variable(name)
            if isinstance(variable, bg.Discrete):
                terms.append((bg.Factor([variable], np.ones(variable.cardinality)), 1.0))
            else:
                terms.append((bg.GaussianCPD(variable, 0.0, 1.0), 1.0))
        super().__init__(terms)
        self.network = network


def random_case(network, random):
    """Return an intervention on one or two variables, and evidence on one or two others."""
    names = list(network.names)
    chosen = [names[i] for i in random.permutation(len(names))]
    n = min(int(random.integers(1, 3)), len(names) - 1)
    do = {name: random_value(network.variable(name), random) for name in chosen[:n]}
    seen = chosen[n : n + int(random.integers(0, 3))]
    evidence = {name: random_value(network.variable(name), random) for name in seen}
    return do, evidence, [name for name in names if name not in do and name not in evidence]


def random_value(variable, random):
    if isinstance(variable, bg.Discrete):
        return variable.states[random.integers(variable.cardinality)]
    return float(random.normal())


def compare(model, oracle, targets, evidence, **options):
    """Compare the posterior of each target with the oracle's, whose evidence has all values."""
    given = {**evidence, **options.pop("oracle_evidence")}
    for name in targets:
        found = model.query(name, evidence, **options)
        if isinstance(model.variable(name), bg.Discrete):
            np.testing.assert_allclose(
                found.probabilities, oracle.posterior([name], given), rtol=0, atol=1e-9
            )
        else:
            mean, covariance = oracle.moments([name], given)
            assert found.mean == pytest.approx(mean[0], abs=1e-9)
            assert found.variance == pytest.approx(covariance[0, 0], rel=1e-9)


@pytest.mark.one_in(24)
@pytest.mark.parametrize("n_continuous", [0, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_interventions_equal_the_truncated_factorisation(seed, n_continuous):
    network = random_network(seed, n_discrete=5, n_continuous=n_continuous)
    if len(network) < 2:
        pytest.skip("one variable")
    random = np.random.default_rng(seed)
    for _ in range(4):
        do, evidence, targets = random_case(network, random)
        oracle = Truncated(network, do)
        everything = {**evidence, **do}
        if oracle.probability(everything) == 0:
            assert network.log_probability(evidence, do=do) == -np.inf
            if targets:
                with pytest.raises(ImpossibleEvidenceError):
                    network.query(targets[0], evidence, do=do)
            continue
        compare(network, oracle, targets, evidence, do=do, oracle_evidence=do)
        marginals = network.marginals(evidence, do=do)
        assert set(marginals) == set(targets)
        cut = network.do(do)
        compare(cut, oracle, targets, evidence, oracle_evidence=do)
        log = oracle.log_probability(everything) - oracle.log_probability(do)
        assert network.log_probability(evidence, do=do) == pytest.approx(log, abs=1e-9)
        assert cut.log_probability(evidence) == pytest.approx(log, abs=1e-9)
        if targets:
            assert network.query(targets[0], evidence, do=do).log_evidence == pytest.approx(
                log, abs=1e-9
            )


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(12))
def test_other_questions_agree_with_the_network_that_is_cut(seed):
    network = random_network(seed + 100, n_discrete=5, zeros=0.0)
    random = np.random.default_rng(seed)
    do, evidence, targets = random_case(network, random)
    if not do or not targets:
        pytest.skip("nothing is set, or nothing is free")
    cut = network.do(do)
    whole = {**evidence, **do}
    asked = network.most_probable(evidence, do=do)
    assert asked.log_probability == pytest.approx(cut.most_probable(evidence).log_probability)
    assert network.k_most_probable(2, evidence, do=do)[0] == asked
    assert network.most_probable(evidence, do=do, over=targets[:1]) == {
        targets[0]: network.query(targets[0], evidence, do=do).argmax
    }
    rows = network.sample(50, evidence, do=do, random_state=0, frame="dict")
    assert all(set(rows[name].tolist()) == {value} for name, value in whole.items())
    drawn = network.weighted_samples(targets[0], evidence, do=do, n=4000, random_state=0)
    expected = cut.query(targets[0], evidence).probabilities
    np.testing.assert_allclose(drawn.posterior(targets[0]).probabilities, expected, atol=0.1)
    weighted = network.query(
        targets[0], evidence, do=do, method="likelihood-weighting", n=4000, random_state=0
    )
    np.testing.assert_allclose(weighted.probabilities, expected, atol=0.1)


def test_setting_a_variable_says_nothing_about_its_causes():
    net = rainy()
    assert net.query("rain", do={"wet": "yes"})["yes"] == pytest.approx(0.2)
    assert net.query("rain", {"wet": "yes"})["yes"] == pytest.approx(2 / 3)
    assert net.query("wet", do={"rain": "yes"})["yes"] == pytest.approx(0.8)


def test_a_network_is_cut_once_for_all_values():
    net = rainy()
    for state in ("no", "yes", "no"):
        net.query("rain", do={"wet": state})
        net.query("rain", do={"wet": state}, evidence={})
    assert len(net._cut_models) == 1
    assert len(pickle.loads(pickle.dumps(net))._cut_models) == 0


def test_a_network_after_an_intervention_is_a_network():
    a, b, c = bg.Discrete("a", [0, 1]), bg.Discrete("b", [0, 1]), bg.Continuous("c")
    x, y = bg.Continuous("x"), bg.Continuous("y")
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(a, [0.3, 0.7]),
            bg.TableCPD(b, [[0.9, 0.1], [0.2, 0.8]], [a]),
            bg.models.JointGaussianCPD(
                [x, y], [[0.0, 1.0], [2.0, 3.0]], [[4.0, 1.0], [1.0, 9.0]], [b]
            ),
            bg.GaussianCPD(c, [0.0, 1.0], 1.0, [x, b], [[0.5], [2.0]]),
        ],
        arc_scores={("a", "b"): 1.0, ("x", "c"): 2.0},
    )
    cut = net.do({"b": 1})
    assert set(cut.graph.edges) == set(net.graph.edges) - {("a", "b")}
    assert cut.arc_scores == {("x", "c"): 2.0}
    assert cut.variables == net.variables
    assert cut["b"] == bg.TableCPD(b, [0.0, 1.0])
    assert net["b"].parents == (a,)
    without = net.do({"x": 3.0})
    assert without.names == ("a", "b", "y", "c")
    assert without["c"] == bg.GaussianCPD(c, [1.5, 7.0], 1.0, [b])
    oracle = Truncated(net, {"x"})
    compare(without, oracle, ["a", "b", "y", "c"], {}, oracle_evidence={"x": 3.0})
    compare(net, oracle, ["a", "b", "y", "c"], {}, do={"x": 3.0}, oracle_evidence={"x": 3.0})


def test_plates_keep_their_other_children():
    c = bg.Discrete("c", ["n", "y"])
    counts = [bg.Count(f"k{i}") for i in range(3)]
    plate = bg.PoissonCPD(counts, [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]], [c])
    net = bg.BayesianNetwork([bg.TableCPD(c, [0.5, 0.5]), plate])
    seen = {"k0": 2, "k2": 1}
    expected = net.query("c", seen)
    for asked in (net.query("c", seen, do={"k1": 7}), net.do({"k1": 7}).query("c", seen)):
        np.testing.assert_allclose(asked.probabilities, expected.probabilities)
    assert len(net.do({"k1": 7})._blocks) == 2


def test_a_child_that_is_not_linear_is_asked_with_do_only():
    iris = load_iris()
    X, y = iris.data, iris.target_names[iris.target]
    tree = bg.DecisionTreeNetworkClassifier(max_depth=3).fit(X, y)
    name = tree.features_[3].name
    rest = {f.name: 3.0 for f in tree.features_ if f.name != name}
    expected = tree.query(evidence={**rest, name: 1.0})
    asked = tree.query(evidence=rest, do={name: 1.0})
    np.testing.assert_allclose(asked.probabilities, expected.probabilities)
    with pytest.raises(UnsupportedModelError, match="with do="):
        tree.network_.do({name: 1.0})


# ------------------------------------------------------------ every kind of model and estimator


def mixture():
    other = bg.BayesianNetwork([bg.TableCPD(WET, [0.4, 0.6]), bg.TableCPD(RAIN, [0.5, 0.5])])
    return bg.Ensemble([rainy(), other], [1, 3])


def average():
    return bg.Ensemble(mixture().networks, [1, 3], combine="posterior")


def fitted(kind, **options):
    random = np.random.default_rng(0)
    rain = random.choice(["no", "yes"], 200, p=[0.8, 0.2])
    X = {"wet": np.where(random.random(200) < 0.2, "no", rain), "t": random.normal(size=200)}
    return kind(**options).fit(X, rain)


# What each kind of model answers: the sentence of the refusal, or None.
KINDS = {
    "network": (rainy, None),
    "mixture": (mixture, None),
    "factor graph": (lambda: bg.FactorGraph.of(rainy()), "query the BayesianNetwork"),
    "weighted": (lambda: bg.WeightedNetwork(rainy(), "rain", {"wet": 0.5}), "query its `network`"),
    "average": (average, None),
    "average with a shifted prior": (
        lambda: bg.Ensemble([rainy()], prior_ratios={"rain": [1, 2]}, combine="posterior"),
        "without prior_ratios",
    ),
    "average of factor graphs": (
        lambda: bg.Ensemble([bg.FactorGraph.of(rainy())], combine="posterior"),
        "query the BayesianNetwork",
    ),
    "naive Bayes": (lambda: fitted(bg.NaiveBayesClassifier), None),
    "TAN": (lambda: fitted(bg.TANClassifier), None),
    "AODE": (lambda: fitted(bg.AODEClassifier), None),
    "weighted naive Bayes": (
        lambda: fitted(bg.WeightedNaiveBayesClassifier),
        "query its `network`",
    ),
    "tree": (lambda: fitted(partial(bg.BayesianNetworkClassifier, "tan")), None),
}
QUESTIONS = {
    "do": lambda m, t: m.do({"wet": "yes"}).query(t)["yes"],
    "query": lambda m, t: m.query(t, do={"wet": "yes"})["yes"],
    "marginals": lambda m, t: m.marginals(do={"wet": "yes"})[t]["yes"],
    "effect": lambda m, t: m.ask.effect("wet", t).at_treated,
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_model_answers_or_refuses(kind, question):
    make, refusal = KINDS[kind]
    made = make()
    model = getattr(made, "network_", made)
    target = made.target_.name if made is not model else "rain"
    if refusal is not None:
        with pytest.raises(UnsupportedModelError, match=refusal):
            QUESTIONS[question](model, target)
        return
    found = QUESTIONS[question](model, target)
    if kind == "AODE":  # in its networks, each feature is the parent of others in turn
        assert found == pytest.approx(QUESTIONS["do"](model, target))
        return
    # The variable has no effect on its cause.
    assert found == pytest.approx(model.query(target)["yes"], abs=1e-12)


def test_the_weights_of_a_mixture_move_with_the_evidence_after_the_intervention():
    model = mixture()
    given = {"rain": "yes"}
    found = model.query("wet", given)
    # P(rain) is 0.2 in one network and 0.5 in the other, whatever wet is set to.
    assert model.log_probability(given, do={"wet": "yes"}) == pytest.approx(
        np.log(0.25 * 0.2 + 0.75 * 0.5)
    )
    assert found["yes"] != pytest.approx(model.query("wet", do=given)["yes"])
    assert model.query("wet", do=given)["yes"] == pytest.approx(0.25 * 0.8 + 0.75 * 0.6)


def turned(network):
    """Return a network whose tables have the states of each child in reverse."""
    return bg.BayesianNetwork(
        bg.TableCPD(cpd.variable, np.flip(cpd.values, -1), cpd.parents)
        if isinstance(cpd, bg.TableCPD)
        else cpd
        for cpd in network.cpds
    )


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(8))
def test_an_average_is_that_of_its_networks_after_the_intervention(seed):
    first = random_network(seed, n_discrete=4, n_continuous=2)
    networks = [first, turned(first), random_network(seed, n_discrete=3)]
    weights = np.array([0.2, 0.5, 0.3])
    model = bg.Ensemble(networks, weights, combine="posterior")
    random = np.random.default_rng(seed)
    for _ in range(4):
        do, evidence, targets = random_case(networks[0], random)
        known = [
            [{k: v for k, v in given.items() if k in net.names} for given in (do, evidence)]
            for net in networks
        ]
        for name in targets:
            if not isinstance(model.variable(name), bg.Discrete):
                continue
            total, possible = 0.0, []
            for net, weight, (set_here, seen) in zip(networks, weights, known, strict=True):
                if name not in net.names:
                    continue
                oracle = Truncated(net, set_here)
                possible.append(oracle.probability({**seen, **set_here}) > 0)
                given = {**set_here, **(seen if possible[-1] else {})}
                total = total + weight * np.asarray(oracle.posterior([name], given))
            if not any(possible):
                with pytest.raises(ImpossibleEvidenceError):
                    model.query(name, evidence, do=do)
                continue
            for found in (
                model.query(name, evidence, do=do),
                model.do(do).query(name, evidence),
                model.marginals(evidence, do=do)[name],
            ):
                np.testing.assert_allclose(
                    found.probabilities, total / total.sum(), rtol=0, atol=1e-9
                )
        assert set(do).isdisjoint(model.marginals(evidence, do=do)) or not targets


def test_each_network_of_an_average_sets_its_own_intervals():
    y = bg.Discrete("y", ["a", "b"])

    def binned(cuts, table):
        cut = bg.Binned("x", cuts)
        n = len(cuts) + 1
        return bg.BayesianNetwork(
            [bg.TableCPD(cut, np.full(n, 1.0 / n)), bg.TableCPD(y, table, [cut])]
        )

    one = binned([0.0], [[0.9, 0.1], [0.3, 0.7]])
    other = binned([1.0, 2.0], [[0.5, 0.5], [0.2, 0.8], [0.4, 0.6]])
    alone = bg.BayesianNetwork([bg.TableCPD(y, [0.6, 0.4])])
    model = bg.Ensemble([one, other, alone], [1, 1, 2], combine="posterior")
    expected = 0.25 * 0.7 + 0.25 * 0.8 + 0.5 * 0.4
    assert model.query("y", do={"x": 1.5})["b"] == pytest.approx(expected)
    assert model.do({"x": 1.5}).query("y")["b"] == pytest.approx(expected)


def test_a_mixture_sets_numbers_too():
    x, y = bg.Continuous("x"), bg.Continuous("y")

    def line(slope):
        return bg.BayesianNetwork(
            [bg.GaussianCPD(x, 0.0, 1.0), bg.GaussianCPD(y, 1.0, 1.0, [x], [slope])]
        )

    model = bg.Ensemble([line(2.0), line(-1.0)], [1, 3], arc_probabilities={("x", "y"): 0.5})
    for found in (model.query("y", do={"x": 4.0}), model.do({"x": 4.0}).query("y")):
        assert found.mean == pytest.approx(0.25 * 9.0 + 0.75 * -3.0)
    assert model.ask.effect("x", "y").value == pytest.approx(0.25 * 2.0 - 0.75)
    assert model.query("x", do={"y": 4.0}).mean == pytest.approx(0.0)


# ---------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("do", "error", "said"),
    [
        ({"wett": "yes"}, UnknownVariableError, "Did you mean 'wet'"),
        ({"wet": "yess"}, UnknownStateError, "Did you mean 'yes'"),
        ({"wet": None}, EvidenceError, "to one value"),
        ({"wet": float("nan")}, EvidenceError, "to one value"),
        ({"wet": {"no": 0.5, "yes": 0.5}}, EvidenceError, "to one value"),
        ({"wet": bg.Belief({"no": 0.5, "yes": 0.5})}, EvidenceError, "to one value"),
        ({"wet": "yes", WET: "no"}, EvidenceError, "more than once"),
        ("wet", EvidenceError, "mapping from variable name"),
    ],
)
def test_mistakes_of_interventions_are_told(do, error, said):
    net = rainy()
    with pytest.raises(error, match=said):
        net.query("rain", do=do)
    with pytest.raises(error, match=said):
        net.do(do)


def test_no_intervention_and_both():
    net = rainy()
    with pytest.raises(EvidenceError, match="mapping from variable name"):
        net.do({})
    assert net.query("rain", {"wet": "yes"}, do={}) == net.query("rain", {"wet": "yes"})
    with pytest.raises(EvidenceError, match="both set by do= and observed"):
        net.query("rain", {"wet": "yes"}, do={"wet": "yes"})
    with pytest.raises(EvidenceError, match="both a target and"):
        net.query("wet", do={"wet": "yes"})


def test_names_may_be_variables():
    net = rainy()
    assert net.query("rain", do={WET: "yes"}) == net.query("rain", do={"wet": "yes"})
    assert net.do({WET: np.str_("yes")}) == net.do({"wet": "yes"})


def test_a_long_chain_is_cut_before_its_tables_are_compiled():
    chain = [bg.Discrete(i, ["no", "yes"]) for i in range(60)]
    table = [[0.9, 0.1], [0.2, 0.8]]
    cpds = [bg.TableCPD(chain[0], [0.7, 0.3])]
    cpds += [bg.TableCPD(b, table, [a]) for a, b in itertools.pairwise(chain)]
    seen = bg.BayesianNetwork(cpds).query(32, {30: "yes"})
    for target, expected in ((32, seen["yes"]), (25, bg.BayesianNetwork(cpds).query(25)["yes"])):
        net = bg.BayesianNetwork(cpds)
        assert net.query(target, do={30: "yes"})["yes"] == pytest.approx(expected, abs=1e-12)
        assert net.query(target, {31: "no"}, do={30: "yes"}).log_evidence == pytest.approx(
            np.log(0.2)
        )
        everything = net.marginals(do={30: "yes"})
        assert everything[target]["yes"] == pytest.approx(expected, abs=1e-12)
        assert everything.log_evidence == pytest.approx(0.0, abs=1e-12)
        best, other = net.most_probable(do={30: "yes"}), net.do({30: "yes"}).most_probable()
        assert all(best[name] == other[name] for name in best)
        assert best.log_probability == pytest.approx(other.log_probability, abs=1e-12)
        assert len(net._cut_models) == 1


def test_setting_a_variable_does_not_say_whether_its_value_was_missing():
    kind, v = bg.Discrete("kind", ["p", "q"]), bg.Discrete("v", ["a", "b"])
    indicator = bg.core.MissingIndicator("no v", "v")
    model = bg.BayesianNetwork(
        [
            bg.TableCPD(kind, [0.5, 0.5]),
            bg.TableCPD(v, [[0.9, 0.1], [0.2, 0.8]], [kind]),
            bg.TableCPD(indicator, [[0.9, 0.1], [0.3, 0.7]], [kind]),
        ]
    )
    do = {"v": "a"}
    for chosen in (do, {v: "a"}):
        assert model.query("kind", do=chosen).probabilities == pytest.approx([0.5, 0.5])
        assert model.log_probability(do=chosen) == pytest.approx(0.0)
    sliced = bg.TemporalNetwork(model.cpds)
    assert sliced.query("kind", 0, {}, do={0: do}).probabilities == pytest.approx([0.5, 0.5])
    told = {"no v": "no"}
    assert model.query("kind", told, do=do).probabilities == pytest.approx([0.75, 0.25])
    rows = {"v": ["b", None], "no v": ["no", "yes"]}
    expected = [[0.75, 0.25], [0.125, 0.875]]
    np.testing.assert_allclose(model.query_rows("kind", rows, do=do), expected)
    found = model.query_rows("kind", {"v": ["b", None]}, do=do)
    np.testing.assert_allclose(found, [[0.5, 0.5]] * 2)
