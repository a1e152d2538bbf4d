"""Networks without a class: the arcs of asia, rules, kinds of columns, files, missing values."""

from functools import partial

import numpy as np
import pytest
from structures import make_frame

import bayesgraph as bg
from bayesgraph.core.errors import (
    BayesGraphWarning,
    DataError,
    DataTypeError,
    GraphError,
    UnknownVariableError,
)

METHODS = ["hill_climb", "tabu", "pc", "chow_liu"]


def edges(network):
    return {frozenset(arc) for arc in network.graph.edges}


@pytest.fixture(scope="module")
def asia():
    return bg.examples.network("asia")


@pytest.mark.one_in(5)
@pytest.mark.parametrize("method", ["hill_climb", "tabu"])
@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_the_arcs_of_asia_come_back(asia, method, score):
    rows = asia.sample(20_000, random_state=0)
    found = bg.BayesianNetwork.learn(rows, method=method, score=score)
    assert edges(found) == edges(asia)
    assert bg.graphs.structural_hamming_distance(found, asia) == 0
    again = bg.BayesianNetwork.learn(rows, method=method, score=score)
    assert again == found
    assert again.arc_scores == found.arc_scores


def test_parameters_are_those_of_fit():
    frame = make_frame(0, 3, 2, n=200)
    found = bg.BayesianNetwork.learn(frame)
    fitted = bg.BayesianNetwork.fit(found.graph, frame)
    np.testing.assert_allclose(found.log_likelihood(frame), fitted.log_likelihood(frame))
    assert set(found.arc_scores) == set(found.graph.edges)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kinds", [(4, 0), (0, 4), (2, 2)])
def test_each_method_takes_columns_of_each_kind(method, kinds):
    frame = make_frame(4, *kinds, n=250, strength=1.0)
    if not kinds[0]:
        del frame["y"]
    found = bg.BayesianNetwork.learn(frame, method=method)
    assert list(found.names) == list(frame)
    kind = {v.name: isinstance(v, bg.Continuous) for v in found.variables}
    assert found.graph.edges
    assert all(kind[b] or not kind[a] for a, b in found.graph.edges)
    for name in frame:
        found.query(name)


@pytest.mark.parametrize("method", METHODS)
def test_rules_hold(method):
    frame = make_frame(3, 4, 0, n=250, strength=1.0)
    names = list(frame)
    rules = {"required": [(names[1], names[3])], "forbidden": [(names[0], names[2])]}
    if method == "chow_liu":
        found = bg.BayesianNetwork.learn(frame, method=method, **rules)
        assert frozenset(rules["required"][0]) in edges(found)
        assert frozenset(rules["forbidden"][0]) not in edges(found)
        return
    found = bg.BayesianNetwork.learn(frame, method=method, tiers=[names[2:], names[:2]][::-1],
                                     **rules)  # fmt: skip
    late = set(names[2:])
    assert rules["required"][0] in found.graph.edges
    assert rules["forbidden"][0] not in found.graph.edges
    assert not [arc for arc in found.graph.edges if arc[0] in late and arc[1] not in late]


def test_the_number_of_parents_is_bounded():
    frame = make_frame(1, 6, 0, n=400, strength=1.5)
    free = bg.BayesianNetwork.learn(frame, score="aic")
    assert max(dict(free.graph.in_degree).values()) > 1
    for method in ("hill_climb", "tabu"):
        found = bg.BayesianNetwork.learn(frame, method=method, score="aic", max_parents=1)
        assert max(dict(found.graph.in_degree).values()) == 1


@pytest.mark.one_in(5)
@pytest.mark.parametrize("method", METHODS)
def test_files_give_the_network_of_memory(tmp_path, method):
    pa, pq = map(pytest.importorskip, ("pyarrow", "pyarrow.parquet"))
    frame = make_frame(6, 3, 1, n=300, strength=1.0)
    table = pa.table(frame)
    for i, part in enumerate((table[:110], table[110:])):
        pq.write_table(part, tmp_path / f"{i}.parquet")
    found = bg.BayesianNetwork.learn(bg.open_dataset(tmp_path), method=method)
    expected = bg.BayesianNetwork.learn(table, method=method)
    assert found == expected
    assert found.arc_scores == expected.arc_scores


@pytest.mark.one_in(5)
@pytest.mark.parametrize("method", METHODS)
def test_missing_values_leave_rows_out_of_what_they_touch(method):
    random = np.random.default_rng(0)
    frame = make_frame(3, 4, 0, n=200, strength=1.5)
    whole = bg.BayesianNetwork.learn(frame, method=method)
    holes = {n: [None if random.random() < 0.05 else v for v in c] for n, c in frame.items()}
    found = bg.BayesianNetwork.learn(holes, method=method)
    assert len(edges(found) & edges(whole)) >= len(edges(whole)) - 2
    by_em = bg.BayesianNetwork.learn(holes, method=method, missing="em")
    assert set(by_em.graph.edges) == set(found.graph.edges)
    assert by_em._history.converged


def test_weights_count_rows():
    frame = make_frame(2, 4, 0, n=120, strength=1.0)
    weights = np.arange(120) % 3
    twice = {n: np.repeat(np.asarray(c), weights) for n, c in frame.items()}
    found = bg.BayesianNetwork.learn(frame, sample_weight=weights)
    assert found == bg.BayesianNetwork.learn(twice)


def test_a_learner_of_ones_own():
    frame = make_frame(2, 3, 0)

    def nothing(source, smoothing):
        return bg.learning.Structure(source.variables, ())

    assert not bg.BayesianNetwork.learn(frame, method=nothing).graph.edges
    found = bg.BayesianNetwork.learn(frame, method=partial(bg.learning.unrestricted, max_parents=1))
    assert set(dict(found.graph.in_degree).values()) <= {0, 1}
    with pytest.raises(DataTypeError, match="method= is a function from a count source"):
        bg.BayesianNetwork.learn(frame, method=lambda source, smoothing: 1)


REFUSED = {
    "unknown method": ({"method": "climb"}, DataError, "method= is one of 'hill_climb'"),
    "parents of a tree": (
        {"method": "chow_liu", "max_parents": 2}, DataError, "each variable of a tree has one",
    ),
    "tiers of a tree": ({"method": "chow_liu", "tiers": ["y"]}, DataError, "from its root"),
    "parents by tests": ({"method": "pc", "max_parents": 2}, DataError, "max_given= limits"),
    "score of tests": ({"method": "pc", "score": "bic"}, DataError, "level of its tests"),
    "unknown option": ({"temperature": 1}, DataError, "does not take 'temperature'; it takes 's"),
    "of a function": (
        {"method": bg.learning.star, "score": "bic"}, DataError, "method=star does not",
    ),
    "score": ({"score": "bge"}, DataError, "score= is one of"),
    "score of a class": ({"score": "fcll"}, DataError, r"'likelihood'; got 'fcll'"),
    "missing": ({"missing": "drop"}, DataError, "missing= is one of"),
    "one text of tiers": ({"tiers": "y"}, GraphError, "takes a list of tiers"),
    "name in two tiers": ({"tiers": ["y", ["d0", "y"]]}, GraphError, "'y' more than once"),
    "a number as a tier": ({"tiers": [1, 2]}, UnknownVariableError, "no variable 1"),
    "a tier in a tier": ({"tiers": [[["y"]]]}, UnknownVariableError, r"no variable \['y'\]"),
    "a list in a tuple": ({"tiers": [(["y"], "d0")]}, UnknownVariableError, r"no variable \['y'\]"),
    "a list as a name": ({"required": [(["y"], "d0")]}, GraphError, "pairs of names; got"),
    "unknown in a tier": ({"tiers": [["z"]]}, UnknownVariableError, "no variable 'z'"),
    "against the tiers": (
        {"tiers": ["y", "d0"], "required": [("d0", "y")]}, GraphError, "and against the tiers",
    ),
    "class": ({"method": bg.learning.tan}, DataError, "tan needs to know the class"),
    "patience": ({"method": "tabu", "patience": 0}, DataError, "patience= is a number of steps"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_makes_no_sense_is_refused(case):
    options, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        bg.BayesianNetwork.learn(make_frame(0, 3, 0), **options)


def before_a_category():
    """Return a number, a category that it decides on, one of its own, and a cause of both."""
    random = np.random.default_rng(0)
    x, cause = random.normal(size=800), random.choice(["p", "q"], 800)
    k = np.where(x + 0.3 * random.normal(size=800) > 0, "a", "b")
    y = random.normal(size=800) + 4.0 * (cause == "q")
    flip = random.random(800) < 0.05
    return {"x": x, "k": k, "free": random.choice(["u", "v"], 800), "cause": cause, "y": y,
            "effect": np.where((cause == "q") ^ flip, "s", "t")}  # fmt: skip


@pytest.mark.parametrize("method", ["hill_climb", "tabu", "pc"])
@pytest.mark.parametrize("rules", [{"tiers": ["x", "k"]}, {"forbidden": [("k", "x")]}], ids=str)
def test_a_dependence_that_no_arc_may_show_is_told(method, rules):
    table = {name: before_a_category()[name] for name in ("x", "k", "free")}
    with pytest.warns(BayesGraphWarning, match="'x' and 'k': these depend on each other"):
        found = bg.BayesianNetwork.learn(table, method=method, **rules)
    assert not edges(found)
    assert not edges(bg.BayesianNetwork.learn(table, method=method, check_columns=False, **rules))


@pytest.mark.parametrize("rules", [{"tiers": ["x", "k"]}, {"forbidden": [("k", "x")]}], ids=str)
@pytest.mark.parametrize("nested", [iter, list])
def test_rules_of_iterators_are_those_of_lists(rules, nested):
    table = {name: before_a_category()[name] for name in ("x", "k")}
    given = {name: iter([nested(entry) for entry in rule]) for name, rule in rules.items()}
    with pytest.warns(BayesGraphWarning, match="'x' and 'k': these depend on each other"):
        found = bg.BayesianNetwork.learn(table, **given)
    assert not edges(found)


@pytest.mark.parametrize(
    ("names", "rules"),
    [
        (["x", "free"], {"tiers": ["x", "free"]}),  # independent
        (["x", "k"], {"tiers": [["x", "k"]]}),  # an arc may show it
        (["x", "k"], {"forbidden": [("x", "k"), ("k", "x")]}),  # the user wants none
        (["cause", "y", "effect"], {"tiers": ["cause", "y", "effect"]}),  # by the cause
        (["x", "y"], {"tiers": ["x", "y"]}),  # two numbers
    ],
    ids=str,
)
def test_what_is_no_loss_is_not_told(names, rules):
    table = {name: before_a_category()[name] for name in names}
    bg.BayesianNetwork.learn(table, **rules)  # warnings are errors


def test_arcs_in_samples_tell_the_dependence_too():
    table = {name: before_a_category()[name] for name in ("x", "k")}
    with pytest.warns(BayesGraphWarning, match="'x' and 'k'"):
        bg.arc_confidence(table, n_samples=3, tiers=["x", "k"])


@pytest.mark.parametrize(
    ("options", "cure"),
    [
        ({"missing": "EM"}, "Did you mean 'em'"),
        ({"method": "hillclimb"}, "Did you mean 'hill_climb'"),
        ({"method": "Tabu"}, "Did you mean 'tabu'"),
        ({"order": ["d0", "y"]}, r"tiers=list\(order\) is an order"),
    ],
    ids=str,
)
def test_words_and_options_of_others_are_led_to_those_here(options, cure):
    with pytest.raises(DataError, match=cure):
        bg.BayesianNetwork.learn({"d0": list("ab") * 9, "y": list("cd") * 9}, **options)
