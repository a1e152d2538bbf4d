"""Terms add up to the log odds, and each of them is the ratio that the definition says."""

import functools
import math
import re

import cases
import numpy as np
import pandas as pd
import polars as pl
import pytest
from tree_oracle import oracle_of

import bayesgraph as bg
from bayesgraph.core.errors import (
    BayesGraphError,
    DataError,
    EvidenceError,
    ImpossibleEvidenceError,
    ImpossibleEvidenceWarning,
    UnknownStateError,
    UnknownVariableError,
)

every = pytest.mark.parametrize(("case", "kind"), cases.pairs(), ids=str)
CONTRASTS = (
    {"positive": "virginica", "negative": "setosa"},
    {"positive": "setosa", "negative": "versicolor"},
    {"positive": "versicolor"},
)


def fitted(case, kind):
    return cases.fitted(case, cases.make_data(kind))


# ---------------------------------------------------------------------------------- by hand


@pytest.fixture
def spam():
    label = bg.Discrete("spam", [False, True])
    free, name = bg.Discrete("free", ["no", "yes"]), bg.Discrete("name", ["no", "yes"])
    length = bg.Continuous("length")
    return bg.BayesianNetwork(
        [
            bg.TableCPD(label, [0.75, 0.25]),
            bg.TableCPD(free, [[0.9, 0.1], [0.4, 0.6]], parents=[label]),
            bg.TableCPD(name, [[[0.2, 0.8], [0.3, 0.7]], [[0.5, 0.5], [0.9, 0.1]]], [label, free]),
            bg.GaussianCPD(length, [3.0, 5.0], [1.0, 4.0], parents=[label]),
        ]
    )


def test_a_worked_example(spam):
    found = spam.contributions("spam", {"length": 7.0, "name": "yes", "free": "yes"})
    assert (found.positive, found.negative) == (True, False)
    assert list(found) == ["free", "name", "length"]
    assert found.prior == pytest.approx(math.log(0.25 / 0.75), abs=1e-14)
    assert found["free"] == pytest.approx(math.log(0.6 / 0.1), abs=1e-14)
    assert found["name"] == pytest.approx(math.log(0.1 / 0.7), abs=1e-14)
    # -(7 - 5)^2 / (2 * 4) - log 2  and  -(7 - 3)^2 / 2
    assert found["length"] == pytest.approx(-0.5 - math.log(2) + 8.0, abs=1e-14)
    total = math.log(0.25 / 0.75 * 6 * 0.1 / 0.7) + 7.5 - math.log(2)
    assert found.total == pytest.approx(total, abs=1e-13)
    assert found.probability == pytest.approx(1 / (1 + math.exp(-total)), abs=1e-14)
    # log P(True, free) - ..., the part of `name` that its arc adds to what it says alone.
    term = found.term("name")
    alone = math.log((0.4 * 0.5 + 0.6 * 0.1) / (0.9 * 0.8 + 0.1 * 0.7))
    assert term.alone == pytest.approx(alone, abs=1e-13)
    assert dict(term.arcs) == {"free": pytest.approx(found["name"] - alone, abs=1e-13)}
    assert term.beyond == pytest.approx(0.0, abs=1e-13)
    assert found.term("free").arcs == {}
    np.testing.assert_allclose(found.term("free").log_likelihoods, np.log([0.1, 0.6]))
    np.testing.assert_allclose(
        found.log_scores[1] - found.log_scores[0], found.prior + sum(found.values())
    )


def test_a_missing_parent_is_summed_out(spam):
    found = spam.contributions("spam", {"name": "no", "free": None})
    expected = math.log((0.4 * 0.5 + 0.6 * 0.9) / (0.9 * 0.2 + 0.1 * 0.3))
    assert dict(found) == {"name": pytest.approx(expected, abs=1e-13)}
    assert found.term("name").alone == pytest.approx(expected, abs=1e-13)


def test_evidence_that_comes_through_an_unobserved_variable():
    label, a, b, c = (bg.Discrete(name, [0, 1]) for name in "yabc")
    link = [[0.9, 0.1], [0.2, 0.8]]
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(label, [0.5, 0.5]),
            bg.TableCPD(a, [[0.7, 0.3], [0.1, 0.9]], parents=[label]),
            bg.TableCPD(b, link, parents=[a]),
            bg.TableCPD(c, link, parents=[b]),
        ]
    )
    found = net.contributions("y", {"a": 1, "c": 1})
    # Given a, the rest says nothing about the class: alone it would, and `beyond` takes it back.
    assert found["c"] == pytest.approx(0.0, abs=1e-14)
    assert found.term("c").alone > 0.4
    assert found.term("c").arcs == {}
    assert found.term("c").beyond == pytest.approx(-found.term("c").alone)


def test_nothing_observed_is_the_prior(spam):
    for nothing in ({}, None, {"free": None, "length": math.nan}):
        found = spam.contributions("spam", nothing)
        assert len(found) == 0
        assert found.total == found.prior == pytest.approx(math.log(1 / 3))
    assert "total" in repr(found)


# --------------------------------------------------------------------------- every classifier


@pytest.mark.one_in(8)
@every
@pytest.mark.parametrize("share", [0.0, 0.3], ids=["complete", "missing"])
def test_the_terms_add_up_to_the_log_odds(case, kind, share):
    classifier = fitted(case, kind)
    asked = cases.make_data(kind, 6, seed=3).with_missing(share)
    log_proba = classifier.predict_log_proba(asked.pandas())
    for contrast in CONTRASTS:
        odds = bg.classifiers.log_odds(classifier, asked.pandas(), **contrast)
        k = classifier.target_.index(contrast["positive"])
        others = (
            [classifier.target_.index(contrast["negative"])]
            if "negative" in contrast
            else [i for i in range(3) if i != k]
        )
        expected = log_proba[:, k] - np.log(np.exp(log_proba[:, others]).sum(axis=1))
        np.testing.assert_allclose(odds, expected, atol=1e-9)
        for i, (hoped, seen) in enumerate(
            zip(odds, cases.evidence_rows(classifier, asked), strict=True)
        ):
            row = {name: column[i] for name, column in asked.columns.items()}
            found = classifier.contributions(evidence=row, **contrast)
            # Words have a term each; see test_item_ranking.py.
            words = {word for group in classifier.layout_.groups.values() for word in group}
            words.update(classifier.layout_.groups)
            named, expected_names = set(found) - words, set(seen) - words
            # A number that was not there in fitting is missing where each number is a state.
            known = named == expected_names
            assert known or (case.numbers_are_states and named < expected_names)
            assert found.prior + math.fsum(found.values()) == pytest.approx(hoped, abs=1e-10)
            assert found.total == pytest.approx(hoped, abs=1e-10)


# What is enumerated for every question of a row.
MOST_WORLDS = 1000


def enumerated(classifier):
    """Return the oracle of a classifier's network, unless its worlds have no end."""
    cards = [v.cardinality for v in classifier.network_.variables if isinstance(v, bg.Discrete)]
    if math.prod(cards) > MOST_WORLDS:
        pytest.skip(f"{math.prod(cards)} worlds for each question")
    return oracle_of(classifier.network_)


# Where each number is a state, enumeration has no end; and the oracle knows no trees.
enumerable = pytest.mark.parametrize(
    ("case", "kind"),
    [
        p
        for p in cases.pairs()
        if ("categorical" not in p[0].name or p[1] == "discrete") and "tree" not in p[0].name
    ],
    ids=str,
)


@pytest.mark.one_in(6)
@enumerable
def test_each_term_is_a_ratio_of_conditional_probabilities(case, kind):
    classifier = fitted(case, kind)
    if classifier.layout_.groups:
        pytest.skip("words have a term each; see test_item_ranking.py")
    oracle = enumerated(classifier)
    asked = cases.make_data(kind, 4, seed=4).with_missing(0.3)
    order = [name for name in classifier.network_.names if name != "class"]
    if not isinstance(classifier.network_, bg.Ensemble):
        order = [
            c.variable.name for c in network_of(classifier)._nodes() if c.variable.name in order
        ]
    for row in cases.evidence_rows(classifier, asked):
        seen = [name for name in order if name in row]

        @functools.cache
        def share(names, row=row):
            return oracle.posterior(["class"], {name: row[name] for name in names})

        for positive, negative in ((2, [0]), (1, [0, 2])):
            options = {"positive": classifier.classes_[positive]}
            if len(negative) == 1:
                options["negative"] = classifier.classes_[negative[0]]
            found = classifier.contributions(evidence=row, **options)
            assert list(found) == seen

            def odds(names, share=share, positive=positive, negative=negative):
                p = share(frozenset(names))
                return math.log(p[positive]) - math.log(p[negative].sum())

            assert found.prior == pytest.approx(odds([]), abs=1e-9)
            for j, name in enumerate(seen):
                expected = odds(seen[: j + 1]) - odds(seen[:j])
                assert found[name] == pytest.approx(expected, abs=1e-9)
                term = found.term(name)
                assert term.alone == pytest.approx(odds([name]) - odds([]), abs=1e-9)
                parents = [p for p in parents_of(classifier, name) if p in seen]
                assert list(term.arcs) == parents
                without = term.alone
                for k, parent in enumerate(parents):
                    known = parents[: k + 1]
                    given = odds([*known, name]) - odds(known)
                    assert term.arcs[parent] == pytest.approx(given - without, abs=1e-9)
                    without = given


def network_of(classifier):
    """Return the network, of a weighted one that below its exponents."""
    return getattr(classifier.network_, "network", classifier.network_)


def parents_of(classifier, name):
    if isinstance(classifier.network_, bg.Ensemble):
        return []  # its networks have different ones
    return [p.name for p in network_of(classifier)[name].parents if p.name != "class"]


def test_one_class_against_the_rest_by_hand():
    label = bg.Discrete("y", ["a", "b", "c"])
    x = bg.Discrete("x", [0, 1])
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(label, [0.5, 0.3, 0.2]),
            bg.TableCPD(x, [[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]], parents=[label]),
        ]
    )
    found = net.contributions("y", {"x": 1}, positive="a")
    assert found.negative is None
    assert found.prior == pytest.approx(0.0, abs=1e-14)
    assert found["x"] == pytest.approx(math.log(0.05 / (0.15 + 0.16)))
    assert found.probability == pytest.approx(net.query("y", {"x": 1})["a"])
    assert "y = 'a' against the rest" in repr(found)


def test_thousands_of_features():
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 2000))
    y = np.arange(40) % 2
    classifier = bg.NaiveBayesClassifier().fit(X, y)
    found = classifier.contributions(evidence=X[0])
    assert len(found) == 2000
    assert found.total == pytest.approx(bg.classifiers.log_odds(classifier, X[:1])[0], abs=1e-10)
    assert found.prior + math.fsum(found.values()) == pytest.approx(found.total, abs=1e-9)
    lines = repr(found).splitlines()
    assert len(lines) == 44
    assert lines[-3].startswith("  ... 1961 more")


# ------------------------------------------------------------------------------ factor graphs


def test_a_factor_graph_has_a_term_for_each_powered_factor(spam):
    graph = bg.FactorGraph.of(spam, {"free": 0.5, "length": 2.0, "spam": 3.0})
    found = graph.contributions("spam", {"free": "yes", "name": "no", "length": 4.0})
    assert found.prior == pytest.approx(3 * math.log(1 / 3))
    assert found["free"] == pytest.approx(0.5 * math.log(6))
    assert found["name"] == pytest.approx(math.log(0.9 / 0.3))
    assert found["length"] == pytest.approx(2 * (-1 / 8 - math.log(2) + 1 / 2))
    posterior = graph.query("spam", {"free": "yes", "name": "no", "length": 4.0})
    assert found.total == pytest.approx(math.log(posterior[True] / posterior[False]))
    with pytest.raises(EvidenceError, match=r"'name'.* not"):
        graph.contributions("spam", {"free": "yes", "length": 4.0})


def test_factors_over_several_variables_are_named_after_them():
    y, a, b = (bg.Discrete(name, [0, 1]) for name in "yab")
    graph = bg.FactorGraph(
        [
            bg.Factor([a, y], [[1, 2], [3, 4]]),
            bg.Factor([y, a], [[1, 5], [1, 1]]),
            bg.Factor([a, b, y], np.arange(1, 9).reshape(2, 2, 2)),
            bg.Factor([a, b], [[1, 2], [3, 4]]),
        ]
    )
    found = graph.contributions("y", {"a": 1, "b": 0})
    assert list(found) == ["a", ("a", 1), ("a", "b"), (("a", "b"), 3)]
    expected = [math.log(4 / 3), -math.log(5), math.log(6 / 5), 0.0]
    assert list(found.values()) == pytest.approx(expected, abs=1e-14)
    assert found.term(("a", "b")).value == (1, 0)


# -------------------------------------------------------------------------- impossible things


@pytest.fixture
def certain():
    label = bg.Discrete("y", ["a", "b", "c"])
    u, v, w = (bg.Discrete(name, [0, 1]) for name in "uvw")
    half = [0.5, 0.5]
    return bg.BayesianNetwork(
        [
            bg.TableCPD(label, [0.5, 0.3, 0.2]),
            bg.TableCPD(u, [[1, 0], half, half], parents=[label]),
            bg.TableCPD(v, [[half, half], [[1, 0], [1, 0]], [half, half]], [label, u]),
            bg.TableCPD(w, [[[0.1, 0.9], half], [half, half], [half, [0.2, 0.8]]], [label, v]),
        ]
    )


def test_a_small_probability_keeps_its_digits():
    y, u = bg.Discrete("y", ["no", "yes"]), bg.Discrete("u", [0, 1])
    net = bg.BayesianNetwork(
        [bg.TableCPD(y, [1.0 - 1e-20, 1e-20]), bg.TableCPD(u, [[0.7, 0.3], [0.9, 0.1]], [y])]
    )
    found = net.contributions("y", {"u": 1}, positive="yes")
    rows = net.ask.contributions_rows({"u": [1, 0]}, "y", positive="yes")
    assert found.probability == pytest.approx(1e-20 / 3.0, rel=1e-12, abs=0.0)
    np.testing.assert_allclose(rows.probability, [1e-20 / 3.0, 9e-20 / 7.0], rtol=1e-12)


def test_what_rules_a_class_out_is_infinite_and_the_sum_still_holds(certain):
    found = certain.contributions("y", {"u": 1, "w": 1}, positive="a", negative="b")
    assert found["u"] == -math.inf
    assert math.isfinite(found.prior)
    # `w` comes after: P(w | u = 1, a) is not defined, and nothing moves decided odds.
    assert found["w"] == 0.0
    assert found.total == found.prior + sum(found.values()) == -math.inf
    assert found.probability == 0.0
    assert "−∞" in repr(found)
    assert "−∞" in found._repr_html_()
    other = certain.contributions("y", {"u": 1, "w": 1}, positive="b", negative="a")
    assert (other.total, other.probability) == (math.inf, 1.0)
    rest = certain.contributions("y", {"u": 1, "v": 1}, positive="c")
    assert (rest["u"], rest["v"]) == (pytest.approx(math.log(1.6 * 1.25 / 2), abs=1), math.inf)


def test_odds_of_two_impossible_classes_are_refused(certain):
    with pytest.raises(ImpossibleEvidenceError, match=r"'u': 1, 'v': 1"):
        certain.contributions("y", {"u": 1, "v": 1}, positive="a", negative="b")


def test_impossible_rows_of_a_batch():
    X = pd.DataFrame({"u": ["p", "q", "q", "r", "r"], "v": ["k", "k", "l", "l", "l"]})
    y = ["a", "b", "b", "c", "c"]
    classifier = bg.NaiveBayesClassifier(smoothing=0.0).fit(X, y)
    asked = pd.DataFrame({"u": ["q", "p", "r", "p"], "v": ["k", "k", "k", "l"]})
    with pytest.warns(ImpossibleEvidenceWarning, match="2 of 4 rows"):
        odds = bg.classifiers.log_odds(classifier, asked, positive="a", negative="c")
    # Only b is possible; only a; nothing, which gives the prior.
    assert np.isnan(odds[0])
    assert odds[1] == math.inf
    assert odds[2:].tolist() == pytest.approx([math.log(0.5)] * 2)
    with pytest.raises(ImpossibleEvidenceError):
        classifier.contributions(evidence=asked[:1], positive="a", negative="c")


# ------------------------------------------------------------------------------- what is asked


def test_rows_of_every_kind():
    data = cases.make_data("mixed")
    classifier = bg.TANClassifier().fit(data.pandas(), data.y == "setosa")
    row = {name: column[0] for name, column in data.columns.items()}
    expected = dict(classifier.contributions(evidence=row))
    frame = data.pandas()
    for same in (
        frame.iloc[0],
        frame[:1],
        data.polars()[:1],
        data.polars().row(0, named=True),
        data.arrow().slice(0, 1),
        row | {"b": np.bool_(row["b"]), "c": np.float64(row["c"])},
    ):
        assert dict(classifier.contributions(evidence=same)) == pytest.approx(expected)
    matrix = cases.make_data("continuous").matrix()
    plain = bg.TANClassifier().fit(matrix, data.y == "setosa")
    expected = dict(plain.contributions(evidence={f"x{i}": v for i, v in enumerate(matrix[0])}))
    for same in (matrix[0], matrix[0].tolist(), matrix[:1], tuple(matrix[0])):
        assert dict(plain.contributions(evidence=same)) == pytest.approx(expected)


def test_unseen_categories_follow_the_policy_of_the_classifier():
    data = cases.make_data("mixed")
    lenient = bg.TANClassifier().fit(data.pandas(), data.y)
    assert set(lenient.contributions(evidence={"a": "nowhere", "c": 1.0}, positive="setosa")) == {
        "c"
    }
    strict = bg.TANClassifier(unseen="error").fit(data.pandas(), data.y)
    with pytest.raises(UnknownStateError, match="nowhere"):
        strict.contributions(evidence={"a": "nowhere"}, positive="setosa")


@pytest.mark.parametrize(
    ("row", "options", "kind", "message"),
    [
        ({"aa": 1}, {"positive": "setosa"}, UnknownVariableError, "no variable 'aa'"),
        ({"class": "setosa"}, {"positive": "setosa"}, EvidenceError, "leave it out"),
        (
            {"b": {True: 1, False: 2}},
            {"positive": "setosa"},
            EvidenceError,
            "is soft. Give a value",
        ),
        ({}, {}, DataError, "3 classes.*positive="),
        ({}, {"negative": "setosa"}, DataError, "3 classes"),
        ({}, {"positive": "Setosa"}, UnknownStateError, "Did you mean 'setosa'"),
        ({}, {"positive": "setosa", "negative": "setosa"}, DataError, "both name 'setosa'"),
    ],
)
def test_questions_that_are_refused(row, options, kind, message):
    data = cases.make_data("mixed")
    classifier = bg.NaiveBayesClassifier().fit(data.pandas(), data.y)
    with pytest.raises(kind, match=message):
        classifier.contributions(evidence=row, **options)
    with pytest.raises(BayesGraphError):
        classifier.contributions(evidence=data.pandas(), positive="setosa")


def test_models_and_targets_that_are_refused(spam):
    with pytest.raises(EvidenceError, match="continuous"):
        spam.contributions("length", {})
    with pytest.raises(EvidenceError, match="has 'spam'"):
        spam.contributions("spam", {"spam": True})
    with pytest.raises(EvidenceError, match="'free' is soft"):
        spam.contributions("spam", {"free": {"no": 1, "yes": 2}})
    one = bg.Discrete("y", ["only"])
    with pytest.raises(DataError, match="only 'only'"):
        bg.BayesianNetwork([bg.TableCPD(one, [1.0])]).contributions("y", {})


def test_two_classes_have_one_pair_of_odds(spam):
    row = {"free": "yes"}
    up = spam.contributions("spam", row)
    for options in ({"positive": True}, {"negative": False}):
        assert spam.contributions("spam", row, **options).total == up.total
    for options in ({"positive": False}, {"negative": True}):
        down = spam.contributions("spam", row, **options)
        assert (down.total, down.positive, down.negative) == (-up.total, False, True)


# ----------------------------------------------------------------------------------- as tables


def test_tables_are_sorted_by_magnitude(spam):
    found = spam.contributions("spam", {"length": 3.0, "name": "yes", "free": "yes"})
    lines = repr(found).splitlines()
    assert lines[0] == "Log odds of spam = True against False"
    labels = [re.split(r"\s{2,}", line.strip())[0] for line in lines[1:-1]]
    assert labels == ["prior", "name = 'yes'", "free = 'yes'", "length = 3.0", "total"]
    columns = found.to_columns()
    assert columns["feature"] == ["name", "free", "length"]
    assert columns["value"] == ["yes", "yes", 3.0]
    frame = found.to_frame()
    assert list(frame.columns) == ["feature", "value", "log_odds", "alone", "arcs"]
    np.testing.assert_allclose(frame["alone"] + frame["arcs"], frame["log_odds"], atol=1e-12)
    assert pl.DataFrame(columns, strict=False).shape == (3, 5)
    shown = found._repr_html_()
    assert shown.count("<tr>") == 5
    assert "free = &#x27;yes&#x27;" in shown
    with pytest.raises(UnknownVariableError, match="Did you mean 'free'"):
        found["fre"]
    with pytest.raises(AttributeError):
        found.prior = 0.0


def test_a_number_in_intervals_stays_the_number_that_was_entered():
    ill, stage = bg.Discrete("ill", ["no", "yes"]), bg.Binned("stage", [1.5, 2.5])
    table = bg.TableCPD(stage, [[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]], [ill])
    net = bg.BayesianNetwork([bg.TableCPD(ill, [0.5, 0.5]), table])
    for entered, shown in (
        (1, "stage = 1 "),
        (np.float64(3.25), "stage = 3.25 "),
        (stage.states[0], f"stage = {stage.states[0]!r} "),
    ):
        found = net.contributions("ill", {"stage": entered})
        assert found.terms[0].value == entered
        assert shown in repr(found)
