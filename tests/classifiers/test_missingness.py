"""Missing values that tell something about the class: the default's indicators of them."""

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayesgraph as bg
from bayesgraph.core.errors import (
    DataError,
    EmptyColumnsWarning,
    EvidenceError,
    SuspiciousColumnsWarning,
)
from bayesgraph.page.snapshot import rows_of

N = 900
TOLD = "test is missing"


def table():
    """Return three features and the class; tests of well people are often not made."""
    random = np.random.default_rng(3)
    ill = random.random(N) < 0.4
    test = np.round(random.normal(np.where(ill, 1.0, 0.0)), 2)
    test[random.random(N) < np.where(ill, 0.1, 0.6)] = np.nan
    cough = np.where(random.random(N) < np.where(ill, 0.7, 0.3), "yes", "no").astype(object)
    cough[random.random(N) < 0.2] = None
    age = random.integers(20, 90, N).astype(float)
    return pd.DataFrame({"test": test, "cough": cough, "age": age}), np.where(ill, "ill", "well")


@pytest.fixture(scope="module")
def rows():
    return table()


def fitted(rows, **options):
    X, y = rows
    return bg.BayesianNetworkClassifier(max_steps=120, **options).fit(X, y)


@pytest.fixture(scope="module", params=[0, 20], ids=["single", "average"])
def model(request, rows):
    found = fitted(rows, n_trees=request.param)
    assert (found.network_._kind == "average") == bool(request.param)
    return found


def test_the_default_has_an_indicator_of_what_tells(model):
    assert [v for v in model.features_ if isinstance(v, bg.core.MissingIndicator)] == [
        bg.core.MissingIndicator(TOLD, "test")
    ]
    assert model.n_features_in_ == 3
    assert [v.name for v in model.features_] == ["test", "cough", "age", TOLD]


def test_it_predicts_better_than_without(rows):
    (X, y), (a, b) = rows, (np.arange(N) % 3 > 0, np.arange(N) % 3 == 0)
    losses = {}
    for how in ("auto", "ignorable"):
        own = bg.BayesianNetworkClassifier(max_steps=120, n_trees=0, missingness=how).fit(
            X[a], y[a]
        )
        assert (TOLD in [v.name for v in own.features_]) == (how == "auto")
        of_class = own.predict_proba(X[b])[np.arange(b.sum()), (y[b] == "well").astype(int)]
        losses[how] = -np.log(of_class).mean()
    assert losses["auto"] < losses["ignorable"] - 0.05


def test_a_cell_and_a_question_say_the_same(model, rows):
    X, _ = rows
    states = list(model.classes_)
    for _, row in X.head(12).iterrows():
        p = model.predict_proba(row.to_frame().T.astype(X.dtypes))[0]
        there = {name: value for name, value in row.items() if not pd.isna(value)}
        # A value says that it is not missing; what a question does not name says nothing.
        told = there if "test" in there else there | {TOLD: "yes"}
        for asked in (model, model.network_):
            args = () if asked is model else ("class",)
            found = asked.query(*args, evidence=told)
            assert [found[state] for state in states] == pytest.approx(p.tolist(), abs=1e-12)
            if "test" in there:
                same = asked.query(*args, evidence=there | {TOLD: "no"})
                assert same.probabilities.tolist() == found.probabilities.tolist()
            else:
                less = asked.query(*args, evidence=there)
                assert abs(less["ill"] - found["ill"]) > 0.01


def test_a_question_about_the_others_sums_the_indicator_out(model):
    """P(class | age) is the mean over whether the test is missing."""
    network = model.network_ if model.network_._kind == "product" else model.network_.networks[0]
    given = {"age": 50.0, "cough": "yes"}
    shares = network.query(TOLD, given)
    parts = [network.query("class", given | {TOLD: state})["ill"] for state in ("no", "yes")]
    assert network.query("class", given)["ill"] == pytest.approx(
        float(shares.probabilities @ parts), abs=1e-12
    )


def test_all_kinds_of_tables_are_read_alike(model, rows):
    X = rows[0].head(60)
    expected = model.predict_proba(X)
    cells = X.astype(object).where(X.notna(), None)
    kinds = {
        "polars": pl.from_pandas(X),
        "pyarrow": pa.table(X),
        "columns": {name: cells[name].to_list() for name in X},
        "objects": cells.to_numpy(),
    }
    for kind, given in kinds.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # arrays have no names
            found = model.predict_proba(given)
        assert found.tolist() == expected.tolist(), kind
    one = [model.predict_proba(X.iloc[[i]])[0].tolist() for i in range(20)]
    np.testing.assert_allclose(one, expected[:20], atol=1e-12)


def test_numbers_alone_are_read_alike(rows):
    X, y = rows
    numbers = X[["test", "age"]]
    model = bg.BayesianNetworkClassifier(max_steps=60, n_trees=0).fit(numbers, y)
    array = bg.BayesianNetworkClassifier(max_steps=60, n_trees=0).fit(numbers.to_numpy(), y)
    assert [v.name for v in array.features_] == ["x0", "x1", "x0 is missing"]
    assert array.predict_proba(numbers.to_numpy()).tolist() == model.predict_proba(numbers).tolist()
    columns = numbers.to_dict("list")
    assert model.predict_proba(columns).tolist() == model.predict_proba(numbers).tolist()


def test_contributions_name_the_indicator(model, rows):
    X, _ = rows
    gone = int(np.flatnonzero(X["test"].isna())[0])
    row = {name: None if pd.isna(value) else value for name, value in X.iloc[gone].items()}
    found = model.contributions(evidence=X.iloc[[gone]], positive="ill")
    named = model.contributions(evidence=row, positive="ill")
    assert dict(found) == pytest.approx(dict(named))
    assert found[TOLD] < -0.3
    p = model.predict_proba(X.iloc[[gone]])[0][list(model.classes_).index("ill")]
    total = found.prior + sum(found.values())
    assert total == pytest.approx(np.log(p / (1 - p)), abs=1e-9)
    # A feature that a row does not name is not known, which is not the same as missing.
    del row["test"]
    assert TOLD not in model.contributions(evidence=row, positive="ill")


def test_an_unseen_category_is_taken_as_missing(rows):
    X, y = rows
    told = X.assign(test=pd.cut(X["test"], [-9, 0, 1, 9], labels=["low", "mid", "high"]))
    told["test"] = told["test"].astype(object)
    model = bg.BayesianNetworkClassifier(max_steps=60, n_trees=0, unseen="missing").fit(told, y)
    strange, gone = (told.head(1).assign(test=[value]) for value in ("huge", None))
    assert model.predict_proba(strange).tolist() == model.predict_proba(gone).tolist()
    found, expected = (model.contributions(evidence=row) for row in (strange, gone))
    assert (dict(found), found.total) == (dict(expected), expected.total)
    assert found.total == pytest.approx(np.diff(model.predict_log_proba(strange)[0])[0])


def test_files_and_copies_keep_it(model, rows, tmp_path):
    X, _ = rows
    expected = model.predict_proba(X).tolist()
    model.save(tmp_path / "model.bayesgraph")
    loaded = bg.load(tmp_path / "model.bayesgraph")
    assert loaded.features_ == model.features_
    for other in (loaded, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other.predict_proba(X).tolist() == expected


def test_other_formats_restore_it(rows, tmp_path):
    model = fitted(rows, n_trees=0)
    model.network_.save(tmp_path / "net.bif")
    found = bg.load(tmp_path / "net.bif")
    assert found.variable(TOLD) == bg.core.MissingIndicator(TOLD, "test")
    given = {"test": 0.5, "age": 40.0}
    assert found.query("class", given).probabilities == pytest.approx(
        model.query(evidence=given).probabilities, abs=1e-9
    )


def test_a_dataset_gives_the_same_model(rows, tmp_path):
    X, y = rows
    for i, part in enumerate(np.array_split(np.arange(N), 4)):
        frame = X.iloc[part].assign(**{"class": y[part]})
        pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / f"{i}.parquet")
    model = bg.BayesianNetworkClassifier(max_steps=60, n_trees=5)
    memory = copy.copy(model).fit(X, pd.Series(y, name="class"))
    dataset = bg.open_dataset(tmp_path)
    files = copy.copy(model).fit(dataset, "class")
    assert [v.name for v in files.features_] == ["test", "cough", "age", TOLD]
    assert files.predict_proba(X).tolist() == memory.predict_proba(X).tolist()
    n_rows = bg.files.predict_dataset(
        files, dataset, tmp_path.parent / "p.parquet", what="predict_proba"
    )
    assert n_rows == N


def test_whether_a_value_is_missing_is_no_question_and_no_change(model):
    asked = model.ask.next_question(evidence={"age": 50.0})
    assert TOLD not in list(asked)
    assert TOLD in list(model.ask.next_question(evidence={"age": 50.0}, among=["cough", TOLD]))
    flip = model.ask.flip(evidence={"age": 50.0, "cough": "yes", "test": 1.5})
    assert TOLD not in flip.changes
    with pytest.raises(EvidenceError, match="indicator of missing values, which does not change"):
        model.ask.flip(evidence={"age": 50.0, "test": 1.5}, among=[TOLD])


def test_that_a_given_value_is_missing_is_no_target(model):
    with pytest.raises(EvidenceError, match="Evidence on 'test' says that it is not missing"):
        model.query(TOLD, {"test": 1.5})
    assert model.query(TOLD, {"age": 50.0}).probabilities.sum() == pytest.approx(1.0)


def test_a_misspelt_choice_is_named():
    with pytest.raises(DataError, match="missingness= is one of 'auto', 'ignorable'; got 'mar'"):
        fitted(table(), missingness="mar")


def test_other_structures_have_none(rows):
    model = bg.BayesianNetworkClassifier("star", exponents="cells", max_steps=40).fit(*rows)
    assert [v.name for v in model.features_] == ["test", "cough", "age"]


# ------------------------------------------------------------- every way to ask says the same


def test_tables_of_questions_say_the_same(model, rows):
    X, _ = rows
    few = X.head(60)
    expected = model.predict_proba(few)
    np.testing.assert_allclose(model.network_.query_rows("class", few), expected, atol=1e-12)
    page = rows_of(model.network_, model.target_, X)
    assert model.classes_[page["predicted"]].tolist() == model.predict(X).tolist()
    network = model.network_ if model.network_._kind == "product" else model.network_.networks[0]
    full = few.dropna()
    single = [network.log_probability(row.to_dict()) for _, row in full.iterrows()]
    np.testing.assert_allclose(network.log_likelihood(full), single, atol=1e-12)
    ignorable = fitted(rows, n_trees=0, missingness="ignorable")
    differ = int((model.predict(X) != ignorable.predict(X)).sum())
    if network is model.network_:
        assert f"predictions that change: {differ} of {N} rows" in repr(
            bg.diff(model, ignorable, X)
        )


def test_a_column_that_is_the_target_says_nothing_of_its_indicator(model, rows):
    """That the cell is there would tell what is asked for."""
    X = rows[0].dropna().head(20)
    network = model.network_ if model.network_._kind == "product" else model.network_.networks[0]
    found = network.query_rows("cough", X)
    asked = [
        network.query("cough", {"test": row["test"], "age": row["age"]}).probabilities
        for _, row in X.iterrows()
    ]
    np.testing.assert_allclose(found, asked, atol=1e-12)


def test_none_is_an_empty_cell_in_every_question(model, rows):
    X, _ = rows
    gone = int(np.flatnonzero(X["test"].isna() & X["cough"].notna())[0])
    row = {name: None if pd.isna(value) else value for name, value in X.iloc[gone].items()}
    p = model.predict_proba(X.iloc[[gone]])[0][0]
    assert model.classes_[0] == "ill"
    for evidence in (row, X.iloc[gone], row | {"test": np.nan}):
        assert model.query(evidence=evidence)["ill"] == pytest.approx(p, abs=1e-12)
    odds = np.log(p / (1 - p))
    for asked in (model, model.network_):
        found = asked.contributions("class", row, positive="ill", negative="well")
        assert found.total == pytest.approx(odds, abs=1e-9)
    # What will not come is not asked for.
    assert "test" not in list(model.ask.next_question(evidence={"age": 50.0, "test": None}))


def test_whatever_is_said_of_a_value_says_that_it_is_there(model):
    sure, likely = {"yes": 1.0, "no": 0.0}, {"yes": 1.0, "no": 0.5}
    other = {"age": 40.0, "test": 1.5}
    for cough in ("yes", sure):
        found = model.query(evidence=other | {"cough": cough})
        assert found["ill"] == pytest.approx(model.query(evidence=other | {"cough": "yes"})["ill"])
    cuts = [v for v in model.network_.variables if v.name == "test"]
    cuts += model.network_.networks[0].variables if model.network_._kind == "average" else []
    cut = next(v.cuts[1] for v in cuts if isinstance(v, bg.Binned) and v.name == "test")
    for value in (1.5, bg.Between(cut)):
        given = {"test": value, "cough": likely}
        named = model.query(evidence=given | {TOLD: "no"})
        assert model.query(evidence=given)["ill"] == pytest.approx(named["ill"], abs=1e-12)


def test_the_nearest_rows_count_a_missing_cell_once(model, rows):
    found = model.ask.nearest_rows("class", {"test": 1.5, "cough": "yes", "age": 40.0}, rows[0])
    assert TOLD not in {name for row in found for name in row.differences}


def test_other_names_keep_the_indicator(model):
    given = {"test": 1.5, "cough": "yes", "age": 40.0}
    renamed = model.network_.renamed({"test": "T"})
    assert renamed.variable(TOLD).of == "T"
    found = renamed.query("class", {"T": 1.5, "cough": "yes", "age": 40.0})
    expected = model.query(evidence=given).probabilities
    assert found.probabilities == pytest.approx(expected, abs=1e-12)


def test_a_column_that_is_not_delivered_is_told_of(model, rows):
    X, _ = rows
    with pytest.warns(EmptyColumnsWarning, match=r"All 900 cells of 'test' are missing"):
        model.predict(X.assign(test=np.nan))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X)
        model.predict(X.assign(test=np.nan).head(5))
        fitted(rows, n_trees=0, missingness="ignorable").predict(X.assign(test=np.nan))


def test_what_is_there_or_not_is_no_constant(rows):
    _, y = rows
    marks = np.where(np.random.default_rng(0).random(N) < np.where(y == "ill", 0.8, 0.3), "x", None)
    other = np.random.default_rng(1).normal(size=N)
    with pytest.warns(SuspiciousColumnsWarning, match="'a': one value or none at all"):
        model = bg.BayesianNetworkClassifier(max_steps=60, n_trees=0).fit(
            {"a": marks, "b": other}, y
        )
    assert [v.name for v in model.features_] == ["a", "b", "a is missing"]


def test_what_a_question_leaves_open_is_told():
    random = np.random.default_rng(0)
    y = np.where(random.random(800) < 0.5, "p", "q")
    crp = np.where((y == "p") & (random.random(800) < 0.6), np.nan, random.normal(size=800))
    X = {"crp": crp, "age": random.normal(size=800)}
    clf = bg.BayesianNetworkClassifier(n_trees=0, max_steps=20).fit(X, y)
    told = "left open: whether 'crp' is missing (None says that it is)"
    assert told in repr(clf.query(evidence={"age": 1.0}))
    series = pd.Series({"age": 1.0})
    assert told in repr(clf.query(evidence=series))
    for said in ({"crp": None}, {"crp": 0.3}, {"crp is missing": "yes"}):
        assert "left open" not in repr(clf.query(evidence={"age": 1.0} | said))
    assert "left open" not in repr(clf.query())
    assert told in repr(clf.query("age", {"class": "p"}))
    other = bg.BayesianNetworkClassifier(n_trees=0, missingness="ignorable", max_steps=20)
    assert "left open" not in repr(other.fit(X, y).query(evidence={"age": 1.0}))
