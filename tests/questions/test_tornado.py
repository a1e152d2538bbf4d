"""Tornado charts: the posterior at both ends of each parameter and of each finding."""

import itertools

import numpy as np
import pytest
from oracle import Oracle, random_network

import bayesgraph as bg
from bayesgraph.core.errors import DataError, UnsupportedModelError
from bayesgraph.core.variables import MissingIndicator


def mixed():
    c, x, y = bg.Discrete("c", ["no", "yes"]), bg.Continuous("x"), bg.Continuous("y")
    return bg.BayesianNetwork(
        [
            bg.TableCPD(c, [0.7, 0.3]),
            bg.GaussianCPD(x, [0.0, 1.0], [1.0, 2.0], [c]),
            bg.GaussianCPD(y, [0.0, 0.5], 1.0, [c, x], [[0.3], [0.8]]),
            bg.TableCPD(bg.Discrete("z", ["a", "b"]), [[0.5, 0.5], [0.1, 0.9]], [c]),
        ]
    )


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(6))
def test_bars_of_probabilities_equal_networks_with_other_tables(seed):
    net = random_network(seed + 3, n_discrete=4, zeros=0.0)
    target = net.variables[0]
    if target.cardinality < 2:
        return
    found = net.ask.tornado(target.name, target.states[0], spread=0.2, n=50)
    widths = [bar.width for bar in found.bars]
    assert widths == sorted(widths, reverse=True)
    slopes = net.ask.sensitivity(target.name, target.states[0])
    for bar in found.bars:
        assert bar.low <= found.posterior + 1e-12
        assert bar.high >= found.posterior - 1e-12
    # Without evidence the probability is linear in each parameter.
    expected = []
    for name, table in slopes.covaried.items():
        values = net[name].values
        ends = np.minimum(1.2 * values, 1.0) - 0.8 * values
        width = np.abs(table) * np.where((values > 0) & (values < 1), ends, 0.0)
        expected += width[..., 1 if values.shape[-1] == 2 else 0 :].ravel().tolist()
    known = sorted((w for w in expected if w > 1e-12), reverse=True)
    assert [w for w in widths if w > 1e-12] == pytest.approx(known[:50], abs=1e-12)


def test_bars_of_gaussians_equal_enumeration():
    net = mixed()
    evidence = {"x": 0.4, "y": 0.9}
    found = net.ask.tornado("c", "yes", evidence, n=50)
    assert found.posterior == pytest.approx(Oracle.of(net).posterior(["c"], evidence)[1])
    names = {bar.name: bar for bar in found.bars}
    assert len(names) == 1 + 4 + 6
    bar = names["slope of y | c=yes on x"]
    ends = []
    for slope in (0.72, 0.88):
        cpd = bg.GaussianCPD(net.variable("y"), [0.0, 0.5], 1.0, net["y"].parents, [[0.3], [slope]])
        changed = bg.BayesianNetwork([net["c"], net["x"], cpd])
        ends.append(Oracle.of(changed).posterior(["c"], evidence)[1])
    assert (bar.low, bar.high) == pytest.approx((min(ends), max(ends)), abs=1e-12)
    assert "variance of x | c=no" in names


@pytest.mark.slow
def test_of_many_parameters_the_most_influential_are_varied():
    random = np.random.default_rng(0)
    c, d = bg.Discrete("c", ["no", "yes"]), bg.Discrete("d", range(260))
    cpds = [
        bg.TableCPD(c, [0.7, 0.3]),
        bg.TableCPD(d, random.dirichlet(np.ones(260), 2), [c]),
        bg.GaussianCPD(bg.Continuous("x"), random.normal(size=(2, 260)), 1.0, [c, d]),
    ]
    net = bg.BayesianNetwork(cpds)
    other = bg.BayesianNetwork([bg.TableCPD(c, [0.4, 0.6]), *cpds[1:]])
    models = {
        "mixed": (net, "Of 1,561 parameters, the 50"),
        "mixture": (bg.Ensemble([net, other]), "Of 3,122 parameters, the 50"),
        "average": (bg.Ensemble([net, other], combine="posterior"), "Of 3,122 parameters, the 50"),
    }
    evidence = {"x": 0.4, "d": 7}
    for model, remark in models.values():
        found = model.ask.tornado("c", "yes", evidence, n=3)
        assert remark in found.remark
        # Only the prior, and the rows and Gaussians of d = 7, move the posterior.
        assert all("d=7" in bar.name or "P(c=yes)" in bar.name for bar in found.bars)
    # A weighted network has no derivatives: all are varied, or it says why not.
    weighted = bg.WeightedNetwork(net, "c", {"x": 0.5})
    with pytest.raises(UnsupportedModelError, match=r"1,561 .* has no derivatives by which"):
        weighted.ask.tornado("c", "yes", evidence)


def test_the_widest_bars_are_among_those_of_the_largest_derivatives():
    random = np.random.default_rng(0)
    c, d = bg.Discrete("c", ["no", "yes"]), bg.Discrete("d", range(25))
    spread = bg.TableCPD(d, random.dirichlet(np.ones(25), 2), [c])
    net = bg.BayesianNetwork([*mixed().cpds, spread])
    few, whole = (net.ask.tornado("c", "yes", {"x": 0.4, "y": 0.9, "d": 7}, n=n) for n in (8, 20))
    assert (few.n_varied, whole.n_varied) == (50, 1 + 4 + 6 + 50)
    assert [bar.name for bar in few.bars] == [bar.name for bar in whole.bars[:8]]


def test_bars_of_findings_have_the_extremes_over_all_values():
    net = mixed()
    found = net.ask.tornado("c", "yes", {"x": 0.4, "z": "a"}, by="findings")
    bars = {bar.name: bar for bar in found.bars}
    ends = [net.query("c", {"x": 0.4, "z": state})["yes"] for state in "ab"]
    assert (bars["z"].low, bars["z"].high) == pytest.approx((min(ends), max(ends)))
    assert bars["x"].high == pytest.approx(
        net.query("c", {"x": bars["x"].at_high, "z": "a"})["yes"]
    )


def test_a_finding_of_a_rare_state_stays_possible():
    a, b = bg.Discrete("a", ["0", "1"]), bg.Discrete("b", ["0", "1"])
    net = bg.BayesianNetwork([bg.TableCPD(a, [0.05, 0.95]), bg.TableCPD(b, [[0.5] * 2] * 2, [a])])
    found = net.ask.tornado("b", "1", {"a": "0"})
    assert {bar.name: bar.at_high for bar in found.bars}["P(b=1 | a=0)"] == pytest.approx(0.55)
    assert found.posterior == pytest.approx(0.5)


def test_parameters_are_varied_of_all_that_the_findings_say():
    a, x, words = (
        bg.Discrete("a", ["0", "1"]),
        bg.Continuous("x"),
        bg.CountVector("words", ["u", "v"]),
    )
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(a, [0.3, 0.7]),
            bg.GaussianCPD(x, [0.0, 1.0], 1.0, [a]),
            bg.TableCPD(MissingIndicator("x is missing", "x"), [[0.9, 0.1], [0.2, 0.8]], [a]),
            bg.MultinomialCPD(words, [[0.5, 0.5], [0.2, 0.8]], [a]),
        ]
    )
    for evidence in ({"x": 0.5}, {"x": None}, {x: 0.5}, {"u": 2}, {"x": bg.Between(0.0, 1.0)}):
        found = net.ask.tornado("a", "1", evidence)
        assert found.posterior == net.query("a", evidence)["1"]
        assert all(bar.low <= found.posterior + 1e-12 for bar in found.bars)
        assert all(bar.high >= found.posterior - 1e-12 for bar in found.bars)
        indicated = any(bar.name.startswith("P(x is missing=yes") for bar in found.bars)
        assert indicated == ("u" not in evidence)


def test_what_cannot_be_varied():
    net = mixed()
    with pytest.raises(DataError, match="by="):
        net.ask.tornado("c", "yes", by="arcs")
    with pytest.raises(DataError, match="spread"):
        net.ask.tornado("c", "yes", spread=0.0)
    with pytest.raises(UnsupportedModelError, match="by='findings'"):
        bg.FactorGraph.of(net).ask.tornado("c", "yes", {"z": "a", "x": 0.0, "y": 0.0})


def test_the_figure_has_a_bar_for_each_parameter():
    pytest.importorskip("matplotlib")
    figure = bg.plot(mixed().ask.tornado("c", "yes", {"x": 0.4}, n=6), max_bars=4, title="$x$")
    (axes,) = figure.axes
    assert len(axes.get_yticklabels()) == 4
    assert axes.get_title(loc="left") == "$x$"
    with pytest.raises(DataError, match="max_bars"):
        bg.plot(mixed().ask.tornado("c", "yes"), max_bars=0)
    # Bars that reach far leave room for labels, and the axis has probabilities only.
    coin, side = bg.Discrete("coin", ["a", "b"]), bg.Discrete("side", ["h", "t"])
    tables = [bg.TableCPD(coin, [0.9, 0.1]), bg.TableCPD(side, [[1.0, 0.0], [0.0, 1.0]], [coin])]
    wide = bg.plot(
        bg.BayesianNetwork(tables).ask.tornado("coin", "a", {"side": "h"}, by="findings")
    )
    ticks = wide.axes[0].get_xticks()
    assert wide.axes[0].get_xlim()[1] > 1
    assert 0 <= min(ticks) <= max(ticks) <= 1
    values = np.repeat(["no", "yes"], 40)
    table = {"c": values, "z": np.where(values == "no", "a", "b")}
    drift = bg.questions.table_drift(
        mixed(), table, {k: v[::-1] for k, v in table.items()} | {"z": ["b"] * 80}
    )
    (axes,) = bg.plot(drift, max_families=2).axes
    assert len(axes.get_yticklabels()) == 2


LONG = "number of cigarettes per day in the last twelve months"


@pytest.mark.slow
@pytest.mark.parametrize("by", ["parameters", "findings"])
def test_long_names_leave_the_figure_its_width(by):
    pytest.importorskip("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    sick = bg.Discrete("sick", ["no", "yes"])
    tables = [bg.TableCPD(sick, [0.7, 0.3])]
    for name in (LONG, f"{LONG} of the mother", f"{LONG} of the father", "$x$"):
        variable = bg.Discrete(name, ["more than twenty a day", "$less than twenty a day"])
        parents = [cpd.variable for cpd in tables[:2]]
        table = np.resize([0.2, 0.8, 0.6, 0.4], (*(p.cardinality for p in parents), 2))
        tables.append(bg.TableCPD(variable, table, parents))
    found = bg.BayesianNetwork(tables).ask.tornado(
        "sick", "no", {cpd.variable.name: cpd.variable.states[0] for cpd in tables[1:]}, by=by
    )
    assert LONG in repr(found)
    figure = bg.plot(found)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    (axes,) = figure.axes
    box, dpi = axes.get_window_extent(), figure.dpi
    assert box.width > 4.5 * dpi
    assert figure.get_figwidth() < 10
    labels = axes.get_yticklabels()
    assert len({text.get_text() for text in labels}) == len(found.bars)
    extents = [text.get_window_extent() for text in labels]
    assert all(extent.x0 >= 0 and extent.x1 < box.x0 for extent in extents)
    assert all(low.y1 <= high.y0 for high, low in itertools.pairwise(extents))
    ends = [text.get_window_extent() for text in axes.texts[:-1]]
    assert all(box.x0 <= extent.x0 and extent.x1 <= box.x1 for extent in ends)
    ticks = [text.get_window_extent() for text in axes.get_xticklabels()]
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(ticks))


def test_without_findings_there_is_nothing_to_vary():
    coin = bg.Discrete("coin", ["a", "b"])
    found = bg.BayesianNetwork([bg.TableCPD(coin, [0.8, 0.2])]).ask.tornado("coin", by="findings")
    assert found.state == "b"  # the second of two, as in contributions
    die = bg.TableCPD(bg.Discrete("die", [1, 2, 3]), [0.2, 0.5, 0.3])
    assert bg.BayesianNetwork([die]).ask.tornado("die", by="findings").state == 2
    assert not found.bars
    assert "no findings to vary" in repr(found)
