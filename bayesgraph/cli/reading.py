"""How commands read tables: the options that they share."""

from __future__ import annotations

import dataclasses
import glob
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import bayesgraph as bg
from bayesgraph.cli.output import is_stream, readable
from bayesgraph.core.errors import DataError, EvidenceError, quoted, unknown_variable
from bayesgraph.core.variables import (
    MISSING,
    Binned,
    Continuous,
    CountVector,
    Discrete,
    Name,
    Variable,
    has_text_states,
    values_of,
)
from bayesgraph.models import Between
from bayesgraph.tables import read_table, reading

if TYPE_CHECKING:
    from bayesgraph.classifiers import GraphClassifier
    from bayesgraph.models import Model
    from bayesgraph.tables import Dataset

# ------------------------------------------- How commands read tables: the options that they share


# A tab is tedious to type.
_DELIMITERS = {"tab": "\t", "\\t": "\t"}


@dataclass(frozen=True)
class Reading:
    """Options of reading a table; see `bayesgraph.read_table`.

    Parameters
    ----------
    missing
        Text that means missing, besides an empty cell, NA and NaN; may be repeated.
    text
        Column to read as text, though it looks like numbers; may be repeated.
    delimiter
        What separates fields, such as ; or tab; else the first lines say.
    encoding
        Such as latin-1; UTF-8 by default.
    decimal
        The decimal point, such as , (a comma).
    comment
        What begins a line to leave out, such as #.
    dates
        Take dates as 'parts' (year, month, weekday, hour), or as 'days' since 1970.
    limit
        Bytes that reading may take; 64 MB + 40 x the file by default.
    """

    missing: list[str] | None = None
    text: list[str] | None = None
    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    comment: str | None = None
    dates: str | None = None
    limit: int | None = None

    def table(self, data: Path, text: Iterable[str] = ()) -> Any:
        """Read a table, from standard input if the path is ``-``.

        Parameters
        ----------
        data : path
        text : columns that are text besides those of the option
        """
        options = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        options["missing"] = (*MISSING, *(self.missing or ()))
        options["text"] = (*text, *(self.text or ()))
        options["delimiter"] = _DELIMITERS.get(self.delimiter or "", self.delimiter)
        table = read_table(sys.stdin.buffer if is_stream(data) else data, **options)
        for name in self.text or ():
            if name not in table.column_names:
                raise unknown_variable(name, table.column_names, where=str(data))
        return table

    def dataset(self, data: Path, progress: Any, text: Iterable[str] = ()) -> Any:
        """Open a folder or a glob as a `bayesgraph.tables.Dataset`.

        Parameters
        ----------
        data : path
        progress : callable, see `bayesgraph.open_dataset`
        text : columns that are text besides those of the option

        Raises
        ------
        DataError
            For an option that only single files have.
        """
        for name in ("encoding", "decimal", "comment", "dates", "limit"):
            if getattr(self, name) is not None:
                raise DataError(f"--{name} goes with a single file; {data} is a folder or a glob.")
        dataset = bg.open_dataset(
            data,
            missing=(*MISSING, *(self.missing or ())),
            text=(*text, *(self.text or ())),
            delimiter=_DELIMITERS.get(self.delimiter or "", self.delimiter),
            progress=progress,
        )
        dataset.checked(self.text or (), "--text")
        return dataset


def is_many(data: Path) -> bool:
    """Return whether a path names several files: a folder, or a glob that finds some."""
    return data.is_dir() or (not data.exists() and bool(glob.glob(str(data), recursive=True)))


# ------------------------------- The columns of a table that a command learns from or predicts for


def features_and_labels(
    table: Any, target: str, drop: Sequence[str] | None, data: Path
) -> tuple[Any, Any]:
    """Return the table of the features, and that of the classes."""
    left_out = [target, *(drop or ())]
    features = _others(table, left_out, data)
    if not features:
        raise DataError(f"{data} has no column besides {quoted(left_out)} to learn from.")
    return table.select(features), table.select([target])


def _others(table: Any, left_out: Sequence[str], data: Path) -> list[str]:
    """Return the names of the columns that are not left out, all of which must be there."""
    names: list[str] = table.column_names
    for name in left_out:
        if name not in names:
            raise unknown_variable(name, names, where=str(data))
    return [name for name in names if name not in left_out]


def used_columns(dataset: Dataset, data: Path, target: str, drop: Sequence[str]) -> Dataset:
    """Return a dataset without the columns to drop."""
    dataset.checked([target], "--target")
    dataset.checked(list(dict.fromkeys(drop)), "--drop")
    used = [name for name in dataset.names if name not in drop]
    if not set(used) - {target}:
        raise DataError(f"{data} has no column besides {quoted([target, *drop])} to learn from.")
    return bg.open_dataset(dataset, columns=used)


def all_columns(
    data: Path, reading: Reading, drop: Sequence[str], progress: Any
) -> tuple[Any, list[str]]:
    """Return a table or a dataset without the columns to drop, and the names of the others."""
    if is_many(data):
        dataset = reading.dataset(data, progress)
        dataset.checked(list(dict.fromkeys(drop)), "--drop")
        names = [name for name in dataset.names if name not in drop]
        return bg.open_dataset(dataset, columns=names), names
    table = reading.table(data)
    names = _others(table, drop, data)
    return table.select(names), names


def table_for(variables: Iterable[Variable], data: Path, reading: Reading) -> Any:
    """Read a table whose columns are values of variables.

    A code such as 0012 stays text if it was text when the model was fitted.
    """
    return reading.table(data, [str(v.name) for v in variables if has_text_states(v)])


def read_known(classifier: GraphClassifier, data: Path, reading: Reading) -> Any:
    """Read a table whose columns are a classifier's features, and perhaps its class."""
    return table_for((*classifier.features_, classifier.target_), data, reading)


def known_columns(
    classifier: GraphClassifier, table: Any, data: Path, *, labelled: bool = False
) -> Any:
    """Return the columns of a classifier's features.

    If `labelled` is true, the column of the classes follows as the last one.
    """
    names = [str(name) for name in classifier.layout_.columns]
    target = str(classifier.target_.name)
    if labelled and target not in table.column_names:
        raise DataError(f"{data} lacks the column {target!r} with the classes.")
    if getattr(classifier, "_is_open", False):
        return table.select([n for n in table.column_names if n != target] + [target] * labelled)
    lacking = [name for name in names if name not in table.column_names]
    if lacking:
        raise DataError(
            f"{data} lacks the columns {quoted(lacking)} that the model was fitted on. (An empty "
            "column stands for cells that are empty in all rows; dates are read by --dates.)"
        )
    return table.select([*names, target] if labelled else names)


def all_or_kept(keep: Sequence[str], table: Any, data: Path) -> dict[str, Any]:
    """Return the columns of --keep by name, which may be "all"."""
    names = table.column_names if list(keep) == ["all"] else list(dict.fromkeys(keep))
    for name in names:
        if name not in table.column_names:
            raise unknown_variable(name, table.column_names, where=str(data))
    return {name: table.column(name) for name in names}


# ---------------- Evidence from texts of the command line: states, numbers, counts and likelihoods


def named(model: Model, text: str) -> Name:
    """Return the name of the variable that a text stands for; names need not be strings."""
    fitting = [name for name in model.names if str(name) == text]
    if len(fitting) > 1:
        raise EvidenceError(
            f"{text!r} stands for several variables: {quoted(fitting)}. Query it from Python."
        )
    if fitting:
        return fitting[0]
    raise unknown_variable(text, model.names, where="The model")


def evidence_of(model: Model, items: Sequence[str] | None) -> dict[Name, Any]:
    """Return evidence given as texts such as ``wet=yes`` or ``wet=yes:4,no:1`` (likelihoods)."""
    given: dict[Name, Any] = {}
    for item in items or ():
        name, value = _parts(model, item, "Evidence is NAME=VALUE")
        if name in given:
            raise EvidenceError(f"Evidence on {str(name)!r} is given more than once.")
        given[name] = _value(model.variable(name), value)
    return given


def prices_of(model: Model, items: Sequence[str] | None) -> dict[Name, float] | None:
    """Return prices given as texts such as ``xray=20``; None if there are none."""
    found: dict[Name, float] = {}
    for item in items or ():
        name, price = _parts(model, item, "A price is NAME=NUMBER")
        try:
            found[name] = float(price)
        except ValueError as error:
            raise EvidenceError(
                f"The price of {str(name)!r} is a number; got {price!r}."
            ) from error
    return found or None


def argument(model: Model, target: Name, parameter: str, text: Any) -> Any:
    """Return the value of a parameter of a question that a text stands for."""
    match parameter:
        case "evidence" | "do":
            return evidence_of(model, text)
        case "costs":
            return prices_of(model, text)
        case "fixed" | "among":
            return [named(model, name) for name in text]
        case "finding":
            return named(model, text)
        case "state" | "to":
            return state_of(model.variable(target), text)
    return text


def _parts(model: Model, item: str, expected: str) -> tuple[Name, str]:
    """Return the name of a variable, and the text after it and the sign "="."""
    text, equals, value = item.partition("=")
    if not equals:
        raise EvidenceError(f"{expected}; got {item!r}.")
    # Names may contain "=": the longest name that matches is taken.
    fitting = [str(name) for name in model.names if item.startswith(f"{name}=")]
    if fitting:
        text = max(fitting, key=len)
        value = item[len(text) + 1 :]
    return named(model, text), value


def _value(variable: Variable, text: str) -> Any:
    """Return the evidence of a text: state, number, counts or likelihoods of a variable."""
    if isinstance(variable, (Continuous, Binned)) and (between := _between(variable, text)):
        return between
    if isinstance(variable, Continuous):
        try:
            return _number(text)
        except ValueError as error:
            raise EvidenceError(
                f"{variable.name!r} is continuous and takes a number, or a range such as 50..60; "
                f"got {text!r}."
            ) from error
    if isinstance(variable, CountVector):
        return _numbers(variable, text, {str(item): item for item in variable.items})
    return _state(variable, text)


def _number(text: str) -> float:
    """Return a number, as an int if it is written as one, which flips then change to whole ones."""
    with suppress(ValueError):
        return int(text)
    return float(text)


def _between(variable: Variable, text: str) -> Between | None:
    """Return the range of a text such as ``50..60``, ``50..`` or ``..60``, None if it is none."""
    low, dots, high = text.partition("..")
    if not dots:
        return None
    try:
        return Between(*(float(x) if x else e for x, e in ((low, -math.inf), (high, math.inf))))
    except (ValueError, EvidenceError) as error:
        raise EvidenceError(
            f"A range of {variable.name!r} is LOW..HIGH, with one or both numbers, LOW below HIGH; "
            f"got {text!r}."
        ) from error


def state_of(variable: Variable, text: str) -> Any:
    """Return the state that a text stands for; the text itself of what has no states."""
    return _state(variable, text) if isinstance(variable, Discrete) else text


def _state(variable: Discrete, text: str) -> Any:
    """Return the state, number or likelihoods of a discrete variable that a text stands for.

    Other text is returned unchanged: the model's own error names the states and the nearest one.
    """
    known = values_of(variable)
    by_text: dict[str, Any] = {str(state): state for state in known}
    if len(by_text) < len(known):
        raise EvidenceError(
            f"States of {variable.name!r} read the same as text: {quoted(known)}. "
            "Query it from Python, where their types differ."
        )
    if text in by_text:
        return by_text[text]
    if isinstance(variable, Binned):
        with suppress(ValueError):
            return _number(text)
    if text.lower() in ("true", "false") and {True, False} == set(known):
        return text.lower() == "true"
    return _numbers(variable, text, by_text) if ":" in text else text


def _numbers(variable: Variable, text: str, by_text: Mapping[str, Any]) -> dict[Any, float]:
    """Return the likelihoods of states, or the counts of items, of a text such as ``yes:4,no:1``.

    `by_text` maps the text of each state or item to the state or item.
    """
    found = {}
    # A comma before a space is part of an interval or a group.
    for item in re.split(r",(?! )", text):
        key, _, number = item.rpartition(":")
        try:
            found[by_text.get(key, key)] = float(number)
        except ValueError as error:
            pattern = "ITEM:COUNT" if isinstance(variable, CountVector) else "STATE:LIKELIHOOD"
            raise EvidenceError(
                f"{variable.name!r} takes {pattern}, several separated by commas; got {item!r}."
            ) from error
    return found


# --------------- Models and classifiers that commands load from files, and their variables by name


def is_classifier(model: Any) -> TypeGuard[GraphClassifier]:
    """Tell whether a model is a fitted classifier, or another estimator."""
    return hasattr(model, "network_")


def network_of(loaded: Any) -> Model:
    """Return what answers questions: the network of an estimator, or the model itself."""
    if is_classifier(loaded):
        return loaded.network_
    # Collected statistics name the estimator to make of them; models have none.
    if hasattr(loaded, "estimator"):
        raise DataError(f"The file holds {loaded!r}; 'bayesgraph merge' makes a classifier of it.")
    model: Model = loaded
    return model


@contextmanager
def model_file(path: Path) -> Iterator[Path]:
    """Yield the path of a file with a model, which may be what standard input has.

    Raises
    ------
    DataError
        If it is a table by its suffix.
    """
    if path.name.lower().endswith(reading.READ):
        raise DataError(
            f"{path} is a table, and a model is needed; 'bayesgraph fit' or 'bayesgraph learn' "
            "makes one of it."
        )
    with readable(path) as file:
        yield file


def load_whole(path: Path) -> Any:
    """Return what a file or standard input holds, with all that it learns from."""
    with model_file(path) as file:
        return bg.load(file)


def load_answering(path: Path) -> Any:
    """Return what a file or standard input holds; of a classifier, what answers questions."""
    with model_file(path) as file:
        return bg.files.load_saved(file)


def load_model(path: Path) -> Model:
    """Return the model of a file, or the network of its classifier."""
    return network_of(load_answering(path))


def load_classifier(path: Path) -> GraphClassifier:
    """Return the classifier of a file."""
    return checked_classifier(load_whole(path), path)


def checked_classifier(model: Any, path: Path) -> GraphClassifier:
    """Return a classifier; raise an error if what a file holds is none."""
    if not is_classifier(model):
        raise DataError(
            f"{path} holds {model!r}, which has no class to predict; use 'bayesgraph query', or "
            "'bayesgraph fit' to make a classifier."
        )
    return model


def targets_of(
    loaded: Any, path: Path, target: Sequence[str] | None, needed: str = "--target"
) -> list[Name]:
    """Return the variables that options name; a classifier's class by default.

    Of a model that is no classifier an option is `needed`.
    """
    network = network_of(loaded)
    if target:
        return [named(network, text) for text in target]
    if is_classifier(loaded):
        return [loaded.target_.name]
    raise DataError(
        f"{needed} is needed: {path} is not a classifier. It has {quoted(network.names)}."
    )


def one_target(path: Path, target: str | None) -> tuple[Model, Name]:
    """Return the model of a file, and the variable that an option names."""
    loaded = load_answering(path)
    (name,) = targets_of(loaded, path, None if target is None else [target])
    return network_of(loaded), name
