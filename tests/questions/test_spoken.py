"""Explanations in sentences: their numbers by enumeration, their paths by d-separation."""

import math

import networkx as nx
import numpy as np
import pytest
from oracle import Oracle, as_given, random_evidence, random_network
from sklearn.datasets import load_iris

import bayesgraph as bg
from bayesgraph.core.errors import EvidenceError, ImpossibleEvidenceError, UnsupportedModelError
from bayesgraph.core.variables import MissingIndicator
from bayesgraph.models import HistogramCPD
from bayesgraph.questions.sentences import _percent, known_below, links

NO_YES = ["no", "yes"]


def clinic():
    asia, tub, smoke, lung, bronc, either, xray = (
        bg.Discrete(name, NO_YES)
        for name in ("asia", "tub", "smoke", "lung", "bronc", "either", "xray")
    )
    return bg.BayesianNetwork(
        [
            bg.TableCPD(asia, [0.99, 0.01]),
            bg.TableCPD(tub, [[0.99, 0.01], [0.95, 0.05]], parents=[asia]),
            bg.TableCPD(smoke, [0.5, 0.5]),
            bg.TableCPD(lung, [[0.99, 0.01], [0.9, 0.1]], parents=[smoke]),
            bg.TableCPD(bronc, [[0.7, 0.3], [0.4, 0.6]], parents=[smoke]),
            bg.TableCPD(either, [[[1, 0], [0, 1]], [[0, 1], [0, 1]]], parents=[tub, lung]),
            bg.TableCPD(xray, [[0.95, 0.05], [0.02, 0.98]], parents=[either]),
        ]
    )


@pytest.mark.one_in(6)
@pytest.mark.parametrize("seed", range(16))
def test_numbers_and_paths_equal_enumeration(seed):
    network = random_network(seed, n_discrete=6, n_continuous=seed % 2, zeros=0.1)
    random, oracle = np.random.default_rng(seed), Oracle.of(network)
    for _ in range(4):
        evidence = random_evidence(random, oracle, share=0.5)
        hard = [n for n, x in evidence.items() if x is not None and not isinstance(x, list)]
        known = {n: x for n, x in evidence.items() if x is not None}
        targets = [v.name for v in oracle.discrete if v.name not in hard]
        if not targets:
            continue
        target = targets[-1]
        given = as_given(network.variables, known)
        found = network.ask.explanation(target, given)
        code = network.variable(target).index(found.state)
        after = oracle.posterior([target], known)[code]
        assert found.after == pytest.approx(after, abs=1e-9)
        assert found.before == pytest.approx(oracle.posterior([target])[code], abs=1e-9)
        assert {bearing.name for bearing in found.bearings} == set(known)
        for bearing in found.bearings:
            others = {n: x for n, x in known.items() if n != bearing.name}
            without = oracle.posterior([target], others)[code]
            assert bearing.without == pytest.approx(without, abs=1e-9)
            if 1e-6 < without < 1 - 1e-6 and after < 1 - 1e-6:
                factor = after / (1 - after) * (1 - without) / without
                assert bearing.factor == pytest.approx(factor, rel=1e-6)
            assert_active(network.graph, bearing, target, others)
            assert bearing.paths or without == pytest.approx(after, abs=1e-9)
        sizes = [abs(math.log(b.factor)) for b in found.bearings if 0 < b.factor < math.inf]
        assert sizes == sorted(sizes, reverse=True)


def assert_active(graph, bearing, target, others):
    """Compare a path with networkx: there is one unless the variables are d-separated."""
    if bearing.name == target:
        return
    dag, given = nx.DiGraph(graph), set()
    for name, value in others.items():
        if isinstance(value, list):  # a likelihood is an observed child
            dag.add_edge(name, ("judgement", name))
        given.add(("judgement", name) if isinstance(value, list) else name)
    assert bool(bearing.paths) != nx.is_d_separator(dag, {bearing.name}, {target}, given)
    assert (set(bearing.paths), set(bearing.blockers)) == kinds_of_paths(
        dag, bearing.name, target, given, bearing.paths
    )


def kinds_of_paths(dag, start, end, given, told):
    """Return what paths there are by definition: of the told, those that are right."""
    active, blockers = {}, set()
    for path in nx.all_simple_paths(dag.to_undirected(), start, end):
        triples = list(zip(path, path[1:], path[2:], strict=False))
        common = [b for a, b, c in triples if dag.has_edge(a, b) and dag.has_edge(c, b)]
        if any(not {b, *nx.descendants(dag, b)} & given for b in common):
            continue  # a common effect of which nothing is known
        stops = [b for _, b, _ in triples if b in given and b not in common]
        blockers.update(stops[:1])
        if not stops:
            active.setdefault((path[-2], frozenset(common)), []).append(tuple(path))
    right = set()
    for paths in active.values():  # the shortest of each kind
        shortest = min(map(len, paths))
        found = [p for p in paths if p in told]
        right.update(found or paths[:1])
        assert all(len(p) == shortest for p in found)
    return right, blockers


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(9))
def test_there_is_an_active_path_unless_variables_are_d_separated(seed):
    random = np.random.default_rng(seed)
    for _ in range(20):
        dag = nx.DiGraph()
        dag.add_nodes_from(range(7))
        pairs = [(a, b) for a in range(7) for b in range(a) if random.random() < 0.3]
        dag.add_edges_from((b, a) for a, b in pairs)
        start, end = random.permutation(7)[:2].tolist()
        given = {n for n in range(7) if n not in (start, end) and random.random() < 0.4}
        found = links(dag, start, end, given)
        path = found.paths[0] if found.paths else ()
        assert bool(path) != nx.is_d_separator(dag, {start}, {end}, given)
        expected = kinds_of_paths(dag, start, end, given, found.paths)
        assert (set(found.paths), set(found.blockers)) == expected
        assert len(found.blockers) == len({*found.blockers})
        assert list(found.paths) == sorted(found.paths, key=len)
        if path:
            assert (path[0], path[-1]) == (start, end)
            for a, b, c in zip(path, path[1:], path[2:], strict=False):
                collides = dag.has_edge(a, b) and dag.has_edge(c, b)
                below = {b, *nx.descendants(dag, b)}
                assert bool(below & given) if collides else b not in given


def test_what_is_said():
    given = {"xray": "yes", "smoke": "yes", "bronc": "no"}
    found = clinic().ask.explanation("lung", given, state="yes")
    assert found.sentences == (
        "lung is yes with a probability of 65 percent. Without the findings it would be 5.5 "
        "percent.",
        "That xray is yes speaks for it: without this finding it would be 10 percent. "
        "The link: xray depends on either and either depends on lung.",
        "That smoke is yes speaks a little for it: without this finding it would be 42 percent. "
        "The link: lung depends on smoke.",
        "That bronc is no says nothing about it: smoke says all that it could say.",
    )
    assert str(found) == found.text == " ".join(found.sentences)
    assert max(map(len, repr(found).splitlines())) <= 88


def test_a_tenth_is_ten_percent_however_it_was_summed():
    nearly = [np.nextafter(0.1, 0), 0.1, np.nextafter(0.1, 1)]
    assert {_percent(float(p)) for p in nearly} == {"10 percent"}
    assert _percent(0.0996) == "10.0 percent"


def test_colliders_and_certainty():
    net = clinic()
    found = net.ask.explanation("tub", {"either": "yes", "lung": "yes"}, state="yes")
    assert "That lung is yes speaks against it: without this finding it would be 16" in found.text
    assert "either, which is known, depends on both lung and tub" in found.text
    found = net.ask.explanation("tub", {"xray": "yes", "lung": "yes"}, state="yes")
    assert "either, which is known in part by xray, depends on both" in found.text
    assert net.ask.explanation("either", {"tub": "yes"}).text.endswith(
        "That tub is yes makes it certain: without this finding it would be 6.5 percent. "
        "The link: either depends on tub."
    )
    assert "rules it out" in net.ask.explanation("tub", {"either": "no"}, state="yes").text


def test_between_any_two_nodes():
    net = clinic()
    found = net.ask.explanation("lung", finding="bronc", state="yes")
    assert found.text == (
        "lung is yes with a probability of 5.5 percent. bronc is not known. It would be 4.3 "
        "percent if bronc were no and 7.0 percent if bronc were yes. The link: bronc depends on "
        "smoke and lung depends on smoke."
    )
    assert found.bearings[0].paths == (("bronc", "smoke", "lung"),)
    found = net.ask.explanation("lung", {"smoke": "yes"}, finding="bronc")
    assert found.text.endswith("bronc says nothing about it: smoke says all that it could say.")
    found = net.ask.explanation("lung", finding="asia")
    assert found.text.endswith(
        "asia says nothing about it: in the network the two are independent."
    )
    found = net.ask.explanation("lung", {"xray": "yes", "smoke": "yes"}, finding="xray")
    assert [bearing.name for bearing in found.bearings] == ["xray"]


def test_numbers_are_explained_by_their_means():
    x, y, ill = bg.Continuous("x"), bg.Continuous("y"), bg.Discrete("ill", NO_YES)
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(ill, [0.5, 0.5]),
            bg.GaussianCPD(x, [0.0, 4.0], 1.0, [ill]),
            bg.GaussianCPD(y, 1.0, 1.0, [x], [2.0]),
        ]
    )
    found = net.ask.explanation("y", {"ill": "yes"})
    assert found.state is None
    assert (found.before, found.after) == pytest.approx((5.0, 9.0))
    assert found.bearings[0].factor == pytest.approx(4.0 / net.query("y").std)
    assert "That ill is yes raises it: without this finding it would be 5." in found.text
    assert "lowers it" in net.ask.explanation("y", {"ill": "no"}).text
    assert "x depends on ill and y depends on x" in found.text
    found = net.ask.explanation("ill", finding="y", state="yes")
    assert "if y were 5" in found.text
    text = net.ask.explanation("ill", {"x": 2.0, "y": 5.0}).text
    assert "That x is 2 hardly matters, with the other findings." in text
    assert "That y is 5 says nothing about it: x says all that it could say." in text


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X[::5], y[::5]


KINDS = {
    "weighted": lambda net: bg.WeightedNetwork(net, "lung", {}),
    "mixture": lambda net: bg.Ensemble([net, net]),
    "average": lambda net: bg.Ensemble([net, net], combine="posterior"),
    "factor graph": bg.FactorGraph.of,
}


@pytest.mark.parametrize("kind", KINDS)
def test_models_without_one_graph_tell_numbers_alone(kind):
    if kind == "weighted":
        asia = clinic()
        root = [bg.TableCPD(asia.variable("smoke"), [0.5, 0.5])]
        net = bg.BayesianNetwork([*root, asia["lung"], asia["bronc"]])
        model, target, evidence = bg.WeightedNetwork(net, "smoke"), "smoke", {"lung": "yes"}
    else:
        net, target, evidence = clinic(), "lung", {"xray": "yes", "smoke": "no"}
        model = KINDS[kind](net)
    found, expected = (m.ask.explanation(target, evidence) for m in (model, net))
    numbers = [(b.name, b.without, b.factor) for b in found.bearings]
    for one, other in zip(numbers, expected.bearings, strict=True):
        assert one == (other.name, pytest.approx(other.without), pytest.approx(other.factor))
        assert one[0] in found.text
    assert "The link" not in found.text
    assert "The link" in expected.text


def test_estimators_explain_their_class(iris):
    clf = bg.NaiveBayesClassifier().fit(*iris)
    found = clf.ask.explanation(evidence={"x2": 1.4, "x0": 5.0})
    assert found.target == clf.target_.name
    assert found.text == clf.network_.ask.explanation("class", {"x2": 1.4, "x0": 5.0}).text
    assert "The link: x2 depends on class." in found.text
    words = bg.ComplementNaiveBayesClassifier().fit({"a": [1, 0], "b": [0, 1]}, ["x", "y"])
    with pytest.raises(UnsupportedModelError, match="no distribution of documents"):
        words.ask.explanation()


def alarm():
    burglary, earthquake, alarm, john, mary, radio = (
        bg.Discrete(name, NO_YES)
        for name in ("burglary", "earthquake", "alarm", "john", "mary", "radio")
    )
    table = [[[0.999, 0.001], [0.71, 0.29]], [[0.06, 0.94], [0.05, 0.95]]]
    return bg.BayesianNetwork(
        [
            bg.TableCPD(burglary, [0.99, 0.01]),
            bg.TableCPD(earthquake, [[0.98, 0.02], [0.9, 0.1]], parents=[burglary]),
            bg.TableCPD(alarm, table, parents=[burglary, earthquake]),
            bg.TableCPD(john, [[0.95, 0.05], [0.1, 0.9]], parents=[alarm]),
            bg.TableCPD(mary, [[0.99, 0.01], [0.3, 0.7]], parents=[alarm]),
            bg.TableCPD(radio, [[0.999, 0.001], [0.2, 0.8]], parents=[earthquake]),
        ]
    )


OPENED = "depends on both earthquake and burglary, which then bear on each other."


@pytest.mark.parametrize(
    ("evidence", "told"),
    [
        (
            {"alarm": "yes", "earthquake": "yes"},
            "The link: earthquake depends on burglary. Another link: alarm, which is known, "
            + OPENED,
        ),
        (
            {"john": "yes", "earthquake": "yes"},
            f"Another link: alarm, which is known in part by john, {OPENED}",
        ),
        (
            {"john": "yes", "mary": "no", "radio": "yes"},
            "Another link: radio depends on earthquake and alarm, which is known in part by john "
            f"and mary, {OPENED}",
        ),
        (
            {"alarm": {"no": 1.0, "yes": 8.0}, "earthquake": "yes"},
            f"Another link: alarm, which is known in part, {OPENED}",
        ),
        (
            {"john": "yes", "earthquake": "yes"},
            "The link: john depends on alarm and alarm depends on burglary. earthquake, which is "
            "known, blocks other links.",
        ),
        (
            {"alarm": "yes", "earthquake": "no", "radio": "yes"},
            "That radio is yes says nothing about it: earthquake says all that it could say.",
        ),
    ],
)
def test_links_that_common_effects_open_and_findings_block_are_told(evidence, told):
    found = alarm().ask.explanation("burglary", evidence, state="yes")
    assert told in found.text


def test_one_finding_is_told_with_all_its_links():
    found = alarm().ask.explanation("burglary", {"john": "yes"}, finding="earthquake", state="yes")
    assert f"Another link: alarm, which is known in part by john, {OPENED}" in found.text
    found = alarm().ask.explanation("burglary", finding="earthquake", state="yes")
    assert found.text.endswith("The link: earthquake depends on burglary.")


def test_many_links_are_counted_and_those_of_large_graphs_are_found_in_time():
    n = 12
    middles = [bg.Discrete(f"effect {i}", NO_YES) for i in range(n)]
    causes = [bg.Discrete(name, NO_YES) for name in "ab"]
    half = [[[0.5, 0.5], [0.4, 0.6]], [[0.3, 0.7], [0.2, 0.8]]]
    net = bg.BayesianNetwork(
        [
            *(bg.TableCPD(cause, [0.5, 0.5]) for cause in causes),
            *(bg.TableCPD(effect, half, parents=causes) for effect in middles),
        ]
    )
    found = net.ask.explanation("a", {**{v.name: "yes" for v in middles}, "b": "no"}, finding="b")
    assert len(found.bearings[0].paths) == n
    assert found.text.endswith(
        "The link: effect 0, effect 1, effect 2, effect 3, effect 4 and 7 more, which are known, "
        "depend on both b and a, which then bear on each other."
    )
    below = [
        bg.TableCPD(bg.Discrete(f"sign {i}", NO_YES), [[0.9, 0.1], [0.2, 0.8]], parents=[v])
        for i, v in enumerate(middles)
    ]
    evidence = {**{cpd.variable.name: "yes" for cpd in below}, "b": "no"}
    found = bg.BayesianNetwork([*net.cpds, *below]).ask.explanation("a", evidence, finding="b")
    assert found.text.count("Another link") == 2
    assert (
        "There are 9 more links, by what is known of effect 3, effect 4, effect 5, effect 6, "
        "effect 7 and 4 more." in found.text
    )
    # Layers whose nodes are all linked have more paths than can be looked at.
    nodes = [(i, j) for i in range(12) for j in range(6)]
    layers = nx.DiGraph([((i - 1, k), (i, j)) for i, j in nodes for k in range(6) if i])
    linked = links(layers, (0, 0), (11, 0), set())
    assert linked.paths
    assert not linked.blockers
    ways = links(layers, (0, 0), (11, 0), {(5, k) for k in range(6)})
    assert not ways.paths
    assert ways.blockers


def test_what_is_known_below_a_node():
    graph = nx.DiGraph(["ab", "ac", "bd", "de"])
    assert known_below(graph, "a", {"c", "d", "e"}) == ["c", "d"]
    assert known_below(graph, "a", {"a", "c"}) == ["a"]
    assert known_below(graph, "c", {"d"}) == []


def test_a_missing_value_is_told_by_its_indicator():
    a, x = bg.Discrete("a", NO_YES), bg.Continuous("x")
    missing = bg.TableCPD(MissingIndicator("x is missing", "x"), [[0.9, 0.1], [0.2, 0.8]], [a])
    net = bg.BayesianNetwork([bg.TableCPD(a, [0.3, 0.7]), bg.GaussianCPD(x, 0.0, 1.0), missing])
    found = net.ask.explanation("a", {"x": None})
    assert found.before == pytest.approx(0.7)
    assert found.after == pytest.approx(0.56 / 0.59)
    assert [bearing.name for bearing in found.bearings] == ["x is missing"]


def test_whole_numbers_are_tried_for_counts():
    a, calls = bg.Discrete("a", NO_YES), bg.Count("calls")
    net = bg.BayesianNetwork([bg.TableCPD(a, [0.5] * 2), bg.PoissonCPD(calls, [0.1, 3.0], [a])])
    told = str(net.ask.explanation("a", finding="calls"))
    assert "if calls were 0," in told
    assert "if calls were 2 " in told


def test_values_that_are_all_impossible_are_told():
    a, x = bg.Discrete("a", NO_YES), bg.Continuous("x")
    gaps = HistogramCPD(x, [0, 1, 10, 11], [[0.0, 0.2, 0.0, 0.8, 0.0]] * 2, [a])
    net = bg.BayesianNetwork([bg.TableCPD(a, [0.5, 0.5]), gaps])
    told = str(net.ask.explanation("a", finding="x"))
    assert "x is not known; all values that were tried are impossible." in told


def test_what_is_refused():
    net = clinic()
    for asked, reason in (
        ({"finding": "lung"}, "is the target"),
        ({"state": "perhaps"}, "no state 'perhaps'"),
        ({"evidence": {"lung": "yes"}}, "both a target and observed"),
    ):
        with pytest.raises(EvidenceError, match=reason):
            net.ask.explanation("lung", **asked)
    with pytest.raises(ImpossibleEvidenceError):
        net.ask.explanation("lung", {"tub": "yes", "either": "no"})
    soft = net.ask.explanation("lung", {"xray": {"no": 1.0, "yes": 9.0}})
    assert "That xray was judged without being certain speaks against it" in soft.text
    assert net.ask.explanation("lung").sentences == (
        "lung is no with a probability of 94.5 percent.",
    )
