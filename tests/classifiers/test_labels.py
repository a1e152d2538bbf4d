"""Labels of text of every type and library: classes, codes, and missing ones."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from bayesgraph.classifiers.intake import joined_classes, labels_of
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
    labels = labels_of(KINDS[kind](TEXT))
    assert labels.classes.tolist() == ["a", "b", "c"]
    assert [labels.classes[code] for code in labels.codes] == TEXT
    assert [str(label) for label in labels.values] == TEXT


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "list"])  # None is text there
def test_a_missing_label_is_an_error(kind):
    with pytest.raises(DataError, match="1 labels are missing, the first in row 6"):
        labels_of(KINDS[kind]([*TEXT[:6], None, *TEXT]))


@pytest.mark.parametrize("wrong", [1, 2.5, ("a",), ["a"], b"a"], ids=repr)
def test_objects_beside_text_are_an_error(wrong):
    labels = np.empty(len(TEXT) + 1, dtype=object)
    labels[:-1] = TEXT
    labels[-1] = wrong
    with pytest.raises(DataTypeError):
        labels_of(labels)


def test_nearly_as_many_classes_as_rows_are_warned_of():
    labels = np.array([f"row {i}" for i in range(30)], dtype=object)
    with pytest.warns(UserWarning, match="unique classes"):
        labels_of(labels)


def test_a_category_without_rows_is_no_class():
    labels = labels_of(pd.Series(pd.Categorical(TEXT, categories=["z", "b", "a", "c"])))
    assert labels.classes.tolist() == ["a", "b", "c"]
    assert labels.values.tolist() == TEXT


@every_kind
def test_codes_follow_the_rows_and_the_classes_of_a_model(kind):
    labels = labels_of(KINDS[kind](TEXT))
    known = np.array(["aa", "b", "d"], dtype=object)
    sources = {"the model": known, "y": labels.classes, "classes=": ["e"]}
    more = labels.among(joined_classes(sources))
    assert more.classes.tolist() == ["a", "aa", "b", "c", "d", "e"]
    assert more.values.tolist() == TEXT
    for some in (labels[np.array([0, 3, 4])], labels[labels.values == "b"], labels[3:5]):
        assert some.classes.tolist() == ["b"]
        assert set(some.codes.tolist()) == {0}
