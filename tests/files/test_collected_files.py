"""Collected statistics in native files: what sites send to each other."""

import cases
import numpy as np
import pytest
from comparison import assert_same_statistics
from forgery import forged

import bayesgraph as bg
from bayesgraph.core.errors import BayesGraphError, FileFormatError

COLLECTING = [pair for pair in cases.pairs() if hasattr(pair[0].estimator(), "collect")]


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("case", "kind"), COLLECTING, ids=str)
def test_a_part_comes_back_as_it_was(case, kind, tmp_path):
    data = cases.make_data(kind)
    data = data if case.updates_complete_rows else data.with_missing()
    part = case.estimator().collect(data.pandas(), data.y)
    path = tmp_path / "part.bayesgraph"
    part.save(path)
    content = path.read_bytes()
    back = bg.load(path)
    assert type(back.estimator) is type(part.estimator)
    assert back.layout == part.layout
    assert back.features == part.features
    assert back.target == part.target
    assert back.classes.tolist() == part.classes.tolist()
    assert back.classes.dtype == part.classes.dtype
    assert back.named
    assert repr(back) == repr(part)
    assert_same_statistics(back.statistics, part.statistics)
    back.save(path)
    assert path.read_bytes() == content


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "part.bayesgraph"
    bg.NaiveBayesClassifier().collect({"x": ["a", "b"], "z": [1.0, 2.0]}, ["no", "yes"]).save(path)
    return path


def part_of(model):
    """Return the fields of collected statistics."""
    return model["collected statistics"]


def first(model):
    """Return the fields of the request of the first statistics."""
    summary = part_of(model)["statistics"]["Statistics"]["summaries"][0]
    return summary["SinglesSummary"]["request"]["Singles"]


WRONG = {
    "another estimator": lambda m: part_of(m).update(estimator="DecisionTreeNetworkClassifier"),
    "no estimator": lambda m: part_of(m).update(estimator="CollectedStatistics"),
    "no classes": lambda m: m["variables"].pop(),
    "a feature twice": lambda m: m["variables"].__setitem__(1, m["variables"][0]),
    "another feature": lambda m: m["variables"][1].update(continuous="other"),
    "a column less": lambda m: part_of(m)["layout"]["Layout"]["columns"]["tuple"].pop(),
    "no statistics": lambda m: part_of(m)["statistics"]["Statistics"]["summaries"].clear(),
    "statistics of no class": lambda m: first(m).update(given=None),
    "a parameter that is none": lambda m: part_of(m)["parameters"]["fields"].update(unseen="what"),
    "labels of another type": lambda m: part_of(m).update(label_type="<i8"),
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG.keys())
def test_files_that_were_altered_are_refused(path, change):
    forged(path, lambda header: change(header["model"]))
    with pytest.raises(FileFormatError, match=r"part\.bayesgraph"):
        bg.load(path)


@pytest.mark.parametrize("suffix", [".bif", ".uai", ".txt"])
def test_other_formats_hold_no_statistics(path, suffix):
    with pytest.raises(BayesGraphError):
        bg.load(path).save(path.with_suffix(suffix))
    assert not path.with_suffix(suffix).exists()


def test_arrays_without_names_come_back(tmp_path):
    X, y = np.array([[1.0], [2.0]]), [0, 1]
    bg.NaiveBayesClassifier().collect(X, y).save(tmp_path / "part.bayesgraph")
    assert not bg.load(tmp_path / "part.bayesgraph").named
