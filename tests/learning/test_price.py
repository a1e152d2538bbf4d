"""The cost model against numbers worked out by hand, and against the size of statistics."""

import numpy as np
import pytest
import samples
from structures import make_frame

import bayesgraph as bg
from bayesgraph.errors import DataError
from bayesgraph.learning import tiles
from bayesgraph.statistics import Pairs, pairs_bytes

GB = 10**9


def size_of(summary):
    return sum(array.nbytes for _, array in samples.arrays(summary))


@pytest.mark.parametrize("size", [(5, 0), (0, 5), (4, 3)])
@pytest.mark.parametrize("given", [True, False])
def test_predicted_bytes_are_those_of_the_summary(size, given):
    source = bg.count_source(make_frame(0, *size), "y")
    request = Pairs(source.features, source.target if given else None)
    assert pairs_bytes(request.columns, request.given) == size_of(source.pairs(request))


@pytest.mark.slow
def test_predicted_bytes_of_three_thousand_columns():
    random = np.random.default_rng(0)
    cards = random.integers(2, 5, 3000)
    columns = {f"x{i}": random.integers(r, size=50) for i, r in enumerate(cards)}
    source = bg.count_source(columns | {"y": ["a", "b"] * 25}, "y", categorical="all")
    summary = source.pairs(Pairs(source.features, source.target))
    (way, _) = bg.fit_price(50, 3000, states=3, memory_limit=100 * GB).ways
    assert pairs_bytes(source.features, source.target) == size_of(summary)
    assert way.statistics == pytest.approx(size_of(summary), rel=0.02)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("n_columns", "size"), [(50, 0.49e6), (1000, 200e6), (10**4, 20e9), (10**5, 2e12)]
)
def test_five_states_and_two_classes_take_400_bytes_a_pair(n_columns, size):
    (way, *_) = bg.fit_price(10**12, n_columns, counts="pairs", memory_limit=10**15).ways
    assert way.name == "all pairs"
    assert way.statistics == pytest.approx(size, rel=0.01)


def test_many_rows_of_fifty_columns():
    rates = bg.Rates(cell=1e-8, pair=1e-9)
    price = bg.fit_price(10**12, 50, workers=1000, rates=rates, row_bytes=190, memory_limit=GB)
    way = price.best
    assert (way.name, way.passes) == ("all pairs", 2)
    # Two passes read 50 values and 190 bytes of each row, the second one counts 1225 pairs.
    assert way.seconds == pytest.approx(10**12 * (2 * 50 * 1e-8 + 1225e-9) / 1000)
    assert way.read == 2 * 190e12
    singles = 8 * 2 * (1 + 250)
    assert way.statistics == 1225 * 400 + singles + 8 * 2
    assert way.reduced == 1000 * way.statistics


def test_ten_thousand_columns_are_counted_in_tiles():
    price = bg.fit_price(10**12, 10**4, workers=1000, memory_limit=16 * GB)
    way, few = price.ways
    assert price.best is way
    assert way.name == "tiles of pairs"
    # 20 GB in tiles of at most 4 GB: 1/9 of them, on the 12 lines of the plane of order 3.
    assert way.statistics == pytest.approx(20e9 / 9, rel=0.01)
    assert way.passes == 3 + 12
    # Two runs of one block of codes, as read and as encoded.
    rows = 2 * 32768 * 5 * 1e4
    assert way.memory == pytest.approx(way.statistics + 8 * tiles.MATRICES * 1e8 + rows)
    # Each pass reads a third of the columns.
    assert way.read == pytest.approx((3 + 12 / 3) * 1e16, rel=1e-3)
    assert few.statistics == pytest.approx(11e4 * 400, rel=0.01)


@pytest.mark.slow
def test_a_hundred_thousand_columns_leave_candidates():
    price = bg.fit_price(10**12, 10**5, workers=1000, memory_limit=64 * GB)
    by_tiles, few = price.ways
    assert by_tiles.memory > 8 * 6 * 10**10 > price.limit
    assert price.best is few
    assert few.statistics == pytest.approx(11e5 * 400, rel=0.01)
    assert few.passes == 1 + 3
    rates = bg.Rates()
    alone = 2**16 * 5e9 * rates.pair
    together = 10**12 * (4 * 10**5 * rates.cell + 12e5 * rates.pair) / 1000
    assert few.seconds == pytest.approx(alone + together, rel=1e-3)
    text = repr(price)
    assert "Does not fit in 64 GB: tiles of pairs." in text
    assert "TANClassifier(candidates=10)" in text
    assert "candidates=10 *" in text
    assert max(map(len, text.splitlines())) <= 80


def test_what_fits_nowhere_says_so():
    price = bg.fit_price(10**6, 10**4, memory_limit=GB // 100)
    assert not price.fits
    assert "No way fits" in repr(price)


def test_other_statistics():
    (way,) = bg.fit_price(1000, 40, counts="singles").ways
    assert (way.name, way.statistics) == ("single columns", 8 * 2 * (1 + 40 * 5))
    (way,) = bg.fit_price(1000, 40, numbers=40, counts="pairs").ways
    assert way.statistics == 8 * 2 * (1 + 3 * 40 + 41**2)
    assert way.read == 2 * 1000 * 40 * 8


@pytest.mark.parametrize(
    "numbers", [{"n_rows": 0}, {"states": 0}, {"workers": 0}, {"numbers": 41}, {"numbers": -1}]
)
def test_numbers_that_are_none_are_refused(numbers):
    with pytest.raises(DataError, match="positive numbers"):
        bg.fit_price(**{"n_rows": 10, "n_columns": 40} | numbers)
    with pytest.raises(DataError, match="counts"):
        bg.fit_price(10, 40, counts="all")
