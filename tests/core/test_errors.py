"""Error classes, and the words their messages are made of."""

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score

import bayesgraph as bg
from bayesgraph.core import errors
from bayesgraph.core.errors import quoted, suggestion, unknown_variable

BUILTINS = {
    "GraphError": ValueError,
    "CPDError": ValueError,
    "ModelError": ValueError,
    "UnsupportedModelError": NotImplementedError,
    "EvidenceError": ValueError,
    "ImpossibleEvidenceError": ValueError,
    "UnknownStateError": ValueError,
    "DataError": ValueError,
    "UnavailableError": AttributeError,
    "DataTypeError": TypeError,
    "FileFormatError": ValueError,
    "LossyExportError": ValueError,
    "MemoryLimitError": MemoryError,
    "MissingDependencyError": ImportError,
    "UnknownVariableError": KeyError,
}


@pytest.mark.parametrize(("name", "builtin"), BUILTINS.items())
def test_each_error_is_the_builtin_that_a_caller_would_catch(name, builtin):
    error = getattr(errors, name)
    assert issubclass(error, builtin)
    assert issubclass(error, errors.BayesGraphError)
    assert str(error("a 'quoted' message")) == "a 'quoted' message"


def test_every_error_and_warning_has_the_common_base():
    for _, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, Warning):
            assert issubclass(kind, errors.BayesGraphWarning)
        elif issubclass(kind, Exception):
            assert issubclass(kind, errors.BayesGraphError)


def test_quoted_cuts_long_lists():
    assert quoted([]) == ""
    assert quoted(["a", 1, True]) == "'a', 1, True"
    assert quoted(range(10), maximum=3) == "0, 1, 2 and 7 more"
    assert quoted(range(3), maximum=3) == "0, 1, 2"


@pytest.mark.parametrize(
    ("wrong", "known", "near"),
    [
        ("smokr", ["smoker", "age"], "'smoker'"),
        ("SMOKER", ["smoker", "age"], "'smoker'"),
        ("smoker", ["Smoker", "age"], "'Smoker'"),
        (1, ["1", "2"], "'1'"),
        ("True", [False, True], "True"),
        ("xyz", ["smoker", "age"], None),
        ("x", [], None),
    ],
)
def test_suggestion(wrong, known, near):
    assert suggestion(wrong, known) == ("" if near is None else f" Did you mean {near}?")


def test_unknown_variable_suggests_or_lists():
    error = unknown_variable("wat", ["wet", "rain"], where="The model")
    assert str(error) == "The model has no variable 'wat'. Did you mean 'wet'?"
    error = unknown_variable("zzz", ["wet", "rain"], where="The model")
    assert str(error) == "The model has no variable 'zzz'. It has 'wet', 'rain'."
    with pytest.raises(KeyError):
        raise error
    error = unknown_variable(10**5000, ["wet"], where="The model")
    assert str(error) == "The model has no variable int of too many digits. It has 'wet'."


FRAME = pd.DataFrame({"class": [1.0, 2.0, 3.0, 4.0] * 5, "b": list("uvuw") * 5})
LABELS = pd.Series([0, 1, 1, 0] * 5, name="class")


def improbable():
    a, b = bg.Discrete("a", [0, 1]), bg.Discrete("b", [0, 1])
    rare = bg.TableCPD(b, [[1 - 1e-9, 1e-9]] * 2, [a])
    return bg.BayesianNetwork([bg.TableCPD(a, [0.5, 0.5]), rare])


def impossible():
    a, b = bg.Discrete("a", [0, 1]), bg.Discrete("b", [0, 1])
    return bg.BayesianNetwork([bg.TableCPD(a, [1, 0]), bg.TableCPD(b, [[1, 0], [0, 1]], [a])])


WARNED = {
    "fit": lambda: bg.NaiveBayesClassifier().fit(FRAME, LABELS),
    "partial_fit": lambda: bg.NaiveBayesClassifier().partial_fit(FRAME, LABELS),
    "fit of a tree": lambda: bg.DecisionTreeNetworkClassifier().fit(FRAME, LABELS),
    "discriminant": lambda: bg.DiscriminantAnalysisClassifier(max_iter=1).fit(
        [[0.0, np.nan], [1.0, 2.0], [2.0, 1.0], [np.nan, 5.0]] * 5, LABELS.to_list()
    ),
    "scikit-learn": lambda: cross_val_score(bg.NaiveBayesClassifier(), FRAME, LABELS, cv=2),
    "weighting": lambda: improbable().query("a", {"b": 1}, method="likelihood-weighting", n=10),
    "query_rows": lambda: impossible().query_rows("a", pd.DataFrame({"b": [0, 1]})),
    "EM": lambda: bg.BayesianNetwork.fit(
        [("h", "a"), ("h", "b")],
        {"a": list("xyyxxy"), "b": list("uvuvuv")},
        hidden=[bg.Discrete("h", [0, 1])],
        max_iter=2,
    ),
}


@pytest.mark.parametrize("name", WARNED)
def test_warnings_name_the_line_of_the_user(name):
    with pytest.warns(errors.BayesGraphWarning) as seen:
        WARNED[name]()
    assert {w.filename for w in seen} == {__file__}
