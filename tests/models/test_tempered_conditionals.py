"""Tempered terms and powered tables, against the definition written out by hand."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_oracle import oracle_of

import bayesgraph as bg
from bayesgraph.core import Evidence
from bayesgraph.core.errors import ImpossibleEvidenceError, ImpossibleEvidenceWarning, ModelError

STATES = ["r", "s", "t"]


def features(cards):
    return [bg.Discrete(f"f{i}", range(card)) for i, card in enumerate(cards)]


def star(seed, cards, n_classes=3, zeros=0.0):
    """Return a naive Bayes of tables, some of whose cells are zero."""
    random = np.random.default_rng(seed)
    target = bg.Discrete("c", STATES[:n_classes])
    cpds = [bg.TableCPD(target, random.dirichlet([1] * n_classes))]
    for feature, card in zip(features(cards), cards, strict=True):
        table = random.dirichlet([1] * card, n_classes)
        table[(random.random(table.shape) < zeros) & (table < table.max(axis=1)[:, None])] = 0
        table /= table.sum(axis=1, keepdims=True)
        cpds.append(bg.TableCPD(feature, table, [target]))
    return bg.BayesianNetwork(cpds)


def exponents(seed, net, kind):
    random = np.random.default_rng(seed)
    drawn = {}
    for cpd in net.cpds:
        if cpd.parents:
            shape = () if kind == "number" else (net.variables[0].cardinality,)
            drawn[cpd.variable.name] = random.uniform(0, 2, shape) * (random.random(shape) < 0.8)
    return drawn


def rows_of(seed, net, n, missing=0.3):
    random = np.random.default_rng(seed)
    columns = {}
    for variable in net.variables[1:]:
        codes = random.integers(variable.cardinality, size=n)
        codes[random.random(n) < missing] = -1
        columns[variable] = codes.astype(np.int8)
    return Evidence(n, columns)


@given(
    seed=st.integers(0, 2**16),
    cards=st.lists(st.integers(1, 4), min_size=1, max_size=6),
    n_classes=st.integers(1, 3),
    kind=st.sampled_from(["number", "class"]),
    zeros=st.sampled_from([0.0, 0.3]),
    n=st.integers(0, 30),
)
def test_tables_side_by_side_say_what_the_terms_say(seed, cards, n_classes, kind, zeros, n):
    net = star(seed, cards, n_classes, zeros)
    powers = exponents(seed, net, kind)
    model = bg.WeightedNetwork(net, "c", powers)
    evidence = rows_of(seed, net, n)
    expected = np.zeros((n, n_classes))
    for cpd in net.cpds[1:]:
        logs = model.tempered(cpd, evidence)
        expected += 0.0 if logs is None else logs
    found = np.zeros((n_classes, n))
    model._add_tables(evidence, found)
    np.testing.assert_allclose(found.T, expected, rtol=1e-12, atol=1e-12)
    scores = model.log_scores(evidence) - model.log_scores(Evidence(n, {}))
    np.testing.assert_allclose(scores, expected, rtol=1e-11, atol=1e-11)


def test_some_columns_of_many_are_looked_up_in_their_own_place():
    net = star(1, [2, 3, 4, 2])
    model = bg.WeightedNetwork(net, "c", exponents(1, net, "class"))
    whole = rows_of(2, net, 50)
    for names in itertools.combinations(range(4), 2):
        kept = {f"f{i}" for i in names}
        part = whole.without([v for v in whole.columns if v.name not in kept])
        gone = {
            v: column if v.name in kept else np.full_like(column, -1)
            for v, column in whole.columns.items()
        }
        found = model.log_scores(part)
        np.testing.assert_array_equal(found, model.log_scores(Evidence(50, gone)))


def test_soft_evidence_is_summed_before_it_is_tempered():
    net = star(3, [3, 2])
    model = bg.WeightedNetwork(net, "c", {"f0": 0.4, "f1": [0.0, 1.5, 1.0]})
    prior, f0, f1 = (cpd.values for cpd in net.cpds)
    likelihood = np.array([0.2, 0.0, 0.9])
    scores = prior * (f0 @ likelihood) ** 0.4 * f1[:, 1] ** [0.0, 1.5, 1.0]
    found = model.query("c", {"f0": dict(enumerate(likelihood.tolist())), "f1": 1})
    np.testing.assert_allclose(found.probabilities, scores / scores.sum(), rtol=1e-12)


# ------------------------------------------------------------------- parents that are missing


def random_network(seed):
    """Return class, a tree and a feature of two feature parents; two are no child of the class."""
    random = np.random.default_rng(seed)
    c = bg.Discrete("c", ["u", "v"])
    a, b, d, e = features([2, 3, 2, 2])
    f = bg.Discrete("f4", [False, True])

    def table(child, *parents):
        shape = [p.cardinality for p in parents]
        return bg.TableCPD(child, random.dirichlet([1] * child.cardinality, shape or None), parents)

    return bg.BayesianNetwork(
        [table(c), table(a, c), table(b, a), table(d, c, a, b), table(e, d), table(f)]
    )


def rows_of_every_pattern(seed, net):
    random = np.random.default_rng(seed)
    names = [v.name for v in net.variables[1:]]
    rows = []
    for seen in itertools.product([False, True], repeat=len(names)):
        draw = {v.name: v.states[random.integers(v.cardinality)] for v in net.variables[1:]}
        rows.append({name: draw[name] for name, known in zip(names, seen, strict=True) if known})
    return rows


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2))])
def test_every_pattern_of_missing_parents_is_the_definition(seed):
    net = random_network(seed)
    random = np.random.default_rng(seed)
    powers = {"f0": random.uniform(0, 2, 2), "f1": 0.3, "f2": random.uniform(0, 2, 2), "f3": 1.7}
    model = bg.WeightedNetwork(net, "c", powers, bias=[0.3, -0.2], prior_exponent=0.5)
    oracle = oracle_of(model)
    rows = rows_of_every_pattern(seed, net)
    # Shuffled, so that stretches of one pattern are no matter of order.
    rows = [rows[i] for i in random.permutation(len(rows))]
    columns = [v.name for v in net.variables[1:]]
    frame = pd.DataFrame([{name: row.get(name) for name in columns} for row in rows], dtype=object)
    for name in ("c", "f1", "f4"):
        found = model.query_rows(name, frame)
        for row, p in zip(rows, found, strict=True):
            known = {k: v for k, v in row.items() if k != name}
            np.testing.assert_allclose(p, oracle.posterior([name], known), rtol=1e-10, atol=1e-13)
            one = model.query(name, known).probabilities
            np.testing.assert_allclose(p, one, rtol=1e-10, atol=1e-13)


def test_what_is_no_child_of_the_class_speaks_where_its_parent_is_missing():
    net = random_network(5)
    model = bg.WeightedNetwork(net, "c", {"f1": 0.5})
    a, b = net["f0"].values, net["f1"].values
    scores = net["c"].values * (a @ b[:, 2]) ** 0.5
    found = model.query("c", {"f1": 2}).probabilities
    np.testing.assert_allclose(found, scores / scores.sum(), rtol=1e-12)
    with_parent = model.query("c", {"f0": 1, "f1": 2}).probabilities
    np.testing.assert_allclose(with_parent, model.query("c", {"f0": 1}).probabilities, rtol=1e-12)


def test_complete_rows_are_those_of_the_factor_graph():
    net = random_network(6)
    model = bg.WeightedNetwork(net, "c", {"f0": [0.2, 1.0], "f2": 0.7, "f1": 0.1}, bias=[0.5, 0])
    graph = bg.FactorGraph.of(model)
    for codes in itertools.product(*(range(v.cardinality) for v in net.variables[1:])):
        row = {v.name: v.states[i] for v, i in zip(net.variables[1:], codes, strict=True)}
        np.testing.assert_allclose(
            model.query("c", row).probabilities, graph.query("c", row).probabilities, rtol=1e-11
        )


def test_an_observed_row_that_cannot_be_is_impossible_alone_and_among_others():
    c, a, b = bg.Discrete("c", [0, 1]), bg.Discrete("a", [0, 1]), bg.Discrete("b", [0, 1])
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(c, [0.3, 0.7]),
            bg.TableCPD(a, [[0.2, 0.8], [0.6, 0.4]], [c]),
            bg.TableCPD(b, [[1, 0], [0.5, 0.5]], [a]),
        ]
    )
    model = bg.WeightedNetwork(net, "c", {"b": 0.5})
    with pytest.raises(ImpossibleEvidenceError):
        model.query("c", {"a": 0, "b": 1})
    frame = {"a": [0, None, 1], "b": [1, 1, 1]}
    with pytest.warns(ImpossibleEvidenceWarning, match="1 of 3 rows"):
        found = model.query_rows("c", frame)
    np.testing.assert_allclose(found[0], [0.3, 0.7])
    scores = np.array([0.3, 0.7]) * (np.array([0.8, 0.4]) * 0.5) ** 0.5
    np.testing.assert_allclose(found[1], scores / scores.sum(), rtol=1e-12)
    # With an exponent of zero nothing is impossible: 0 to the power 0 is 1.
    silent = bg.WeightedNetwork(net, "c", {"b": 0.0})
    assert silent.query("c", {"a": 0, "b": 1})[1] == pytest.approx(0.7 * 0.6 / (0.7 * 0.6 + 0.06))


def test_terms_of_numbers_are_log_densities():
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(c := bg.Discrete("c", [0, 1]), [0.5, 0.5]),
            bg.GaussianCPD(bg.Continuous("x"), [0.0, 1.0], [1.0, 4.0], [c]),
        ]
    )
    terms = bg.WeightedNetwork(net, "c")
    cpd = net["x"]
    found = terms._logs(cpd, Evidence(2, {cpd.variable: np.array([0.5, np.nan])}))
    expected = -0.5 * (np.log(2 * np.pi * np.array([1, 4])) + np.array([0.25, 0.0625]))
    np.testing.assert_allclose(found, [expected, [0.0, 0.0]], rtol=1e-12)
    assert terms._logs(cpd, Evidence(2, {})) is None


def test_exponents_that_have_no_meaning_are_refused():
    net = random_network(0)
    with pytest.raises(ModelError, match="does not have the class 'c' as a parent"):
        bg.WeightedNetwork(net, "c", {"f1": [0.5, 1.0]})
    with_zeros = bg.BayesianNetwork(
        [
            bg.TableCPD(c := bg.Discrete("c", [0, 1]), [0.5, 0.5]),
            bg.TableCPD(bg.Discrete("a", [0, 1]), [[1, 0], [0.5, 0.5]], [c]),
        ]
    )
    bg.WeightedNetwork(with_zeros, "c", {"a": [1.0, -1.0]}, domain="free")
    with pytest.raises(ModelError, match="cannot take a negative exponent"):
        bg.WeightedNetwork(with_zeros, "c", {"a": [-1.0, 1.0]}, domain="free")
    never = bg.BayesianNetwork([bg.TableCPD(c, [0, 1]), *with_zeros.cpds[1:]])
    with pytest.raises(ModelError, match="cannot take a negative exponent"):
        bg.WeightedNetwork(never, "c", prior_exponent=-1.0, domain="free")
