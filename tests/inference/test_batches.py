"""Batches of rows with any pattern of missing values equal single queries and the oracle."""

import math
import tracemalloc

import numpy as np
import oracle as brute
import pytest

import bayesgraph as bg
from bayesgraph.core import Evidence
from bayesgraph.inference import row_solver

TOLERANCE = {"rel": 1e-10, "abs": 1e-10}


def random_rows(random, network, n, *, share):
    """Return n rows of a forward sample with values left out at random, as states."""
    columns = network.sample(n, random_state=int(random.integers(2**31)))
    rows = []
    for i in range(n):
        row = {}
        for variable in network.variables:
            if random.random() < share:
                continue
            value = columns[variable.name][i]
            row[variable.name] = value.item() if isinstance(value, np.generic) else value
        rows.append(row)
    return rows


def without(rows, name):
    return [{key: value for key, value in row.items() if key != name} for row in rows]


def check_rows(model, oracle, rows):
    """Compare both batch questions with the oracle and with single questions, row by row."""
    evidence = brute.batch(model.variables, rows)
    got = model._log_evidence_rows(evidence)
    assert got.shape == (len(rows),)
    for row, value in zip(rows, got, strict=True):
        assert value == pytest.approx(oracle.log_probability(row), **TOLERANCE)
        assert value == pytest.approx(model.log_probability(row), **TOLERANCE)
    for target in model.variables:
        if isinstance(target, bg.Continuous):
            continue
        others = [v for v in model.variables if v != target]
        given = without(rows, target.name)
        table = model._log_posterior_rows(target, brute.batch(others, given))
        assert table.shape == (len(rows), target.cardinality)
        for row, values in zip(given, table, strict=True):
            expected = oracle.joint([target.name], row)
            weights = np.exp(values - values.max())
            assert weights / weights.sum() == pytest.approx(expected / expected.sum(), abs=1e-10)
            single = model.query(target.name, row)
            assert weights / weights.sum() == pytest.approx(single.probabilities, abs=1e-10)


shares = pytest.mark.parametrize("share", [0.1, pytest.param(0.5, marks=pytest.mark.slow), 0.9])


@pytest.mark.one_in(14)
@pytest.mark.parametrize("seed", range(40))
@shares
def test_discrete_batches(seed, share):
    network = brute.random_network(seed, n_discrete=5, most_worlds=60)
    random = np.random.default_rng(seed)
    rows = [{}, *random_rows(random, network, 12, share=share)]
    rows += random_rows(random, network, 2, share=0.0)
    check_rows(network, brute.Oracle.of(network), rows)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_rows_with_the_same_missing_values_are_answered_together(seed, share, monkeypatch):
    """As where tables are large: each pattern by elimination instead of one program for all."""
    monkeypatch.setattr(row_solver, "_PATTERN_ENTRIES", 0)
    network = brute.random_network(seed, n_discrete=5, most_worlds=60)
    random = np.random.default_rng(seed)
    rows = [{}, *random_rows(random, network, 12, share=share)] * 2
    check_rows(network, brute.Oracle.of(network), rows)


def test_large_tables_are_read_by_pattern(monkeypatch):
    random = np.random.default_rng(0)
    leaves = [bg.Discrete(f"v{i}", range(8)) for i in range(4)]
    root = bg.Discrete("class", range(3))
    cpds = [bg.TableCPD(root, [0.2, 0.3, 0.5])]
    for i, leaf in enumerate(leaves):
        values = random.dirichlet(np.ones(8), size=(3, *[8] * i))
        cpds.append(bg.TableCPD(leaf, values, [root, *leaves[:i]]))
    network = bg.BayesianNetwork(cpds)
    codes = random.integers(-1, 8, size=(3000, 4))
    codes[codes[:, 3] >= 0, 3] = 3
    columns = {leaf: codes[:, i] for i, leaf in enumerate(leaves)}
    alike: list[int] = []
    original = row_solver.RowsWork._alike

    def counted(self, rows):
        found = original(self, rows)
        alike.append(len(found))
        return found

    monkeypatch.setattr(row_solver.RowsWork, "_alike", counted)
    found = network._log_posterior_rows(root, Evidence(3000, columns))
    is_open = (codes[:, :3] < 0).any(axis=1)  # the last one is a leaf
    assert alike == [len(np.unique(codes[is_open] >= 0, axis=0))]
    for row, logs in zip(codes[:60], found, strict=False):
        known = {f"v{i}": int(code) for i, code in enumerate(row) if code >= 0}
        expected = network.query("class", known).probabilities
        np.testing.assert_allclose(np.exp(logs - np.logaddexp.reduce(logs)), expected, atol=1e-12)


@pytest.mark.one_in(14)
@pytest.mark.parametrize("seed", range(500, 540))
@shares
def test_mixed_batches(seed, share):
    network = brute.random_network(seed, n_discrete=3, n_continuous=4, most_worlds=16)
    random = np.random.default_rng(seed)
    rows = [{}, *random_rows(random, network, 10, share=share)]
    rows += random_rows(random, network, 2, share=0.0)
    check_rows(network, brute.Oracle.of(network), rows)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", range(600, 630))
def test_columns_missing_throughout(seed):
    """Half of the columns are all missing, the others are missing in some rows."""
    network = brute.random_network(seed, n_discrete=3, n_continuous=4, most_worlds=16)
    random = np.random.default_rng(seed)
    rows = random_rows(random, network, 8, share=0.4)
    for variable in network.variables[::2]:
        rows = without(rows, variable.name)
    check_rows(network, brute.Oracle.of(network), rows)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", range(700, 730))
def test_factor_graph_batches(seed):
    sources, exponents = brute.random_factor_graph(seed, n_continuous=seed % 4)
    graph = bg.FactorGraph(sources, exponents=exponents)
    ones = [1.0 if exponent is None else exponent for exponent in exponents]
    oracle = brute.Oracle(list(zip(sources, ones, strict=True)))
    if oracle.partition() == 0:
        with pytest.raises(bg.errors.ImpossibleEvidenceError):
            graph._log_evidence_rows(Evidence(1, {}))
        return
    random = np.random.default_rng(seed)
    rows = []
    while len(rows) < 10:
        row = brute.random_evidence(random, oracle, share=random.random(), soft=0.0)
        rows.append({name: value for name, value in row.items() if value is not None})
    check_rows(graph, oracle, rows)


def test_continuous_parent_missing_below_an_observed_child():
    """Every pattern of missing values over c -> z -> x, c -> x in one batch."""
    c = bg.Discrete("c", ["a", "b", "d"])
    z, x = bg.Continuous("z"), bg.Continuous("x")
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(c, [0.2, 0.5, 0.3]),
            bg.GaussianCPD(z, [0, 1, 3], [1, 2, 0.5], parents=[c]),
            bg.GaussianCPD(
                x, [0, 1, -1], [1, 0.3, 2], parents=[z, c], coefficients=[[2.0], [0.0], [-1.0]]
            ),
        ]
    )
    oracle = brute.Oracle.of(net)
    rows = [
        {key: value for key, value, kept in zip("czx", ("b", 1.5, -0.5), bits, strict=True) if kept}
        for bits in np.ndindex(2, 2, 2)
    ]
    check_rows(net, oracle, rows)
    check_rows(net, oracle, without(rows, "z"))
    check_rows(net, oracle, without(rows, "x"))


@pytest.mark.one_in(5)
@pytest.mark.parametrize("n_rows", [1, 4095, 4096, 4097, 9000])
def test_block_boundaries(n_rows):
    """A few rows repeated in random order over several blocks: each as on its own."""
    network = brute.random_network(1003, n_discrete=4, n_continuous=3, most_worlds=36)
    random = np.random.default_rng(n_rows)
    distinct = [{}, *random_rows(random, network, 20, share=0.4)]
    distinct += random_rows(random, network, 3, share=0.0)
    which = random.integers(len(distinct), size=n_rows)
    evidence = brute.batch(network.variables, distinct).rows(which)
    oracle = brute.Oracle.of(network)
    expected = np.array([oracle.log_probability(row) for row in distinct])
    assert network._log_evidence_rows(evidence) == pytest.approx(expected[which], **TOLERANCE)
    target = next(v for v in network.variables if isinstance(v, bg.Discrete) and v.cardinality > 1)
    given = [v for v in network.variables if v != target]
    partial = brute.batch(given, without(distinct, target.name)).rows(which)
    with np.errstate(divide="ignore"):
        joint = [np.log(oracle.joint([target.name], row)) for row in without(distinct, target.name)]
    got = network._log_posterior_rows(target, partial)
    assert got == pytest.approx(np.array(joint)[which], **TOLERANCE)


def test_a_row_does_not_depend_on_its_neighbours():
    """Alone, in a batch and in a shuffled batch: equal to rounding."""
    network = brute.random_network(1007, n_discrete=4, n_continuous=4, most_worlds=36)
    random = np.random.default_rng(5)
    rows = random_rows(random, network, 200, share=0.4)
    evidence = brute.batch(network.variables, rows)
    together = network._log_evidence_rows(evidence)
    order = random.permutation(len(rows))
    assert network._log_evidence_rows(evidence.rows(order)) == pytest.approx(
        together[order], rel=1e-12, abs=1e-12
    )
    alone = [network._log_evidence_rows(evidence.rows(slice(i, i + 1)))[0] for i in range(50)]
    assert together[:50] == pytest.approx(np.array(alone), rel=1e-12, abs=1e-12)


def test_no_rows():
    network = brute.random_network(3, n_discrete=4)
    target = network.variables[0]
    evidence = Evidence(0, {v: np.empty(0, dtype=np.int64) for v in network.variables[1:]})
    assert network._log_posterior_rows(target, evidence).shape == (0, target.cardinality)
    assert network._log_evidence_rows(evidence).shape == (0,)


def test_rows_without_columns():
    network = brute.random_network(3, n_discrete=4)
    target = network.variables[0]
    table = np.exp(network._log_posterior_rows(target, Evidence(3, {})))
    assert table == pytest.approx(np.tile(network.query(target.name).probabilities, (3, 1)))
    assert network._log_evidence_rows(Evidence(3, {})) == pytest.approx(np.zeros(3))


def star():
    c = bg.Discrete("c", ["a", "b"])
    f, g = bg.Discrete("f", [0, 1, 2]), bg.Continuous("g")
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(c, [0.4, 0.6]),
            bg.TableCPD(f, [[0.0, 0.5, 0.5], [0.0, 0.0, 1.0]], parents=[c]),
            bg.GaussianCPD(g, [0.0, 1.0], [1.0, 2.0], parents=[c]),
        ]
    )
    return net, c, f, g


def test_impossible_rows_are_minus_infinity_throughout():
    net, c, f, g = star()
    evidence = Evidence(4, {f: np.array([0, 1, -1, 0]), g: np.array([0.1, 0.2, np.nan, np.nan])})
    table = net._log_posterior_rows(c, evidence)
    assert np.isneginf(table).tolist() == [[True] * 2, [False, True], [False] * 2, [True] * 2]
    assert np.isneginf(net._log_evidence_rows(evidence)).tolist() == [True, False, False, True]


def test_soft_evidence_for_all_rows_and_for_each():
    net, c, f, g = star()
    numbers = np.array([0.3, np.nan, -1.0])
    shared = Evidence(3, {g: numbers}, {f: np.log([[0.2, 0.5, 0.9]])})
    likelihoods = np.array([[0.2, 0.5, 0.9], [1.0, 0.1, 0.3], [0.5, 0.5, 0.5]])
    own = Evidence(3, {g: numbers}, {f: np.log(likelihoods)})
    for evidence, table in ((shared, likelihoods[[0, 0, 0]]), (own, likelihoods)):
        got = net._log_evidence_rows(evidence)
        posterior = net._log_posterior_rows(c, evidence)
        for i in range(3):
            given = {"f": table[i], "g": numbers[i]}
            assert got[i] == pytest.approx(net.log_probability(given), **TOLERANCE)
            single = net.query("c", given)
            assert np.exp(posterior[i] - got[i]) == pytest.approx(single.probabilities)


def test_the_target_may_be_observed_in_some_rows_or_in_all():
    """log P(target, evidence) is minus infinity where the evidence says otherwise."""
    net, c, f, _ = star()
    for codes in ([0, 1, -1], [0, 1, 1]):
        evidence = Evidence(3, {c: np.array(codes), f: np.array([2, 2, 1])})
        table = net._log_posterior_rows(c, evidence)
        expected = np.log([[0.4 * 0.5, 0.6], [0.4 * 0.5, 0.6], [0.4 * 0.5, 1e-300]])
        for row, code in enumerate(codes):
            for state in (0, 1):
                seen = code in (-1, state)
                if seen and expected[row, state] > -600:
                    assert table[row, state] == pytest.approx(expected[row, state])
                else:
                    assert table[row, state] == -np.inf


@pytest.mark.slow
@pytest.mark.parametrize("partial", [pytest.param(False, marks=pytest.mark.slow), True])
def test_memory_of_a_batch_with_hidden_variables_is_bounded(partial):
    """Tables over variables that no row observes: fewer rows at a time, not more memory."""
    n = 13
    hidden = [bg.Discrete(f"h{i}", [0, 1]) for i in range(n)]
    random = np.random.default_rng(0)
    child, leaf = bg.Discrete("child", [0, 1]), bg.Discrete("leaf", [0, 1])
    cpds = [bg.TableCPD(h, [0.3, 0.7]) for h in hidden]
    cpds.append(bg.TableCPD(child, brute.random_table(random, (2,) * (n + 1)), parents=hidden))
    cpds.append(bg.TableCPD(leaf, [[0.2, 0.8], [0.9, 0.1]], parents=[child]))
    net = bg.BayesianNetwork(cpds)
    codes = random.integers(2, size=4096)
    if partial:
        codes[::2] = -1
    evidence = Evidence(4096, {child: codes, leaf: random.integers(2, size=4096)})
    net._log_posterior_rows(hidden[0], evidence.rows(slice(0, 2)))
    tracemalloc.start()
    net._log_posterior_rows(hidden[0], evidence)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # All rows at once would take 4096 * 8192 * 8 bytes for each of several tables.
    assert peak < 450e6, f"{peak / 1e6:.0f} MB"


@pytest.mark.slow
def test_thousands_of_columns_do_not_underflow():
    """5,000 observed leaves, each of likelihood 1e-3 or less: in linear space this is zero."""
    c = bg.Discrete("c", ["a", "b"])
    leaves = [bg.Discrete(f"f{i}", [0, 1]) for i in range(5000)]
    table = [[1e-3, 1 - 1e-3], [2e-3, 1 - 2e-3]]
    net = bg.BayesianNetwork(
        [bg.TableCPD(c, [0.5, 0.5]), *(bg.TableCPD(v, table, parents=[c]) for v in leaves)]
    )
    codes = np.zeros(2, dtype=np.int64)
    columns = {v: np.array([0, -1]) if i % 2 else codes for i, v in enumerate(leaves)}
    got = net._log_posterior_rows(c, Evidence(2, columns))
    counts = np.array([5000, 2500])
    expected = math.log(0.5) + counts[:, None] * np.log([1e-3, 2e-3])
    assert got == pytest.approx(expected, rel=1e-12)
