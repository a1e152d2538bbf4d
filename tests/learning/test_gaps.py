"""Learning beside missing cells: columns that few rows have, and families that no row has."""

import warnings
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest

import bayesgraph as bg
from bayesgraph.core.errors import FewRowsWarning
from bayesgraph.learning.information import arc_scores, conditional_mutual_information
from bayesgraph.learning.tree_posterior import tree_posterior
from bayesgraph.statistics import Pairs, Smoothing

CLASSIFIERS = {
    "tan": bg.TANClassifier,
    "candidates": partial(bg.TANClassifier, candidates=3),
    "kdb": bg.KDBClassifier,
    "aode": bg.AODEClassifier,
    "averaged": partial(bg.AveragedTANClassifier, random_state=0),
    "automatic": bg.BayesianNetworkClassifier,
    **{
        name: partial(bg.BayesianNetworkClassifier, name)
        for name in ("hill_climb", "forest", "superparent", "chow_liu", "unrestricted")
    },
    "tabu": partial(bg.BayesianNetworkClassifier, bg.learning.tabu),
    "pc": partial(bg.BayesianNetworkClassifier, bg.learning.pc),
    "likelihood": partial(
        bg.BayesianNetworkClassifier, partial(bg.learning.hill_climb, score="likelihood")
    ),
}
KINDS = ("notes", "number", "constant", "as the class")
# Learners that choose among random trees or by held-out rows: another column changes the choice.
DRAWN = ("averaged", "automatic")


def ill_and_well(n=1500, seed=0, n_features=4):
    """Return columns of two states that depend on the class and the column before, and classes."""
    random = np.random.default_rng(seed)
    y = np.where(random.random(n) < 0.5, "ill", "well")
    columns, before = {}, random.random(n) < 0.5
    for k in range(n_features):
        before = random.random(n) < np.where(y == "ill", 0.65, 0.35) + np.where(before, 0.2, -0.2)
        columns[f"f{k}"] = np.where(before, "u", "v").astype(object)
    return columns, y


def sparse(kind, rows, n, y):
    """Return a column of a kind that only some rows have."""
    if kind == "number":
        column = np.full(n, np.nan)
        column[rows] = np.arange(len(rows)) * 1.7
        return column
    column = np.full(n, None, dtype=object)
    states = {"notes": ["mild", "severe", "other"], "constant": ["x"], "as the class": None}[kind]
    column[rows] = y[rows] if states is None else np.resize(states, len(rows))
    return column


CASES = [
    case
    for case in product(CLASSIFIERS, (True, False), (1, 3, 8), KINDS)
    if case[0] != "automatic" or case[1:3] == (True, 3)  # it takes long
]


@pytest.mark.parametrize(("name", "first", "n_rows", "kind"), CASES)
def test_a_column_of_few_rows_changes_nothing_for_others(name, first, n_rows, kind):
    columns, y = ill_and_well()
    rows = np.random.default_rng(1).choice(len(y), n_rows, replace=False)
    new = {"few": sparse(kind, rows, len(y), y)}
    wide = new | columns if first else columns | new
    tests, labels = ill_and_well(seed=2)
    whole = {**tests, "few": np.full(len(labels), np.nan if kind == "number" else None)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bg.errors.SuspiciousColumnsWarning)
        warnings.simplefilter("ignore", bg.errors.EmptyColumnsWarning)
        without = CLASSIFIERS[name]().fit(columns, y)
        model = CLASSIFIERS[name]().fit(wide, y)
        found = model.predict_proba({column: whole[column] for column in wide})
    expected = without.predict_proba(tests)
    if name in DRAWN:
        score = [np.mean(p.argmax(axis=1) == (labels == "well")) for p in (found, expected)]
        assert score[0] > score[1] - 0.01
    else:
        # Tests find eight rows that all agree with the class.
        atol = 0.02 if name == "pc" and kind == "as the class" else 1e-9
        np.testing.assert_allclose(found, expected, atol=atol)


def arcs_of(model):
    """Return the arcs of all networks of a classifier."""
    networks = getattr(model.network_, "networks", [model.network_])
    return {arc for network in networks for arc in network.graph.edges}


LEARNED = [name for name in CLASSIFIERS if name != "automatic"]


@pytest.mark.parametrize("name", LEARNED)
def test_one_value_in_two_odd_rows(name):
    random = np.random.default_rng(0)
    y = np.where(random.random(1000) < 0.5, "ill", "well")
    cat = np.where(random.random(1000) < np.where(y == "ill", 0.9, 0.1), "u", "v").astype(object)
    flag = np.full(1000, None, dtype=object)
    for label, state in (("ill", "v"), ("well", "u")):
        flag[np.flatnonzero((y == label) & (cat == state))[0]] = "x"
    table = {"flag": flag, "cat": cat}
    model = CLASSIFIERS[name]().set_params(check_columns=False).fit(table, y)
    assert model.score(table, y) == np.mean((y == "ill") == (cat == "u"))  # 0.889
    assert not {("flag", "cat"), ("cat", "flag")} & arcs_of(model)


@pytest.mark.parametrize("name", LEARNED)
def test_constant_columns_have_no_learned_arcs(name):
    columns, y = ill_and_well(n=300)
    columns |= {"same": np.full(300, "x"), "zero": np.zeros(300)}
    columns["x"] = np.random.default_rng(1).normal(size=300) + (columns["f0"] == "u")
    model = CLASSIFIERS[name]().set_params(check_columns=False).fit(columns, y)
    ends = {"same", "zero"}
    assert not {arc for arc in arcs_of(model) if ends & set(arc) and "class" not in arc}
    assert ("f0", "x") in arcs_of(model)


def test_required_arcs_of_a_constant_column_stay():
    columns, y = ill_and_well(n=200)
    source = bg.learning.count_source(columns | {"same": np.full(200, "x"), "y": y}, "y")
    arc = ("same", "f1")
    for learner in (
        bg.learning.kdb,
        bg.learning.hill_climb,
        bg.learning.unrestricted,
        bg.learning.tabu,
        bg.learning.pc,
    ):
        assert arc in learner(source, required=[arc]).arcs
    for learner in (bg.learning.tan, partial(bg.learning.tan, candidates=2), bg.learning.chow_liu):
        assert {arc, arc[::-1]} & set(learner(source, required=[arc]).arcs)


@pytest.mark.parametrize("name", ["tan", "kdb", "averaged", "hill_climb", "chow_liu", "aode"])
def test_numbers_of_two_laboratories(name):
    # Measured in alternate rows: nothing is known of how they depend on each other.
    random = np.random.default_rng(0)
    y = np.where(random.random(1000) < 0.5, "ill", "well")
    odd = np.arange(1000) % 2 == 1
    a, b = (random.normal(size=1000) + 1.3 * (y == "ill") for _ in range(2))
    table = {"a": np.where(odd, a, np.nan), "b": np.where(odd, np.nan, b)}
    model, star = CLASSIFIERS[name]().fit(table, y), bg.NaiveBayesClassifier().fit(table, y)
    np.testing.assert_allclose(model.predict_proba(table), star.predict_proba(table), rtol=1e-9)


@pytest.mark.parametrize("method", ["hill_climb", "tabu", "chow_liu", "pc"])
@pytest.mark.parametrize("state", [("x", "x"), ("x", "z")])
@pytest.mark.parametrize("weight", [1.0, 0.37])
def test_networks_keep_the_marginal_of_a_complete_column(method, state, weight):
    random = np.random.default_rng(0)
    cat = np.where(random.random(1000) < 0.9, "u", "v").astype(object)
    flag = np.full(1000, None, dtype=object)
    flag[[np.flatnonzero(cat == "u")[0], np.flatnonzero(cat == "v")[0]]] = state
    weights = np.full(1000, weight)
    for table in ({"flag": flag, "cat": cat}, {"cat": cat, "flag": flag}):
        net = bg.BayesianNetwork.learn(
            table, method=method, sample_weight=weights, check_columns=False
        )
        share = (weight * np.sum(cat == "u") + 1) / (weight * 1000 + 2)
        np.testing.assert_allclose(net.query("cat").probabilities[0], share, rtol=1e-12)


def test_gains_are_those_of_the_rows_with_both_columns():
    columns, y = ill_and_well(n=400)
    random = np.random.default_rng(3)
    for name, share in (("f1", 0.3), ("f2", 0.8)):
        columns[name] = np.where(random.random(400) < share, columns[name], None)
    weights = random.uniform(0.5, 2.0, 400)
    source = bg.learning.count_source(columns | {"y": y}, "y", sample_weight=weights)
    scores = arc_scores(source, source.pairs(Pairs(source.features, source.target)), Smoothing())
    for i, one in enumerate(columns):
        for j, other in enumerate(columns):
            if i == j:
                continue
            there = pd.notna(columns[one]) & pd.notna(columns[other])
            counts = np.zeros((2, 2, 2))
            cells = [
                np.array(c)[there] == s
                for c, s in ((y, "ill"), *((columns[n], "u") for n in (one, other)))
            ]
            np.add.at(counts, tuple(c.astype(int) for c in cells), weights[there])
            gain = float(conditional_mutual_information(counts)) * counts.sum() / weights.sum()
            assert scores.gains[i, j] == pytest.approx(gain, rel=1e-10)
            net = counts.sum() / weights.sum() * 0 + weights.sum() * gain
            net -= 0.5 * np.log(counts.sum()) * 2
            assert scores.net("bic")[i, j] == pytest.approx(net, rel=1e-9, abs=1e-9)
    assert scores.learnable[~np.eye(4, dtype=bool)].all()
    # Rounding errors of sums of weights are no missing cells.
    full = bg.learning.count_source(ill_and_well(n=400)[0] | {"y": y}, "y", sample_weight=weights)
    scores = arc_scores(full, full.pairs(Pairs(full.features, full.target)), Smoothing())
    apart = ~np.eye(4, dtype=bool)
    np.testing.assert_array_equal(scores.total[apart], scores.rows[apart])


@pytest.mark.parametrize("name", ["tan", "kdb", "hill_climb", "aode"])
def test_batches_and_files_are_as_a_table(name, tmp_path):
    options = {
        "kdb": {"k": 1},
        "hill_climb": {"structure": partial(bg.learning.hill_climb, max_parents=1)},
    }
    make = {"hill_climb": bg.BayesianNetworkClassifier, "kdb": bg.KDBClassifier}.get(
        name, CLASSIFIERS[name]
    )
    columns, y = ill_and_well(n=600)
    random = np.random.default_rng(5)
    for column, share in (("f0", 0.01), ("f2", 0.5)):
        columns[column] = np.where(random.random(600) < share, columns[column], None)
    frame = pd.DataFrame(columns)
    whole = make(**options.get(name, {})).fit(frame, y)
    parts = make(**options.get(name, {}))
    for rows in np.array_split(np.arange(600), 4):
        parts.partial_fit(frame.iloc[rows], y[rows], classes=["ill", "well"])
    frame.assign(y=y).to_parquet(tmp_path / "part.parquet")
    files = make(**options.get(name, {})).fit(bg.open_dataset(tmp_path), "y")
    expected = whole.predict_proba(frame)
    for other in (parts, files):
        np.testing.assert_allclose(other.predict_proba(frame), expected, rtol=1e-9)


# --------------------------------------------------------------- distributions beside missing cells


def fitted(arcs, table, **options):
    """Return a network, and the texts of the warnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        net = bg.BayesianNetwork.fit(arcs, table, check_columns=False, **options)
    assert all(issubclass(w.category, FewRowsWarning) for w in told)
    return net, [str(w.message) for w in told]


NUMBERS = 3.0 + np.random.default_rng(0).normal(size=400)
HALF = np.arange(400) < 200


@pytest.mark.parametrize("discrete", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_a_gaussian_that_no_row_has_with_its_parent_is_its_own(discrete, weighted):
    random = np.random.default_rng(1)
    weights = random.uniform(0.2, 3, 400) if weighted else np.ones(400)
    a = random.choice(["p", "q", "r"], 400).astype(object) if discrete else random.normal(size=400)
    a[~HALF] = None if discrete else np.nan
    table = {"a": a, "b": np.where(HALF, np.nan, NUMBERS)}
    net, told = fitted([("a", "b")], table, sample_weight=weights)
    assert len(told) == 1
    assert "'b' given 'a'" in told[0]
    mean = np.average(NUMBERS[~HALF], weights=weights[~HALF])
    variance = np.average((NUMBERS[~HALF] - mean) ** 2, weights=weights[~HALF])
    np.testing.assert_allclose(net["b"].mean, mean)
    np.testing.assert_allclose(net["b"].variance, variance, rtol=1e-6)
    assert not np.asarray(net["b"].coefficients).any()


def test_a_table_that_no_row_has_with_its_parents_is_its_own():
    b = np.where(HALF, None, np.where(NUMBERS > 2.5, "u", "v")).astype(object)
    a, c = (
        np.where(HALF, np.resize(s, 400), None).astype(object) for s in (["p", "q"], ["x", "y"])
    )
    net, told = fitted([("a", "b"), ("c", "b"), ("b", "d")], {"a": a, "c": c, "b": b, "d": b})
    assert len(told) == 1
    assert "'b' given 'a', 'c'" in told[0]
    assert "'d'" not in told[0]
    own = (np.sum(b == "u") + 1) / 202
    np.testing.assert_allclose(net["b"].values[..., 0], own, rtol=1e-12)


def test_the_distribution_in_a_class_that_lacks_the_parent_is_that_of_the_class():
    random = np.random.default_rng(2)
    y = np.where(np.arange(400) % 4 == 0, "ill", "well")
    a = random.choice(["p", "q"], 400).astype(object)
    x = random.normal(size=400)
    b = np.where(a == "p", 5.0, 0.0) + x + random.normal(size=400) + 2 * (y == "ill")
    d = np.where(random.random(400) < np.where(a == "p", 0.9, 0.2), "u", "v")
    a[y == "ill"], x[y == "ill"] = None, np.nan
    structure = [("class", n) for n in "axbd"] + [("a", "b"), ("x", "b"), ("a", "d")]
    table = {"a": a, "x": x, "b": b, "d": d}
    net = bg.BayesianNetworkClassifier(structure).fit(table, y).network_
    star = bg.NaiveBayesClassifier().fit(table, y).network_
    np.testing.assert_allclose(net["d"].values[0], [star["d"].values[0]] * 2, rtol=1e-12)
    np.testing.assert_allclose(
        net["b"].mean[0] + 0 * star["b"].mean[0], star["b"].mean[0], atol=0.6
    )
    # The other class has rows enough: nothing is added to them.
    well = y == "well"
    counts = pd.crosstab(pd.Series(a[well]), pd.Series(d[well])).to_numpy() + 1
    np.testing.assert_allclose(
        net["d"].values[1], counts / counts.sum(axis=1, keepdims=True), rtol=1e-12
    )


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("n_parents", [1, 5])
def test_few_rows_with_all_parents_are_no_exact_plane(n, n_parents):
    random = np.random.default_rng(n)
    table = {
        f"p{i}": np.where(np.arange(400) < n, random.normal(size=400), np.nan)
        for i in range(n_parents)
    }
    net, told = fitted([(name, "b") for name in table], table | {"b": NUMBERS})
    assert not told
    assert net["b"].variance == pytest.approx(NUMBERS.var(), rel=0.05)
    answer = net.query("b")
    assert answer.mean == pytest.approx(NUMBERS.mean(), abs=0.1)
    assert answer.std == pytest.approx(NUMBERS.std(), rel=0.05)


def test_three_whole_rows_and_five_parents():
    random = np.random.default_rng(0)
    table = {name: random.normal(size=3) for name in "abcdey"}
    net, told = fitted([(name, "y") for name in "abcde"], table)
    assert not told
    assert net["y"].variance > 0.01 * table["y"].var()


def test_a_state_that_occurs_only_where_the_child_is_missing():
    random = np.random.default_rng(0)
    a = np.resize(["p", "q", "r"], 600).astype(object)
    b = np.where(random.random(600) < np.where(a == "p", 0.9, 0.8), "u", "v").astype(object)
    x = random.normal(size=600) + 7
    b[a == "r"], x[a == "r"] = None, np.nan
    net, told = fitted([("a", "b"), ("a", "x")], {"a": a, "b": b, "x": x})
    assert not told
    there = a != "r"
    assert net["b"].values[2, 0] == pytest.approx((np.sum(b[there] == "u") + 1) / 402)
    assert net["x"].mean[2] == pytest.approx(x[there].mean())
    assert net["x"].variance[2] == pytest.approx(x[there].var(), rel=0.05)
    # The other states are as without these rows.
    rest, _ = fitted([("a", "b"), ("a", "x")], {"a": a[there], "b": b[there], "x": x[there]})
    np.testing.assert_allclose(net["b"].values[:2], rest["b"].values, rtol=1e-12)


def test_rows_without_the_child_say_nothing_about_it():
    columns, _ = ill_and_well(n=300)
    random = np.random.default_rng(1)
    columns["f1"][random.random(300) < 0.8] = None
    columns["x"] = np.where(random.random(300) < 0.5, random.normal(size=300), np.nan)
    arcs = [("f1", "f0"), ("f2", "f0"), ("f2", "x"), ("f1", "x")]
    net, _ = fitted(arcs, columns)
    more = {n: np.concatenate([c, c[:1], c[:1]]) for n, c in columns.items()}
    more["f0"][-2:], more["x"][-2:] = None, np.nan
    wide, _ = fitted(arcs, more)
    np.testing.assert_allclose(wide["f0"].values, net["f0"].values, rtol=1e-12)


@pytest.mark.parametrize("turned", [True, False])
def test_parents_that_no_row_has_together(turned):
    # The parent with more rows is kept, wherever it stands.
    random = np.random.default_rng(0)
    c = random.choice(["u", "v"], 400).astype(object)
    a, b = (np.where(random.random(400) < 0.9, c, "u").astype(object) for _ in range(2))
    alone = np.arange(400) < 150
    a[alone], b[~alone] = None, None
    arcs = [("b", "c"), ("a", "c")] if turned else [("a", "c"), ("b", "c")]
    net, told = fitted(arcs, {"a": a, "b": b, "c": c})
    assert len(told) == 1
    rest, _ = fitted([("a", "c")], {"a": a, "c": c})
    values = net["c"].values if not turned else net["c"].values.swapaxes(0, 1)
    for k in range(2):
        np.testing.assert_allclose(values[:, k], rest["c"].values, rtol=1e-12)


@pytest.mark.parametrize("kind", ["table", "gaussian"])
def test_rows_enough_are_not_shrunk(kind):
    # Half of the rows lack the parent: the others alone estimate the distribution.
    random = np.random.default_rng(0)
    a = np.where(HALF, random.choice(["p", "q"], 400), None).astype(object)
    b = NUMBERS if kind == "gaussian" else np.where(NUMBERS > 3, "u", "v").astype(object)
    net, told = fitted([("a", "b")], {"a": a, "b": b})
    rest, _ = fitted([("a", "b")], {"a": a[HALF], "b": b[HALF]})
    assert not told
    if kind == "table":
        np.testing.assert_array_equal(net["b"].values, rest["b"].values)
    else:
        np.testing.assert_array_equal(net["b"].mean, rest["b"].mean)


def test_em_needs_no_rows_without_gaps():
    a = np.where(HALF, None, np.where(NUMBERS > 3, "p", "q")).astype(object)
    b = np.where(HALF, np.where(NUMBERS > 2.5, "u", "v"), None).astype(object)
    _, told = fitted([("a", "b")], {"a": a, "b": b}, missing="em")
    assert not told


def test_a_test_given_a_column_of_few_rows_tells_no_independence():
    random = np.random.default_rng(0)
    c = random.normal(size=1000)
    few = np.full(1000, np.nan)
    few[:6] = c[:6] * 2
    table = {"a": c + random.normal(size=1000), "c": c, "few": few}
    for kind in ("numbers", "text"):
        if kind == "text":
            table = {n: np.where(v > 0, "u", "v").astype(object) for n, v in table.items()}
            table["few"][6:] = None
        arcs = bg.learning.pc(bg.learning.count_source(table)).arcs
        assert {("a", "c"), ("c", "a")} & set(arcs)


@pytest.mark.parametrize("kind", ["notes", "number"])
@pytest.mark.parametrize("first", [True, False])
def test_the_posterior_of_other_edges_stays(kind, first):
    columns, y = ill_and_well(n=300)
    random = np.random.default_rng(4)
    columns["x"] = random.normal(size=300) + (columns["f0"] == "u")
    columns["z"] = random.normal(size=300)
    new = {"few": sparse(kind, [3, 40, 200], len(y), y)}
    wide = new | columns if first else columns | new
    found = {}
    for table in (columns, wide):
        source = bg.learning.count_source(table | {"class": y}, "class")
        posterior, order = tree_posterior(source, Smoothing())
        names = [source.features[i].name for i in order]
        shares = pd.DataFrame(posterior.edge_probabilities(), names, names)
        found[len(table)] = shares.loc[list(columns), list(columns)]
        if table is wide:
            assert "few" not in names
            assert all("few" not in (names[i], names[j]) for i, j in posterior.draw(random))
    # The states of another column are in the average that is the default strength of the prior.
    np.testing.assert_allclose(found[len(wide)], found[len(columns)], atol=1e-6)
