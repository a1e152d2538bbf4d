"""Learners that look at the rows find in files what they find in the table in memory."""

import warnings
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayesgraph as bg
from bayesgraph.core import parallel as blocks
from bayesgraph.core.errors import NotConvergedWarning, UnsupportedModelError
from bayesgraph.learning import em as expected_statistics
from bayesgraph.learning import greedy as conditional_likelihood_search
from bayesgraph.learning import leave_one_out
from bayesgraph.tables import Dataset

N_ROWS = 330
LEARNERS = {
    "selective kDB": partial(bg.learning.selective_kdb, k=2),
    "forward selection": bg.learning.forward_selection,
    "cll": partial(bg.learning.hill_climb, score="cll", max_parents=2),
    "cll, required": partial(
        bg.learning.hill_climb,
        score="cll",
        required=[("a", "c"), ("c", "b")],
        forbidden=[("a", "d")],
    ),
}
# Continuous features have discrete parents too, and none of them is missing in all rows.
ARCS = [("y", "a"), ("y", "b"), ("a", "c"), ("a", "d"), ("c", "d")]
MIXED = [*ARCS, ("y", "u"), ("a", "v"), ("u", "v")]


@pytest.fixture
def table():
    random = np.random.default_rng(0)
    y = random.integers(0, 3, N_ROWS)
    noise = random.integers(0, 2, (4, N_ROWS))
    codes = {"a": y + noise[0], "b": y * noise[1], "c": y + noise[0] + noise[2], "d": noise[3] + y}
    columns = {}
    for name, values in codes.items():
        text = np.array(list("pqrst"), dtype=object)[values]
        text[random.random(N_ROWS) < 0.15] = None
        columns[name] = pa.array(text.tolist(), pa.string())
    u = random.normal(size=N_ROWS) + y + 1e3
    return pa.table(
        columns
        | {
            "u": u,
            "v": random.normal(size=N_ROWS) + 0.5 * u + codes["a"],
            "y": [f"c{k}" for k in y],
            "w": random.integers(0, 7, N_ROWS) * 0.3,
        }
    )


@pytest.fixture
def folder(table, tmp_path, monkeypatch):
    """Several files, several runs of several blocks, and several parts of a run."""
    monkeypatch.setattr(blocks, "BLOCK", 32)
    monkeypatch.setattr(leave_one_out, "_PART_ROWS", 16)
    path = tmp_path / "data"
    path.mkdir()
    for k, (first, last) in enumerate([(0, 5), (5, 200), (200, N_ROWS)]):
        pq.write_table(table.slice(first, last - first), path / f"{k}.parquet", row_group_size=90)
    return path


@pytest.mark.one_in(16)
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("names", ["abcdy", "auvcby"])
@pytest.mark.parametrize("learner", LEARNERS)
def test_losses_of_files_are_those_of_the_table(table, folder, learner, names, weight):
    if "required" in learner and "d" not in names:
        names = "abcduvy"
    columns = [*names, *([] if weight is None else [weight])]
    weights = None if weight is None else table["w"].to_numpy()
    memory = bg.learning.count_source(table.select(list(names)), "y", sample_weight=weights)
    data = bg.open_dataset(folder, columns=columns, sample_rows=50)  # none is taken
    expected = LEARNERS[learner](memory)
    found = LEARNERS[learner](bg.learning.count_source(data, "y", sample_weight=weight))
    assert found.variables == expected.variables
    assert found.arcs == expected.arcs
    assert found.scores == expected.scores  # to the last bit


@pytest.mark.one_in(3)
@pytest.mark.parametrize("learner", ["selective kDB", "forward selection", "cll"])
def test_classifiers_have_the_same_bits(table, folder, tmp_path, learner):
    bits = []
    memory = table.drop_columns("w")
    for X, y in (
        (memory.drop_columns("y"), memory.select(["y"])),
        (bg.open_dataset(folder, columns=memory.column_names), "y"),
    ):
        found = bg.BayesianNetworkClassifier(LEARNERS[learner], check_columns=False).fit(X, y)
        found.save(tmp_path / "m.bayesgraph")
        bits.append((tmp_path / "m.bayesgraph").read_bytes())
    assert bits[0] == bits[1]


@pytest.mark.slow
def test_a_step_of_the_search_is_few_passes(table, folder, monkeypatch):
    passes = []
    runs = Dataset.runs

    def counted(self, *given):
        passes.append(given)
        return runs(self, *given)

    monkeypatch.setattr(Dataset, "runs", counted)
    data = bg.open_dataset(folder, columns=list("abcdy"))
    by_step = {}
    for at_once in (1, 64):
        monkeypatch.setattr(conditional_likelihood_search, "_ARCS_OF_PASS", at_once)
        passes.clear()
        found = bg.learning.hill_climb(
            bg.learning.count_source(data, "y"), score="cll", max_parents=3
        )
        by_step[at_once] = len(passes), found
    assert by_step[1][1].scores == by_step[64][1].scores
    n_arcs = len(by_step[64][1].scores)
    assert n_arcs > 0
    # States, pairs, single terms, their loss, that of each arc alone; then tables and losses of
    # each step.
    assert by_step[64][0] <= 6 + 2 * (n_arcs + 1)
    passes.clear()
    bg.learning.selective_kdb(bg.learning.count_source(data, "y"), k=2)
    assert len(passes) == 4  # states, pairs, tables, losses


def parameters(network):
    return {
        (name, part): getattr(network[name], part)
        for name in network.names
        for part in ("values", "mean", "variance", "coefficients")
        if hasattr(network[name], part)
    }


def both(table, folder, arcs, weight=None, **options):
    """Return the networks by EM of the table in memory, and of its files."""
    names = list(dict.fromkeys(n for arc in arcs for n in arc if n in table.column_names))
    weights = None if weight is None else table[weight].to_numpy()
    fit = partial(bg.BayesianNetwork.fit, arcs, max_iter=12, random_state=3, **options)
    data = bg.open_dataset(folder, columns=[*names, *([weight] if weight else [])])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        return fit(table.select(names), sample_weight=weights), fit(data, sample_weight=weight)


HIDDEN = bg.Discrete("h", ["one", "two"])
PROBLEMS = {
    "gaps": (ARCS, {"missing": "em"}),
    "mixed": (MIXED, {"missing": "em"}),
    "mixture": ([("h", n) for n in "uvab"], {"hidden": HIDDEN, "restarts": 2}),
    "hidden class": ([("h", n) for n in "abcd"], {"hidden": HIDDEN, "restarts": 2}),
}


@pytest.mark.one_in(12)
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("held", [0, 2**17], ids=["runs", "merged"])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_em_of_files_equals_that_of_the_table(table, folder, monkeypatch, problem, held, weight):
    monkeypatch.setattr(expected_statistics, "_DISTINCT_ROWS", held)
    monkeypatch.setattr(expected_statistics, "_OWN_ROWS", 10)
    arcs, options = PROBLEMS[problem]
    expected, found = both(table, folder, arcs, weight, **options)
    assert found._history.n_iter == expected._history.n_iter > 1
    np.testing.assert_allclose(found._history.objective, expected._history.objective, rtol=1e-9)
    np.testing.assert_allclose(found._history.restarts, expected._history.restarts, rtol=1e-9)
    theirs = parameters(expected)
    assert theirs.keys() == parameters(found).keys()
    for key, value in parameters(found).items():
        np.testing.assert_allclose(value, theirs[key], rtol=1e-9, atol=1e-12, err_msg=str(key))


@pytest.mark.slow
def test_few_distinct_rows_are_read_once(table, folder, monkeypatch):
    passes = []
    read = Dataset.read

    def counted(self, columns):
        passes.append(columns)
        return read(self, columns)

    monkeypatch.setattr(Dataset, "read", counted)
    expected, found = both(table, folder, ARCS, missing="em")
    assert len(passes) == 3  # states, rows, statistics of the start
    for key, value in parameters(found).items():
        assert np.array_equal(value, parameters(expected)[key])
    monkeypatch.setattr(expected_statistics, "_DISTINCT_ROWS", 0)
    passes.clear()
    _, found = both(table, folder, ARCS, missing="em")
    assert len(passes) == 4 + found._history.n_iter + 1


def test_the_row_that_em_cannot_complete_is_named(table, tmp_path, folder):
    v = table["v"].to_numpy().copy()
    u = table["u"].to_numpy().copy()
    u[303] = np.nan
    pq.write_table(pa.table({"u": pa.array(u, from_pandas=True), "v": v}), tmp_path / "d.parquet")
    with pytest.raises(UnsupportedModelError, match="missing in row 303,"):
        bg.BayesianNetwork.fit([("u", "v")], tmp_path / "d.parquet", missing="em")
