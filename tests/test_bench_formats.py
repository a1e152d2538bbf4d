"""What the benchmark of formats writes and reads."""

import bench_formats
import pytest

import bayesgraph as bg


@pytest.mark.parametrize("suffix", bench_formats.suffixes())
def test_files_of_every_format_are_written_and_read(suffix, tmp_path):
    path = tmp_path / f"file{suffix}"
    bench_formats.write(path, 0.5)
    assert 0.3e6 < path.stat().st_size < 0.7e6
    assert len(bg.load(path)) > 40


def test_the_power_with_which_times_grow():
    assert bench_formats.exponent([1.0, 2.0, 4.0], [3.0, 6.0, 12.0]) == pytest.approx(1.0)
    assert bench_formats.exponent([1.0, 2.0, 4.0], [3.0, 12.0, 48.0]) == pytest.approx(2.0)
    assert bench_formats.exponent([1.0, 2.0], [3.0, None]) is None
