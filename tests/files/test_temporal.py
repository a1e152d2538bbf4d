"""Temporal networks in native files, as ordinary networks, and as pictures."""

import numpy as np
import pytest
from time_templates import cells, of_random

import bayesgraph as bg


@pytest.mark.parametrize("seed", range(4))
def test_native_files_hold_temporal_networks(seed, tmp_path):
    rng = np.random.default_rng(seed)
    model = of_random(rng, order=1 + seed % 2, numbers=True, static=seed > 1)
    assert not model.save(tmp_path / "model.bayesgraph")
    again = bg.load(tmp_path / "model.bayesgraph")
    assert again == model
    assert repr(again) == repr(model)
    rows = cells(rng, model, 4)
    np.testing.assert_array_equal(again.smooth(rows, "a"), model.smooth(rows, "a"))
    assert again.slices[-1][0].parents == model.slices[-1][0].parents


@pytest.mark.parametrize("name", [("before", "x"), ("before", "x", 1), ("before",)])
def test_a_name_may_look_like_that_of_an_earlier_slice(name, tmp_path):
    x, y = bg.Discrete(name, ["u", "v"]), bg.Discrete("x", ["u", "v"])
    rows = np.array([[0.25, 0.75], [0.5, 0.5]])
    model = bg.TemporalNetwork(
        [bg.TableCPD(x, [0.5, 0.5]), bg.TableCPD(y, rows, [x])],
        [bg.TableCPD(x, rows, [bg.before(x)])],
    )
    model.save(tmp_path / "model.bayesgraph")
    assert bg.load(tmp_path / "model.bayesgraph") == model


def test_an_unrolled_network_is_an_ordinary_one(tmp_path):
    model = of_random(np.random.default_rng(0))
    model.unrolled(3).save(tmp_path / "model.bif", strict=False)
    assert set(bg.load(tmp_path / "model.bif").names) == {
        f"{v}_{t}" for v in "abc" for t in range(3)
    }


def test_a_picture_shows_later_slices_and_what_they_take_from_earlier_ones():
    model = of_random(np.random.default_rng(1), order=2)
    text = bg.pictures.to_dot(model)
    past = {str(p.name) for cpd in model.slices[-1] for p in cpd.parents if "before" in str(p.name)}
    assert past
    assert all(name in text for name in past)
