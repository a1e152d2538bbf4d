"""Trees as local distributions, against enumeration of everything they could be asked."""

import math
import pickle
import re

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tree_oracle import TreeOracle, random_row, random_tree_network, reached

import bayesgraph as bg
from bayesgraph.core import Evidence
from bayesgraph.core.arrays import log_of
from bayesgraph.core.errors import CPDError, UnsupportedModelError

AGE, DOSE = bg.Continuous("age"), bg.Continuous("dose")
PLACE = bg.Discrete("place", ["a", "b", "c"])
SICK = bg.Discrete("sick", [False, True])
SPLITS = bg.Split(
    "age",
    40.0,
    [0.9, 0.1],
    bg.Split("place", ["a"], [0.8, 0.2], bg.Split(AGE, 60.0, [0.4, 0.6], [0.3, 0.7])),
)


def tree(splits=SPLITS, parents=(AGE, PLACE)):
    return bg.models.TreesCPD(SICK, splits, parents)


def network(cpd=None):
    return bg.BayesianNetwork(
        [
            bg.models.HistogramCPD(AGE, [0, 40, 60, 100], [0.05, 0.5, 0.2, 0.2, 0.05]),
            bg.TableCPD(PLACE, [0.5, 0.3, 0.2]),
            cpd or tree(),
        ]
    )


# ---------------------------------------------------------------------------- a worked example


def test_missing_parents_by_hand():
    net = network()
    # Below 40: 0.55. Above: place a 0.5; else 40 to 60 with 0.2 / 0.45 and 60 on with 0.25 / 0.45.
    above = 0.5 * 0.8 + 0.5 * (0.2 / 0.45 * 0.4 + 0.25 / 0.45 * 0.3)
    np.testing.assert_allclose(net.query("sick")[False], 0.55 * 0.9 + 0.45 * above, rtol=1e-14)
    assert net.query("sick", {"age": 70.0, "place": "a"})[True] == pytest.approx(0.2)
    # The density of age is a factor of its own: 0.2 over 20 years.
    expected = np.log(0.2 / 20 * (0.5 * 0.2 + 0.5 * 0.6))
    assert net.log_probability({"age": 50.0, "sick": True}) == pytest.approx(expected)
    place = net.query("place", {"sick": True, "age": 50.0})
    np.testing.assert_allclose(place.probabilities, np.array([0.1, 0.18, 0.12]) / 0.4)


def test_a_value_on_the_threshold_goes_left():
    net = network()
    assert net.query("sick", {"age": 40.0})[False] == pytest.approx(0.9)
    assert net.query("sick", {"age": np.nextafter(40.0, 41)})[False] < 0.7


def test_description():
    cpd = tree()
    title, header, first, *_ = repr(cpd).splitlines()
    assert title == "TreesCPD P(sick | age, place), 4 leaves, depth 3"
    assert header.split() == ["leaf", "False", "True"]
    assert first.split() == ["age", "≤", "40", "0.900", "0.100"]
    assert cpd.n_parameters == 4
    assert cpd == tree()
    assert cpd != tree(bg.Split("age", 41.0, SPLITS.left, SPLITS.right))
    assert cpd != tree(parents=(PLACE, AGE))
    assert pickle.loads(pickle.dumps(cpd)) == cpd
    with pytest.raises(ValueError, match="read-only"):
        cpd.trees.values[0] = 0.0


# ---------------------------------------------------------------------------------- the engine


@given(st.integers(0, 2**32 - 1))
def test_random_trees_equal_enumeration(seed):
    net = random_tree_network(seed)
    oracle = TreeOracle(net)
    random = np.random.default_rng(seed)
    for _ in range(4):
        row = random_row(random, net)
        expected = oracle.log_probability(row)
        np.testing.assert_allclose(net.log_probability(row), expected, rtol=1e-9, atol=1e-10)
        free = [v.name for v in net.variables if isinstance(v, bg.Discrete) and v.name not in row]
        for name in free:
            found = net.query(name, row).probabilities
            np.testing.assert_allclose(found, oracle.posterior([name], row), atol=1e-10)
        if len(free) > 1:
            found = net.query(free[:2], row).probabilities
            np.testing.assert_allclose(found, oracle.posterior(free[:2], row), atol=1e-10)


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1))
def test_batches_equal_single_queries(seed):
    net = random_tree_network(seed)
    random = np.random.default_rng(seed)
    rows = [random_row(random, net, share=0.6) for _ in range(12)]
    for row in rows:
        row.pop("c", None)
    frame = {v.name: [row.get(v.name) for row in rows] for v in net.variables}
    found = net.query_rows("c", frame)
    for row, probabilities in zip(rows, found, strict=True):
        np.testing.assert_allclose(
            net.query("c", row).probabilities, probabilities, rtol=1e-9, atol=1e-12
        )
    total = sum(net.log_probability(row) for row in rows)
    np.testing.assert_allclose(net.log_likelihood(frame).sum(), total, rtol=1e-9)


@given(st.integers(0, 2**32 - 1))
def test_soft_evidence_and_explanations(seed):
    net = random_tree_network(seed, n_continuous=0)
    oracle = TreeOracle(net)
    likelihood = {"u": 0.2, "v": 0.7, "w": 0.1, "x": 0.5}
    feature = net.variable("f0")
    given_likelihood = {state: likelihood[state] for state in feature.states}
    found = net.query("c", {"f0": given_likelihood}).probabilities
    expected = oracle.posterior(["c"], {"f0": list(given_likelihood.values())})
    np.testing.assert_allclose(found, expected, atol=1e-12)
    best = net.most_probable()
    log_value, _ = oracle.oracle.best()
    assert best.log_probability == pytest.approx(log_value)


def test_continuous_roots_are_integrated_out_of_explanations():
    net = network()
    best = net.k_most_probable(1)[0]
    joint = net.query(["place", "sick"]).probabilities
    assert np.exp(best.log_probability) == pytest.approx(joint.max())
    assert set(net.most_probable({"age": 30.0})) == {"place", "sick"}
    with pytest.raises(UnsupportedModelError, match="'age'"):
        net.most_probable()


def test_a_root_that_feeds_more_than_the_tree_stays_in_the_factor():
    visits = bg.TableCPD(
        bg.Discrete("visits", [0, 1]), [[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]], [PLACE]
    )
    net = bg.BayesianNetwork([*network().cpds, visits])
    oracle = TreeOracle(net)
    for row in ({}, {"visits": 1}, {"visits": 0, "age": 50.0}, {"sick": True, "age": 70.0}):
        assert net.log_probability(row) == pytest.approx(oracle.log_probability(row))
        for name in {"sick", "visits", "place"} - row.keys():
            np.testing.assert_allclose(
                net.query(name, row).probabilities, oracle.posterior([name], row), atol=1e-12
            )
    frame = {"place": ["a", None, "c", None], "visits": [1, 1, None, None], "age": [50.0] * 4}
    rows = [{k: v[i] for k, v in frame.items() if v[i] is not None} for i in range(4)]
    expected = [oracle.posterior(["sick"], row) for row in rows]
    np.testing.assert_allclose(net.query_rows("sick", frame), expected, atol=1e-12)


@pytest.mark.parametrize("split", ["x", "y"])
def test_a_tree_splits_on_a_number_of_a_joint_gaussian(split):
    x, y, choice = bg.Continuous("x"), bg.Continuous("y"), bg.Discrete("choice", ["no", "yes"])
    block = bg.models.JointGaussianCPD([x, y], [0.0, 0.0], [[1.0, 0.8], [0.8, 1.0]])
    tree = bg.models.TreesCPD(
        choice, bg.Split(split, 0.0, [0.9, 0.1], [0.2, 0.8]), [x if split == "x" else y]
    )
    net = bg.BayesianNetwork([block, tree])
    for row, expected in [
        ({}, [0.55, 0.45]),
        ({"x": 1.0, "y": 1.0}, [0.2, 0.8]),
        ({"x": -1.0, "y": -1.0}, [0.9, 0.1]),
        ({split: 1.0}, [0.2, 0.8]),
    ]:
        np.testing.assert_allclose(net.query("choice", row).probabilities, expected, atol=1e-12)
    frame = {"x": [1.0, -1.0], "y": [1.0, -1.0]}
    np.testing.assert_allclose(net.query_rows("choice", frame), [[0.2, 0.8], [0.9, 0.1]])


def test_two_trees_on_one_discrete_root():
    other = bg.Discrete("other", [0, 1, 2])
    inner = bg.Split(SICK, [False], [0.6, 0.2, 0.2], [0.1, 0.1, 0.8])
    cpd = bg.models.TreesCPD(
        other, bg.Split(PLACE, ["a", "b"], [0.2, 0.3, 0.5], inner), [PLACE, SICK]
    )
    net = bg.BayesianNetwork([*network().cpds, cpd])
    oracle = TreeOracle(net)
    for row in ({}, {"other": 2}, {"age": 50.0, "other": 0}, {"sick": True}):
        assert net.log_probability(row) == pytest.approx(oracle.log_probability(row))
    np.testing.assert_allclose(
        net.query("place", {"other": 2}).probabilities, oracle.posterior(["place"], {"other": 2})
    )


# ------------------------------------------------------------------------------------ refusals


def test_continuous_targets_are_refused_by_name():
    net = network()
    for ask in (net.query, net.plan):
        with pytest.raises(UnsupportedModelError, match=r"'age'.*likelihood-weighting"):
            ask("age", {"sick": True})
    ages = net.query("age")  # the tree does not matter for it
    np.testing.assert_allclose(ages.cdf([30.0, 65.0]), net["age"].cdf([30.0, 65.0]), rtol=1e-12)
    marginals = net.marginals({"sick": True})
    np.testing.assert_allclose(
        marginals["place"].probabilities, net.query("place", {"sick": True}).probabilities
    )
    with pytest.raises(UnsupportedModelError, match="'age'"):
        marginals["age"]
    assert re.search("^  age +no exact answer$", repr(marginals), re.MULTILINE)
    gaussian = bg.BayesianNetwork([bg.GaussianCPD(AGE, 50.0, 100.0), *network().cpds[1:]])
    assert gaussian.query("age").mean == pytest.approx(50.0)  # the tree does not matter for it
    with pytest.raises(UnsupportedModelError, match="'age'"):
        gaussian.query("age", {"sick": True})


def test_continuous_parents_with_other_ties_are_refused_unless_observed():
    dose = bg.GaussianCPD(DOSE, 0.0, 1.0, [AGE], [0.1])
    cpd = bg.models.TreesCPD(SICK, bg.Split(DOSE, 0.0, [0.9, 0.1], [0.2, 0.8]), [DOSE])
    below = bg.BayesianNetwork([bg.GaussianCPD(AGE, 50.0, 100.0), dose, cpd])
    assert below.query("sick", {"dose": 1.0})[True] == pytest.approx(0.8)
    for ask in (below.query, below.plan):
        with pytest.raises(UnsupportedModelError, match="'dose'"):
            ask("sick")
    with pytest.raises(UnsupportedModelError, match="'dose'"):
        below.query_rows("sick", {"dose": [1.0, None]})
    shared = bg.BayesianNetwork([*network().cpds, dose])
    with pytest.raises(UnsupportedModelError, match="'age'"):
        shared.query("sick", {"dose": 1.0})
    assert shared.query("sick", {"age": 30.0, "dose": 1.0})[True] == pytest.approx(0.1)
    # Where the other tie does not matter it is no tie.
    assert shared.query("sick")[True] == pytest.approx(network().query("sick")[True])


def test_a_factor_graph_refuses_free_continuous_parents():
    graph = bg.FactorGraph.of(network())
    expected = network().query("sick", {"age": 50.0})[True]
    assert graph.query("sick", {"age": 50.0})[True] == pytest.approx(expected)
    with pytest.raises(UnsupportedModelError, match="'age'"):
        graph.query("sick")


def test_a_parent_that_no_split_asks_may_stay_free():
    cpd = bg.models.TreesCPD(SICK, bg.Split(PLACE, ["a"], [0.8, 0.2], [0.4, 0.6]), [DOSE, PLACE])
    net = bg.BayesianNetwork(
        [
            bg.GaussianCPD(AGE, 50.0, 100.0),
            bg.GaussianCPD(DOSE, 0.0, 1.0, [AGE], [0.1]),
            bg.TableCPD(PLACE, [0.5, 0.3, 0.2]),
            cpd,
        ]
    )
    assert net.query("sick")[True] == pytest.approx(0.4)


# ------------------------------------------------------------------------------------- drawing


def test_samples_follow_the_tree():
    net = network()
    rows = net.sample(20_000, random_state=0)
    cpd = net["sick"]
    for place in PLACE.states:
        for low, high in ((-np.inf, 40), (40, 60), (60, np.inf)):
            at = (rows["place"] == place) & (rows["age"] > low) & (rows["age"] <= high)
            middle = {AGE: max(min(high, 100) - 1, low + 1), PLACE: PLACE.index(place)}
            expected = cpd.trees.values[cpd.trees.below[reached(cpd, middle)], 1]
            assert rows["sick"][at].mean() == pytest.approx(expected, abs=0.03)
    weighted = net.weighted_samples("age", {"sick": True}, n=2000, random_state=0)
    assert weighted.n_samples == 2000


def test_what_is_impossible_is_not_drawn():
    cpd = bg.models.TreesCPD(SICK, bg.Split(PLACE, ["a"], [1.0, 0.0], [0.0, 1.0]), [PLACE])
    codes = np.array([0, 1, 2] * 500)
    drawn = cpd.sample({PLACE: codes}, 1500, np.random.default_rng(0))
    np.testing.assert_array_equal(drawn, codes > 0)


# ----------------------------------------------------------------------------- many-way splits


def three_ways(*, continues):
    """Return a tree of two splits of three branches, or the same tree of binary splits."""
    b = bg.Split("place", ["c"], [0.5, 0.5], [0.4, 0.6], continues)
    a = bg.Split("place", ["a"], [0.8, 0.2], b)
    return tree(bg.Split("age", 40.0, a, bg.Split(AGE, 60.0, [0.3, 0.7], [0.1, 0.9], continues)))


def test_many_way_splits_answer_as_binary_ones():
    joined, binary = (three_ways(continues=value) for value in (True, False))
    assert joined != binary
    assert (joined.trees.depth, binary.trees.depth) == (2, 3)
    assert len(joined.trees.levels) == len(binary.trees.levels) == 3
    assert joined.trees.heads.tolist() == [0, 1, 0, 3, 1, 5, 6, 7, 8]
    ours, theirs = network(joined), network(binary)
    oracle = TreeOracle(ours)
    for evidence in ({}, {"age": 50.0}, {"place": "b"}, {"age": 10.0, "place": "c"}):
        found = ours.query("sick", evidence).probabilities
        np.testing.assert_array_equal(found, theirs.query("sick", evidence).probabilities)
        np.testing.assert_allclose(found, oracle.posterior(["sick"], evidence), atol=1e-12)


def test_branches_of_many_way_splits_are_named():
    title, _, *lines = repr(three_ways(continues=True)).splitlines()
    assert title.endswith("5 leaves, depth 2")
    assert [line.split("  ")[1] for line in lines] == [
        "age ≤ 40 and place = a",
        "40 < age ≤ 60",
        "age > 60",
        "age ≤ 40 and place = c",
        "age ≤ 40 and place = b",
    ]


# -------------------------------------------------------------------------------------- errors


def flat(**changes):
    whole = {
        "roots": [0],
        "feature": [0, -1, 1, -1, -1],
        "states": [[0], [0], [1], [0], [0]],
        "below": [1, 0, 3, 1, 2],
        "values": [[0.9, 0.1], [0.8, 0.2], [0.4, 0.6]],
        "groups": [[], [0, 1, 2]],
        "threshold": [40.0, 0, 0, 0, 0],
    }
    arrays = {
        name: np.array(value) for name, value in {**whole, **changes}.items() if name != "groups"
    }
    groups = tuple(np.array(group, int) for group in {**whole, **changes}["groups"])
    return bg.models.Trees(**arrays, groups=groups)


BAD_TREES = {
    "lengths": ({"threshold": [1.0]}, r"threshold takes shape \(5,\); got \(1,\)"),
    "leaf shape": (
        {"values": np.ones((3, 3)) / 3},
        r"each of the 2 .*shape \(3, 3\)",
    ),
    "fractions": ({"feature": [0.5, -1, 1, -1, -1]}, "feature takes values of int32"),
    "unknown parent": ({"feature": [2, -1, 1, -1, -1]}, "positions among the 2 parents.*got 2"),
    "backward": ({"below": [1, 0, 1, 1, 2]}, "later node that.*got 1 at node 2"),
    "outside": ({"below": [1, 0, 4, 1, 2]}, "later node that.*got 4 at node 2"),
    "no threshold": ({"threshold": []}, "'age' needs a finite threshold"),
    "threshold": ({"threshold": [np.nan, 0, 0, 0, 0]}, "'age' needs a finite threshold"),
    "all left": (
        {"states": [[0], [0], [7], [0], [0]]},
        "some of the 3 states of 'place' left and some right; that at node 2",
    ),
    "a word too many": ({"states": [[0, 0]] * 5}, r"shape \(5, 1\); got \(5, 2\)"),
    "a word too few": ({"groups": [[], [0, 1, 64]]}, r"shape \(5, 2\); got \(5, 1\)"),
    "groups of a number": ({"groups": [[0], [0, 1, 2]]}, r"each state of each parent, \[0, 3\]"),
    "negative": ({"values": [[1.1, -0.1], [0.8, 0.2], [0.4, 0.6]]}, "non-negative.*in row 0"),
    "sum": ({"values": [[0.9, 0.1], [0.8, 0.1], [0.4, 0.6]]}, "row 1 sum to 0.9, not to 1"),
    "counts": ({"counts": [1.0, -1.0, 1, 1, 1]}, "counts takes finite"),
    "left of": ({"continues": [0, 1, 0, 0, 0]}, "that at node 1 does not"),
    "another parent": ({"continues": [0, 0, 1, 0, 0]}, "on the same parent.*at node 2 does not"),
    "descending": (
        {
            "feature": [0, -1, 0, -1, -1],
            "threshold": [40.0, 0, 40.0, 0, 0],
            "continues": [False, False, True, False, False],
        },
        "a greater threshold.*at node 2",
    ),
}


@pytest.mark.parametrize(("changes", "message"), BAD_TREES.values(), ids=BAD_TREES)
def test_arrays_that_are_no_tree(changes, message):
    with pytest.raises(CPDError, match=message):
        tree(flat(**changes))


def test_flat_and_nested_trees_are_the_same():
    nested = bg.Split("age", 40.0, [0.9, 0.1], bg.Split("place", ["a"], [0.8, 0.2], [0.4, 0.6]))
    assert tree(flat()) == tree(nested)
    # Thresholds and states where they mean nothing are not part of the value.
    assert tree(flat(threshold=[40.0, 7, 8, 9, np.nan])) == tree(nested)


@pytest.mark.parametrize(
    ("splits", "error", "message"),
    [
        (bg.Split("agee", 1.0, [1, 0], [0, 1]), KeyError, "no variable 'agee'.*Did you mean 'age'"),
        (bg.Split("age", "old", [1, 0], [0, 1]), ValueError, "takes a number; got 'old'"),
        (bg.Split("place", "a", [1, 0], [0, 1]), CPDError, r"Write \['a'\]"),
        (bg.Split("place", ["d"], [1, 0], [0, 1]), KeyError, "no state 'd'"),
        (bg.Split("place", ["a", "b", "c"], [1, 0], [0, 1]), CPDError, "some of the 3 states"),
        (
            bg.Split("place", ["a"], [1, 0], bg.Split("place", ["a"], [1, 0], [0, 1], True)),
            CPDError,
            "other states; that at node 2",
        ),
        (
            bg.Split("place", ["a"], [1, 0], bg.Split("place", ["b", "c"], [1, 0], [0, 1], True)),
            CPDError,
            "other states; that at node 2",
        ),
        ([0.5, 0.4, 0.1], CPDError, "takes shape .2,."),
        ("leaf", CPDError, "takes numbers .*leaf"),
    ],
)
def test_splits_that_do_not_fit(splits, error, message):
    with pytest.raises(error, match=message):
        tree(splits)


def test_families_that_do_not_fit():
    with pytest.raises(CPDError, match=r"'age', which is continuous.*leaf"):
        bg.models.TreesCPD(AGE, [1.0], [PLACE])
    with pytest.raises(CPDError, match="must all differ"):
        bg.models.TreesCPD(SICK, [0.5, 0.5], [PLACE, PLACE])


# ------------------------------------------------------------------------------ rare branches

POS = bg.Discrete("b", ["pos", "neg"])


@pytest.mark.parametrize("z", [6.0, 8.0, 8.3, 40.0, -40.0])
@pytest.mark.parametrize("turned", [False, True])
def test_the_tail_of_a_number_keeps_its_digits(z, turned):
    t = bg.Continuous("t")
    leaves = [[0, 1], [0.5, 0.5]][:: -1 if turned else 1]
    root = bg.GaussianCPD(t, 0.0, 1.0)
    net = bg.BayesianNetwork([root, bg.models.TreesCPD(POS, bg.Split(t, z, *leaves), [t])])
    expected = math.log(0.5) + scipy.special.log_ndtr(z if turned else -z)
    assert net.log_probability({"b": "pos"}) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("family", ["gamma", "exponential", "student", "kernel"])
def test_numbers_of_any_family_are_summed_out(family):
    t, at = bg.Continuous("t"), {"gamma": 800.0, "exponential": 800.0}.get(family, 5.0)
    root, expected = {
        "gamma": (bg.GammaCPD(t, 2.0, 1.0), math.log1p(800) - 800),
        "exponential": (bg.models.ExponentialCPD(t, 2.0), -1600.0),
        "student": (bg.models.StudentCPD(t, 0.0, 1.0, 4.0), stats.t(4).logsf(5)),
        "kernel": (
            bg.models.KernelDensityCPD(t, [0.0], [1.0], 1, 0.5),
            scipy.special.log_ndtr(-10),
        ),
    }[family]
    net = bg.BayesianNetwork(
        [root, bg.models.TreesCPD(POS, bg.Split(t, at, [0, 1], [0.5, 0.5]), [t])]
    )
    found = net.log_probability({"b": "pos"})
    assert found == pytest.approx(math.log(0.5) + expected, rel=1e-12)


@pytest.mark.parametrize("p", [1e-12, 1e-17, 1e-300])
def test_a_rare_state_keeps_its_digits_on_either_side(p):
    d, c = bg.Discrete("d", ["well", "ill"]), bg.Discrete("c", [0, 1])
    for states, leaves in ((["well"], ([0, 1], [0.5, 0.5])), (["ill"], ([0.5, 0.5], [0, 1]))):
        tree = bg.models.TreesCPD(POS, bg.Split(d, states, *leaves), [d])
        below = bg.TableCPD(c, [[0.2, 0.8], [0.3, 0.7]], [POS])
        net = bg.BayesianNetwork([bg.TableCPD(d, [1 - p, p]), tree, below])
        assert net.log_probability({"b": "pos"}) == pytest.approx(math.log(p / 2), rel=1e-13)
        assert net.query("d", {"b": "pos"})["ill"] == pytest.approx(1.0)
        # Of the two questions of a sensitivity only one sums the root inside the tree.
        found = net.ask.sensitivity("d", "ill", {"c": 0}).posterior
        assert found == pytest.approx(net.query("d", {"c": 0})["ill"], rel=1e-12)
        assert abs(net.ask.conflict({"d": "ill", "b": "pos"}).measure - math.log(p)) < 1e-9


def test_two_tails_whose_product_underflows():
    t, u = bg.Continuous("t"), bg.Continuous("u")
    split = bg.Split(t, 30.0, [0, 1], bg.Split(u, 30.0, [0, 1], [1, 0]))
    roots = [bg.GaussianCPD(t, 0.0, 1.0), bg.GaussianCPD(u, 0.0, 1.0)]
    net = bg.BayesianNetwork([*roots, bg.models.TreesCPD(POS, split, [t, u])])
    expected = 2 * scipy.special.log_ndtr(-30.0)
    assert net.log_probability({"b": "pos"}) == pytest.approx(expected, rel=1e-13)
    evidence = {"t": [math.nan] * 2 + [31.0], "u": [math.nan, 31.0, 31.0], "b": ["pos"] * 3}
    found = net._log_evidence_rows(bg.core.Evidence(3, _encoded(net, evidence)))
    density = stats.norm.logpdf(31.0)
    rows = [expected, expected / 2 + density, 2 * density]
    np.testing.assert_allclose(found, rows, rtol=1e-13)


def _encoded(net, evidence):
    return {
        v: np.array([v.encode(x) if x == x else x for x in evidence[v.name]]) for v in net.variables
    }


# ------------------------------------------------------------------------------------- kernels


def test_kernels_equal_plain_python():
    random = np.random.default_rng(0)
    for seed in range(8):
        net = random_tree_network(seed)
        cpd = net["c"]
        rows = net.sample(30, random_state=seed, frame="dict")
        columns = {p: np.array([p.encode(v.item()) for v in rows[p.name]]) for p in cpd.parents}
        points = [{p: column[i] for p, column in columns.items()} for i in range(30)]
        trees, expected = cpd.trees, [reached(cpd, point) for point in points]
        leaves = trees.below[expected]
        codes = trees.codes(np.arange(len(columns)), list(columns.values()), 30)
        share = np.full((2, trees.n_nodes), np.nan)
        amounts = random.normal(size=(30, 2))
        out = np.zeros((len(trees.values), 2))
        trees.spread(codes, share, amounts, out)
        sums = np.zeros_like(out)
        np.add.at(sums, leaves, amounts)
        np.testing.assert_allclose(out, sums)
        log_values = cpd.potential(Evidence(30, columns)).log_values
        np.testing.assert_array_equal(log_values, log_of(trees.values)[leaves])
