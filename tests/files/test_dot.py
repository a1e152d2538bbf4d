"""DOT text: what it says, how it is escaped, and that Graphviz reads it as it was meant."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pygraphviz
import pytest

import bayesgraph as bg
from bayesgraph.core.display import SHADE
from bayesgraph.core.errors import (
    DataTypeError,
    EvidenceError,
    GraphError,
    ImpossibleEvidenceError,
    UnknownVariableError,
)
from bayesgraph.models import texts
from bayesgraph.pictures import dot_labels, to_dot

SVG = "{http://www.w3.org/2000/svg}"
TITLE = "{http://www.w3.org/1999/xlink}title"

ODD = [
    'say "hi"',
    "a<b>&c;",
    "&amp;",
    "&lt;",
    "back\\slash\\",
    "\\N \\G \\L \\n",
    "{rec|ord}",
    "naïve Ω 変数",
    "]]>",
    "<!-- -->",
    "<",
    "<html>",
]


def sprinkler():
    rain = bg.Discrete("rain", ["none", "light", "heavy"])
    on = bg.Discrete("sprinkler", [False, True])
    wet = bg.Discrete("wet", ["no", "yes"])
    warm = bg.Continuous("temp")
    humid = bg.Continuous("humidity")
    return bg.BayesianNetwork(
        [
            bg.TableCPD(rain, [0.5, 0.3, 0.2]),
            bg.TableCPD(on, [[0.6, 0.4], [0.9, 0.1], [1.0, 0.0]], parents=[rain]),
            bg.TableCPD(
                wet,
                [[[1.0, 0.0], [0.2, 0.8]], [[0.3, 0.7], [0.1, 0.9]], [[0.0002, 0.9998], [0, 1]]],
                parents=[rain, on],
            ),
            bg.GaussianCPD(warm, [24.0, 14.0, 12.0], [9.0, 4.0, 4.0], parents=[rain]),
            bg.GaussianCPD(humid, 60.0, 30.0, parents=[warm], coefficients=[-0.5]),
        ],
        arc_scores={("rain", "wet"): 0.072, ("sprinkler", "wet"): 0.0288},
    )


def star(n, *, tree=False):
    group = bg.Discrete("class", ["a", "b"])
    features = [bg.Continuous(f"x{i}") for i in range(n)]
    cpds = [bg.TableCPD(group, [0.5, 0.5])]
    for i, feature in enumerate(features):
        parents = [group, features[i - 1]] if tree and i else [group]
        slopes = np.ones((2, len(parents) - 1))
        cpds.append(bg.GaussianCPD(feature, [0, 1], [1, 1], parents=parents, coefficients=slopes))
    scores = {(f"x{i - 1}", f"x{i}"): 0.1 * i for i in range(1, n)} if tree else {}
    return bg.BayesianNetwork(cpds, arc_scores=scores)


def chain(names_and_states):
    """Return a network in which each variable is the parent of the next."""
    cpds = []
    for name, states in names_and_states:
        child = bg.Discrete(name, states)
        parents = [cpds[-1].variable] if cpds else []
        shape = [*(parent.cardinality for parent in parents), len(states)]
        cpds.append(bg.TableCPD(child, np.full(shape, 1 / len(states)), parents=parents))
    return bg.BayesianNetwork(cpds)


def parsed(text):
    """Read with the real parser, which knows nothing of how the text was written."""
    with pygraphviz.AGraph(string=text) as graph:
        nodes = {str(node): attributes(node) for node in graph.nodes()}
        arcs = {(str(u), str(v)): attributes(graph.get_edge(u, v)) for u, v in graph.edges()}
        return nodes, arcs


def attributes(item):
    keys = ("shape", "style", "color", "fillcolor", "penwidth", "label", "lhead", "tooltip")
    return {key: item.attr[key] or "" for key in keys}


def drawn_texts(text):
    """Return every string that Graphviz draws, and every tooltip."""
    with pygraphviz.AGraph(string=text) as graph:
        root = ElementTree.fromstring(graph.draw(format="svg", prog="dot"))
    shown = ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]
    tips = [element.get(TITLE) for element in root.iter(f"{SVG}a")]
    return shown, tips


class TestStructure:
    def test_nodes_and_arcs_are_those_of_the_network(self):
        net = sprinkler()
        nodes, arcs = parsed(to_dot(net))
        place = {name: f"n{i}" for i, name in enumerate(net.names)}
        assert set(nodes) == set(place.values())
        assert set(arcs) == {(place[u], place[v]) for u, v in net.graph.edges}

    def test_every_name_and_state_is_shown(self):
        shown, tips = drawn_texts(to_dot(sprinkler()))
        assert {"rain", "sprinkler", "wet", "temp", "humidity"} <= set(shown)
        assert {"none · light · heavy", "False · True", "no · yes"} <= set(shown)
        assert "rain: none, light, heavy" in tips
        assert "temp: continuous" in tips

    def test_states_can_be_left_out(self):
        shown, _ = drawn_texts(to_dot(sprinkler(), states=False))
        assert not any("light" in text for text in shown)

    def test_continuous_variables_are_ellipses(self):
        nodes, _ = parsed(to_dot(sprinkler()))
        assert nodes["n3"]["shape"] == nodes["n4"]["shape"] == "ellipse"
        assert nodes["n0"]["shape"] == "box"

    def test_rankdir(self):
        assert 'rankdir="LR"' in to_dot(sprinkler(), rankdir="LR")

    @pytest.mark.parametrize("options", [{}, {"tables": True}, {"beliefs": True}])
    def test_the_same_text_every_time(self, options):
        assert to_dot(sprinkler(), **options) == to_dot(sprinkler(), **options)

    def test_long_lists_of_states_are_cut_and_counted(self):
        net = chain([("x", list(range(30)))])
        shown, tips = drawn_texts(to_dot(net, max_states=4))
        assert "0 · 1 · 2 · 3 · … 26 more" in shown
        assert tips == ["x: " + ", ".join(map(str, range(30)))]

    def test_a_method_of_the_model(self):
        net = sprinkler()
        assert bg.pictures.to_dot(net, tables=True) == to_dot(net, tables=True)


class TestEscaping:
    @pytest.mark.parametrize("name", ODD)
    def test_names_are_drawn_as_they_are(self, name):
        shown, tips = drawn_texts(to_dot(chain([(name, ["s", "t"]), ("other", ["u", "v"])])))
        assert name in shown
        assert f"{name}: s, t" in tips
        assert f"{name} → other" in tips

    @pytest.mark.parametrize("options", [{}, {"tables": True}, {"beliefs": True}])
    def test_states_are_drawn_as_they_are(self, options):
        net = chain([("x", ODD)])
        shown, _ = drawn_texts(to_dot(net, max_states=20, **options))
        everything = " · ".join(shown)
        assert all(state in everything for state in ODD)

    def test_observed_states_are_escaped(self):
        net = chain([("x", ODD), ("y", [0, 1])])
        for state in ODD:
            assert f"= {state}" in drawn_texts(to_dot(net, evidence={"x": state}))[0]

    def test_names_of_any_type(self):
        shown, _ = drawn_texts(to_dot(chain([(7, [0, 1]), (("t", 1), [0, 1]), (1.5, [0, 1])])))
        assert {"7", "('t', 1)", "1.5"} <= set(shown)

    def test_what_reads_the_same_is_told_apart(self):
        shown, _ = drawn_texts(to_dot(chain([(1, [True, 1, 1.0, "1"]), ("1", ["x", "y"])])))
        assert {"1", "'1'", "True · 1 · 1.0 · '1'"} <= set(shown)

    def test_blanks_line_breaks_and_control_characters(self):
        net = chain([("", ["", " "]), ("two\nlines", ["bell\x07", "lone\ud800"])])
        shown, _ = drawn_texts(to_dot(net))
        assert {"''", "'' · ' '", "two lines", "bell\\x07 · lone\\ud800"} <= set(shown)

    def test_long_names_keep_both_ends(self):
        names = [f"measurement of the very same thing, number {i}" for i in range(2)]
        shown, tips = drawn_texts(to_dot(chain([(name, [0, 1]) for name in names])))
        cut = [text for text in shown if "…" in text]
        assert len(set(cut)) == 2
        assert max(map(len, cut)) <= dot_labels.LONGEST_NAME
        assert f"{names[0]}: 0, 1" in tips

    def test_long_names_that_differ_in_the_middle(self):
        names = ["a" * 30 + middle + "b" * 30 for middle in "xy"]
        assert len(set(texts(names, 20))) == 2


class TestEvidence:
    def test_observed_nodes_are_shaded_and_named(self):
        text = to_dot(sprinkler(), evidence={"wet": "yes", "temp": 13.2})
        nodes, _ = parsed(text)
        shaded = {key for key, attributes in nodes.items() if attributes["fillcolor"] == SHADE}
        assert shaded == {"n2", "n3"}
        assert {"= yes", "= 13.2"} <= set(drawn_texts(text)[0])

    def test_missing_values_are_not_evidence(self):
        net = sprinkler()
        assert to_dot(net, evidence={"wet": None, "temp": float("nan")}) == to_dot(net)

    def test_soft_evidence_is_dashed(self):
        nodes, _ = parsed(to_dot(sprinkler(), evidence={"wet": {"no": 1, "yes": 3}}))
        assert nodes["n2"]["style"] == "rounded,filled,dashed"

    def test_the_target_is_highlighted(self):
        nodes, _ = parsed(to_dot(sprinkler(), target="rain"))
        wide = {key for key, attributes in nodes.items() if attributes["penwidth"] == "2.2"}
        assert wide == {"n0"}

    def test_beliefs_are_the_posteriors(self):
        net = sprinkler()
        text = to_dot(net, evidence={"wet": "yes"}, beliefs=True)
        shown, _ = drawn_texts(text)
        for name in ("rain", "sprinkler"):
            for share in net.query(name, {"wet": "yes"}).values():
                assert dot_labels.percentage(share) in shown
        temp = net.query("temp", {"wet": "yes"})
        assert dot_labels.with_spread(temp.mean, temp.variance**0.5) in shown

    def test_bars_are_as_long_as_the_probabilities(self):
        net = chain([("x", ["a", "b", "c"])])
        cpd = bg.TableCPD(net.variables[0], [0.75, 0.25, 0.0])
        text = to_dot(bg.BayesianNetwork([cpd]), beliefs=True)
        widths = [int(w) for w in re.findall(r'WIDTH="(\d+)" HEIGHT="9" BGCOLOR="#4c78a8"', text)]
        assert widths == [63, 21]

    def test_bars_of_the_most_probable_states(self):
        variable = bg.Discrete("x", list("abcde"))
        net = bg.BayesianNetwork([bg.TableCPD(variable, [0.1, 0.4, 0.05, 0.3, 0.15])])
        shown, _ = drawn_texts(to_dot(net, beliefs=True, max_states=2))
        assert [text for text in shown if text in "abcde"] == ["b", "d"]
        assert {"… 3 more", "30.0%"} <= set(shown)

    def test_the_density_stands_on_its_axis(self):
        net = sprinkler()
        text = to_dot(net, beliefs=True)
        assert text.count('VALIGN="BOTTOM"') == 2 * 44
        assert not re.search(r'WIDTH="0"|HEIGHT="0"', text)


class TestTables:
    def test_every_number_is_there(self):
        shown, _ = drawn_texts(to_dot(sprinkler(), tables=True))
        assert shown.count("0.600") == shown.count("0.400") == 1
        assert "0.0002" in shown
        assert {"mean", "24", "3", "intercept", "× temp", "−0.5"} <= set(shown)

    def test_large_tables_are_cut_and_counted(self):
        net = chain([("a", list(range(12))), ("b", list(range(12)))])
        text = to_dot(net, tables=True, max_rows=3, max_states=5)
        assert "… 9 more rows and 7 more columns" in drawn_texts(text)[0]

    def test_beliefs_and_tables_together(self):
        shown, _ = drawn_texts(to_dot(sprinkler(), tables=True, beliefs=True))
        assert {"50.0%", "0.600"} <= set(shown)

    def test_trees_and_histograms_are_tables(self):
        age, sick = bg.Continuous("age"), bg.Discrete("sick", ["no", "yes"])
        tree = bg.models.TreesCPD(sick, bg.Split(age, 40.0, [0.9, 0.1], [0.4, 0.6]), [age])
        root = bg.models.HistogramCPD(age, [0.0, 50.0], [0.0, 1.0, 0.0])
        shown, _ = drawn_texts(to_dot(bg.BayesianNetwork([root, tree]), tables=True))
        assert {"age ≤ 40", "0.900", "(0, 50]"} <= set(shown)


class TestScores:
    def test_labels_and_widths(self):
        _, arcs = parsed(to_dot(sprinkler()))
        strong, weak, none = arcs["n0", "n2"], arcs["n1", "n2"], arcs["n0", "n1"]
        assert strong["label"].strip() == "0.072"
        assert weak["label"].strip() == "0.029"
        assert float(strong["penwidth"]) > float(weak["penwidth"]) > float(none["penwidth"])
        assert strong["tooltip"] == "rain → wet: 0.072 nats"

    def test_can_be_left_out(self):
        text = to_dot(sprinkler(), scores=False)
        assert not any(arc["label"] for arc in parsed(text)[1].values())
        assert "nats" not in text

    @pytest.mark.parametrize(
        ("value", "text"),
        [(0.0719992, "0.072"), (0.0, "0.000"), (3e-5, "3.0e−05"), (-0.5, "−0.500"), (812.4, "812")],
    )
    def test_numbers(self, value, text):
        assert dot_labels.score(value) == text

    def test_scores_that_are_not_finite_or_all_zero(self):
        cpds = sprinkler().cpds
        scores = {("rain", "wet"): np.inf, ("rain", "sprinkler"): 0.0, ("sprinkler", "wet"): np.nan}
        _, arcs = parsed(to_dot(bg.BayesianNetwork(cpds, arc_scores=scores)))
        assert {arcs[key]["penwidth"] for key in (("n0", "n1"), ("n0", "n2"))} == {"0.70"}


class TestPlate:
    def test_a_parent_of_all_is_drawn_once(self):
        nodes, arcs = parsed(to_dot(star(20, tree=True)))
        assert len(nodes) == 21
        visible = {ends for ends, attributes in arcs.items() if attributes["style"] != "invis"}
        assert {(u, v) for u, v in visible if u == "n0"} == {("n0", "n1")}
        assert arcs["n0", "n1"]["lhead"] == "cluster_plate"
        assert {(u, v) for u, v in visible if u != "n0"} == {
            (f"n{i}", f"n{i + 1}") for i in range(1, 20)
        }
        assert "class is a parent of all 20 in this box" in to_dot(star(20, tree=True))

    def test_small_networks_show_all_arcs_unless_asked(self):
        assert "cluster" not in to_dot(star(12, tree=True))
        assert "cluster" in to_dot(star(3), plate=True)

    def test_can_be_refused(self):
        _, arcs = parsed(to_dot(star(20), plate=False))
        assert len(arcs) == 20

    def test_features_without_arcs_stand_in_rows(self):
        with pygraphviz.AGraph(string=to_dot(star(16))) as graph:
            graph.layout(prog="dot")
            heights = {node.attr["pos"].split(",")[1] for node in graph.nodes() if node != "n0"}
        assert len(heights) == 4

    def test_scores_of_the_arrow_are_under_the_names(self):
        cpds = star(14).cpds
        hub, first = cpds[0].variable.name, cpds[1].variable.name
        text = to_dot(bg.BayesianNetwork(cpds, arc_scores={(hub, first): 0.25}))
        assert drawn_texts(text)[0].count("0.250 nats") == 1
        assert "under their names the scores" in text

    def test_rows_keep_the_order_of_the_variables(self):
        with pygraphviz.AGraph(string=to_dot(star(16))) as graph:
            graph.layout(prog="dot")
            at = {n: [float(x) for x in n.attr["pos"].split(",")] for n in graph.nodes()}
        features = sorted((n for n in at if n != "n0"), key=lambda n: (-at[n][1], at[n][0]))
        assert features == [f"n{i}" for i in range(1, 17)]

    def test_wide_nodes_are_in_a_box_earlier(self):
        assert "cluster" not in to_dot(star(9))
        assert "cluster" in to_dot(star(9), beliefs=True)

    def test_a_mixture_in_which_each_is_a_parent_has_the_arrow_too(self):
        aode = bg.AODEClassifier().fit(np.arange(60).reshape(4, 15) % 3, [0, 1, 0, 1])
        _, arcs = parsed(to_dot(aode.network_))
        assert sum(attributes.get("lhead") == "cluster_plate" for attributes in arcs.values()) == 1

    def test_needs_a_parent_of_all(self):
        with pytest.raises(GraphError, match="parent of all others"):
            to_dot(chain([("a", [0, 1]), ("b", [0, 1]), ("c", [0, 1])]), plate=True)

    def test_a_single_node_has_no_plate(self):
        assert "cluster" not in to_dot(chain([("a", [0, 1])]))


class TestFactorGraph:
    def graph(self):
        a, b, c = (bg.Discrete(name, [0, 1]) for name in "abc")
        factors = [
            bg.Factor([a], [1, 2]),
            bg.Factor([a, b], [[4, 1], [1, 4]]),
            bg.Factor([b, c], [[1, 2], [3, 4]]),
            bg.Factor([a, b, c], np.ones((2, 2, 2))),
            bg.GaussianCPD(bg.Continuous("x"), [0, 1], [1, 1], parents=[c]),
        ]
        weights = [None, 0.5, [0.2, 0.4], np.arange(8).reshape(2, 2, 2) / 8, None]
        return bg.FactorGraph(factors, exponents=weights)

    def test_bipartite(self):
        graph = self.graph()
        nodes, arcs = parsed(to_dot(graph))
        assert set(nodes) == {f"n{i}" for i in range(4)} | {f"f{i}" for i in range(5)}
        place = {variable: f"n{i}" for i, variable in enumerate(graph.variables)}
        expected = {
            frozenset((place[v], f"f{i}")) for i, term in enumerate(graph.terms) for v in term.scope
        }
        assert {frozenset(ends) for ends in arcs} == expected

    def test_exponents(self):
        shown, tips = drawn_texts(to_dot(self.graph()))
        assert {"0.5", "0.2, 0.4", "0 to 0.875"} <= set(shown)
        assert "numbers in squares: exponents" in shown
        assert {"factor of a", "factor of a, b, exponent 0.5"} <= set(tips)

    def test_no_exponents_no_note(self):
        graph = bg.FactorGraph.of(sprinkler())
        assert "exponents" not in to_dot(graph)

    def test_tables(self):
        shown, _ = drawn_texts(to_dot(self.graph(), tables=True))
        assert {"a, b, to the power 0.5", "4", "mean"} <= set(shown)

    def test_evidence_and_beliefs(self):
        graph = self.graph()
        shown, _ = drawn_texts(to_dot(graph, evidence={"b": 1}, beliefs=True, target="c"))
        assert dot_labels.percentage(graph.query("c", {"b": 1})[1]) in shown

    def test_a_constant_factor(self):
        a = bg.Discrete("a", [0, 1])
        graph = bg.FactorGraph([bg.Factor([a], [1, 2]), bg.Factor([], 3.0)])
        for tables in (False, True):
            nodes, arcs = parsed(to_dot(graph, tables=tables))
            assert set(nodes) == {"n0", "f0", "f1"}
            assert len(arcs) == 1


class TestBadInput:
    def test_not_a_model(self):
        with pytest.raises(DataTypeError, match=r"draw a model, an estimator, .*got 'rain'"):
            to_dot("rain")

    def test_rankdir(self):
        with pytest.raises(GraphError, match="'TB'"):
            to_dot(sprinkler(), rankdir="down")

    def test_target(self):
        with pytest.raises(UnknownVariableError, match="Did you mean 'rain'"):
            to_dot(sprinkler(), target="rian")

    def test_evidence(self):
        with pytest.raises(EvidenceError, match="'yes'"):
            to_dot(sprinkler(), evidence={"wet": "yess"})

    def test_impossible_evidence(self):
        evidence = {"rain": "heavy", "sprinkler": True}
        to_dot(sprinkler(), evidence=evidence)
        with pytest.raises(ImpossibleEvidenceError):
            to_dot(sprinkler(), evidence=evidence, beliefs=True)


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0%"), (1e-9, "<0.1%"), (0.5, "50.0%"), (0.99999, ">99.9%"), (1, "100%")],
)
def test_percentages(share, text):
    assert dot_labels.percentage(share) == text


@pytest.mark.parametrize(
    ("mean", "sd", "text"),
    [
        (14.03, 2.13, "14.0 ± 2.1"),
        (71.2, 18.4, "71 ± 18"),
        (-0.01234, 0.0012, "−0.0123 ± 0.0012"),
        (3.2e7, 1e6, "32000000 ± 1000000"),
        (3.2e17, 1e16, "3.2e+17 ± 1e+16"),
        (1e-300, 1e-301, "1e−300 ± 1e−301"),
        (5.0, 0.0, "5 ± 0"),
        (-1e-9, 1.0, "0.0 ± 1.0"),
    ],
)
def test_means_are_as_precise_as_their_spread(mean, sd, text):
    assert dot_labels.with_spread(mean, sd) == text


def test_a_posterior_too_narrow_to_draw():
    narrow = bg.BayesianNetwork([bg.GaussianCPD(bg.Continuous("x"), 1e9, 1e-30)])
    assert "10" in to_dot(narrow, beliefs=True)


def test_the_density_of_a_continuous_variable_has_all_its_peaks():
    machine = bg.Discrete("machine", ["a", "b", "c"])
    weight = bg.Continuous("weight")
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(machine, [0.2, 0.3, 0.5]),
            bg.GaussianCPD(weight, [0.0, 50.3, 100.0], 0.04, [machine]),
        ]
    )
    tall = dot_labels._CURVE_HEIGHT * 0.25
    heights = [
        float(h) for h in re.findall(r'HEIGHT="(\d+)"', bg.pictures.to_dot(net, beliefs=True))
    ]
    assert sum(h > tall for h in heights) >= 3


def test_of_an_average_with_random_trees_the_network_is_drawn():
    random = np.random.default_rng(0)
    X = random.integers(2, size=(300, 3))
    y = X[:, 0] ^ X[:, 1] ^ X[:, 2] ^ (random.random(300) < 0.05)
    clf = bg.BayesianNetworkClassifier(n_trees=20, categorical="all", max_steps=1000)
    average = clf.fit(X, y).network_
    assert isinstance(average, bg.Ensemble)
    drawn, single = (
        {tuple(arc) for arc in pygraphviz.AGraph(bg.pictures.to_dot(model)).edges()}
        for model in (average, average.networks[0])
    )
    assert drawn == single
    assert (
        "not drawn: 20 random trees, averaged with this network (its weight 0."
        in bg.pictures.to_dot(average)
    )
    assert "scores in nats" in bg.pictures.to_dot(average)
    networks = [average.networks[0], *average.networks]
    twice = bg.Ensemble(networks, combine="posterior", first=networks[0].variables)
    assert "not drawn" not in bg.pictures.to_dot(twice)


def test_numbers_in_intervals_are_histograms():
    age = bg.Binned("age", [20.0, 30.0, 50.0])
    ill = bg.Discrete("ill", ["no", "yes"])
    table = [[0.1, 0.2, 0.6, 0.1], [0.0, 0.0, 0.5, 0.5]]
    net = bg.BayesianNetwork([bg.TableCPD(ill, [0.5, 0.5]), bg.TableCPD(age, table, [ill])])
    assert "4 intervals, cut at" in bg.pictures.to_dot(net)
    assert "20 · 30 · 50" in bg.pictures.to_dot(net)
    drawn = bg.pictures.to_dot(net, beliefs=True, evidence={"ill": "no"})
    assert "median in (30, 50]" in drawn
    # From 10 to 70, an outer interval being as wide as its neighbour: 44 columns.
    heights = [int(h) for h in re.findall(r'HEIGHT="(\d+)" VALIGN="BOTTOM"', drawn)]
    assert len(heights) == 44
    # The outer intervals, 10 and 20 of 60 wide, are faint, and the axis has no ends of theirs.
    assert drawn.count('BGCOLOR="#a6bcd4"') == 7 + 15
    assert re.findall(r'ALIGN="(?:LEFT|RIGHT)"><FONT[^>]*>([^<]*)</FONT>', drawn)[-2:] == [
        *("≤ 20", "&gt; 50"),
    ]
    density = np.array([0.1 / 10, 0.2 / 10, 0.6 / 20, 0.1 / 20])
    middles = 10 + 60 * (np.arange(44) + 0.5) / 44
    expected = density[np.digitize(middles, age.cuts)] / density.max() * 26
    assert np.median(np.abs(heights - np.maximum(expected, 1))) <= 1
    assert "= (20, 30]" in bg.pictures.to_dot(net, beliefs=True, evidence={"age": 25})
    single = bg.Binned("x", [])
    one = bg.BayesianNetwork([bg.TableCPD(single, [1.0])])
    assert "one interval" in bg.pictures.to_dot(one)
    assert "median in" in bg.pictures.to_dot(one, beliefs=True)


def test_cuts_are_not_rounded():
    thalach = bg.Binned("thalach", [-147.5])
    table = bg.TableCPD(thalach, [0.4, 0.6])
    net = bg.BayesianNetwork([table])
    assert re.search(r"2 intervals, cut at<.*>-147\.5<", bg.pictures.to_dot(net))
    assert ">(-inf, -147.5]<" in bg.pictures.to_dot(net, tables=True)
    drawn = bg.pictures.to_dot(net, beliefs=True)
    assert ">≤ −147.5<" in drawn
    assert "148" not in drawn


@pytest.mark.parametrize(("n", "left"), [(8, 0), (9, 0), (10, 2), (12, 4)])
def test_one_more_is_shown_and_not_counted(n, left):
    state = bg.Discrete("state", [f"s{i}" for i in range(n)])
    coin = bg.Discrete("coin", ["h", "t"])
    tables = [bg.TableCPD(state, np.full(n, 1 / n)), bg.TableCPD(coin, [[0.5, 0.5]] * n, [state])]
    net = bg.BayesianNetwork(tables)
    for drawn in (
        bg.pictures.to_dot(net, tables=True, max_rows=8, max_states=99),
        bg.pictures.to_dot(bg.FactorGraph.of(net), tables=True, max_rows=8, max_states=99),
    ):
        assert ("more row" in drawn) == bool(left)
        assert not left or f"… {left} more rows" in drawn
    for drawn in (
        bg.pictures.to_dot(net, beliefs=True, max_states=8),
        bg.pictures.to_dot(net, max_states=8),
    ):
        assert all((f"s{i}" in drawn.split("tooltip")[0]) for i in range(n - left))
        assert (f"… {left} more" in drawn) == bool(left)
        assert "… 1 more" not in drawn
