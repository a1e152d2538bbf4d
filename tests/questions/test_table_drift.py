"""Drift between two tables: the families that moved, and no others."""

import math

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.core.errors import DataError, DataTypeError, UnsupportedModelError


def sprinkler(wet=0.9, sd=1.0):
    rain, on, wet_ = (bg.Discrete(n, ["no", "yes"]) for n in ("rain", "on", "wet"))
    return bg.BayesianNetwork(
        [
            bg.TableCPD(rain, [0.7, 0.3]),
            bg.TableCPD(on, [[0.5, 0.5], [0.9, 0.1]], [rain]),
            bg.TableCPD(wet_, [[[0.95, 0.05], [0.2, 0.8]], [[1 - wet, wet]] * 2], [rain, on]),
            bg.GaussianCPD(bg.Continuous("temp"), [20.0, 14.0], [sd**2, sd**2], [rain]),
            bg.GaussianCPD(
                bg.Continuous("humid"), [1.0, 3.0], 0.5, [rain, bg.Continuous("temp")],
                [[0.1], [0.2]],
            ),
        ]
    )  # fmt: skip


def rows(net, n, seed):
    return net.sample(n, random_state=seed, frame="dict")


def test_the_families_that_moved_are_found():
    net = sprinkler()
    before, after = rows(net, 3000, 1), rows(sprinkler(wet=0.6, sd=1.5), 2000, 2)
    found = bg.questions.table_drift(net, before, after)
    assert set(found.moved) == {"wet", "temp"}
    assert (found.n_before, found.n_after) == (3000, 2000)
    by_name = {f.name: f for f in found.families}
    wet = by_name["wet"]
    table = {k: np.concatenate([before[k], after[k]]) for k in ("rain", "on", "wet")}
    table["which"] = ["a"] * 3000 + ["b"] * 2000
    test = bg.independence_test(table, "wet", "which", ["rain", "on"])
    assert wet.p_value == pytest.approx(test.p_value)
    assert wet.information == pytest.approx(test.statistic / 10_000)
    assert wet.log_likelihood_after < wet.log_likelihood_before
    total = sum(f.log_likelihood_before for f in found.families)
    assert total == pytest.approx(net.log_likelihood(before).mean())
    by_p = sorted(found.families, key=lambda f: f.p_value)
    holm = np.maximum.accumulate([(5 - i) * f.p_value for i, f in enumerate(by_p)])
    expected = np.minimum(holm, 1.0).tolist()
    assert [f.adjusted for f in by_p] == pytest.approx(expected, rel=1e-9, abs=0)
    assert repr(found).count("●") == 3
    assert not bg.questions.table_drift(net, before, rows(net, 2000, 3)).moved


@pytest.mark.slow
def test_false_alarms_are_as_rare_as_alpha_says():
    net = sprinkler()
    alarms = [
        bool(
            bg.questions.table_drift(
                net, rows(net, 400, s), rows(net, 400, 1000 + s), alpha=0.1
            ).moved
        )
        for s in range(200)
    ]
    assert np.mean(alarms) < 0.1 + 3 * math.sqrt(0.1 * 0.9 / 200)


def test_missing_values_unknown_categories_and_columns():
    net = sprinkler()
    before, after = rows(net, 500, 1), rows(net, 500, 2)
    holes = {k: list(v) for k, v in after.items()}
    holes["wet"][:100] = [None] * 100
    holes["rain"][100:110] = ["snow"] * 10
    del holes["humid"]
    by_name = {f.name: f for f in bg.questions.table_drift(net, before, holes).families}
    assert by_name["wet"].n_rows == 1000 - 110
    assert by_name["humid"].remark == "a table has no column 'humid'"
    assert math.isnan(by_name["humid"].p_value)
    assert not by_name["humid"].moved


def test_a_family_without_complete_rows_in_a_table_is_not_tested():
    net = sprinkler()
    before, after = rows(net, 50, 1), rows(net, 50, 2)
    after["wet"] = ["unknown"] * 50
    (wet,) = (f for f in bg.questions.table_drift(net, before, after).families if f.name == "wet")
    assert math.isnan(wet.p_value)
    assert math.isnan(wet.information)
    assert wet.remark == "a table has no row without a missing value"


def ward(share=0.5, fever=1.0):
    ill = bg.Discrete("ill", ["no", "yes"])
    cough = bg.Discrete("cough", ["no", "yes"])
    return bg.BayesianNetwork(
        [
            bg.TableCPD(ill, [1 - share, share]),
            bg.TableCPD(cough, [[0.9, 0.1], [0.4, 0.6]], [ill]),
            bg.GaussianCPD(bg.Continuous("fever"), [37.0, 37.0 + fever], [0.1, 0.2], [ill]),
            bg.TableCPD(
                bg.Discrete("rash", ["no", "yes"]),
                [[[0.95, 0.05], [0.6, 0.4]], [[0.8, 0.2], [0.3, 0.7]]],
                [ill, cough],
            ),
        ]
    )


def test_rows_without_the_class_are_compared_by_what_they_have():
    net = ward()
    before, after = rows(net, 1500, 1), rows(ward(fever=2.0), 1500, 2)
    known = [{k: v for k, v in t.items() if k != "ill"} for t in (before, after)]
    found = bg.questions.table_drift(net, *known)
    assert found.moved == ("fever",)
    by_name = {f.name: f for f in found.families}
    assert [f.title for f in found.families[1:]].count("rash | cough") == 1
    assert by_name["rash"].latent == ("ill",)
    table = {k: np.concatenate([t[k] for t in known]) for k in ("cough", "rash")}
    table["which"] = ["a"] * 1500 + ["b"] * 1500
    assert by_name["rash"].p_value == pytest.approx(
        bg.independence_test(table, "rash", "which", ["cough"]).p_value
    )
    # The mean log likelihoods sum the class out.
    cough, rash = ((before[k] == "yes").astype(int) for k in ("cough", "rash"))
    joint = np.zeros((2, 2))
    for i in range(2):
        p_cough = net["cough"].values[i]
        joint += 0.5 * p_cough[:, None] * net["rash"].values[i]
    given = joint[cough, rash] / joint.sum(axis=1)[cough]
    assert by_name["rash"].log_likelihood_before == pytest.approx(np.log(given).mean())
    marginal = sum(
        0.5 * np.exp(-0.5 * (before["fever"] - mean) ** 2 / var) / math.sqrt(2 * math.pi * var)
        for mean, var in ((37.0, 0.1), (38.0, 0.2))
    )
    assert by_name["fever"].log_likelihood_before == pytest.approx(np.log(marginal).mean())
    assert math.isnan(by_name["ill"].p_value)
    text = repr(found)
    assert "nan" not in text
    assert "compared without 'ill'" in text
    assert max(map(len, text.splitlines())) <= 80
    # The same with a class column in one of the tables only.
    once = bg.questions.table_drift(net, before, known[1])
    assert [f.p_value for f in once.families[:3]] == [f.p_value for f in found.families[:3]]


@pytest.mark.parametrize(
    "make",
    [
        bg.BayesianNetworkClassifier,
        bg.TANClassifier,
        bg.AODEClassifier,
        bg.WeightedNaiveBayesClassifier,
        lambda: bg.NaiveBayesClassifier(discretizer="mdlp"),
    ],
)
def test_classifiers_compare_rows_without_their_class(make):
    train = rows(ward(), 600, 3)
    y = train.pop("ill")
    clf = make().fit(train, y)
    before, after = (rows(ward(fever=f), 600, s) for f, s in ((1.0, 6), (2.0, 7)))
    for without in (False, True):
        names = [k for k in before if not (without and k == "ill")]
        renamed = [
            {clf.target_.name if k == "ill" else k: t[k] for k in names} for t in (before, after)
        ]
        found = bg.questions.table_drift(clf, *renamed)
        # A tree has the class below its features: it moved with them.
        assert {"fever"} <= set(found.moved) <= {"fever", clf.target_.name}
        assert "nan" not in repr(found)
        for family in found.families:
            if family.name != clf.target_.name:
                assert math.isfinite(family.log_likelihood_before)
                assert math.isfinite(family.log_likelihood_after)


def test_members_share_families_and_intervals():
    c = bg.Discrete("c", ["no", "yes"])
    members = [
        bg.BayesianNetwork(
            [
                bg.TableCPD(c, [0.5, 0.5]),
                bg.TableCPD(bg.Binned("x", cuts), [[0.8, 0.2], [0.2, 0.8]], [c]),
            ]
        )
        for cuts in ([1.0], [2.0])
    ]
    model = bg.Ensemble(members, combine="posterior")
    random = np.random.default_rng(0)
    y = random.random(600) < 0.5
    table = {"c": np.where(y, "yes", "no"), "x": np.where(y, 2.5, 0.5)}
    moved = table | {"x": table["x"] + 1.0}
    found = bg.questions.table_drift(model, table, moved)
    assert found.moved == ("x",)
    assert len(found.families) == 2


def test_what_cannot_be_compared():
    net = sprinkler()
    table = rows(net, 50, 0)
    with pytest.raises(DataError, match="alpha"):
        bg.questions.table_drift(net, table, table, alpha=1.0)
    with pytest.raises(DataError, match="have rows"):
        bg.questions.table_drift(net, table, {k: v[:0] for k, v in table.items()})
    with pytest.raises(DataTypeError, match="model or a fitted"):
        bg.questions.table_drift(table, table, table)
    a = bg.Discrete("a", [0, 1])
    with pytest.raises(UnsupportedModelError, match="no children"):
        bg.questions.table_drift(
            bg.FactorGraph([bg.Factor([a], [1.0, 2.0])]), {"a": [0]}, {"a": [1]}
        )
