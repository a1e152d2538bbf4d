"""Networks in a line: what arrows mean, which tables are drawn, what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayesgraph as bg
from bayesgraph.core.errors import (
    CPDError,
    DataError,
    DataTypeError,
    GraphError,
    ModelError,
    UnknownVariableError,
)


@pytest.mark.parametrize(
    "text",
    [
        "rain -> wet; sprinkler -> wet",
        "rain->wet<-sprinkler",
        "  rain -> wet <- sprinkler ;",
        "rain\nsprinkler\nrain -> wet <- sprinkler",
        "rain -> wet; wet <- sprinkler",
    ],
)
def test_arrows_may_be_written_in_several_ways(text):
    net = bg.network(text)
    assert {*net.names} == {"rain", "sprinkler", "wet"}
    assert [parent.name for parent in net["wet"].parents] == ["rain", "sprinkler"]
    assert net["wet"].variable.states == ("no", "yes")


def test_states_are_said_once_and_anywhere():
    net = bg.network(
        "fever -> dose{low| high }; dose -> cured[3]; fever{0.5|none} -> x", states=["a", "b"]
    )
    assert net["fever"].variable.states == ("0.5", "none")
    assert net["dose"].variable.states == ("low", "high")
    assert net["cured"].variable.states == (0, 1, 2)
    assert net["x"].variable.states == ("a", "b")
    assert bg.network("dose[2]; dose[2] -> x")["x"].parents[0].states == (0, 1)


def test_tables_are_taken_as_given_and_the_others_drawn():
    wet = [[[0.99, 0.01], [0.2, 0.8]], [[0.1, 0.9], [0.05, 0.95]]]
    tables = {"rain": [0.75, 0.25], "wet": wet}
    net = bg.network("rain -> wet <- sprinkler", tables, random_state=1)
    assert net["wet"].values.tolist() == wet
    drawn = net["sprinkler"].values
    # By hand: P(wet).
    expected = sum(tables["rain"][r] * drawn[s] * wet[r][s][1] for r in range(2) for s in range(2))
    assert net.query("wet")["yes"] == pytest.approx(expected, abs=1e-15)
    assert bg.network("rain -> wet <- sprinkler", tables, random_state=1) == net
    assert bg.network("rain -> wet <- sprinkler", tables, random_state=2) != net


def test_rows_are_drawn_uniformly_from_all_distributions():
    net = bg.network("a[300] -> b[3]", random_state=0)
    rows = net["b"].values
    # Of Dirichlet(1, 1, 1): mean 1/3, variance 1/18.
    assert rows.mean(0) == pytest.approx(np.full(3, 1 / 3), abs=0.05)
    assert rows.var() == pytest.approx(1 / 18, rel=0.15)


@pytest.mark.parametrize(
    ("text", "options", "error", "words"),
    [
        ("", {}, ModelError, "no name"),
        (" ; \n", {}, ModelError, "no name"),
        ("a -> ", {}, ModelError, "got ''"),
        ("-> a", {}, ModelError, "got ''"),
        ("a -> -> b", {}, ModelError, "got ''"),
        ("a{x|y -> b", {}, ModelError, r"name\{low\|high\}"),
        ("a[x] -> b", {}, ModelError, "got 'a"),
        ("a{x|x}", {}, ValueError, "x"),
        ("a[0]", {}, ValueError, "state"),
        ("a{}", {}, ValueError, "state"),
        ("a[2] -> b; a[3] -> c", {}, ModelError, "'a' has the states 0, 1, then 0, 1, 2"),
        ("a -> b; b <- a", {}, ModelError, "'a' -> 'b' is given twice"),
        ("a -> b -> a", {}, GraphError, "cycle"),
        ("a -> a", {}, CPDError, "must all differ"),
        ("rain -> wet", {"tables": {"rian": [1, 0]}}, UnknownVariableError, "Did you mean 'rain'"),
        ("rain -> wet", {"tables": {"wet": [1, 0]}}, CPDError, "shape"),
        ("rain -> wet", {"random_state": "x"}, DataTypeError, "random_state"),
        (7, {}, DataTypeError, "text"),
        ("a => b", {}, ModelError, "got 'a => b'"),
        ("a → b", {}, ModelError, "got 'a → b'"),
        ("a --> b", {}, ModelError, "got 'a -'"),
        ("a <-> b", {}, ModelError, "got '> b'"),
        ("a -> b, b -> c", {}, ModelError, "got 'b, b'"),
        ("a{no,yes} -> b", {}, ModelError, r"name\{low\|high\}"),
        ("a -> b", {"states": {"a": ["x", "y"]}}, DataTypeError, "one list for all"),
        ("a -> b", {"states": "xy"}, DataTypeError, "one list for all"),
        ("a -> b", {"tables": [[0.5, 0.5]]}, DataTypeError, "mapping from name to table"),
    ],
)
def test_what_is_no_network_is_refused(text, options, error, words):
    with pytest.raises(error, match=words):
        bg.network(text, **options)


@given(st.integers(1, 12), st.integers(0, 4), st.integers(1, 3), st.integers(0, 9), st.data())
def test_random_networks_have_what_is_asked(n_variables, most, n_states, seed, data):
    places = sum(min(i, most) for i in range(n_variables))
    n_arcs = data.draw(st.integers(0, places))
    options = {"n_states": n_states, "max_parents": most, "random_state": seed}
    net = bg.random_network(n_variables, n_arcs, **options)
    assert net.names == tuple(f"x{i}" for i in range(n_variables))
    assert net.graph.number_of_edges() == n_arcs
    assert max((len(cpd.parents) for cpd in net.cpds), default=0) <= most
    assert {v.cardinality for v in net.variables} == {n_states}
    assert bg.random_network(n_variables, n_arcs, **options) == net
    with pytest.raises(DataError, match=f"at most {places} arcs"):
        bg.random_network(n_variables, places + 1, **options)


def test_every_arc_is_as_likely():
    counts = np.zeros((4, 4))
    for seed in range(600):
        for parent, child in bg.random_network(4, 3, random_state=seed).graph.edges:
            counts[int(parent[1]), int(child[1])] += 1
    shares = counts[np.triu_indices(4, 1)] / 600
    assert shares == pytest.approx(np.full(6, 0.5), abs=0.08)


def test_what_no_memory_holds_is_told_before_it_is_made():
    text = "; ".join(f"x{i} -> y" for i in range(40))
    with pytest.raises(bg.errors.MemoryLimitError, match="The table of 'y'"):
        bg.network(text)
    with pytest.raises(ModelError, match="a\\[99999999"):
        bg.network("a[99999999] -> b")
    for wrong in ("a -- b", "a -> b # c"):
        with pytest.raises(ModelError, match="Expected a name"):
            bg.network(wrong)
