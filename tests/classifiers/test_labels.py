"""Labels of text of every type and library: classes, codes, and missing ones."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from bayesgraph.classifiers.labels import coded_labels
from bayesgraph.classifiers.validation import target_column
from bayesgraph.core.errors import DataError, DataTypeError

TEXT = ["b", "c", "a", "b", "b", "a", "c", "b"] * 4
KINDS = {
    "list": list,
    "objects": lambda values: np.array(values, dtype=object),
    "NumPy's texts as objects": lambda values: np.array(
        [np.str_(v) if v else v for v in values], dtype=object
    ),
    "pandas objects": lambda values: pd.Series(values, dtype=object),
    "pandas str": lambda values: pd.Series(values, dtype="str"),
    "pandas string": lambda values: pd.Series(values, dtype="string[python]"),
    "pandas Arrow": lambda values: pd.Series(values, dtype=pd.ArrowDtype(pa.string())),
    "pandas category": lambda values: pd.Series(values, dtype="category"),
    "Arrow": lambda values: pa.chunked_array([pa.array(values[:5]), pa.array(values[5:])]),
    "polars": pl.Series,
    "polars category": lambda values: pl.Series(values, dtype=pl.Categorical),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
def test_texts(kind):
    labels, _ = target_column(KINDS[kind](TEXT))
    classes, codes = coded_labels(labels)
    assert classes.tolist() == ["a", "b", "c"]
    assert [classes[code] for code in codes] == TEXT
    assert [str(label) for label in labels] == TEXT


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "list"])  # None is text there
def test_a_missing_label_is_an_error(kind):
    with pytest.raises(DataError, match="1 labels are missing, the first in row 6"):
        target_column(KINDS[kind]([*TEXT[:6], None, *TEXT]))


@pytest.mark.parametrize("wrong", [1, 2.5, ("a",), ["a"], b"a"], ids=repr)
def test_objects_beside_text_are_an_error(wrong):
    labels = np.empty(len(TEXT) + 1, dtype=object)
    labels[:-1] = TEXT
    labels[-1] = wrong
    with pytest.raises(DataTypeError):
        coded_labels(target_column(labels)[0])


def test_nearly_as_many_classes_as_rows_are_warned_of():
    labels = np.array([f"row {i}" for i in range(30)], dtype=object)
    with pytest.warns(UserWarning, match="unique classes"):
        target_column(labels)


def test_a_category_without_rows_is_no_class():
    labels, _ = target_column(pd.Series(pd.Categorical(TEXT, categories=["z", "b", "a", "c"])))
    classes, codes = coded_labels(labels)
    assert classes.tolist() == ["a", "b", "c"]
    assert classes[codes].tolist() == TEXT


@every_kind
def test_codes_follow_the_rows_and_the_classes_of_a_model(kind):
    labels, _ = target_column(KINDS[kind](TEXT))
    known = np.array(["aa", "b", "d"], dtype=object)
    classes, codes = coded_labels(labels, ["e"], known)
    assert classes.tolist() == ["a", "aa", "b", "c", "d", "e"]
    assert classes[codes].tolist() == TEXT
    part = np.asarray(labels)[[0, 3, 4]], np.array(labels[[0, 3, 4]]), labels[labels == "b"][:3]
    for some in part:
        classes, codes = coded_labels(some)
        assert classes.tolist() == ["b"]
        assert codes.tolist() == [0, 0, 0]
    rest = labels.copy()
    rest[:] = "x"
    assert coded_labels(rest)[0].tolist() == ["x"]
