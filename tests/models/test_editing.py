"""Changed networks against sums over their joint distribution, for every kind of model."""

import itertools
import random
import tracemalloc
from collections import Counter
from functools import partial

import cases
import golden_models
import numpy as np
import oracle
import pytest
from canonical_networks import joint_of
from canonical_networks import random_network as canonical_network
from joint import Joint, is_missing, random_evidence, random_network
from tree_oracle import random_average_network, random_tree_network

import bayesgraph as bg
from bayesgraph.core.errors import (
    EvidenceError,
    GraphError,
    ImpossibleEvidenceError,
    MemoryLimitError,
    ModelError,
    UnknownStateError,
    UnknownVariableError,
    UnsupportedModelError,
)
from bayesgraph.files.payloads import STORED
from bayesgraph.models import FAMILIES

RAIN, WET = bg.Discrete("rain", ["no", "yes"]), bg.Discrete("wet", ["no", "yes"])


def rainy():
    return bg.BayesianNetwork(
        [bg.TableCPD(RAIN, [0.8, 0.2]), bg.TableCPD(WET, [[0.9, 0.1], [0.2, 0.8]], [RAIN])],
        arc_scores={("rain", "wet"): 1.5},
    )


def garden():
    """Return rain -> sprinkler, both -> wet -> slippery."""
    sprinkler, slippery = bg.Discrete("sprinkler", [0, 1]), bg.Discrete("slippery", [0, 1, 2])
    return bg.BayesianNetwork(
        [
            bg.TableCPD(RAIN, [0.7, 0.3]),
            bg.TableCPD(sprinkler, [[0.5, 0.5], [0.9, 0.1]], [RAIN]),
            bg.TableCPD(WET, [[[1, 0], [0.1, 0.9]], [[0.2, 0.8], [0, 1]]], [RAIN, sprinkler]),
            bg.TableCPD(slippery, [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]], [WET]),
        ]
    )


def compare(network, expected):
    """Compare the joint distribution of a network with a table over its variables."""
    found = joint_of(network).table(network.names, {})
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def some(random, names, most):
    """Return between one and `most` of the names."""
    n = int(random.integers(1, most + 1))
    return [names[i] for i in random.permutation(len(names))[:n]]


# ------------------------------------------------------------------------ leaving variables out


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", range(30))
def test_marginalised_networks_are_sums(seed):
    network = random_network(seed)
    if len(network) < 2:
        pytest.skip("one variable")
    joint, random = Joint.of(network), np.random.default_rng(seed)
    for _ in range(3):
        gone = some(random, network.names, min(3, len(network) - 1))
        found = network.marginalised(*gone)
        assert found.names == tuple(n for n in network.names if n not in gone)
        compare(found, joint.table(found.names, {}))


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", range(30))
def test_conditioned_networks_are_slices(seed):
    network = random_network(seed)
    joint, random = Joint.of(network), np.random.default_rng(seed)
    for _ in range(3):
        evidence = random_evidence(random, joint, hard=0.3, soft=0.2)
        hard = {n for n, v in evidence.items() if not isinstance(v, dict | np.ndarray)}
        hard = {n for n in hard if not is_missing(evidence[n])}
        if len(hard) == len(network):
            continue
        found = network.conditioned(evidence)
        assert found.names == tuple(n for n in network.names if n not in hard)
        compare(found, joint.posterior(found.names, evidence))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("seed", range(12))
def test_canonical_networks_too(seed):
    network = canonical_network(seed, n_roots=4)
    joint, random = joint_of(network), np.random.default_rng(seed)
    for _ in range(3):
        gone = some(random, network.names, 2)
        compare(
            network.marginalised(*gone),
            joint.table([n for n in network.names if n not in gone], {}),
        )
        evidence = random_evidence(random, joint, hard=0.4, soft=0.0)
        evidence = {n: v for n, v in evidence.items() if not is_missing(v)}
        if len(evidence) < len(network):
            found = network.conditioned(evidence)
            compare(found, joint.posterior(found.names, evidence))


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", range(20))
def test_networks_with_numbers(seed):
    network = oracle.random_network(seed, n_discrete=3, n_continuous=4)
    brute, random = oracle.Oracle.of(network), np.random.default_rng(seed)
    numbers = [v.name for v in network.variables if isinstance(v, bg.Continuous)]
    gone = some(random, numbers, 2)
    check(network.marginalised(*gone), brute, {})
    evidence = oracle.random_evidence(random, brute, share=0.4)
    given = oracle.as_given(network.variables, evidence)
    hard = {n for n, v in evidence.items() if v is not None and not isinstance(v, list)}
    if len(hard) == len(network) or brute.probability(evidence) == 0:
        return
    found = network.conditioned(given)
    assert found.names == tuple(n for n in network.names if n not in hard)
    check(found, brute, evidence)


def check(network, brute, evidence):
    """Compare pairs of variables of a network with the posteriors of a brute-force joint."""
    after = oracle.Oracle.of(network)
    discrete = [v.name for v in network.variables if isinstance(v, bg.Discrete)]
    numbers = [v.name for v in network.variables if isinstance(v, bg.Continuous)]
    for names in [[n] for n in discrete] + [list(p) for p in itertools.combinations(discrete, 2)]:
        np.testing.assert_allclose(
            after.posterior(names, {}), brute.posterior(names, evidence), atol=1e-9
        )
    if numbers:
        for found, expected in zip(
            after.moments(numbers, {}), brute.moments(numbers, evidence), strict=True
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


def test_arcs_come_where_they_are_needed():
    net = garden()
    arcs = set(net.graph.edges)
    assert set(net.marginalised("slippery").graph.edges) == arcs - {("wet", "slippery")}
    found = net.marginalised("rain")
    assert set(found.graph.edges) == arcs - {("rain", "sprinkler"), ("rain", "wet")}
    found = net.marginalised("wet")
    assert set(found.graph.edges) == {
        ("rain", "sprinkler"), ("rain", "slippery"), ("sprinkler", "slippery")
    }  # fmt: skip
    assert set(net.conditioned({"rain": "yes"}).graph.edges) == {
        ("sprinkler", "wet"), ("wet", "slippery")
    }  # fmt: skip
    causes = net.without("slippery").conditioned({"wet": "yes"})
    assert set(causes.graph.edges) == {("rain", "sprinkler")}
    assert rainy().conditioned({"wet": {"no": 1.0, "yes": 3.0}}).arc_scores == {
        ("rain", "wet"): 1.5
    }
    believed = {"wet": bg.Belief({"no": 0.5, "yes": 0.5})}
    assert rainy().conditioned(believed).query("wet")["yes"] == pytest.approx(0.5)


def test_a_noisy_or_stays_one():
    n = 25
    causes = [bg.Discrete(f"d{i}", ["no", "yes"]) for i in range(n)]
    fever = bg.Discrete("fever", ["no", "yes"])
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(causes[0], [0.6, 0.4]),
            *(bg.TableCPD(c, [[0.9, 0.1], [0.8, 0.2]], causes[:1]) for c in causes[1:]),
            bg.NoisyOrCPD(fever, np.linspace(0.1, 0.9, n), causes, 0.05),
        ]
    )
    evidence = {"d3": "yes", "d7": "no"}
    found = net.conditioned(evidence)
    assert isinstance(found["fever"], bg.NoisyOrCPD)
    assert found.query("fever")["yes"] == pytest.approx(net.query("fever", evidence)["yes"])
    well = net.conditioned({"fever": "no"})
    assert set(well.graph.edges) == {("d0", f"d{i}") for i in range(1, n)}
    assert well.query("d4")["yes"] == pytest.approx(net.query("d4", {"fever": "no"})["yes"])
    roots = bg.BayesianNetwork([*(bg.TableCPD(c, [0.9, 0.1]) for c in causes), net["fever"]])
    fewer = roots.marginalised("d1", "d2")
    assert isinstance(fewer["fever"], bg.NoisyOrCPD)
    for name in ("fever", "d5"):
        expected = roots.query(name, {"d6": "yes"})["yes"]
        assert fewer.query(name, {"d6": "yes"})["yes"] == pytest.approx(expected)
    above = bg.Discrete("above", [0, 1, 2])
    chained = roots.with_cpd(
        bg.TableCPD(above, [0.2, 0.3, 0.5]),
        bg.TableCPD(causes[1], [[0.5, 0.5], [0.1, 0.9], [0.7, 0.3]], [above]),
    )
    shorter = chained.marginalised("d1")
    assert shorter["fever"].parents[1] == above
    expected = chained.query("above", {"fever": "yes"}).probabilities
    np.testing.assert_allclose(shorter.query("above", {"fever": "yes"}).probabilities, expected)
    huge = roots.with_cpd(
        *[bg.TableCPD(bg.Discrete(f"e{i}", range(9)), np.full(9, 1 / 9)) for i in range(3)]
    )
    wide = bg.NoisyOrCPD(fever, [0.5] * 25 + [np.full(9, 0.1)] * 3, [*causes, *huge.variables[-3:]])
    with pytest.raises(MemoryLimitError, match="limit is"):
        huge.with_cpd(wide).conditioned({"fever": "yes"})


def test_leaves_of_any_family_are_left_out_and_conditioned_on():
    c = bg.Discrete("c", ["n", "y"])
    counts = [bg.Count(f"k{i}") for i in range(3)]
    plate = bg.PoissonCPD(counts, [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]], [c])
    words = bg.CountVector("words", ["a", "b"])
    text = bg.MultinomialCPD(words, [[0.2, 0.8], [0.6, 0.4]], [c])
    x, y = bg.Continuous("x"), bg.Continuous("y")
    block = bg.models.JointGaussianCPD(
        [x, y], [[0.0, 1.0], [2.0, 3.0]],
        [[[4.0, 1.0], [1.0, 9.0]], [[3.0, 0.5], [0.5, 2.0]]], [c],
    )  # fmt: skip
    net = bg.BayesianNetwork([bg.TableCPD(c, [0.4, 0.6]), plate, text, block])
    seen = {"k1": 2, "words": {"a": 3}, "x": 0.5}
    found = net.conditioned(seen)
    assert found.names == ("c", "k0", "k2", "y")
    np.testing.assert_allclose(found.query("c").probabilities, net.query("c", seen).probabilities)
    for evidence in ({"k0": 1}, {"k0": 1, "y": 2.0}):
        np.testing.assert_allclose(
            found.query("c", evidence).probabilities,
            net.query("c", {**seen, **evidence}).probabilities,
        )
    only = net.conditioned({"c": "y"})
    assert only.query("y").mean == pytest.approx(3.0)
    expected = net.log_probability({"c": "y", "k0": 2}) - np.log(0.6)
    assert only.log_probability({"k0": 2}) == pytest.approx(expected)
    rest = net.marginalised("k0", "words", "x")
    assert rest.log_probability({"k1": 2, "y": 1.0}) == pytest.approx(
        net.log_probability({"k1": 2, "y": 1.0})
    )
    with pytest.raises(UnsupportedModelError, match="one component for each state of 'c'"):
        net.marginalised("c")


def test_trees_become_tables_given_their_numbers():
    a, x, y = bg.Discrete("a", [0, 1, 2]), bg.Continuous("x"), bg.Discrete("y", ["n", "y"])
    tree = bg.Split(a, [0, 2], [0.2, 0.8], bg.Split(x, 1.5, [0.6, 0.4], [0.9, 0.1]))
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(a, [0.5, 0.3, 0.2]),
            bg.GaussianCPD(x, 1.0, 2.0),
            bg.models.TreesCPD(y, tree, [a, x]),
        ]
    )
    found = net.conditioned({"x": 1.0})
    np.testing.assert_allclose(found["y"].values, [[0.2, 0.8], [0.6, 0.4], [0.2, 0.8]])
    with pytest.raises(UnsupportedModelError):
        net.marginalised("x")
    with pytest.raises(UnsupportedModelError, match="no form in which 'a'"):
        net.conditioned({"a": 1})
    with pytest.raises(UnsupportedModelError, match="another order"):
        net.with_states("a", [2, 1, 0])


# ------------------------------------------------------------------------------- the graph


def test_with_cpd_and_with_arc():
    net = rainy()
    changed = net.with_cpd(bg.TableCPD(RAIN, [0.5, 0.5]))
    assert changed.query("rain")["yes"] == 0.5
    assert net.query("rain")["yes"] == pytest.approx(0.2)
    assert changed.variables == net.variables
    assert changed.arc_scores == net.arc_scores
    flat = net.with_cpd(bg.TableCPD(WET, [0.5, 0.5]))
    assert not flat.graph.edges
    assert flat.arc_scores == {}
    mud = bg.Discrete("mud", [0, 1])
    more = net.with_cpd(bg.TableCPD(mud, [[1, 0], [0.5, 0.5]], [WET]))
    assert more.names == ("rain", "wet", "mud")
    grown = more.with_arc("rain", "mud")
    assert grown["mud"].parents == (WET, RAIN)
    compare(grown, joint_of(more).table(more.names, {}))
    with pytest.raises(ModelError, match="There is an arc"):
        grown.with_arc("rain", "mud")
    with pytest.raises(GraphError, match="cycle"):
        grown.with_arc("mud", "rain")
    with pytest.raises(ModelError, match="takes CPDs"):
        net.with_cpd("rain")
    three = bg.Discrete("rain", ["no", "some", "much"])
    with pytest.raises(ModelError, match="must agree"):
        net.with_cpd(bg.TableCPD(three, [0.5, 0.3, 0.2]))
    both = net.with_cpd(
        bg.TableCPD(three, [0.5, 0.3, 0.2]),
        bg.TableCPD(WET, [[0.9, 0.1], [0.5, 0.5], [0, 1]], [three]),
    )
    assert both.query("wet")["yes"] == pytest.approx(0.05 + 0.15 + 0.2)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(3))
def test_new_arcs_change_nothing(seed):
    network = canonical_network(seed, n_roots=4, numbers=True)
    arcs = set(network.graph.edges)
    order = list(network._order)
    expected = network.marginals().log_evidence, network.query("last").probabilities
    for parent, child in itertools.combinations(order, 2):
        if (parent, child) in arcs:
            continue
        if parent in ("x", "y") and isinstance(network.variable(child), bg.Discrete):
            with pytest.raises(UnsupportedModelError, match="takes no further continuous"):
                network.with_arc(parent, child)
            continue
        found = network.with_arc(parent, child)
        assert set(found.graph.edges) == arcs | {(parent, child)}
        np.testing.assert_allclose(found.query("last").probabilities, expected[1], atol=1e-12)
        state = network.variable("r0").states[0]
        assert found.query("y", {"r0": state}).mean == pytest.approx(
            network.query("y", {"r0": state}).mean
        )


def test_without():
    net = garden()
    assert net.without("slippery", "wet").names == ("rain", "sprinkler")
    assert net.without("slippery") == net.marginalised("slippery")
    with pytest.raises(ModelError, match=r"'wet' is a parent of 'slippery'.*marginalised"):
        net.without("wet")
    for method in (net.without, net.marginalised):
        with pytest.raises(ModelError, match="at least one variable"):
            method(*net.names)
        with pytest.raises(UnknownVariableError, match="Did you mean 'wet'"):
            method("wett")
    with pytest.raises(ModelError, match="at least one variable"):
        rainy().conditioned({"rain": "yes", "wet": "yes"})
    with pytest.raises(ImpossibleEvidenceError):
        net.conditioned({"rain": "no", "sprinkler": 0, "wet": "yes"})
    with pytest.raises(UnknownStateError, match="Did you mean 'yes'"):
        net.conditioned({"rain": "yess"})


def test_merged():
    net = rainy()
    mud = bg.Discrete("mud", [0, 1])
    part = bg.BayesianNetwork(
        [bg.TableCPD(WET, [0.5, 0.5]), bg.TableCPD(mud, [[1, 0], [0.3, 0.7]], [WET])],
        arc_scores={("wet", "mud"): 2.0},
    )
    with pytest.raises(ModelError, match=r"different distributions of 'wet'.*prefer"):
        bg.models.merged(net, part)
    whole = bg.models.merged(net, part, prefer="self")
    assert whole.names == ("rain", "wet", "mud")
    assert whole.arc_scores == {("rain", "wet"): 1.5, ("wet", "mud"): 2.0}
    assert whole.query("mud")[1] == pytest.approx(net.query("wet")["yes"] * 0.7)
    other = bg.models.merged(part, net, prefer="other")
    assert other.query("mud")[1] == pytest.approx(whole.query("mud")[1])
    mine = bg.models.merged(part, net, prefer="self")
    assert mine.query("wet")["yes"] == pytest.approx(0.5)
    assert bg.models.merged(net, net) == net
    apart = bg.models.merged(net, part.renamed({"wet": "floor"}))
    assert apart.query(["wet", "mud"], {"rain": "yes"})["yes", 1] == pytest.approx(0.8 * 0.35)
    with pytest.raises(ModelError, match="must agree"):
        bg.models.merged(net, part.with_states("wet", ["yes", "no"]))
    with pytest.raises(ModelError, match="prefer="):
        bg.models.merged(net, part, prefer="mine")
    with pytest.raises(ModelError, match="takes a BayesianNetwork"):
        bg.models.merged(net, bg.FactorGraph.of(net))
    turned = bg.BayesianNetwork(
        [bg.TableCPD(WET, [0.5, 0.5]), bg.TableCPD(RAIN, [[0.9, 0.1], [0.2, 0.8]], [WET])]
    )
    found = bg.models.merged(net, turned, prefer="other")
    assert found.names == ("rain", "wet")
    assert all(found[name] == turned[name] for name in found)


# --------------------------------------------------------------------------- names and states


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(9))
def test_other_names_and_states_say_the_same(seed):
    network = random_network(seed, most=6)
    joint, random = Joint.of(network), np.random.default_rng(seed)
    names = {old: ("new", i) for i, old in enumerate(network.names)}
    found = network.renamed(names)
    assert found.names == tuple(names.values())
    assert (
        Joint.of(found).table(found.names, {}).tolist() == joint.table(network.names, {}).tolist()
    )
    for place, variable in enumerate(network.variables):
        order = random.permutation(variable.cardinality)
        turned = network.with_states(variable.name, [variable.states[i] for i in order])
        compare(turned, np.take(joint.table(network.names, {}), order, axis=place))
        new = {state: ("new", i) for i, state in enumerate(variable.states)}
        if len(new) == variable.cardinality:
            other = network.with_states(variable.name, new)
            assert other.variable(variable.name).states == tuple(new.values())
            compare(other, joint.table(network.names, {}))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(4))
def test_states_of_canonical_networks(seed):
    network = canonical_network(seed, n_roots=4, numbers=True)
    evidence = {"last": "yes", "y": 0.2}
    for variable in network.variables:
        if isinstance(variable, bg.Continuous):
            continue
        expected = {v: network.query(v, evidence) for v in ("r0", "c0", "c1")}
        changed = network
        if isinstance(network[variable.name], bg.NoisyMaxCPD):
            with pytest.raises(UnsupportedModelError, match="ascend"):
                network.with_states(variable.name, (*variable.states[1:], variable.states[0]))
            changed = bg.models.expanded(network)
        turned = changed.with_states(variable.name, (*variable.states[1:], variable.states[0]))
        for name, posterior in expected.items():
            found = turned.query(name, evidence)
            assert all(found[s] == pytest.approx(p, abs=1e-9) for s, p in posterior.items())


def test_names_of_variables_of_all_kinds():
    x, k = bg.Continuous("x"), bg.Count("k")
    words = bg.CountVector("words", ["a", "b"])
    cut, group = bg.Binned("cut", [1.0]), bg.Grouped("group", [["u"], ["v", "w"]], others=True)
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(cut, [0.5, 0.5]),
            bg.TableCPD(group, [[0.5, 0.5], [0.1, 0.9]], [cut]),
            bg.GaussianCPD(x, [0.0, 1.0], 1.0, [group]),
            bg.PoissonCPD([k], [[1.0], [2.0]], [cut]),
            bg.MultinomialCPD(words, [[0.2, 0.8], [0.6, 0.4]], [cut]),
        ]
    )
    found = net.renamed({name: f"my {name}" for name in net.names})
    assert [type(v) for v in found.variables] == [type(v) for v in net.variables]
    assert found.renamed({f"my {name}": name for name in net.names}) == net
    assert found.variable("my group").others
    assert found.query("my cut", {"my x": 0.3, "my k": 2, "my words": {"a": 1}, "my group": "w"}) \
        .probabilities == pytest.approx(
            net.query("cut", {"x": 0.3, "k": 2, "words": {"a": 1}, "group": "w"}).probabilities
        )  # fmt: skip
    for name in ("x", "cut", "group", "words"):
        with pytest.raises(UnsupportedModelError, match="a list of states"):
            net.with_states(name, {})


def test_mistakes_of_names_and_states():
    net = rainy()
    swapped = net.renamed({"rain": "wet", "wet": "rain"})
    assert swapped.names == ("wet", "rain")
    assert swapped.arc_scores == {("wet", "rain"): 1.5}
    assert net.renamed({}) == net
    with pytest.raises(ModelError, match="More than one variable would have the name 'wet'"):
        net.renamed({"rain": "wet"})
    with pytest.raises(UnknownVariableError, match="Did you mean 'rain'"):
        net.renamed({"rainn": "x"})
    with pytest.raises(UnknownStateError, match="Did you mean 'yes'"):
        net.with_states("rain", {"yess": "true"})
    with pytest.raises(EvidenceError, match=r"once.*mapping"):
        net.with_states("rain", ["yes"])
    with pytest.raises(EvidenceError, match="more than once"):
        net.with_states("rain", {"yes": "no"})


# ------------------------------------------------------------ every kind of model and estimator


def mixture():
    other = bg.BayesianNetwork([bg.TableCPD(WET, [0.4, 0.6]), bg.TableCPD(RAIN, [0.5, 0.5])])
    return bg.Ensemble([rainy(), other], [1, 3], arc_probabilities={("rain", "wet"): 0.4})


def mixed():
    return rainy().with_cpd(bg.GaussianCPD(bg.Continuous("t"), [1.0, 2.0], 1.0, [WET]))


def fitted(kind, **options):
    random = np.random.default_rng(0)
    rain = random.choice(["no", "yes"], 200, p=[0.8, 0.2])
    X = {"wet": np.where(random.random(200) < 0.2, "no", rain), "t": random.normal(size=200)}
    return kind(**options).fit(X, rain)


ALL = {"with_cpd", "without", "with_arc", "renamed", "with_states", "conditioned",
       "marginalised", "merged", "expanded", "annotated"}  # fmt: skip
OF_MIXTURES = {"without", "renamed", "with_states", "conditioned", "marginalised"}
# What each kind of model has; it refuses the rest.
KINDS = {
    "network": (rainy, ALL),
    "mixed network": (mixed, ALL),
    "mixture": (mixture, OF_MIXTURES),
    "factor graph": (lambda: bg.FactorGraph.of(rainy()), {"renamed"}),
    "weighted": (
        lambda: bg.WeightedNetwork(rainy(), "rain", {"wet": [0.5, 0.7]}, bias=[0.1, 0.3]),
        {"renamed", "with_states"},
    ),
    "average": (
        lambda: bg.Ensemble(
            [rainy(), rainy()], prior_ratios={"rain": [1.0, 2.0]}, combine="posterior"
        ),
        {"renamed"},
    ),
    "naive Bayes": (lambda: fitted(bg.NaiveBayesClassifier), ALL),
    "TAN": (lambda: fitted(bg.TANClassifier), ALL),
    "AODE": (lambda: fitted(bg.AODEClassifier), OF_MIXTURES),
    "weighted naive Bayes": (
        lambda: fitted(bg.WeightedNaiveBayesClassifier),
        {"renamed", "with_states"},
    ),
    "tan": (lambda: fitted(partial(bg.BayesianNetworkClassifier, "tan")), ALL),
}
# Each asks the changed model what the model itself answers.
EDITS = {
    "with_cpd": lambda m, t: m.with_cpd(NEW),
    "without": lambda m, t: m.without("wet") if "t" not in m.names else m.without("t"),
    "with_arc": lambda m, t: m_with_new(m).with_arc("new", "wet"),
    "renamed": lambda m, t: m.renamed({"wet": "my wet"}),
    "with_states": lambda m, t: m.with_states(t, ["yes", "no"]),
    "conditioned": lambda m, t: m.conditioned({"wet": "yes"}),
    "marginalised": lambda m, t: m.marginalised("t" if "t" in m.names else "wet"),
    "merged": lambda m, t: bg.models.merged(m, ONE),
    "expanded": lambda m, t: bg.models.expanded(m),
    "annotated": lambda m, t: bg.models.annotated(m, bg.models.Annotations("note")),
}


NEW = bg.TableCPD(bg.Discrete("new", [0, 1]), [0.5, 0.5])
ONE = bg.BayesianNetwork([bg.TableCPD(bg.Discrete("n", [0]), [1])])


def m_with_new(model):
    try:
        return model.with_cpd(NEW)
    except UnsupportedModelError:
        return model


@pytest.fixture(scope="module")
def models():
    made = {kind: make() for kind, (make, _) in KINDS.items()}
    return {kind: getattr(model, "network_", model) for kind, model in made.items()}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_model_has_or_refuses_each_change(models, kind, edit):
    model, (_, has) = models[kind], KINDS[kind]
    target = "rain" if "rain" in model.names else "class"
    if edit not in has:
        with pytest.raises(UnsupportedModelError, match=f"has no {edit}.*network"):
            EDITS[edit](model, target)
        return
    changed = EDITS[edit](model, target)
    evidence = {"wet": "yes"} if edit == "conditioned" else {}
    expected = model.query(target, evidence)
    found = changed.query(target)
    assert all(found[state] == pytest.approx(p, abs=1e-9) for state, p in expected.items())
    if edit == "renamed":
        expected = model.query(target, {"wet": "no"})
        found = changed.query(target, {"my wet": "no"})
        assert all(found[state] == pytest.approx(p, abs=1e-9) for state, p in expected.items())
    elif edit == "with_states":
        expected = model.query(target, {"wet": "no"})
        found = changed.query(target, {"wet": "no"})
        assert all(found[state] == pytest.approx(p, abs=1e-9) for state, p in expected.items())


def test_mixtures_keep_weights_and_arcs():
    model = mixture()
    found = model.conditioned({"rain": "yes"})
    np.testing.assert_allclose(found.weights, model.posterior_weights({"rain": "yes"}))
    assert found.names == ("wet",)
    certain = rainy().with_cpd(bg.TableCPD(RAIN, [1.0, 0.0]))
    assert len(bg.Ensemble([certain, rainy()]).conditioned({"rain": "yes"}).networks) == 1
    assert model.renamed({"wet": "w"}).arc_probabilities == {("rain", "w"): 0.4}
    assert model.with_states("wet", {"no": "dry"}).arc_probabilities == model.arc_probabilities
    with pytest.raises(ImpossibleEvidenceError):
        bg.Ensemble([certain, certain]).conditioned({"rain": "yes"})


# ------------------------------------------- edits that change nothing a question sees, for all

COIN = bg.TableCPD(bg.Discrete("coin", ["heads", "tails"]), [0.25, 0.75])


def of_family(name):
    """Return a class with leaves of one family, two of them, fitted."""
    kind = {n: k for n, (k, _) in cases.DENSITIES.items()} | {
        "categorical": "discrete", "multinomial": "counts", "bernoulli": "counts"
    }  # fmt: skip
    data = cases.make_data(kind.get(name, "continuous"))
    return bg.NaiveBayesClassifier(name).fit(data.pandas()[["a", "b"]], data.y).network_


def kernels():
    """Return kernel densities given two parents, whose cells have different numbers of points."""
    a, b = bg.Discrete("a", [0, 1, 2]), bg.Discrete("b", ["x", "y"])
    random, counts = np.random.default_rng(5), np.array([[[3, 1], [1, 2]], [[2, 5], [4, 1]]] * 2)
    counts, n = counts[:3], int(counts[:3].sum())
    plate = bg.models.KernelDensityCPD(
        [bg.Continuous("p"), bg.Continuous("q")], random.normal(size=n), random.uniform(1, 3, n),
        counts, random.uniform(0.5, 2, (3, 2, 2)), [a, b],
    )  # fmt: skip
    above = [bg.TableCPD(a, [0.2, 0.3, 0.5]), bg.TableCPD(b, [[0.5, 0.5]] * 2 + [[0.9, 0.1]], [a])]
    return bg.BayesianNetwork([*above, plate])


EDITED = {
    **{name: made.make for name, made in golden_models.MODELS.items()},
    **{f"{name} leaves": partial(of_family, name) for name in FAMILIES},
    "kernels": kernels,
    "canonical": lambda: canonical_network(0, n_roots=4, numbers=True),
    "noisy or": lambda: canonical_network(1, ("noisy_or",), n_roots=4),
    "noisy maximum": lambda: canonical_network(2, ("noisy_max",), n_roots=4),
    "logistic": lambda: canonical_network(3, ("logistic",), n_roots=4),
    "deterministic": lambda: canonical_network(4, ("function",), n_roots=4),
    "average of trees": lambda: random_average_network(0),
    "tree": lambda: random_tree_network(3),
    "linear": lambda: oracle.random_network(6, n_discrete=3, n_continuous=4),
}
EDITED = {name: make for name, make in EDITED.items() if isinstance(make(), bg.BayesianNetwork)}


def turned(variable):
    return (*variable.states[1:], variable.states[0])


def edits(network):
    """Yield a name, a function that edits, and evidence that the edited network has inside."""
    new = {name: ("new", name) for name in network.names}
    more = network.with_cpd(COIN)
    coin, of_coin = COIN.variable.name, {COIN.variable.name: "tails"}
    row = golden_models.random_row(network, random.Random(7))
    yield "renamed", lambda: network.renamed(new).renamed({b: a for a, b in new.items()}), {}
    yield "merged", lambda: bg.models.merged(network, bg.BayesianNetwork([COIN])).without(coin), {}
    yield "expanded", lambda: bg.models.expanded(network), {}
    yield "annotated", lambda: bg.models.annotated(network, bg.models.Annotations("note")), {}
    single = [single for block in network._blocks for single in block.singles()]
    yield "singles", lambda: bg.BayesianNetwork(single, order=network.variables), {}
    yield "with_cpd", lambda: network.with_cpd(*network.cpds[::-1]), {}
    for variable in random.Random(2).sample(network.variables, min(6, len(network))):
        name, at = variable.name, {variable.name: row[variable.name]}
        yield f"with_arc {name}", lambda n=name: more.with_arc(coin, n), {}
        summed = lambda n=name: more.with_arc(coin, n).marginalised(coin)  # noqa: E731
        yield f"with_arc, marginalised {name}", summed, {}
        set_ = lambda n=name: more.with_arc(coin, n).conditioned(of_coin)  # noqa: E731
        yield f"with_arc, conditioned {name}", set_, {}
        set_ = lambda n=name: more.with_arc(coin, n).do(of_coin)  # noqa: E731
        yield f"with_arc, do {name}", set_, {}
        yield (
            f"with_arc, turned {name}",
            lambda n=name: more.with_arc(coin, n).with_states(coin, ["tails", "heads"]),
            {},
        )
        yield f"marginalised {name}", lambda n=name: network.marginalised(n), {}
        yield f"conditioned {name}", lambda at=at: network.conditioned(at), at
        yield f"do {name}", lambda at=at: network.do(at), ("do", at)
        if type(variable) is bg.Discrete:
            yield (
                f"with_states {name}",
                lambda v=variable: network.with_states(v.name, turned(v)),
                {},
            )
            named = {state: ("new", i) for i, state in enumerate(variable.states)}
            back = {b: a for a, b in named.items()}
            both = lambda n=name, a=named, b=back: network.with_states(n, a).with_states(n, b)  # noqa: E731
            yield f"with_states, twice {name}", both, {}
    pairs = [p for p in itertools.combinations(network._order, 2) if p not in network.graph.edges]
    for parent, child in random.Random(1).sample(pairs, min(6, len(pairs))):
        yield f"with_arc {parent} {child}", lambda a=parent, b=child: network.with_arc(a, b), {}


def said(ask, evidence):
    """Return the answer to a question, or what kind of refusal it is."""
    try:
        answer = ask(evidence)
    except (UnsupportedModelError, ImpossibleEvidenceError) as error:
        return type(error)
    if isinstance(answer, bg.inference.Posterior):
        # True, 1 and 1.0 are three states, and one key.
        return {(type(state), state): p for state, p in answer.items()}
    if not hasattr(answer, "cdf"):  # a vector of counts
        return dict(answer)
    return {"mean": answer.mean, "cdf": np.asarray(answer.cdf(np.array([-0.5, 0.5, 1.5])))}


@pytest.mark.filterwarnings("ignore::bayesgraph.core.errors.ExtrapolationWarning")
@pytest.mark.parametrize("kind", EDITED)
def test_edits_that_change_nothing_change_no_answer(kind):
    network = EDITED[kind]()
    chance, done, refused = random.Random(3), Counter(), Counter()
    for edit, make, inside in edits(network):
        verb = edit.split()[0].strip(",")
        try:
            edited = make()
        except (UnsupportedModelError, ModelError, ImpossibleEvidenceError):
            refused[verb] += 1
            continue
        done[verb] += 1
        do, inside = (inside[1], {}) if isinstance(inside, tuple) else (None, inside)
        row = golden_models.random_row(network, chance)
        left = [name for name in network.names if name in edited.names]
        for share in (0.0, 0.6):
            evidence = {n: row[n] for n in left if chance.random() < share and n not in (do or {})}
            for name in chance.sample(left, min(3, len(left))):
                if name in evidence or name in (do or {}):
                    continue
                expected = said(lambda e: network.query(name, e, do=do), evidence | inside)  # noqa: B023
                found = said(lambda e: edited.query(name, e), evidence)  # noqa: B023
                if isinstance(expected, type) or isinstance(found, type):
                    # What could not be asked before may be asked now; not the other way round,
                    # but a number that has got a parent is no root that a tree sums out.
                    assert isinstance(expected, type) or verb == "with_arc", (edit, name, evidence)
                    continue
                for key, value in expected.items():
                    note = f"{edit}: {name} given {evidence}"
                    np.testing.assert_allclose(found[key], value, 1e-9, 1e-11, err_msg=note)
    verbs = {"renamed", "merged", "expanded", "annotated", "singles", "with_cpd"}
    assert verbs <= set(done)
    assert {"with_arc", "do", "conditioned", "marginalised"} <= {*done, *refused}


def test_every_family_that_files_hold_is_edited():
    kinds = {type(cpd) for make in EDITED.values() for cpd in make()._blocks}
    assert set(STORED.values()) <= kinds


def test_edits_that_need_a_table_too_large_say_so_before_they_make_it():
    hub, *rest = (bg.Discrete(f"q{i}", ["no", "yes"]) for i in range(45))
    leaves = [bg.TableCPD(leaf, [[0.9, 0.1], [0.2, 0.8]], [hub]) for leaf in rest]
    star = bg.BayesianNetwork([bg.TableCPD(hub, [0.9, 0.1]), *leaves])
    tracemalloc.start()
    with pytest.raises(MemoryLimitError, match=r"leaving out 'q0'.*45 variables.*limit is"):
        star.marginalised("q0")
    wide = bg.TableCPD(rest[0], np.full((2,) * 17, 0.5), rest[1:17])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bayesgraph.core.parallel.default_memory_limit", lambda: 10**7)
        assert bg.TableCPD(rest[0], [0.5, 0.5]).with_parent(hub).n_parameters == 2
        with pytest.raises(MemoryLimitError, match=r"'q1' and of its parents.*limit is 10 MB"):
            wide.with_parent(hub)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10**7
