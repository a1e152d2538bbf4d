"""Networks and structures of datasets are those of the same rows in memory."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayesgraph as bg
from bayesgraph.core import parallel as blocks
from bayesgraph.core.errors import BayesGraphWarning, DataTypeError, UnknownVariableError
from bayesgraph.statistics import source


@pytest.fixture
def table():
    random = np.random.default_rng(0)
    n = 500
    y = random.integers(0, 3, n)
    a = (y + random.integers(0, 2, n)) % 4
    text = np.array(["p", "q", "r", None], dtype=object)[a]
    return pa.table(
        {
            "a": pa.array(text.tolist(), pa.string()),
            "b": pa.array(random.normal(size=n) + y + 1e4),
            "c": pa.array((random.random(n) < 0.5 + 0.1 * a).tolist()),
            "y": pa.array([f"c{k}" for k in y]),
            "w": pa.array(random.integers(0, 4, n) * 0.5),
        }
    )


@pytest.fixture
def folder(table, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 32)
    path = tmp_path / "data"
    path.mkdir()
    for k, first in enumerate((0, 7, 7, 300)):
        last = (7, 7, 300, 500)[k]
        pq.write_table(table.slice(first, last - first), path / f"{k}.parquet", row_group_size=60)
    return path


ARCS = [("y", "a"), ("y", "b"), ("a", "c")]


def same(one, two):
    """Tell whether two networks have the same parameters to the last bit."""
    assert one.variables == two.variables
    assert set(one.graph.edges) == set(two.graph.edges)
    for mine, theirs in zip(one.cpds, two.cpds, strict=True):
        for name in ("values", "mean", "variance"):
            if hasattr(mine, name):
                assert np.array_equal(getattr(mine, name), getattr(theirs, name))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_network_of_files_is_that_of_the_table(table, folder, weighted):
    memory = table.drop_columns("w")
    weights = table["w"].to_numpy() if weighted else None
    expected = bg.BayesianNetwork.fit(ARCS, memory, sample_weight=weights)
    data = bg.open_dataset(folder, columns=[*memory.column_names, *["w"] * weighted])
    same(bg.BayesianNetwork.fit(ARCS, data, sample_weight="w" if weighted else None), expected)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "learn",
    [
        bg.learning.tan,
        bg.learning.kdb,
        bg.learning.hill_climb,
        bg.learning.unrestricted,
        bg.learning.selective_kdb,
    ],
)
def test_learners_find_the_arcs_of_the_table(table, folder, learn):
    memory = table.drop_columns(["w", "b"])
    data = bg.open_dataset(folder, columns=memory.column_names)
    expected = learn(bg.learning.count_source(memory, "y"))
    found = learn(bg.learning.count_source(data, "y"))
    assert found.arcs == expected.arcs


def test_a_sample_is_told_by_the_numbers_of_its_rows(table, folder):
    data = bg.open_dataset(folder, columns=["a", "b", "y"], sample_rows=100)
    with pytest.warns(BayesGraphWarning, match=r"a sample of \d+ of the 500 rows"):
        sample = bg.learning.count_source(data, "y").table
    assert 60 < sample.n_rows < 140
    chosen = source.sampled(0, 500, 100 / 500)
    b = table["b"].to_numpy()[chosen]
    assert np.array_equal(sample.column(sample.continuous[0]), b)
    apart = [source.sampled(first, 50, 100 / 500) for first in range(0, 500, 50)]
    assert np.array_equal(np.concatenate(apart), chosen)


def test_what_does_not_fit_is_named(table, folder):
    with pytest.raises(DataTypeError, match="sample_weight is the name of one of its columns"):
        bg.BayesianNetwork.fit(ARCS, folder, sample_weight=np.ones(500))
    with pytest.raises(UnknownVariableError, match=r"sample_weight=.*'v'"):
        bg.BayesianNetwork.fit(ARCS, folder, sample_weight="v")
    with pytest.raises(UnknownVariableError, match="no variable 'z'"):
        bg.learning.count_source(folder, "z")
