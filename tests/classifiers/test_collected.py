"""Statistics of sites, added up: the same classifier as of all rows together."""

import functools
import itertools

import cases
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from comparison import assert_same_network

import bayesgraph as bg
from bayesgraph.core.errors import DataError, DataTypeError

COLLECTING = [pair for pair in cases.pairs() if hasattr(pair[0].estimator(), "collect")]
every = pytest.mark.parametrize(("case", "kind"), COLLECTING, ids=str)
# Intervals and groups are found in the rows of each site, and have to be shared.
without_intervals = pytest.mark.parametrize(
    ("case", "kind"),
    [pair for pair in COLLECTING if pair[0].estimator().discretizer is None],
    ids=str,
)
NB, TAN = bg.NaiveBayesClassifier, bg.TANClassifier


def rows_for(case, kind):
    data = cases.make_data(kind)
    return data if case.updates_complete_rows else data.with_missing()


def sites(data, n=3):
    """Return the rows of each site, with every class in each of them."""
    return [np.arange(i, len(data.y), n) for i in range(n)]


def assert_same(one, other, tolerance=1e-12):
    assert type(one) is type(other)
    assert one.classes_.tolist() == other.classes_.tolist()
    assert one.classes_.dtype == other.classes_.dtype
    assert one.layout_ == other.layout_
    assert one.target_ == other.target_
    assert one.features_ == other.features_
    assert one.n_features_in_ == other.n_features_in_
    assert one.feature_names_in_.tolist() == other.feature_names_in_.tolist()
    assert_same_network(one.network_, other.network_, tolerance)


# ---------------------------------------------------------------------------------------- sums


@pytest.mark.one_in(5)
@without_intervals
@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weights"])
def test_parts_make_the_classifier_of_all_rows(case, kind, weighted):
    data = rows_for(case, kind)
    weights = np.random.default_rng(2).uniform(0.1, 3.0, len(data.y)) if weighted else None
    clf = case.estimator()
    parts = [
        clf.collect(data.take(rows).pandas(), data.y[rows], weights[rows] if weighted else None)
        for rows in sites(data)
    ]
    assert not hasattr(clf, "network_")
    found = type(clf).from_statistics(iter(parts))
    assert found.get_params().keys() == clf.get_params().keys()
    assert_same(found, case.estimator().fit(data.pandas(), data.y, weights))


@pytest.mark.one_in(6)
@every
def test_sites_that_share_a_classifier_share_its_intervals(case, kind):
    data = rows_for(case, kind)
    first, *others = sites(data)
    pilot = case.estimator().fit(data.take(first).pandas(), data.y[first])
    parts = [pilot.collect(data.take(rows).pandas(), data.y[rows]) for rows in others]
    found = type(pilot).from_statistics([pilot, *parts])
    for rows in others:
        pilot.partial_fit(data.take(rows).pandas(), data.y[rows])
    assert_same(found, pilot)


@pytest.mark.one_in(6)
@without_intervals
def test_a_site_may_have_one_class_and_few_states(case, kind):
    data = cases.make_data(kind)
    classes = np.unique(data.y)
    clf = case.estimator()
    parts = [clf.collect(data.take(np.flatnonzero(data.y == c)).pandas(), data.y[data.y == c])
             for c in classes[::-1]]  # fmt: skip
    assert_same(type(clf).from_statistics(parts), case.estimator().fit(data.pandas(), data.y))


def test_sums_are_exact_and_group_in_any_way():
    data = cases.make_data("discrete")
    one, two, three = (TAN().collect(data.take(r).pandas(), data.y[r]) for r in sites(data))
    total = (one + two) + three
    assert repr(total) == (
        "CollectedStatistics of 60 rows: 4 features, class 'class' with 3 states"
    )
    whole = TAN().fit(data.pandas(), data.y).collected_
    for parts in (
        total,
        one + (two + three),
        bg.classifiers.CollectedStatistics.total([three, two, one]),
    ):
        assert parts.features == whole.features
        (found,), (expected,) = (p.statistics.summaries.values() for p in (parts, whole))
        np.testing.assert_array_equal(found.pair_counts, expected.pair_counts)
        np.testing.assert_array_equal(found.singles.counts, expected.singles.counts)
    with pytest.raises(TypeError):
        one + 1


def test_fitted_classifiers_and_files_are_parts(tmp_path):
    data = cases.make_data("mixed").with_missing()
    a, b, c = sites(data)
    fitted = TAN(smoothing=0.5).fit(data.take(a).pandas(), data.y[a])
    fitted.save(tmp_path / "a.bayesgraph")
    TAN().collect(data.take(b).pandas(), data.y[b]).save(tmp_path / "b.bayesgraph")
    third = TAN().collect(data.take(c).pandas(), data.y[c])
    parts = [*map(bg.load, sorted(tmp_path.iterdir())), third]
    found = TAN.from_statistics(parts)
    assert_same(found, TAN(smoothing=0.5).fit(data.pandas(), data.y))
    other = TAN.from_statistics([fitted, *parts[1:]], smoothing="m", priors="uniform")
    assert_same(other, TAN(smoothing="m", priors="uniform").fit(data.pandas(), data.y))
    alone = TAN.from_statistics(fitted)
    assert_same(alone, fitted)
    assert_same(TAN.from_statistics(bg.load(tmp_path / "a.bayesgraph")), fitted)
    for path in (tmp_path / "a.bayesgraph", [str(tmp_path / "a.bayesgraph")], "a.bayesgraph"):
        with pytest.raises(DataTypeError, match=r"part 1 is .*Load files by bayesgraph\.load"):
            TAN.from_statistics(path)


def test_the_classifier_of_parts_is_saved_updated_and_forgets(tmp_path):
    data = cases.make_data("mixed").with_missing()
    a, b, c = sites(data)
    parts = [TAN().collect(data.take(rows).pandas(), data.y[rows]) for rows in (a, b)]
    TAN.from_statistics(parts).save(tmp_path / "model.bayesgraph")
    found = bg.load(tmp_path / "model.bayesgraph")
    found.partial_fit(data.take(c).pandas(), data.y[c])
    assert_same(found, TAN().fit(data.pandas(), data.y))
    found.forget(data.take(a).pandas(), data.y[a])
    rest = np.concatenate([b, c])
    again = TAN().fit(data.take(rest).pandas(), data.y[rest])
    X = data.pandas()
    np.testing.assert_allclose(found.predict_proba(X), again.predict_proba(X), atol=1e-9)


def test_statistics_of_pairs_serve_other_classifiers():
    data = cases.make_data("mixed")
    parts = [TAN().collect(data.take(rows).pandas(), data.y[rows]) for rows in sites(data)]
    for kind in (NB, bg.AODEClassifier, bg.AveragedTANClassifier):
        assert_same(kind.from_statistics(parts), kind().fit(data.pandas(), data.y))
    found = bg.KDBClassifier.from_statistics(parts, k=1)
    assert_same(found, bg.KDBClassifier(1).fit(data.pandas(), data.y))


def test_arrays_have_no_names():
    data = cases.make_data("continuous")
    X = data.pandas().to_numpy()
    found = NB.from_statistics([NB().collect(X[rows], data.y[rows]) for rows in sites(data)])
    assert not hasattr(found, "feature_names_in_")
    assert_same_network(found.network_, NB().fit(X, data.y).network_)


def test_values_that_come_later_are_groups_of_their_own_in_every_site():
    frame = pd.DataFrame({"x": list("aabbccdd") * 20})
    y = np.array(["u", "u", "u", "u", "v", "v", "v", "v"] * 20)
    pilot = NB(discretizer="modl").fit(frame, y)
    assert isinstance(pilot.features_[0], bg.Grouped)
    one = pilot.collect({"x": ["e", "a"]}, ["u", "v"])
    two = pilot.collect({"x": ["f", "f"]}, ["u", "v"])
    found = NB.from_statistics([pilot, one, two]).features_[0]
    assert set(found.values) == set("abcdef")
    assert [list(group) for group in found.groups[-2:]] == [["e"], ["f"]]


def test_priors_and_pseudo_counts_of_states_that_a_site_lacks():
    frame = pd.DataFrame({"x": list("abcabc"), "z": list("uvuvuv")})
    y = np.array([0, 1, 2, 2, 1, 0])
    clf = TAN(priors=[0.2, 0.3, 0.5], smoothing=bg.Smoothing(alpha={"x": [1, 2, 3]}))
    parts = [clf.collect(frame[:2], y[:2]), clf.collect(frame[2:], y[2:])]
    assert parts[0].estimator.get_params()["priors"] == [0.2, 0.3, 0.5]
    assert_same(TAN.from_statistics(parts), clf.fit(frame, y))


def test_classes_that_no_site_has():
    part = NB().collect({"x": ["a", "b"]}, [1, 1], classes=[0, 1, 2])
    found = NB.from_statistics([part], priors="uniform")
    assert found.classes_.tolist() == [0, 1, 2]


# ------------------------------------------------------------------------------------- datasets


@pytest.mark.parametrize("pilot", [False, True], ids=["states", "intervals"])
def test_datasets_as_tables_in_memory(tmp_path, pilot):
    random = np.random.default_rng(0)
    n = 600
    table = pa.table({
        "x": random.normal(size=n),
        "place": random.choice(["n", "s", "w"], n),
        "y": random.choice(["no", "yes"], n),
        "w": random.integers(1, 4, n).astype(float),
    })  # fmt: skip
    other = table.slice(0, 100)
    clf = TAN(discretizer="frequency") if pilot else TAN(distributions="gaussian")
    if pilot:
        clf.fit(other.select(["x", "place"]), other.select(["y"]))
        table = table.set_column(1, "place", [random.choice(["e", "n", "s"], n)])
    pq.write_table(table, tmp_path / "site.parquet")
    y, w = table.select(["y"]), table["w"].to_numpy()
    found = clf.collect(tmp_path / "site.parquet", "y", "w", classes=["maybe"])
    same = clf.collect(table.select(["x", "place"]), y, w, classes=["maybe"])
    assert found.features == same.features
    assert found.classes.tolist() == same.classes.tolist() == ["maybe", "no", "yes"]
    (a,), (b,) = (part.statistics.summaries.values() for part in (found, same))
    np.testing.assert_array_equal(a.pair_counts, b.pair_counts)
    np.testing.assert_array_equal(a.mixed.mean, b.mixed.mean)
    if pilot:
        assert found.features[0] == clf.features_[0]
        assert set(found.features[1].states) == {"e", "n", "s", "w"}


def test_datasets_with_columns_unlike_those_of_the_classifier(tmp_path):
    pq.write_table(pa.table({"x": [1.0, 2.0], "y": ["a", "b"]}), tmp_path / "t.parquet")
    labels = pd.Series(["a", "b"], name="y")
    states = NB().fit({"x": ["u", "v"]}, labels)
    with pytest.raises(DataTypeError, match="'x' has states in the model, and now numbers"):
        states.collect(tmp_path / "t.parquet", "y")
    with pytest.raises(DataError, match="is called 'class', and y names the column 'y'"):
        NB().fit({"x": [1.0, 2.0]}, ["a", "b"]).collect(tmp_path / "t.parquet", "y")
    with pytest.raises(DataError, match="feature names should match"):
        NB().fit({"z": ["u", "v"]}, ["a", "b"]).collect(tmp_path / "t.parquet", "y")
    pq.write_table(pa.table({"x": ["1", "2"], "y": ["a", "b"]}), tmp_path / "t.parquet")
    with pytest.raises(DataTypeError, match="'x' has numbers in the model, and now states"):
        NB().fit({"x": [1.0, 2.0]}, labels).collect(tmp_path / "t.parquet", "y")


# -------------------------------------------------------------------------------------- refused

X = {"n": [1.0, 2.0, 3.0, 4.0], "s": ["u", "v", "u", "v"]}
Y = ["no", "no", "yes", "yes"]
COUNTS = {"n": [1.0, 2.0, 3.0, 4.0], "m": [0.0, 2.0, 3.0, 5.0]}


@functools.cache
def base():
    return NB().collect(X, Y)


@functools.cache
def poisson():
    return NB("poisson").collect(COUNTS, Y)


@pytest.mark.parametrize(
    ("parts", "error", "said"),
    [
        (list, DataError, "There is no part"),
        (lambda: [base(), 3], DataTypeError, "part 2 is int"),
        (lambda: [base(), NB().collect({"n": X["n"]}, Y)], DataError, r"part 2 lacks 's'"),
        (lambda: [base(), NB().collect({**X, "t": X["s"]}, Y)], DataError, r"part 1 lacks 't'"),
        (lambda: [base(), base(), NB().collect({"s": X["s"], "n": X["n"]}, Y)], DataError,
         "part 1 and part 3 have their columns in another order"),
        (lambda: [base(), NB().collect(X, pd.Series(Y, name="ill"))], DataError,
         "called 'class' in part 1 and 'ill' in part 2"),
        (lambda: [base(), NB().collect(X, [0, 0, 1, 1])], DataTypeError,
         "those of part 1 are text .* those of part 2 are numbers"),
        (lambda: [base(), NB().collect({**X, "n": X["s"]}, Y)], DataTypeError,
         "'n' is Continuous in part 1 and Discrete in part 2"),
        (lambda: [base(), NB(categorical=["s"]).collect({**X, "s": [1, 2, 1, 2]}, Y)],
         DataTypeError, "'s' had text states .*'u'.*; now its values are number"),
        (lambda: [poisson(), NB().collect(COUNTS, Y)], DataError,
         "distribution of 'n' differ between part 1 and part 2: poisson and the default"),
        (lambda: [NB({("n", "m"): "multinomial"}).collect(COUNTS, Y),
          NB({("m", "n"): "multinomial"}).collect(COUNTS, Y)], DataError,
         "The columns of 'counts' differ|The columns of 'words' differ"),
        (lambda: [NB(discretizer=bg.EqualWidth(2)).collect(X, Y),
          NB(discretizer=bg.EqualWidth(3)).collect(X, Y)], DataError,
         "'n' has other intervals in part 1 than in part 2"),
        (lambda: [base(), NB(class_weight={"no": 2.0}).collect(X, Y)], DataError,
         "weigh the classes differently, by class_weight=None and {'no': 2.0}"),
        (lambda: [NB(discretizer="modl").collect({"s": [*"uvwz"] * 40}, [*"aabb"] * 40),
          NB(discretizer="modl").collect({"s": [*"uvwz"] * 40}, [*"abab"] * 40)], DataError,
         "'s' has other groups of values in part 1 than in part 2"),
        (lambda: [kind(distributions="gaussian").collect(X, Y) for kind in (NB, TAN)], DataError,
         "part 1 holds 'singles of 2 columns in each class', part 2 'pairs of 2 columns"),
    ],
)  # fmt: skip
def test_parts_that_do_not_agree(parts, error, said):
    parts = parts()
    with pytest.raises(error, match=said):
        NB.from_statistics(parts)


def test_equal_weights_of_classes_may_be_written_in_another_way():
    written = {"no": 2.0, "yes": 1}, {"yes": np.int8(1), "no": 2}
    parts = [NB(class_weight=weights).collect(X, Y) for weights in written]
    expected = NB(class_weight=written[0]).fit({n: v * 2 for n, v in X.items()}, Y * 2)
    np.testing.assert_array_equal(
        NB.from_statistics(parts).predict_proba(X), expected.predict_proba(X)
    )


def test_messages_call_parts_by_their_names():
    parts = iter([base(), NB().collect({"n": X["n"]}, Y)])
    with pytest.raises(DataError, match=r"south\.bayesgraph lacks 's'"):
        bg.classifiers.CollectedStatistics.total(parts, ["north.bayesgraph", "south.bayesgraph"])


def test_classifiers_that_need_more_than_the_parts_hold():
    with pytest.raises(DataError, match=r"TANClassifier\(\) needs pairs of 2 columns in"):
        TAN.from_statistics([base()])
    with pytest.raises(DataError, match="takes further passes over the data"):
        bg.KDBClassifier.from_statistics([TAN().collect(X, Y)], k=2)
    with pytest.raises(DataError, match="takes further passes over the data"):
        bg.KDBClassifier.from_statistics([bg.KDBClassifier(2).fit(X, Y)])
    with pytest.raises(DataError, match="takes further passes over the data"):
        bg.BayesianNetworkClassifier.from_statistics([base()], structure="hill_climb")
    assert not hasattr(bg.KDBClassifier(2), "collect")


@pytest.mark.parametrize(
    ("name", "value"),
    [("distributions", "poisson"), ("categorical", ["n"]), ("discretizer", "mdlp"),
     ("class_weight", {"no": 2.0}), ("items", ["n", "s"])],
)  # fmt: skip
def test_parameters_by_which_rows_are_read_are_those_of_the_parts(name, value):
    default = NB().get_params()[name]
    with pytest.raises(DataError, match=f"collected with {name}={default!r}, and not with"):
        NB.from_statistics([base()], **{name: value})
    NB.from_statistics([base()], **{name: default})


def test_another_class_keeps_how_rows_are_read():
    part = TAN(categorical=["n"], class_weight={"no": 2.0}, smoothing=0.5).collect(X, Y)
    found = NB.from_statistics(part)
    expected = NB(categorical=["n"], class_weight={"no": 2.0})
    assert found.get_params() == expected.get_params()
    assert_same(found, expected.fit(X, Y))
    counts = NB.from_statistics(poisson(), smoothing=2.0)
    assert_same(counts, NB("poisson", smoothing=2.0).fit(COUNTS, Y))


def test_balanced_classes_need_all_rows():
    balanced = NB(class_weight="balanced")
    for attempt in (
        lambda: balanced.collect(X, Y),
        lambda: NB.from_statistics([NB(class_weight="balanced").fit(X, Y)]),
    ):
        with pytest.raises(DataError, match="needs all labels at once"):
            attempt()


def test_what_is_no_part():
    with pytest.raises(AttributeError, match="not fitted"):
        NB.from_statistics([NB()])
    bare = NB().fit(X, Y)
    del bare.statistics_
    with pytest.raises(DataError, match="does not have the statistics"):
        NB.from_statistics([bare])
    # Its states and intervals still serve others.
    assert bare.collect(X, Y).n_rows == 4
    tree = bg.DecisionTreeNetworkClassifier().fit(X, Y)
    with pytest.raises(DataTypeError, match="part 1 is DecisionTreeNetworkClassifier"):
        NB.from_statistics([tree])


def test_collecting_changes_nothing():
    clf = NB().fit(X, Y)
    before = clf.collected_
    clf.collect({"n": [9.0], "s": ["new"]}, ["maybe"])
    assert clf.collected_.features == before.features
    assert clf.n_features_in_ == 2
    np.testing.assert_array_equal(clf.classes_, ["no", "yes"])
    for a, b in itertools.pairwise([clf.collected_.n_rows, before.n_rows, 4.0]):
        assert a == b
