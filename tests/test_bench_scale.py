"""The generated table of the benchmark of large tables, and its ways to read it."""

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from scale_data import N_FILES, NUMBERS, TEXTS, batches, write, write_rows

N_ROWS = 4_801


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write(tmp_path_factory.mktemp("scale"), N_ROWS)


@pytest.fixture(scope="module")
def table():
    return pa.concat_tables(batches(N_ROWS))


@pytest.mark.slow
def test_files_hold_the_rows_that_are_generated(folder, table):
    assert len(list(folder.iterdir())) == N_FILES
    assert ds.dataset(folder).to_table().equals(table)
    times = [path.stat().st_mtime_ns for path in sorted(folder.iterdir())]
    write(folder.parent, N_ROWS)  # they are there
    assert [path.stat().st_mtime_ns for path in sorted(folder.iterdir())] == times


def test_columns_are_those_of_the_description(table):
    assert table.column_names == [*TEXTS, *NUMBERS, "y"]
    states = [len(pc.unique(table[name].drop_null())) for name in TEXTS]
    assert min(states) >= 2
    assert max(states) <= 10
    gaps = [name for name in table.column_names if table[name].null_count]
    assert gaps == [*TEXTS[::5], *NUMBERS[::4]]
    shares = [table[name].null_count / N_ROWS for name in gaps]
    assert min(shares) > 0.01
    assert max(shares) < 0.03


def test_a_class_and_a_state_come_late(table):
    classes, states = table["y"].to_pylist(), table["c0"].to_pylist()
    assert N_ROWS * 3 // 4 <= classes.index("c2") < N_ROWS * 3 // 4 + 200
    assert states.index("zz_late") == N_ROWS * (N_FILES - 1) // N_FILES


def test_row_groups_have_the_size_asked_for(table, tmp_path):
    slices = (table.slice(begin, min(4, 25 - begin)) for begin in range(0, 25, 4))
    write_rows(tmp_path / "one.parquet", slices, 10)
    with pq.ParquetFile(tmp_path / "one.parquet") as file:
        lengths = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        assert lengths == [10, 10, 5]
        assert file.read().equals(table.slice(0, 25))


@pytest.mark.slow
def test_ways_to_read_give_one_model(folder):
    from scale_sides import in_parts, of_table, tan

    costs = [tan(str(folder)), in_parts(str(folder), "4", "2"), of_table(str(folder))]
    assert len({cost.answer for cost in costs}) == 1
    assert all(cost.cpu > 0 and cost.peak > 10 for cost in costs)
