"""Model cards: what they say, in every form, of every model, and of files on the command line."""

import itertools
import re
from functools import partial

import networkx as nx
import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph import cli
from bayesgraph.core.errors import DataTypeError
from bayesgraph.files.cards import parameter_checksum, width

LINE = 80


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 60)
    secret = [None if i % 7 == 0 else f"secret-{k}" for i, k in enumerate(y)]
    return {"text": secret, "number": (random.normal(size=60) + y).tolist()}, y


@pytest.fixture(scope="module")
def classifier(rows):
    return bg.NaiveBayesClassifier(smoothing=2.0).fit(*rows)


def sections(card):
    return {table.title: dict(row[:2] for row in table.rows) for table in card.tables()}


# --------------------------------------------------------------------------------- what it says


def test_a_card_says_what_a_model_was_fitted_on_and_made_of(classifier):
    found = sections(bg.card(classifier))
    assert found["Fitted on"] == {
        "by": f"NaiveBayesClassifier of bayesgraph {bg.__version__}",
        "rows": "60, without weights",
        "columns": "3",
        "missing values": "9 in 1 column",
    }
    assert found["Missing values"] == {"text": "9"}
    assert found["Settings that differ from the defaults"] == {"smoothing": "2.0"}
    assert found["Structure"] == {
        "kind": "Bayesian network",
        "class": "class, of 2 states",
        "variables": "3, of which 2 discrete",
        "arcs": "2",
        "treewidth": "at most 1",
        "parameters": str(classifier.network_.n_parameters),
        "distributions": "2 Table, 1 Gaussian",
    }
    assert list(found["Variables"]) == ["class", "text", "number"]


def test_a_card_has_no_value_of_the_data(classifier):
    card = bg.card(classifier)
    for text in (card.to_text(), card.to_markdown(), card.to_html()):
        assert "secret" not in text
        assert "text" in text


def test_accuracy_is_that_of_the_evaluation(classifier, rows):
    (found,) = bg.evaluate(classifier, *rows, cv=3)
    card = sections(bg.card(classifier, evaluation=found))[
        "Accuracy of NaiveBayesClassifier, cross-validated"
    ]
    assert card["accuracy"] == f"{found.accuracy:.4f}"
    assert card["Brier score (0 to 2)"] == f"{found.brier:.4f}"
    with pytest.raises(DataTypeError, match="Evaluation"):
        bg.card(classifier, evaluation=[found])
    for wrong in (bg.TANClassifier(), "heart.bayesgraph"):
        with pytest.raises(DataTypeError, match="Fit an estimator first"):
            bg.card(wrong)


MODELS = {
    "mixture": bg.AODEClassifier,
    "average": partial(bg.BayesianNetworkClassifier, max_steps=2, n_trees=2),
    "weighted": bg.WeightedNaiveBayesClassifier,
    "stream": bg.StreamingNaiveBayesClassifier,
    "tree": bg.DecisionTreeNetworkClassifier,
    "regressor": bg.DecisionTreeNetworkRegressor,
}


@pytest.fixture(scope="module", params=[*MODELS, "network", "factor graph", "statistics"])
def saved(request, rows, classifier, tmp_path_factory):
    """Return the path of a file of each kind."""
    path = tmp_path_factory.mktemp("cards") / "model.bayesgraph"
    if request.param == "statistics":
        model = classifier.collect(*rows)
    elif request.param in MODELS:
        model = MODELS[request.param]()
        model.fit(rows[0], rows[1] + 0.0 if request.param == "regressor" else rows[1])
    else:
        network = classifier.network_
        model = network if request.param == "network" else bg.FactorGraph.of(network)
    model.save(path)
    return path


def run(capfd, *arguments):
    with pytest.raises(SystemExit) as end:
        cli.main([str(a) for a in arguments])
    out, err = capfd.readouterr()
    return end.value.code, out, err


@pytest.mark.one_in(4)
def test_info_prints_the_card_of_every_kind_of_file(saved, capfd, tmp_path):
    code, out, _ = run(capfd, "info", saved)
    assert code == 0
    assert out.startswith("Model card: model.bayesgraph\n")
    assert all(len(line) <= LINE for line in out.splitlines())
    code, markdown, _ = run(capfd, "info", saved, "-o", "md:-")
    assert (code, markdown.split("\n")[0]) == (0, "# Model card: model.bayesgraph")
    page = tmp_path / "card.html"
    assert run(capfd, "info", saved, "-o", page)[0] == 0
    assert "<script" not in page.read_text("utf-8")


@pytest.mark.parametrize("suffix", [".bif", ".xmlbif", ".uai", ".xdsl", ".net", ".dne", ".html"])
def test_info_reads_every_format(suffix, capfd, tmp_path):
    rain, wet = bg.Discrete("rain", ["no", "yes"]), bg.Discrete("wet", ["no", "yes"])
    net = bg.BayesianNetwork(
        [bg.TableCPD(rain, [0.8, 0.2]), bg.TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], [rain])]
    )
    path = tmp_path / f"net{suffix}"
    net.to_html(path) if suffix == ".html" else net.save(path, strict=False)
    code, out, _ = run(capfd, "info", path)
    assert code == 0
    assert "Not fitted" in out
    # Numbers are the same in every format, and so is their checksum.
    assert parameter_checksum(net) in out


def test_info_refuses_another_suffix_before_any_work(capfd, tmp_path):
    code, _, err = run(capfd, "info", tmp_path / "none.bayesgraph", "-o", tmp_path / "c.pdf")
    assert code == 2
    assert "suffix" in err


# ------------------------------------------------------------------------------ names and forms


@pytest.fixture(scope="module")
def nasty():
    names = ["<script>alert(1)</script>", "a|b*c_d", "x" * 90, "line\nbreak\x1b[31m"]
    table = {name: list("pqpq") for name in names}
    table[names[0]][0] = None
    return bg.BayesianNetwork.fit([(names[0], names[1])], table, categorical=[names[2]]), names


def test_long_names_keep_to_the_line(nasty):
    assert all(len(line) <= LINE for line in bg.card(nasty[0]).to_text().splitlines())


def test_names_are_escaped_in_every_form(nasty):
    network, _ = nasty
    card = bg.card(network, title="<b>&|")
    assert "\x1b" not in card.to_text() + card.to_markdown() + card.to_html()
    assert "<script" not in card.to_html()
    assert "<b>&amp;|" not in card.to_html()
    cells = [line for line in card.to_markdown().splitlines() if "a\\|b" in line]
    assert cells
    for line in card.to_markdown().splitlines():
        assert not re.search(r"(?<!\\)[<*]", line)
    columns = {len(re.findall(r"(?<!\\)\|", line)) for line in cells}
    assert columns <= {4, 6}


def test_a_card_is_written_by_its_suffix(classifier, tmp_path):
    card = bg.card(classifier, title="A title")
    for suffix, text in ((".html", card.to_html()), (".md", card.to_markdown())):
        card.save(tmp_path / f"card{suffix}")
        assert (tmp_path / f"card{suffix}").read_text("utf-8") == text
    assert "A title" in card.to_html()
    assert "prefers-color-scheme: dark" in card.to_html()
    assert repr(card) == card.to_text()


# ---------------------------------------------------------------------------- checksum and width


def test_the_checksum_is_that_of_the_parameters(classifier, tmp_path):
    network = classifier.network_
    digest = parameter_checksum(network)
    network.save(tmp_path / "n.bayesgraph")
    assert parameter_checksum(bg.load(tmp_path / "n.bayesgraph")) == digest
    assert (
        parameter_checksum(bg.models.annotated(network, bg.models.Annotations("a note"))) == digest
    )
    prior = network["class"]
    moved = bg.TableCPD(prior.variable, np.nextafter(prior.values, [0.0, 1.0]))
    assert parameter_checksum(network.with_cpd(moved)) != digest
    assert parameter_checksum(network.renamed({"text": "words"})) != digest
    assert bg.card(classifier).checksum == digest


def test_names_of_variables_count_in_the_checksum():
    names = ("training", "posterior", "fields")
    variables = [bg.Discrete(name, ["no", "yes"]) for name in names]
    network = bg.BayesianNetwork([bg.TableCPD(v, [0.5, 0.5]) for v in variables])
    ensembles = [
        bg.Ensemble([network] * 2, combine="posterior", prior_ratios={name: [1.0, 2.0]})
        for name in names
    ]
    assert len({parameter_checksum(ensemble) for ensemble in ensembles}) == 3


def test_what_files_do_not_hold_has_no_checksum():
    odd = bg.Discrete("odd", [frozenset("a"), frozenset("b")])
    card = bg.card(bg.BayesianNetwork([bg.TableCPD(odd, [0.5, 0.5])]))
    assert card.checksum is None
    assert "none: native files do not hold the model" in card.to_text()


def exact_treewidth(graph):
    """Return the treewidth of a small graph, as the best of all elimination orders."""
    best = len(graph)
    for order in itertools.permutations(graph):
        left, found = graph.copy(), 0
        for v in order:
            near = list(left[v])
            found = max(found, len(near))
            left.add_edges_from(itertools.combinations(near, 2))
            left.remove_node(v)
        best = min(best, found)
    return best


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(6))
def test_the_width_bounds_the_treewidth(seed):
    graph = nx.gnp_random_graph(6, 0.5, seed=seed)
    scopes = [*graph.edges, *((v,) for v in graph)]
    assert width(scopes) >= exact_treewidth(graph)
    if nx.is_chordal(graph):
        assert width(scopes) == exact_treewidth(graph)
    assert width(scopes) <= len(graph) - 1


def test_widths_that_are_known():
    assert width([(1,)]) == 0
    assert width([(i, "class") for i in range(1000)]) == 1
    assert width([range(5)]) == 4
    grid = nx.grid_2d_graph(5, 5)
    assert width(grid.edges) == 5
    assert width(nx.cycle_graph(9).edges) == 2


def test_a_card_says_how_many_trees_are_averaged():
    random = np.random.default_rng(0)
    X = random.integers(2, size=(300, 3))
    y = X[:, 0] ^ X[:, 1] ^ X[:, 2] ^ (random.random(300) < 0.05)
    clf = bg.BayesianNetworkClassifier(n_trees=20, categorical="all", max_steps=1000).fit(X, y)
    assert "1 mean of 20 trees" in bg.card(clf).to_text()
