"""Intervals and sets hold what they say: the benchmark of coverage, with fewer tables."""

import bench_uncertainty as benchmark
import numpy as np
import pytest


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", benchmark.N_ROWS)
def test_credible_intervals_have_their_coverage(n_rows):
    inside = []
    for number in range(30):
        families = benchmark.structure(np.random.default_rng(number))
        for table in range(20):
            random = np.random.default_rng([number, table, n_rows])
            inside += benchmark.held(families, n_rows, 300, random)
    # About 3,600 intervals, of which those of one table depend on each other: a standard error
    # below 0.007.
    assert np.mean(inside) == pytest.approx(benchmark.COVERAGE, abs=0.02)


@pytest.mark.slow
def test_conformal_sets_have_their_coverage():
    rows = list(benchmark.conformal(None, 20))
    assert {row.case for row in rows} == {"wine (178 rows)", "all 1 tables"}
    assert all(row.ours >= benchmark.COVERAGE - 0.01 for row in rows)
