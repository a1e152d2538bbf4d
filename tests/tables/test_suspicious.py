"""Columns that look wrong are named once, in one warning, and clean tables give none."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import datasets

import bayesgraph as bg
from bayesgraph.core import parallel
from bayesgraph.core.errors import SuspiciousColumnsWarning
from bayesgraph.tables import suspicious

FITTED = (
    bg.NaiveBayesClassifier,
    bg.TANClassifier,
    bg.DecisionTreeNetworkClassifier,
    bg.StreamingNaiveBayesClassifier,
)


def rows(n=200, seed=0):
    """Return a clean table of a number and a text column, and classes."""
    random = np.random.default_rng(seed)
    y = np.where(random.random(n) < 0.3, "yes", "no")
    numbers = random.normal(size=n) + (y == "yes")
    return {"a": numbers, "b": np.array(list("xyz"))[random.integers(3, size=n)]}, y


def said_of(columns, y, estimator=bg.NaiveBayesClassifier, **parameters):
    """Return what the one warning of a fit says; empty if there is none."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        estimator(**parameters).fit(columns, y)
    found = [w for w in seen if issubclass(w.category, SuspiciousColumnsWarning)]
    assert len(found) <= 1
    assert all(w.filename == __file__ for w in found)
    return str(found[0].message) if found else ""


def wrong_columns(n, y):
    """Return columns that look wrong by what is said of them."""
    number = np.arange(n)
    return {
        "identifiers": [f"row {i}" for i in number],
        "without any value": [np.nan] * n,
        "constant": [3.5] * n,
        "determines the class": [{"no": "negative", "yes": "positive"}[label] for label in y],
        "numbers as text, because of values such as '?'": [
            "?" if i % 50 == 7 else str(i % 4) for i in number
        ],
        "integers beyond 2**53": 2**60 + number % 7,
    }


@pytest.mark.one_in(2)
@pytest.mark.parametrize("estimator", FITTED)
@pytest.mark.parametrize("what", wrong_columns(0, []))
def test_a_column_that_looks_wrong_is_named_with_the_reason(what, estimator):
    columns, y = rows()
    wrong = wrong_columns(len(y), y)[what]
    assert f"'wrong': {what}" in said_of({**columns, "wrong": wrong}, y, estimator)
    assert not said_of({**columns, "wrong": wrong}, y, estimator, check_columns=False)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_all_of_them_are_in_one_line_whatever_the_frame(frame):
    columns, y = rows()
    table = frame({**columns, **wrong_columns(len(y), y)})
    said = said_of(table, y)
    assert all(f"{what!r}" in said or f'"{what}"' in said for what in wrong_columns(0, []))
    assert "\n" not in said
    assert "check_columns=False" in said


@pytest.mark.parametrize("estimator", FITTED)
def test_a_clean_table_gives_no_warning(estimator):
    assert not said_of(*rows(), estimator)


def test_numbers_with_a_state_for_each_row():
    columns, y = rows()
    assert "'a': identifiers" in said_of(columns, y, categorical=["a"])


@pytest.mark.parametrize(
    "name",
    ["id", "ID", "Id", "user_id", "userid", "Patient ID", "PassengerId", "loanID", "customer-key",
     "index", "row", "Row number", "case no.", "Serial Nr", "sample_num"],
)  # fmt: skip
def test_whole_numbers_of_identifiers_by_their_name(name):
    columns, y = rows()
    number = 1000 + 7 * np.random.default_rng(2).permutation(len(y))
    assert f"{name!r}: identifiers" in said_of({**columns, name: number}, y)
    some = np.where(np.arange(len(y)) % 20 == 3, np.nan, number)
    assert f"{name!r}: identifiers" in said_of({**columns, name: some}, y)


@pytest.mark.parametrize(
    "name",
    ["acid", "thyroid", "Void", "lipids", "monkey", "rainbow", "arrow", "income", "year", "time",
     "number", "numbers", "id_count", "valid", "rows", "order", "case", "Indexed", "cholesterol"],
)  # fmt: skip
def test_other_whole_numbers_are_no_identifiers(name):
    columns, y = rows()
    assert not said_of({**columns, name: np.arange(len(y))}, y)


def test_numbers_that_are_not_whole_or_often_the_same_are_no_identifiers():
    columns, y = rows()
    number = np.arange(len(y))
    assert not said_of({**columns, "id": number + 0.5}, y)
    assert not said_of({**columns, "id": number // 2}, y)
    assert not said_of({**columns, "id": np.where(number == 199, 199.5, number)}, y)


NETWORKS = {
    "fit": lambda table, **given: bg.BayesianNetwork.fit([("b", "a")], table, **given),
    "learn": bg.BayesianNetwork.learn,
    "arc_confidence": lambda table, **given: bg.arc_confidence(table, n_samples=2, **given),
}
WRONG_OF_NETWORKS = {what: column for what, column in wrong_columns(200, ["no"] * 200).items()
                     if what != "determines the class"}  # fmt: skip
WRONG_OF_NETWORKS["a few integers only, which become Gaussian numbers (name codes in categ"] = (
    np.arange(200) % 4
)


def said_by_network(method, columns, **given):
    """Return what the one warning of a network's estimation says; empty if there is none."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        NETWORKS[method](columns, **given)
    found = [w for w in seen if issubclass(w.category, SuspiciousColumnsWarning)]
    assert len(found) <= 1
    assert all(w.filename == __file__ for w in found)
    return str(found[0].message) if found else ""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("method", NETWORKS)
@pytest.mark.parametrize("what", WRONG_OF_NETWORKS)
def test_networks_name_columns_too(what, method):
    columns, _ = rows()
    table = {**columns, "wrong": WRONG_OF_NETWORKS[what]}
    assert f"'wrong': {what}" in said_by_network(method, table)
    assert not said_by_network(method, table, check_columns=False)
    assert not said_by_network(method, columns)


def test_integers_that_are_declared_are_no_codes():
    columns, _ = rows()
    table = {**columns, "wrong": np.tile([0.0, 1.0, np.nan, 1.0], 50)}
    assert "'wrong': a few integers" in said_by_network("fit", table)
    assert not said_by_network("fit", table, categorical=["wrong"])
    assert not said_by_network("fit", table, variables=[bg.Continuous("wrong")])
    assert not said_by_network("fit", table | {"wrong": np.arange(200) % 5})
    assert not said_by_network("fit", table | {"wrong": np.arange(200) % 2 + 0.5})


@pytest.mark.parametrize("column", [2**63 + np.arange(200, dtype="u8"), -(2**60) - np.arange(200)])
def test_integers_that_floats_do_not_tell_apart(column):
    columns, y = rows()
    assert len({float(number) for number in column}) < 5
    assert "'wrong': integers beyond 2**53" in said_of({**columns, "wrong": column}, y)
    # As states they are exact.
    exact = {**columns, "wrong": column % 7 + column[0] // 7 * 7}
    assert not said_of(exact, y, categorical=["wrong"])


def test_columns_of_an_array_have_names_by_position():
    columns, y = rows()
    X = np.column_stack([columns["a"], np.ones(len(y)), y == "yes"])
    assert "'x1': constant" in said_of(X, y)
    assert "'x2': determines" in said_of(X, y)


@pytest.mark.parametrize("name", ["", " ", "Unnamed: 0", "__index_level_0__"])
def test_an_index_without_a_name(name):
    columns, y = rows()
    assert f"{name!r}: without a name" in said_of({name: np.arange(200.0), **columns}, y)


def test_numbers_whose_ranges_tell_the_class_apart():
    columns, y = rows()
    code = np.where(y == "yes", 1.0, -1.0) * (1.0 + np.random.default_rng(1).random(len(y)))
    assert "'a': determines" in said_of({**columns, "a": code}, y)
    code[np.flatnonzero(y == "yes")[3]] = -1.5
    assert not said_of({**columns, "a": code}, y)


def test_codes_that_tell_the_class_apart_in_any_order():
    random = np.random.default_rng(0)
    code = random.integers(6, size=300)
    y = code % 2
    assert "'code': determines" in said_of({"code": code, "a": random.normal(size=300)}, y)
    y[7] = 1 - y[7]
    assert not said_of({"code": code, "a": random.normal(size=300)}, y)


@pytest.mark.slow
def test_a_copy_of_a_rare_class_in_many_rows():
    random = np.random.default_rng(0)
    y = np.zeros(300_000, dtype=int)
    y[random.choice(len(y), 20, replace=False)] = 1
    columns = {"a": random.normal(size=len(y)), "b": random.integers(2, size=len(y)), "c": y}
    assert "'c': determines" in said_of(columns, y)
    columns["c"] = y.copy()
    columns["c"][np.flatnonzero(y == 0)[0]] = 1
    assert "determines" not in said_of(columns, y)


def test_a_few_values_that_differ_are_no_constant():
    random = np.random.default_rng(0)
    y = random.integers(2, size=100_000)
    column = np.zeros(len(y))
    column[77_777] = 1.0
    columns = {"a": random.normal(size=len(y)), "b": column}
    assert not said_of(columns, y, distributions={"b": "gaussian"})


def test_a_category_without_any_value_is_named():
    columns, y = rows()
    del columns["a"]  # numbers, of which each would be a category
    columns["c"] = [np.nan] * len(y)
    said = said_of(columns, y, bg.StreamingNaiveBayesClassifier, categorical="all")
    assert said.startswith("Columns look wrong: 'c': without any value (leave out).")


def test_few_rows_tell_nothing_but_what_is_certain():
    columns, y = rows(49)
    wrong = wrong_columns(49, y)
    for what in ("identifiers", "constant", "determines the class"):
        assert not said_of({**columns, "wrong": wrong[what]}, y)
    assert "without any value" in said_of({**columns, "wrong": wrong["without any value"]}, y)


@pytest.mark.parametrize(
    ("states", "is_said"),
    [
        (["1", "2", "?"], True),
        (["0.5", "1e3", "N/A"], True),
        (["2", "3", "4", "5more"], False),
        (["1", "2", "3"], False),
        (["low", "high", "?"], False),
        ([*map(str, range(40)), "tabloid"], True),
    ],
)
def test_words_among_numbers(states, is_said):
    columns, y = rows()
    text = [states[i % len(states)] for i in range(len(y))]
    assert ("numbers as text" in said_of({**columns, "wrong": text}, y)) == is_said


def test_a_category_type_with_states_that_do_not_occur_is_no_identifier():
    columns, y = rows()
    states = pd.Categorical(columns["b"], categories=["x", "y", "z", *map(str, range(400))])
    assert "identifiers" not in said_of(pd.DataFrame({**columns, "b": states}), y)


@pytest.mark.parametrize(
    ("target", "is_said"),
    [
        (lambda n: 17 + np.arange(n) % 50, True),
        (lambda n: np.arange(n) % 50, False),
        (lambda n: 1 + np.arange(n) % 50, False),
        (lambda n: (17 + np.arange(n) % 50).astype(str), False),
        (lambda n: 5 * (np.arange(n) % 10), False),
    ],
)
def test_a_target_of_many_numbers(target, is_said):
    columns, _ = rows(1000)
    assert ("a target of many numbers" in said_of(columns, target(1000))) == is_said


def test_floats_beyond_the_exact_integers_are_no_integers():
    columns, y = rows()
    wide = (2.0**60) * (1.0 + columns["a"] ** 2)
    assert not said_of({**columns, "wide": wide}, y)


def test_the_numbers_of_a_regression_are_no_classes():
    columns, _ = rows()
    target = columns["a"] * 10
    estimator = bg.DecisionTreeNetworkRegressor
    assert not said_of(columns, target, estimator, max_depth=2)
    said = said_of({**columns, "c": [1.0] * 200}, target, estimator, max_depth=2)
    assert "'c': constant" in said


def test_a_batch_is_not_judged():
    columns, y = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in (bg.NaiveBayesClassifier, bg.StreamingNaiveBayesClassifier):
            kind().partial_fit({**columns, "c": [1.0] * len(y)}, y)


def test_a_filter_silences_it():
    columns, y = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SuspiciousColumnsWarning)
        bg.NaiveBayesClassifier().fit({**columns, "c": [1.0] * len(y)}, y)


@pytest.mark.parametrize("load", ["iris", "wine", "breast_cancer"])
def test_data_sets_of_scikit_learn_are_clean(load):
    X, y = getattr(datasets, f"load_{load}")(return_X_y=True, as_frame=True)
    assert not said_of(X, y)


def lognormal(n=400, seed=1):
    return np.exp(np.random.default_rng(seed).normal(1.6, 0.9, n))


def hidden_columns(n):
    """Return columns that are not what they look like, by what is said of them."""
    random = np.random.default_rng(4)
    numbers, days = random.normal(27, 4, n).round(1), np.arange(n) % 60
    date = np.datetime64("2013-01-01T05:00") + days * np.timedelta64(7, "h")
    return {
        "a number such as -999 that stands": np.where(np.arange(n) % 25 == 3, -999, numbers),
        "a number such as 9999 that stands": np.where(np.arange(n) % 40 == 3, 9999, days + 20),
        "a number such as -1 that stands": np.where(np.arange(n) % 30 == 3, -1, numbers),
        "numbers as text with decimal commas": [f"{x:.1f}".replace(".", ",") for x in numbers],
        "dates as text": [str(x).replace("T", " ") for x in date],
        "texts that hardly repeat": [f"seen on day {i} of the year, stable" for i in range(n)],
    }


@pytest.mark.parametrize("what", hidden_columns(100))
def test_a_column_that_hides_what_it_is(what):
    columns, y = rows(400)
    table = {**columns, "wrong": hidden_columns(400)[what]}
    said = said_of(table, y)
    assert f"'wrong': {what}" in said
    assert said.count("'wrong'") == 1
    assert f"'wrong': {what}" in said_by_network("fit", table)
    assert not said_of(table, y, check_columns=False)


@pytest.mark.parametrize("text", ["1,5", "0,25", "-3,5"])
def test_numbers_without_fractions_among_decimal_commas(text):
    columns, y = rows()
    states = [text, "12", "7", "3,0", "8,1", "9,9"]
    assert "decimal commas" in said_of({**columns, "x": [states[i % 6] for i in range(200)]}, y)
    different = [f"{i / 4:.2f}".replace(".", ",") for i in range(200)]
    assert said_of({**columns, "x": different}, y).count("'x'") == 1
    others = ["1,5", "a,b", "c", "d", "e", "f"]
    assert not said_of({**columns, "x": [others[i % 6] for i in range(200)]}, y)


@pytest.mark.parametrize(
    "write",
    [
        lambda day: day.strftime("%d.%m.%Y"),
        lambda day: day.strftime("%m/%d/%y %H:%M"),
        lambda day: day.strftime("%Y-%m-%dT%H:%M:%S+02:00"),
    ],
)
def test_dates_in_other_forms(write):
    columns, y = rows()
    days = pd.Timestamp("2020-02-27") + pd.to_timedelta(np.arange(200) % 40, "D")
    assert "'day': dates as text" in said_of({**columns, "day": [write(d) for d in days]}, y)
    versions = [f"1.{i % 40}" for i in range(200)]
    assert not said_of({**columns, "day": versions}, y)


def test_row_numbers_of_r():
    columns, y = rows()
    assert "'rownames': identifiers" in said_of({"rownames": np.arange(1, 201), **columns}, y)


def test_numbers_with_fractions_that_are_named_categorical():
    columns, y = rows(2000)
    troponin = np.round(lognormal(2000), 1)
    said = said_of({**columns, "troponin": troponin}, y, categorical=["troponin"])
    assert "'troponin': fractions as states" in said
    assert not said_of({**columns, "grade": np.round(troponin)}, y, categorical=["grade"])
    few = np.arange(2000) % 40 / 4
    assert not said_of({**columns, "few": few}, y, categorical=["few"])


def test_numbers_that_are_no_placeholder():
    columns, y = rows(1000)
    random = np.random.default_rng(0)
    for wrong in (
        np.round(random.normal(size=1000), 1),  # the least one occurs once or twice
        np.clip(random.normal(50, 20, 1000), 0, 100),  # scales end
        random.integers(-1, 9, 1000),  # next to the others
        np.where(random.random(1000) < 0.5, 0.0, 5000 + random.normal(0, 50, 1000)),  # nothing paid
        np.r_[np.full(2, -999.0), random.normal(size=998)],  # twice only
    ):
        assert "stands for" not in said_of({**columns, "x": wrong}, y)


@pytest.mark.parametrize("estimator", [bg.NaiveBayesClassifier, bg.TANClassifier])
def test_skewed_columns_that_become_gaussian(estimator):
    columns, y = rows(400)
    table = {**columns, "crp": lognormal()}
    said = said_of(table, y, estimator, distributions="gaussian")
    assert "'crp': heavily skewed" in said
    assert "distributions='auto'" in said
    assert "discretizer='mdlp'" in said
    assert "'crp': heavily skewed" in said_by_network("fit", table)
    for options in ({}, {"discretizer": "mdlp"}, {"distributions": {"crp": "gaussian"}}):
        assert not said_of(table, y, estimator, **options)
    # Zeros, which neither log-normal nor gamma densities have.
    table["crp"] = np.where(np.arange(400) % 3, table["crp"], 0.0)
    assert "'crp': heavily skewed" in said_of(table, y, estimator)


@pytest.mark.parametrize(
    "estimator", [bg.NaiveBayesClassifier, bg.TANClassifier, bg.AODEClassifier]
)
def test_codes_that_get_a_density(estimator):
    columns, y = rows()
    table = {**columns, "nyha": 1 + np.arange(200) % 4}
    assert "'nyha': a few integers only" in said_of(table, y, estimator)
    assert not said_of(table, y, estimator, categorical=["nyha"])
    assert not said_of(table, y, estimator, discretizer="mdlp")
    assert "few integers" not in said_of(table, y, bg.DecisionTreeNetworkClassifier)


DRAWS = {
    "normal": lambda random, shape: 100 + random.normal(size=shape),
    "uniform": lambda random, shape: random.random(shape),
    "t5": lambda random, shape: 1000 + random.standard_t(5, shape),
    "whole": lambda random, shape: np.round(random.normal(60, 15, shape)),
    "Poisson": lambda random, shape: random.poisson(8, shape),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("n", [50, 200, 1000])
@pytest.mark.parametrize("draw", DRAWS)
def test_ordinary_numbers_give_no_alarm(draw, n):
    X = DRAWS[draw](np.random.default_rng(0), (n, 2000))
    y = np.arange(n) % 2
    assert not said_of(X, y, distributions="gaussian")


def test_a_few_integers_that_are_counted_are_no_codes():
    """Vessels in an X-ray: none in most rows, three in few."""
    random = np.random.default_rng(0)
    y = random.choice(["no", "yes"], 200)
    counted = np.repeat([0, 1, 2, 3], [110, 50, 30, 10])
    bg.NaiveBayesClassifier().fit({"vessels": random.permutation(counted)}, y)
    grades = np.repeat([1, 2, 3, 4], [110, 50, 30, 10])
    with pytest.warns(SuspiciousColumnsWarning, match="'grade': a few integers only"):
        bg.NaiveBayesClassifier().fit({"grade": random.permutation(grades)}, y)


def drawn(random, n):
    """Return a column of n numbers in one of many forms, some of which look wrong."""
    forms = (
        random.normal(size=n),
        random.exponential(size=n) ** random.integers(1, 4),
        random.integers(0, random.integers(1, 12), n) * random.choice([0.5, 1.0, 2.0**54]),
        np.where(random.random(n) < 0.02, random.choice([-1.0, -999.0, 1e4]), random.random(n)),
        np.where(random.random(n) < random.random(), np.nan, random.choice([2.5, 3.0])),
        np.arange(n) + random.choice([0.0, 1e16]),
        np.where(random.random(n) < 0.5, np.nan, np.round(random.normal(size=n), 1)),
        np.full(n, np.nan),
    )
    return forms[random.integers(len(forms))]


@pytest.mark.parametrize("n", [60, 300, 5000])
def test_columns_that_are_not_sorted_look_like_nothing(n):
    """A few rows and the ends of a column tell whether sorting it tells more."""
    random = np.random.default_rng(n)
    values = np.stack([drawn(random, n) for _ in range(400)], axis=1)
    names = [f"id{j}" if j % 2 else f"x{j}" for j in range(400)]
    part, gaussian = suspicious._spread(values, suspicious._SAMPLE), np.arange(400) % 3 > 0
    looked = set(suspicious._unlike_measures(part, gaussian).tolist())
    assert 0 < len(looked) < 400
    for j in set(range(400)) - looked:
        column = np.sort(part[:, j])
        kinds = suspicious._number_kinds(names[j], column[column == column], len(part))
        assert kinds.keys() <= (set() if gaussian[j] else {"skewed"}), (j, kinds)


def all_kinds(n, seed=0):
    """Return a table of a clean column and of one of each kind that files are full of."""
    random = np.random.default_rng(seed)
    columns, y = rows(n, seed)
    columns |= {
        "income": random.lognormal(3, 1.5, n),
        "grade": random.choice([1.0, 2.0, 4.0], n),
        "age": np.where(random.random(n) < 0.05, -999.0, random.normal(50, 9, n)),
        "price": [f"{i % 40},5" for i in range(n)],
        "day": [f"2024-{i % 12 + 1:02}-{i % 28 + 1:02}" for i in range(n)],
        "number": [str(i % 30) if i % 70 else "?" for i in range(n)],
        "same": [2.5] * n,
        "copy": np.where(y == "yes", "positive", "negative"),
    }
    return pd.DataFrame(columns | {"y": y})


@pytest.mark.parametrize(
    ("estimator", "parameters"),
    [
        (bg.NaiveBayesClassifier, {"distributions": "gaussian"}),
        (bg.TANClassifier, {}),
        (bg.TANClassifier, {"discretizer": "mdlp"}),
        (bg.BayesianNetworkClassifier, {"n_trees": 0, "max_steps": 40}),
    ],
)
def test_files_are_told_of_as_tables_in_memory_are(tmp_path, estimator, parameters):
    table = all_kinds(3000)
    table.to_parquet(tmp_path / "rows.parquet")
    expected = said_of(table.drop(columns="y"), table["y"], estimator, **parameters)
    assert all(name in expected for name in ("'age'", "'price'", "'day'", "'same'", "'copy'"))
    assert ("'income'" in expected) == ("distributions" in parameters)
    dataset = bg.open_dataset(tmp_path / "rows.parquet")
    assert said_of(dataset, "y", estimator, **parameters) == expected
    assert said_of(dataset, "y", estimator, **parameters, check_columns=False) == ""


@pytest.mark.parametrize("learn", [bg.BayesianNetwork.fit, bg.BayesianNetwork.learn])
def test_networks_of_files_are_told_of_as_those_of_tables_are(tmp_path, learn):
    table = all_kinds(500)[["a", "b", "income", "age", "same", "y"]]
    table.to_parquet(tmp_path / "rows.parquet")
    said = []
    for data in (table, tmp_path / "rows.parquet"):
        arguments = ([], data) if learn == bg.BayesianNetwork.fit else (data,)
        with pytest.warns(SuspiciousColumnsWarning) as warned:
            learn(*arguments)
        said += [str(w.message) for w in warned if w.category is SuspiciousColumnsWarning]
    assert said[0] == said[1]


def test_sorted_files_are_not_judged_by_their_first_rows(tmp_path):
    n = 2 * parallel.BLOCK
    columns, y = rows(n)
    year = np.where(np.arange(n) < parallel.BLOCK + 5, 2019.0, 2020.0) + columns["a"] * 0
    year[-1000:] = np.linspace(2021.25, 2030, 1000)
    for name, values in {"year": year, "same": np.full(n, 2.5)}.items():
        table = pd.DataFrame(columns | {name: values, "y": y})
        table.to_parquet(tmp_path / "rows.parquet")
        said = said_of(bg.open_dataset(tmp_path / "rows.parquet"), "y")
        assert ("constant" in said) == (name == "same")


@pytest.mark.parametrize("n", [3, 400])
@pytest.mark.parametrize("kind", [bg.NaiveBayesClassifier, bg.TANClassifier])
def test_a_target_of_one_class_is_told(kind, n):
    X = {"a": ["x", "y", "z"] * n}
    with pytest.warns(SuspiciousColumnsWarning, match="a target of one class, which every row"):
        kind().fit(X, ["one"] * 3 * n)
    kind(check_columns=False).fit(X, ["one"] * 3 * n)
    kind().fit(X, ["one", "two", "one"] * n)
