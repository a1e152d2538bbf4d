"""Datasets: runs of rows, and sums over them wherever they are computed."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from bayesgraph.tables import Rows
from bayesgraph.tables.opening import Batches


class Even(Rows):
    """The rows with even values of x."""

    columns = ("x",)

    def kept(self, table):
        return table.filter([value % 2 == 0 for value in table["x"].to_pylist()])


@pytest.mark.one_in(5)
@pytest.mark.parametrize("lengths", [(10,), (3, 3, 3, 1), (0, 1, 0, 9), (4, 4, 2), (1,) * 10])
@pytest.mark.parametrize("size", [1, 3, 4, 10, 11])
def test_runs_have_one_length_however_the_rows_arrive(lengths, size):
    ends = np.cumsum([0, *lengths])
    tables = [pa.table({"x": list(range(a, b))}) for a, b in pairwise(ends)]
    schema = pa.schema([("x", pa.int64())])
    dataset = Batches(lambda _: [t.cast(schema) for t in tables], schema, "the batches")
    found = [run["x"].to_pylist() for run in dataset.runs(["x"], n_rows=size)]
    assert found == [list(range(a, min(a + size, 10))) for a in range(0, 10, size)]


def test_rows_are_left_out_before_runs_are_formed():
    schema = pa.schema([("x", pa.int64())])
    batches = [pa.table({"x": [0, 1, 2]}), pa.table({"x": [3, 4, 5, 6]})]
    dataset = Batches(lambda _: batches, schema, "the batches")
    even = dataset.runs(["x"], Even(), 2)
    assert [run["x"].to_pylist() for run in even] == [[0, 2], [4, 6]]
