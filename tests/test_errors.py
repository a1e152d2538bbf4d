"""Error classes, and the words their messages are made of."""

import inspect

import pytest

from bayesgraph import errors
from bayesgraph.errors import quoted, suggestion, unknown_variable

BUILTINS = {
    "GraphError": ValueError,
    "CPDError": ValueError,
    "ModelError": ValueError,
    "UnsupportedModelError": NotImplementedError,
    "EvidenceError": ValueError,
    "ImpossibleEvidenceError": ValueError,
    "UnknownStateError": ValueError,
    "DataError": ValueError,
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
