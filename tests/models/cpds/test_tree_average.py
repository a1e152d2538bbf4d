import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from oracle import Oracle
from tree_oracle import average_at, average_table, is_average
from tree_oracle import random_average as random_cpd
from tree_oracle import random_average_network as random_network

import bayesgraph as bg
from bayesgraph.core import Evidence
from bayesgraph.core.errors import CPDError, FileFormatError
from bayesgraph.models import MISSING, tree_kernels

# Rows that are sent down the trees together.
BLOCK = 32 * 64


def oracle(network):
    cpds = [average_table(c) if is_average(c) else c for c in network.cpds]
    return Oracle.of(bg.BayesianNetwork(cpds))


def drawn_columns(random, cpd, n, share=1.0):
    return {
        p: np.where(random.random(n) < share, random.integers(p.cardinality, size=n), -1)
        for p in cpd.parents
    }


# ------------------------------------------------------------------------------------ potentials


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_rows", [1, 7, 19, 200])
def test_rows_reach_the_leaves_that_a_walk_reaches(seed, n_rows):
    cpd, random = random_cpd(seed), np.random.default_rng(seed)
    columns = drawn_columns(random, cpd, n_rows)
    found = np.exp(cpd.potential(Evidence(n_rows, columns)).log_values)
    for i in range(n_rows):
        expected = average_at(cpd, {p: int(column[i]) for p, column in columns.items()})
        np.testing.assert_allclose(found[i], expected, atol=1e-15)


def test_the_child_may_be_observed_in_some_rows():
    cpd, random = random_cpd(3), np.random.default_rng(3)
    columns = drawn_columns(random, cpd, 20)
    child = random.integers(-1, 3, size=20)
    logs = cpd.potential(Evidence(20, {**columns, cpd.variable: child})).log_values
    for i in range(20):
        shares = average_at(cpd, {p: int(column[i]) for p, column in columns.items()})
        expected = 1.0 if child[i] < 0 else shares[child[i]]
        np.testing.assert_allclose(np.exp(logs[i]), expected, atol=1e-15)


def test_free_parents_stay_in_the_factor():
    cpd = random_cpd(4)
    table = average_table(cpd).values
    free = np.exp(cpd.potential(Evidence(1, {})).log_values[0])
    np.testing.assert_allclose(free, table, atol=1e-15)
    one = {cpd.parents[2]: np.array([3, 0])}
    some = np.exp(cpd.potential(Evidence(2, one)).log_values)
    np.testing.assert_allclose(some[0], table[:, :, 3], atol=1e-15)
    np.testing.assert_allclose(some[1], table[:, :, 0], atol=1e-15)


def test_many_rows_answer_as_single_ones():
    cpd, random = random_cpd(5, n_trees=2), np.random.default_rng(5)
    n = 2 * BLOCK + 13
    columns = drawn_columns(random, cpd, n)
    whole = cpd.potential(Evidence(n, columns)).log_values
    rows = [0, 7, BLOCK - 1, BLOCK, n - 14, n - 1]
    part = cpd.potential(Evidence(len(rows), {p: c[rows] for p, c in columns.items()}))
    np.testing.assert_array_equal(whole[rows], part.log_values)
    for row in rows:
        one = cpd.potential(Evidence(1, {p: c[[row]] for p, c in columns.items()}))
        np.testing.assert_array_equal(whole[[row]], one.log_values)


def test_the_leaves_of_many_trees_are_added_in_their_order():
    """Some trees here are leaves."""
    cpd, random = random_cpd(6, n_trees=300, depth=3), np.random.default_rng(6)
    assert (cpd.trees.feature[cpd.trees.roots] < 0).any()
    columns = drawn_columns(random, cpd, 300)
    whole = cpd.potential(Evidence(300, columns)).log_values
    for n in (1, 5, 19, 21):
        part = cpd.potential(Evidence(n, {p: c[:n] for p, c in columns.items()}))
        np.testing.assert_array_equal(part.log_values, whole[:n])


@pytest.mark.parametrize(("depth", "n_leaves"), [(5, (2, 255)), (11, (256, 65535))])
def test_rows_that_lack_the_same_parents_answer_as_single_ones(depth, n_leaves):
    cards = (9, 4, 1, 12, 7, 2)
    cpd = random_cpd(8, cards, n_trees=6, depth=depth)
    trees, random, n = cpd.trees, np.random.default_rng(8), 1300
    ends = [*trees.roots[1:], len(trees.feature)]
    most = max((b - a + 1) // 2 for a, b in zip(trees.roots, ends, strict=True))
    assert n_leaves[0] <= most <= n_leaves[1]
    codes = cpd.trees.codes(np.arange(6), np.array([random.integers(k, size=n) for k in cards]), n)
    # Rows that lack nothing, two kinds of many rows that lack parents, and rows like no others.
    kind = random.integers(3, size=n)
    codes[1, kind == 1], codes[0, kind == 2] = MISSING, MISSING
    codes[3, kind == 2] = MISSING
    codes[:, :9][random.random((6, 9)) < 0.5] = MISSING
    sizes = [int(g.max()) + 1 for g in trees.groups]
    shares = {j: random.dirichlet(np.ones(size)) for j, size in enumerate(sizes)}
    shares[0][0] = 0.0
    share = trees.log_shares(shares)
    found = trees.means(codes, share)
    for row in range(0, n, 7):
        np.testing.assert_array_equal(found[[row]], trees.means(codes[:, [row]], share))
    other = trees.log_shares({j: share[::-1] for j, share in shares.items()})
    again = trees.means(codes, other)
    assert (again != found).any()
    np.testing.assert_array_equal(again[[7]], trees.means(codes[:, [7]], other))


@pytest.mark.parametrize("n", [150, 2051])
def test_rows_that_go_down_together_have_the_same_bits(n):
    cards = (9, 4, 1, 12, 7, 2)
    cpd, random = random_cpd(8, cards, n_trees=6, depth=9), np.random.default_rng(8)
    codes = cpd.trees.codes(np.arange(6), np.array([random.integers(k, size=n) for k in cards]), n)
    codes[1, : n // 3] = MISSING
    share = cpd.trees.log_shares({1: np.full(4, 0.25)})
    together = cpd.trees.means(codes, share)
    for row in (0, n // 3 - 1, n // 3, n - 1):
        np.testing.assert_array_equal(together[[row]], cpd.trees.means(codes[:, [row]], share))


def test_parents_without_splits_may_be_missing():
    cards = (5, 4, 6)
    cpd, random = random_cpd(9, cards), np.random.default_rng(9)
    used = np.flatnonzero(cpd.trees.feature == 1)
    states = cpd.trees.states.copy()
    # Splits on the second parent become splits on the first one.
    feature = cpd.trees.feature.copy()
    feature[used], states[used] = 0, 1
    trees = replace(cpd.trees, feature=feature, states=states)
    codes = cpd.trees.codes(
        np.arange(3), np.array([random.integers(k, size=400) for k in cards]), 400
    )
    lacking = codes.copy()
    lacking[1, ::2] = MISSING
    share = trees.log_shares({})
    np.testing.assert_array_equal(trees.means(lacking, share), trees.means(codes, share))


def test_leaves_may_share_a_distribution():
    shared = made(below=[1, 0, 3, 1, 0, 1], values=GOOD["values"][:2])
    alone = made(values=[GOOD["values"][k] for k in (0, 1, 0, 1)])
    assert shared.n_parameters == alone.n_parameters == 4
    np.testing.assert_array_equal(average_table(shared).values, average_table(alone).values)
    for evidence in (Evidence(1, {}), Evidence(1, {shared.parents[0]: np.array([2])})):
        np.testing.assert_array_equal(
            shared.potential(evidence).log_values, alone.potential(evidence).log_values
        )


# --------------------------------------------------------------------------------------- networks

EVIDENCE = (
    {},
    {"f0": 1},
    {"f0": 2, "f1": 0, "f2": 1, "f3": 1},
    {"f2": 3, "d": "yes"},
    {"above": "no", "f0": 0},
    {"f0": [0.2, 0.5, 0.3], "f2": 0},
    {"f2": [0.1, 0.0, 0.7, 0.2], "d": "no"},
)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("evidence", EVIDENCE)
@pytest.mark.parametrize("seed", range(3))
def test_missing_roots_are_summed_out(seed, evidence):
    network = random_network(seed)
    whole = oracle(network)
    for target in ("c", "d", "f1", "f3"):
        if target not in evidence:
            np.testing.assert_allclose(
                network.query(target, evidence).probabilities,
                whole.posterior([target], evidence),
                atol=1e-12,
            )
    two = [name for name in ("c", "f3") if name not in evidence]
    np.testing.assert_allclose(
        network.query(two, evidence).probabilities, whole.posterior(two, evidence), atol=1e-12
    )


def test_rows_with_missing_values_equal_single_queries():
    network, random = random_network(7), np.random.default_rng(7)
    whole = oracle(network)
    cpd = next(c for c in network.cpds if isinstance(c, bg.models.TreesCPD))
    columns = drawn_columns(random, cpd, 40, share=0.6)
    logs = network._log_posterior_rows(cpd.variable, Evidence(40, columns))
    for i, row in enumerate(logs):
        evidence = {p.name: int(c[i]) for p, c in columns.items() if c[i] >= 0}
        shares = np.exp(row - row.max())
        np.testing.assert_allclose(
            shares / shares.sum(), whole.posterior(["c"], evidence), atol=1e-12
        )


@pytest.mark.parametrize("n_rows", [1, 200])
def test_rare_states_keep_their_digits_on_either_side(n_rows):
    d, c = bg.Discrete("d", ["well", "ill"]), bg.Discrete("c", [0, 1])
    # One tree sends the rare state right, the other one left.
    trees = bg.models.Trees(
        np.array([0, 3]), np.array([0, -1, -1, 0, -1, -1]), np.array([[1, 0, 0, 2, 0, 0]]).T,
        np.array([1, 0, 1, 4, 1, 0]), np.array([[1.0, 0.0], [0.25, 0.75]]), (np.array([0, 1]),),
    )  # fmt: skip
    for p in (1e-12, 1e-17, 1e-300):
        net = bg.BayesianNetwork([bg.TableCPD(d, [1 - p, p]), bg.models.TreesCPD(c, trees, [d])])
        columns = {d: np.full(n_rows, -1), c: np.ones(n_rows, dtype=np.int64)}
        found = net._log_evidence_rows(Evidence(n_rows, columns))
        np.testing.assert_allclose(found, np.log(0.75) + np.log(p), rtol=1e-13)


def test_a_state_of_probability_zero_is_never_taken():
    c, f = bg.Discrete("c", [0, 1]), bg.Discrete("f", [0, 1, 2])
    trees = bg.models.Trees(
        np.array([0]),
        np.array([0, -1, 0, -1, -1]),
        np.array([[0b001, 0, 0b010, 0, 0]]).T,
        np.array([1, 0, 3, 1, 2]),
        np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]]),
        (np.arange(3),),
    )
    for shares, expected in (([1, 0, 0], 0.1), ([0, 1, 0], 0.6), ([0, 0, 1], 0.8)):
        network = bg.BayesianNetwork([bg.TableCPD(f, shares), bg.models.TreesCPD(c, trees, [f])])
        assert network.query("c").probabilities[1] == pytest.approx(expected, abs=1e-15)


def test_an_average_without_parents():
    trees = bg.models.Trees(
        np.array([0, 1]), np.array([-1, -1]), np.zeros((2, 1), int), np.array([1, 0]),
        np.array([[0.9, 0.1], [0.5, 0.5]]),
    )  # fmt: skip
    network = bg.BayesianNetwork([bg.models.TreesCPD(bg.Discrete("c", [0, 1]), trees)])
    np.testing.assert_allclose(network.query("c").probabilities, [0.7, 0.3])
    assert set(network.sample(9, random_state=0)["c"]) <= {0, 1}


def test_draws_have_the_distribution():
    network = random_network(8, cards=(2, 2, 2), n_states=2)
    n = 20_000
    draws = network.sample(n, random_state=0)
    joint = oracle(network).posterior(["c", "f0", "f1"])
    for codes in np.ndindex(*joint.shape):
        names = zip(("c", "f0", "f1"), codes, strict=True)
        own = np.all([np.asarray(draws[name]) == code for name, code in names], axis=0)
        assert own.mean() == pytest.approx(joint[codes], abs=0.02)


# ---------------------------------------------------------------------- equality, files, printing


def test_equal_are_those_of_equal_arrays():
    cpd, other = random_cpd(1), random_cpd(2)
    assert cpd == random_cpd(1)
    assert cpd != other
    values = cpd.trees.values.copy()
    values[0] = np.roll(values[0], 1)
    assert cpd != bg.models.TreesCPD(cpd.variable, replace(cpd.trees, values=values), cpd.parents)


def test_pickles_and_copies_answer_alike():
    network = random_network(9)
    before = network.query("c", {"f0": 1}).probabilities
    for other in (pickle.loads(pickle.dumps(network)), copy.deepcopy(network)):
        assert other.cpds == network.cpds
        np.testing.assert_array_equal(other.query("c", {"f0": 1}).probabilities, before)


def test_files_keep_every_byte(tmp_path):
    network = random_network(10)
    network.save(tmp_path / "a.bayesgraph")
    found = bg.load(tmp_path / "a.bayesgraph")
    assert found.cpds == network.cpds
    found.save(tmp_path / "b.bayesgraph")
    assert (tmp_path / "a.bayesgraph").read_bytes() == (tmp_path / "b.bayesgraph").read_bytes()


def test_files_hold_averages_of_different_sizes(tmp_path):
    one, two = random_network(3), random_network(4, n_trees=400)
    cpds = [c for n in (one, two) for c in n.cpds if isinstance(c, bg.models.TreesCPD)]
    assert len({cpd.to_arrays()["below"].dtype for cpd in cpds}) == 2
    average = bg.Ensemble([one, two], combine="posterior")
    average.save(tmp_path / "a.bayesgraph")
    assert bg.load(tmp_path / "a.bayesgraph") == average


def test_files_take_few_bytes_for_small_numbers():
    cpd = random_cpd(4)
    kinds = {name: array.dtype.itemsize for name, array in cpd.to_arrays().items()}
    assert kinds["feature"] == kinds["states"] == 1
    assert bg.models.TreesCPD.from_arrays([cpd.variable], cpd.parents, cpd.to_arrays()) == cpd


def test_it_prints_its_size_and_its_splits():
    cpd = random_cpd(0)
    text = str(cpd)
    assert "5 trees with" in text
    assert "splits deep" in text
    assert text.startswith("TreesCPD P(c | f0, f1, f2, f3)")


# ------------------------------------------------------------------------------- malformed arrays

# Two trees: a split on f and on g, and a leaf.
GOOD = {
    "roots": [0, 5],
    "feature": [0, -1, 1, -1, -1, -1],
    "states": [[0b001], [0], [0b10], [0], [0], [0]],
    "below": [1, 0, 3, 1, 2, 3],
    "values": [[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.5, 0.5]],
    "groups": [[0, 1, 1], [0, 1]],
}
BAD = {
    "an axis too many": {"feature": [[0, -1, 1, -1, -1, -1]]},
    "floats": {"below": [1.0, 0, 3, 1, 2, 3]},
    "text": {"feature": ["0"] * 6},
    "complex": {"values": [[0.9j, 0.1]] * 4},
    "too large": {"below": [1, 0, 2**40, 1, 2, 3]},
    "a negative group": {"groups": [[0, -1, 1], [0, 1]]},
    "fewer states": {"states": [[1], [0], [2], [0], [0]]},
    "fewer nodes below": {"below": [1, 0, 3, 1, 2]},
    "no tree": {"roots": []},
    "an unknown parent": {"feature": [0, -1, 2, -1, -1, -1]},
    "a negative parent": {"feature": [0, -1, -2, -1, -1, -1]},
    "a split below itself": {"below": [1, 0, 2, 1, 2, 3]},
    "an earlier node below": {"below": [1, 0, 0, 1, 2, 3]},
    "nothing below": {"below": [1, 0, 5, 1, 2, 3]},
    "a node below two": {"below": [1, 0, 4, 1, 2, 3]},
    "a root below another": {"roots": [0, 4]},
    "a root twice": {"roots": [0, 0]},
    "a root too many": {"roots": [0, 5, 5]},
    "a root too large": {"roots": [0, 6]},
    "a negative root": {"roots": [0, -1]},
    "a leaf of no row": {"below": [1, 0, 3, 1, 2, 4]},
    "a leaf of a negative row": {"below": [1, -1, 3, 1, 2, 3]},
    "a row of two leaves, and one of none": {"below": [1, 0, 3, 1, 2, 2]},
    "a row of no leaf": {"values": [*GOOD["values"], [0.5, 0.5]]},
    "fewer groups": {"groups": [[0, 1, 1], [0]]},
    "too many groups": {"groups": [[0, 64, 1], [0, 1]]},
    "all go left": {"states": [[0b011], [0], [0b10], [0], [0], [0]]},
    "all go right": {"states": [[0b100], [0], [0b10], [0], [0], [0]]},
    "a state too many": {"values": [[0.9, 0.1, 0.0]] * 4},
    "a negative probability": {"values": [[1.1, -0.1], *GOOD["values"][1:]]},
    "not a number": {"values": [[np.nan, 1.0], *GOOD["values"][1:]]},
    "no distribution": {"values": [[0.9, 0.2], *GOOD["values"][1:]]},
}


def made(**arrays):
    f, g, c = bg.Discrete("f", [0, 1, 2]), bg.Discrete("g", [0, 1]), bg.Discrete("c", [0, 1])
    whole = GOOD | arrays
    groups = tuple(np.array(group) for group in whole["groups"])
    trees = bg.models.Trees(
        **{name: np.array(a) for name, a in whole.items() if name != "groups"}, groups=groups
    )
    return bg.models.TreesCPD(c, trees, [f, g])


def test_good_arrays_are_taken():
    cpd = made()
    assert cpd.trees.depth == 2
    arrays = [getattr(cpd.trees, name) for name in GOOD if name != "groups"]
    assert not any(array.flags.writeable for array in [*arrays, *cpd.trees.groups])


@pytest.mark.parametrize("name", BAD)
def test_malformed_arrays_are_refused(name):
    with pytest.raises(CPDError, match="TreesCPD"):
        made(**BAD[name])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", BAD)
def test_malformed_arrays_in_files_are_refused(name, tmp_path, monkeypatch):
    cpd = made()
    roots = [bg.TableCPD(p, np.full(p.cardinality, 1 / p.cardinality)) for p in cpd.parents]
    network = bg.BayesianNetwork([*roots, cpd])
    bad = {
        key: np.concatenate(array) if key == "groups" else np.array(array)
        for key, array in BAD[name].items()
    }
    if any(array.dtype.kind not in "biuf" for array in bad.values()):
        pytest.skip("Files hold no such arrays.")
    arrays = cpd.to_arrays() | bad
    monkeypatch.setattr(bg.models.TreesCPD, "to_arrays", lambda self: arrays)
    network.save(tmp_path / "a.bayesgraph")
    with pytest.raises(FileFormatError):
        bg.load(tmp_path / "a.bayesgraph")


def test_the_mean_of_trees_that_split_numbers():
    x, f, c = bg.Continuous("x"), bg.Discrete("f", range(70)), bg.Discrete("c", [0, 1])
    split = bg.Split(f, [3, 69], bg.Split(x, -1.0, [0.9, 0.1], [0.5, 0.5]), [0.2, 0.8])
    one, two = (
        bg.models.TreesCPD(c, s, [x, f]) for s in (split, bg.Split(x, 0.5, [0.4, 0.6], split))
    )
    a, b = one.trees, two.trees
    below = np.where(b.feature < 0, b.below + len(a.values), b.below + a.n_nodes)
    both = bg.models.Trees(
        np.array([0, a.n_nodes]), np.append(a.feature, b.feature), np.vstack([a.states, b.states]),
        np.append(a.below, below), np.vstack([a.values, b.values]), a.groups,
        np.append(a.threshold, b.threshold),
    )  # fmt: skip
    cpds = [bg.GaussianCPD(x, 0.0, 1.0), bg.TableCPD(f, np.full(70, 1 / 70))]
    rows = {"x": [-2.0, 0.0, 2.0, None, None, 0.1], "f": [3, 69, 4, 5, None, None]}
    found, *parts = (
        bg.BayesianNetwork([*cpds, cpd]).query_rows("c", rows)
        for cpd in (bg.models.TreesCPD(c, both, [x, f]), one, two)
    )
    np.testing.assert_allclose(found, np.mean(parts, axis=0), atol=1e-15)
    by_hand = {0: 0.9, 1: 0.5, 2: 0.2, 3: 0.2}
    np.testing.assert_allclose([parts[0][i, 0] for i in by_hand], list(by_hand.values()))
    with pytest.raises(CPDError):
        bg.models.TreesCPD(x, both, [f])


# ------------------------------------------------------------------------------------------ tiers


@pytest.mark.parametrize("lanes", [(0,), tuple(range(8))])
def test_both_tiers_give_the_same_bits(lanes):
    cpd, random = random_cpd(11), np.random.default_rng(11)
    trees = cpd.trees
    states = np.array(list(drawn_columns(random, cpd, 150, share=0.8).values()))
    codes = trees.codes(np.arange(len(states)), states, 150)
    shares = np.zeros((len(cpd.parents) + 1, 4))
    shares[:-1] = random.dirichlet(np.ones(4), size=len(cpd.parents))
    wanted = np.arange(len(shares)) != 1
    found = []
    for tier in ("interpreted", "compiled"):
        share = np.full((2, trees.n_nodes), np.nan)
        getattr(tree_kernels.branches_of, tier)(wanted, shares, trees.arrays, share)
        out, rare = np.zeros((150, 3)), np.full((150, 3), -np.inf)
        logs = np.log(share, where=share > 0, out=np.full(share.shape, -np.inf))
        walked = trees.roots, trees.arrays, logs, trees.values, False, lanes
        getattr(tree_kernels.descend, tier)(out, rare, codes, MISSING, *walked, 0, 150)
        together = np.zeros((150, 3))
        parts = codes, trees.roots, trees.arrays, *trees._splits, trees.values
        getattr(tree_kernels.descend_together, tier)(together, *parts, 0, 150)
        complete = (codes != MISSING).all(axis=0)
        assert complete.any()
        np.testing.assert_array_equal(together[complete], out[complete])
        found.append((share, out))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
