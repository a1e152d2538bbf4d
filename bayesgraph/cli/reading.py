"""How commands read tables: the options that they share."""

from __future__ import annotations

import dataclasses
import glob
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import bayesgraph as bg
from bayesgraph.classifiers import known_names
from bayesgraph.cli.output import is_stream, suffix_of
from bayesgraph.core.errors import (
    BayesGraphError,
    DataError,
    EvidenceError,
    check_known,
    quoted,
    unknown_variable,
)
from bayesgraph.core.files import temporary_folder
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
from bayesgraph.models import Between, Model
from bayesgraph.tables import read_table, reading

if TYPE_CHECKING:
    from bayesgraph.classifiers import GraphClassifier

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

    def table(self, data: Path, variables: Iterable[Variable] = ()) -> Any:
        """Read a table, from standard input if the path is ``-``.

        Parameters
        ----------
        data : path
        variables : iterable of Variable
            Those of which the table has values: a code such as 0012 stays text if it was text when
            the model was fitted.
        """
        options = dataclasses.asdict(self) | self._shared(variables)
        table = read_table(sys.stdin.buffer if is_stream(data) else data, **options)
        check_columns(self.text or (), table.column_names, data)
        return table

    def dataset(self, data: Path, progress: Any, variables: Iterable[Variable] = ()) -> Any:
        """Open a folder or a glob as a `bayesgraph.tables.Dataset`.

        Parameters
        ----------
        data : path
        progress : callable, see `bayesgraph.open_dataset`
        variables : iterable of Variable, as in `table`

        Raises
        ------
        DataError
            For an option that only single files have.
        """
        options = self._shared(variables)
        for name, value in dataclasses.asdict(self).items():
            if value is not None and name not in options:
                raise DataError(f"--{name} goes with a single file; {data} is a folder or a glob.")
        dataset = bg.open_dataset(data, progress=progress, **options)
        check_columns(self.text or (), dataset.names, data)
        return dataset

    def _shared(self, variables: Iterable[Variable]) -> dict[str, Any]:
        """Return the options that single files and folders have."""
        text = [str(variable.name) for variable in variables if has_text_states(variable)]
        return {
            "missing": (*MISSING, *(self.missing or ())),
            "text": (*text, *(self.text or ())),
            "delimiter": _DELIMITERS.get(self.delimiter or "", self.delimiter),
        }


def is_many(data: Path) -> bool:
    """Tell whether a path names several files: a folder, or a glob that finds some."""
    return data.is_dir() or (not data.exists() and bool(glob.glob(str(data), recursive=True)))


# ------------------------------- The columns of a table that a command learns from or predicts for


def check_columns(
    names: Iterable[str], columns: Sequence[str], data: Path, option: str = ""
) -> None:
    """Raise an error for the first name that is no column of a table."""
    check_known(names, columns, where=f"{option}{data}")


def used_columns(
    data: Path,
    reading: Reading,
    drop: Sequence[str] | None,
    progress: Any = None,
    target: str | None = None,
) -> tuple[Any, list[str]]:
    """Return a table without the columns to drop, and the names of the others.

    It is a dataset for a folder or a glob, if there is a `progress` for its rows.
    """
    is_dataset = progress is not None and is_many(data)
    source = reading.dataset(data, progress) if is_dataset else reading.table(data)
    names: list[str] = source.names if is_dataset else source.column_names
    labels = [] if target is None else [target]
    check_columns(labels, names, data, "--target: ")
    check_columns(drop or (), names, data, "--drop: ")
    if target in (drop or ()):
        raise DataError(f"--drop takes away the column {target!r}, which --target needs.")
    used = [name for name in names if name not in (drop or ())]
    # There has to be a column besides the one with the classes.
    if not {*used} - {*labels}:
        raise DataError(
            f"{data} has no column besides {quoted([*labels, *(drop or ())])} to learn from."
        )
    return bg.open_dataset(source, columns=used) if is_dataset else source.select(used), used


def known_columns(classifier: GraphClassifier, table: Any, data: Path) -> Any:
    """Return the columns of a table that a classifier predicts from.

    They are those of its features, or, of a stream whose columns come and go, all but the class.
    """
    if getattr(classifier, "_is_open", False):
        target = str(classifier.target_.name)
        return table.select([name for name in table.column_names if name != target])
    return table.select(known_names(classifier, table.column_names, data))


def read_known(classifier: GraphClassifier, data: Path, reading: Reading) -> Any:
    """Read a table whose columns are a classifier's features, and perhaps its class."""
    return reading.table(data, (*classifier.features_, classifier.target_))


def labelled_rows(classifier: GraphClassifier, data: Path, reading: Reading) -> tuple[Any, Any]:
    """Read the columns of a classifier's features, and the one of its classes."""
    table, target = read_known(classifier, data, reading), str(classifier.target_.name)
    if target not in table.column_names:
        raise DataError(f"{data} lacks the column {target!r} with the classes.")
    return known_columns(classifier, table, data), table.select([target])


def kept_columns(keep: Sequence[str] | None, table: Any, data: Path) -> dict[str, Any]:
    """Return the columns of --keep by name, which may be "all"."""
    names = table.column_names if keep == ["all"] else list(dict.fromkeys(keep or ()))
    check_columns(names, table.column_names, data)
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
    return _by_name(model, items or (), "Evidence is NAME=VALUE", "Evidence on", _value)


def argument(model: Model, target: Name, parameter: str, text: Any) -> Any:
    """Return the value of a parameter of a question that a text stands for."""
    match parameter:
        case "evidence" | "do":
            return evidence_of(model, text)
        case "costs":
            return _by_name(model, text, "A price is NAME=NUMBER", "The price of", _price) or None
        case "fixed" | "among":
            return [named(model, name) for name in text]
        case "finding":
            return named(model, text)
        case "state" | "to":
            variable = model.variable(target)
            return _state(variable, text) if isinstance(variable, Discrete) else text
    return text


def _by_name(
    model: Model, items: Iterable[str], expected: str, subject: str, read: Callable[..., Any]
) -> dict[Name, Any]:
    """Return by names what `read` makes of the variable and the text of each item NAME=TEXT.

    The texts `expected` and `subject` begin errors of items without the sign "=", and of names that
    come twice.
    """
    values: dict[Name, Any] = {}
    for item in items:
        first, equals, _ = item.partition("=")
        if not equals:
            raise EvidenceError(f"{expected}; got {item!r}.")
        # Names may contain "=": the longest name that matches is taken. Without one, the error is
        # of the text before the first sign.
        fitting = [str(name) for name in model.names if item.startswith(f"{name}=")]
        text = max(fitting, key=len, default=first)
        name = named(model, text)
        if name in values:
            raise EvidenceError(f"{subject} {str(name)!r} is given more than once.")
        values[name] = read(model.variable(name), item[len(text) + 1 :])
    return values


def _price(variable: Variable, text: str) -> float:
    """Return the price that a text is."""
    return _number(text, f"The price of {str(variable.name)!r} is a number")


def _value(variable: Variable, text: str) -> Any:
    """Return the evidence of a text: state, number, counts or likelihoods of a variable."""
    if isinstance(variable, (Continuous, Binned)) and ".." in text:
        low, _, high = text.partition("..")
        try:
            return Between(float(low or "-inf"), float(high or "inf"))
        except (ValueError, EvidenceError) as error:
            raise EvidenceError(
                f"A range of {variable.name!r} is LOW..HIGH, with one or both numbers, LOW below "
                f"HIGH; got {text!r}."
            ) from error
    if isinstance(variable, Continuous):
        expected = f"{variable.name!r} is continuous and takes a number, or a range such as 50..60"
        return _number(text, expected)
    if isinstance(variable, CountVector):
        return _numbers(variable, text, {str(item): item for item in variable.items})
    return _state(variable, text)


def number_of(text: str) -> float:
    """Return a number, as an int if it is written as one, which flips then change to whole ones."""
    with suppress(ValueError):
        return int(text)
    return float(text)


def _number(text: str, expected: str) -> float:
    """Return a number; raise an error that begins with what is `expected` if a text is none."""
    try:
        return number_of(text)
    except ValueError as error:
        raise EvidenceError(f"{expected}; got {text!r}.") from error


def _state(variable: Discrete, text: str) -> Any:
    """Return the state, number or likelihoods of a discrete variable that a text stands for.

    Other text is returned unchanged: the model's own error names the states and the nearest one.
    """
    states = values_of(variable)
    by_text: dict[str, Any] = {str(state): state for state in states}
    if len(by_text) < len(states):
        raise EvidenceError(
            f"States of {variable.name!r} read the same as text: {quoted(states)}. "
            "Query it from Python, where their types differ."
        )
    if {True, False} == set(states):
        by_text |= {"true": True, "TRUE": True, "false": False, "FALSE": False}
    if text in by_text:
        return by_text[text]
    # A number stands for the interval that has it.
    if isinstance(variable, Binned):
        with suppress(ValueError):
            return number_of(text)
    return _numbers(variable, text, by_text) if ":" in text else text


def _numbers(variable: Variable, text: str, by_text: Mapping[str, Any]) -> dict[Any, float]:
    """Return the likelihoods of states, or the counts of items, of a text such as ``yes:4,no:1``.

    `by_text` maps the text of each state or item to the state or item.
    """
    numbers: dict[Any, float] = {}
    # A comma before a space is part of an interval or a group.
    for item in re.split(r",(?! )", text):
        key, _, number = item.rpartition(":")
        value = by_text.get(key, key)
        if value in numbers:
            raise EvidenceError(
                f"{variable.name!r} takes one number for {str(value)!r}; got several in {text!r}."
            )
        try:
            numbers[value] = float(number)
        except ValueError as error:
            pattern = "ITEM:COUNT" if isinstance(variable, CountVector) else "STATE:LIKELIHOOD"
            raise EvidenceError(
                f"{variable.name!r} takes {pattern}, several separated by commas; got {item!r}."
            ) from error
    return numbers


# --------------- Models and classifiers that commands load from files, and their variables by name


def is_classifier(model: Any) -> TypeGuard[GraphClassifier]:
    """Tell whether a model is a fitted classifier, or another estimator."""
    return hasattr(model, "network_")


def network_of(loaded: Any) -> Model:
    """Return the network of an estimator, or the model itself."""
    if is_classifier(loaded):
        return loaded.network_
    # Collected statistics name the estimator to make of them; models have none.
    if hasattr(loaded, "estimator"):
        raise DataError(f"The file holds {loaded!r}; 'bayesgraph merge' makes a classifier of it.")
    if hasattr(loaded, "unrolled"):
        raise DataError(
            f"The file holds {loaded!r}, which Python asks; its method `unrolled` returns an "
            "ordinary network of some slices."
        )
    model: Model = loaded
    return model


def load_whole(path: Path, load: Callable[[Path], Any] | None = None) -> Any:
    """Load a model from a file or standard input, with all that it learns from.

    Parameters
    ----------
    path : path
    load : callable, optional
        Loads a model, in the place of `bayesgraph.load`.

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
    load = load or bg.load
    if not is_stream(path):
        return load(path)
    with temporary_folder() as folder:
        file = folder / f"standard input{suffix_of(path, '.bayesgraph')}"
        file.write_bytes(sys.stdin.buffer.read())
        try:
            return load(file)
        except BayesGraphError as error:
            # The name of the temporary file would puzzle.
            error.args = tuple(
                argument.replace(str(file), str(path)) if isinstance(argument, str) else argument
                for argument in error.args
            )
            raise


def load_answering(path: Path) -> Any:
    """Load a model as `load_whole` does, but of a classifier only what answers questions."""
    return load_whole(path, bg.files.load_saved)


def load_model(path: Path) -> Model:
    """Return the model of a file, or the network of its classifier."""
    return network_of(load_answering(path))


def load_classifier(path: Path) -> GraphClassifier:
    """Return the classifier of a file; raise an error if what it holds is none."""
    model = load_whole(path)
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
