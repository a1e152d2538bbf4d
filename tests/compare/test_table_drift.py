"""Drift between two tables: the families that moved, and no others."""

import math

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.errors import DataError, DataTypeError, UnsupportedModelError


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
    found = bg.table_drift(net, before, after)
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
    assert not bg.table_drift(net, before, rows(net, 2000, 3)).moved


@pytest.mark.slow
def test_false_alarms_are_as_rare_as_alpha_says():
    net = sprinkler()
    alarms = [
        bool(bg.table_drift(net, rows(net, 400, s), rows(net, 400, 1000 + s), alpha=0.1).moved)
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
    by_name = {f.name: f for f in bg.table_drift(net, before, holes).families}
    assert by_name["wet"].n_rows == 1000 - 110
    assert by_name["humid"].remark == "a table has no column 'humid'"
    assert math.isnan(by_name["humid"].p_value)
    assert not by_name["humid"].moved


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
    model = bg.PosteriorAverage(members)
    random = np.random.default_rng(0)
    y = random.random(600) < 0.5
    table = {"c": np.where(y, "yes", "no"), "x": np.where(y, 2.5, 0.5)}
    moved = table | {"x": table["x"] + 1.0}
    found = bg.table_drift(model, table, moved)
    assert found.moved == ("x",)
    assert len(found.families) == 2


def test_what_cannot_be_compared():
    net = sprinkler()
    table = rows(net, 50, 0)
    with pytest.raises(DataError, match="alpha"):
        bg.table_drift(net, table, table, alpha=1.0)
    with pytest.raises(DataError, match="have rows"):
        bg.table_drift(net, table, {k: v[:0] for k, v in table.items()})
    with pytest.raises(DataTypeError, match="model or a fitted"):
        bg.table_drift(table, table, table)
    a = bg.Discrete("a", [0, 1])
    with pytest.raises(UnsupportedModelError, match="no children"):
        bg.table_drift(bg.FactorGraph([bg.Factor([a], [1.0, 2.0])]), {"a": [0]}, {"a": [1]})
