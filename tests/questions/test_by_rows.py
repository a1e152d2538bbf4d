"""Contributions of many rows are those of each row."""

import math
import warnings

import cases
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from oracle import random_network

import bayesgraph as bg
from bayesgraph.core.errors import (
    DataError,
    EvidenceError,
    ImpossibleEvidenceWarning,
    UnknownVariableError,
)
from bayesgraph.core.evidence import Evidence

CONTRASTS = ({"positive": "virginica", "negative": "setosa"}, {"positive": "versicolor"})
# Log odds of extreme rows are large: what is compared is relative to them.
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def assert_the_same(many, singles):
    """Compare the rows of `RowContributions` with the contributions of each row."""
    assert len(many) == len(singles)
    place = {name: j for j, name in enumerate(many.names)}
    for i, one in enumerate(singles):
        np.testing.assert_allclose(many.prior, one.prior, **CLOSE)
        expected = np.zeros(len(many.names))
        for name, value in one.items():
            expected[place[name]] = value
        scale = max(1.0, np.abs(one.log_scores[np.isfinite(one.log_scores)]).max(initial=0.0))
        np.testing.assert_allclose(many.terms[i], expected, rtol=1e-12, atol=1e-12 * scale)
        np.testing.assert_allclose(many.total[i], one.total, rtol=1e-12, atol=1e-12 * scale)
    if singles:
        longest = max(singles, key=len)
        assert [n for n in many.names if n in longest] == list(longest)


@pytest.mark.one_in(7)
@pytest.mark.parametrize("share", [0.0, 0.3])
@pytest.mark.parametrize(("case", "kind"), cases.pairs(), ids=str)
def test_rows_have_the_contributions_of_each_row(case, kind, share):
    classifier = cases.fitted(case, cases.make_data(kind))
    asked = cases.make_data(kind, 6, seed=3).with_missing(share)
    frame = asked.pandas()
    for contrast in CONTRASTS:
        many = classifier.ask.contributions_rows(frame, **contrast)
        singles = [
            classifier.contributions(evidence=frame.iloc[i : i + 1], **contrast) for i in range(6)
        ]
        assert_the_same(many, singles)
        odds = bg.classifiers.log_odds(classifier, frame, **contrast)
        np.testing.assert_allclose(many.prior + many.terms.sum(axis=1), odds, atol=1e-9)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(12))
def test_rows_of_networks(seed):
    network = random_network(seed, n_discrete=5, n_continuous=2 * (seed % 2))
    target = next(v for v in network.variables if isinstance(v, bg.Discrete) and v.cardinality > 1)
    table = network.sample(30, random_state=seed, frame="pandas")
    gone = np.random.default_rng(seed).random(table.shape) < 0.2
    table = table.astype(object).mask(gone, None)
    seen = table.drop(columns=[target.name])
    for model in (
        network,
        bg.Ensemble([network, network]),
        bg.Ensemble([network], combine="posterior"),
    ):
        many = model.ask.contributions_rows(seen, target.name, positive=target.states[-1])
        rows = [{n: x for n, x in row.items() if not pd.isna(x)} for row in seen.to_dict("records")]
        singles = [model.contributions(target.name, r, positive=target.states[-1]) for r in rows]
        assert_the_same(many, singles)


def spam():
    label = bg.Discrete("spam", [False, True])
    free, name = bg.Discrete("free", ["no", "yes"]), bg.Discrete("name", ["no", "yes"])
    return bg.BayesianNetwork(
        [
            bg.TableCPD(label, [0.75, 0.25]),
            bg.TableCPD(free, [[1.0, 0.0], [0.4, 0.6]], parents=[label]),
            bg.TableCPD(name, [[[0.2, 0.8], [0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]]], [label, free]),
        ]
    )


ROWS = pd.DataFrame({"free": ["yes", "no", None], "name": ["no", "yes", "no"]})


def test_what_it_is_and_how_it_prints():
    found = spam().ask.contributions_rows(ROWS, "spam")
    assert found.names == ("free", "name")
    assert found.prior == pytest.approx(math.log(0.25 / 0.75))
    assert found.terms[0, 0] == math.inf
    assert found.terms[1].tolist() == pytest.approx([math.log(0.4), math.log(0.5 / 0.8)])
    assert found.terms[2, 0] == 0.0
    np.testing.assert_allclose(found.probability[1], 1 / (1 + math.exp(-found.total[1])))
    frame = found.to_frame()
    assert list(frame.columns) == ["free", "name"]
    np.testing.assert_array_equal(frame.to_numpy(), found.terms)
    few = spam().ask.contributions_rows(ROWS[1:], "spam")
    np.testing.assert_allclose(few.mean_sizes, np.abs(few.terms).mean(axis=0))
    assert repr(few).splitlines()[0] == (
        "Contributions of 2 rows to the log odds of spam = True against False"
    )
    assert "inf" in repr(found)
    assert len(spam().ask.contributions_rows(ROWS[:0], "spam")) == 0


def test_interventions_and_factors():
    net = spam()
    many = net.ask.contributions_rows(ROWS[["name"]], "spam", do={"free": "no"})
    singles = [net.contributions("spam", {"name": n}, do={"free": "no"}) for n in ROWS["name"]]
    assert_the_same(many, singles)
    x = bg.GaussianCPD(bg.Continuous("x"), [0.0, 1.0], 1.0, [net.variable("free")])
    larger = bg.BayesianNetwork([*net.cpds, x])
    many = larger.ask.contributions_rows(ROWS[["name"]], "spam", do={"x": 1.0, "free": "no"})
    assert_the_same(many, singles)
    graph = bg.FactorGraph.of(net)
    many = graph.ask.contributions_rows(ROWS[1:2], "spam")
    assert_the_same(many, [graph.contributions("spam", {"free": "no", "name": "yes"})])
    with pytest.raises(EvidenceError, match="are not observed in every row"):
        graph.ask.contributions_rows(ROWS, "spam")


def test_impossible_rows_are_told():
    table = [[0.0, 1.0], [0.0, 1.0]]
    a, b = bg.Discrete("a", [0, 1]), bg.Discrete("b", [0, 1])
    net = bg.BayesianNetwork([bg.TableCPD(a, [0.5, 0.5]), bg.TableCPD(b, table, [a])])
    with pytest.warns(ImpossibleEvidenceWarning, match="1 of 2 rows are impossible"):
        found = net.ask.contributions_rows({"b": [0, 1]}, "a")
    assert np.isnan(found.terms[0]).all()
    assert np.isnan(found.total[0])
    assert found.total[1] == 0.0
    assert "nan" not in repr(found)


def test_words_in_sparse_matrices():
    counts = np.random.default_rng(0).poisson(0.4, (40, 12)).astype(float)
    y = np.where(counts[:, :3].sum(axis=1) > 1, "yes", "no")
    for leaf in ("multinomial", "bernoulli"):
        clf = bg.NaiveBayesClassifier(leaf).fit(scipy.sparse.csr_array(counts), y)
        rows = scipy.sparse.csr_array(counts[:6])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            many = clf.ask.contributions_rows(rows)
        assert_the_same(many, [clf.contributions(evidence=rows[[i]]) for i in range(6)])


def test_what_is_refused():
    net = spam()
    with pytest.raises(UnknownVariableError):
        net.ask.contributions_rows(ROWS, "ham")
    soft = Evidence(1, {}, {net.variable("free"): np.log([[0.2, 0.8]])})
    with pytest.raises(EvidenceError, match="'free' is soft"):
        net.ask.contributions_rows(soft, "spam")
    numbers = bg.BayesianNetwork([bg.GaussianCPD(bg.Continuous("x"), 0.0, 1.0)])
    with pytest.raises(EvidenceError, match="is continuous"):
        numbers.ask.contributions_rows({"x": [1.0]}, "x")
    weighted = bg.WeightedNetwork(net, "spam", {"free": 0.5})
    with pytest.raises(EvidenceError, match="those of its class 'spam'"):
        weighted.ask.contributions_rows(ROWS, "free")
    with pytest.raises(EvidenceError, match="those of its class 'spam'"):
        weighted.contributions("free", {"name": "yes"})


def test_rows_have_identifiers_in_the_frame():
    found = spam().ask.contributions_rows(ROWS, "spam")
    assert list(found.to_frame(["a", "b", "c"]).index) == ["a", "b", "c"]
    assert list(found.to_frame(pd.Index([7, 8, 9], name="patient")).index) == [7, 8, 9]
    with pytest.raises(DataError, match=r"each of 3 rows; got values of shape .2,."):
        found.to_frame([1, 2])
