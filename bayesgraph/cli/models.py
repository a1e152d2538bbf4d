"""The models that the command line fits, and the options that the library's signatures give."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import bayesgraph as bg
from bayesgraph.cli.entry import OPTIONS
from bayesgraph.cli.options import CHOICES, NOT_TYPED, chosen, flag, library_options, registered
from bayesgraph.cli.output import NATIVE, Output
from bayesgraph.cli.reading import number_of
from bayesgraph.core.errors import DataError, suggestion, unknown_variable
from bayesgraph.core.files import temporary_folder
from bayesgraph.core.variables import Variable

# -------- The models that the command line fits, and the options that only some of the models take


# What numbers may be, by parameter.
_RANGES: dict[str, tuple[str, Callable[[float], bool]]] = {
    "smoothing__alpha": ("a number from 0 on", lambda x: 0 <= x < float("inf")),
    "decay": ("a number in (0, 1]", lambda x: 0 < x <= 1),
}
_WORDS = {"none": None, "true": True, "false": False}
_SAVED = ".bayesgraph"
# Names of the options of learners: alpha is that of smoothing.
LEARNING = OPTIONS | {"alpha": "level"}
# Attributes of a `Smoothing` by parameter.
_SMOOTHING = {"smoothing": "scheme", "smoothing__alpha": "alpha"}
# Names of estimators that are not those of their classes, as "averaged-tan" is.
_NAMES = {
    "BayesianNetworkClassifier": "auto",
    "NaiveBayesClassifier": "nb",
    "WeightedNaiveBayesClassifier": "weighted",
    "ComplementNaiveBayesClassifier": "complement",
    "DecisionTreeNetworkClassifier": "tree",
    "DecisionTreeNetworkRegressor": "regression-tree",
    "DiscriminantAnalysisClassifier": "discriminant",
    "StreamingNaiveBayesClassifier": "stream",
    "StreamingWeightedNaiveBayesClassifier": "stream-weighted",
}


def estimators() -> dict[str, Callable[..., Any]]:
    """Return the estimators that have a name on the command line, the default first."""
    classes = [getattr(bg, name) for name in dir(bg) if name.endswith(("Classifier", "Regressor"))]
    # A maker is a class, perhaps with parameters that the name stands for.
    makers = {_name(kind.__name__): partial(kind) for kind in classes}
    makers.pop("temporal-network")  # its rows are those of sequences
    # An unpruned tree overfits: this one is pruned by cross-validation.
    makers["tree"] = partial(makers["tree"], ccp_alpha="cv", smoothing=1.0)
    return {"auto": makers.pop("auto"), **makers}


def _name(kind: str) -> str:
    """Return the name of a class on the command line; AveragedTANClassifier is "averaged-tan"."""
    # Runs of capitals up to the next word, such as TAN, and words with one capital.
    words = re.findall("[A-Z]+(?![a-z])|[A-Z][a-z]+", re.sub("(Classifier|Regressor)$", "", kind))
    return _NAMES.get(kind, "-".join(words).lower())


def models() -> dict[str, Callable[..., Any]]:
    """Return all models by name: estimators, and learners of structures without an estimator."""
    makers = estimators()
    # A structure that an estimator is called after, such as "tan", stays that estimator.
    for name in registered("structures"):
        makers.setdefault(name.replace("_", "-"), partial(bg.BayesianNetworkClassifier, name))
    return makers


def of_estimators() -> list[inspect.Parameter]:
    """Return the options of all estimators."""
    classes = [make.func for make in estimators().values()]  # type: ignore[attr-defined]
    return library_options(classes, classes)


def of_learners() -> list[inspect.Parameter]:
    """Return the options of learning a network without a class, and of all methods."""
    functions = [bg.BayesianNetwork.learn, *registered("methods").values()]
    documents = [*functions, bg.learning.hill_climb, bg.learning.tan, bg.BayesianNetwork.fit]
    # `learn` has options of its own for the first three; a column of weights has none.
    left_out = ("method", "missing", "variables", "sample_weight")
    return library_options(functions, documents, left_out, LEARNING)


def parsed(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were typed, as values of the library's parameters."""
    # None and an empty list stand for options that were not typed.
    typed = {name: value for name, value in parameters.items() if value not in (None, [])}
    typed = {n: _value(n, value) if isinstance(value, str) else value for n, value in typed.items()}
    if "distributions" in typed:
        typed["distributions"] = _families(typed["distributions"])
    if typed.get("categorical") == ["all"]:
        typed["categorical"] = "all"
    return typed


def _families(items: Sequence[str]) -> str | dict[str, str]:
    """Return the requested distributions in the form that NaiveBayesClassifier takes."""
    if len(items) == 1 and "=" not in items[0]:
        return items[0]
    for item in items:
        if "=" not in item:
            raise DataError(
                f"--distribution takes COLUMN=FAMILY, such as visits=poisson; got {item!r}."
            )
    # Names of columns may have the sign "=", those of families have none.
    return {column: family for column, _, family in (item.rpartition("=") for item in items)}


def _check(options: Mapping[str, Any], *, of_streams: bool = False) -> None:
    """Refuse names that are in no list, and numbers out of range, before a table is read.

    `of_streams` tells whether the options are those of a model of streams, which has lists of its
    own of some parameters: the last ones.
    """
    for parameter, value in options.items():
        # The models themselves check exponents and structures: some take names that are in no list.
        is_listed = parameter in CHOICES and parameter not in ("exponents", "structure")
        names = value.values() if isinstance(value, Mapping) else [value]
        for name in names if is_listed else ():
            if isinstance(name, str):
                # `chosen` raises the error; it takes the option without its two hyphens.
                chosen(flag(parameter)[2:], name, CHOICES[parameter][-1 if of_streams else 0])
        needed, fits = _RANGES.get(parameter, ("", None))
        if fits and value is not None and (isinstance(value, str) or not fits(value)):
            raise DataError(f"{flag(parameter)} is {needed}; got {value}.")


@dataclass(frozen=True)
class Wanted:
    """A model as --model names it, such as ``nb``, ``kdb:k=3`` or ``heart.bayesgraph``.

    Attributes
    ----------
    text : str
        As given.
    make : callable
        Returns an unfitted estimator, given parameters.
    options : mapping from parameter to value
        Those after the colon.
    """

    text: str
    make: Callable[..., Any]
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> Wanted:
        """Return the model of a text.

        Raises
        ------
        DataError
            If there is no such model, or it does not have an option.
        """
        name, _, options_text = text.partition(":")
        makers = models()
        if name in makers:
            bare = cls(text, makers[name])
            # `_option` makes a pair of each text; without options the only text is empty.
            texts = filter(None, options_text.split(","))
            return replace(bare, options=dict(map(bare._option, texts)))
        if text.endswith(_SAVED):
            # What makes unfitted estimators with the parameters of a saved one.
            saved = bg.load(text)
            if not hasattr(saved, "get_params"):
                raise DataError(
                    f"--model {text} holds {saved!r}, which is not a classifier to fit."
                )
            return cls(text, partial(saved.__class__, **saved.get_params(deep=False)))
        near = _by_class(name) or suggestion(name, makers)
        choices = f"{', '.join(makers)}, or a saved classifier"
        raise DataError(f"--model is one of {choices}; got {text!r}.{near}")

    def _option(self, item: str) -> tuple[str, Any]:
        """Return parameter and value of one option after the colon."""
        option, equals, value = item.partition("=")
        # From the option to the parameter; the name of the parameter is taken too.
        parameter_of = {OPTIONS.get(p, p): p for p in self.parameters if p not in NOT_TYPED}
        typed = option.strip().replace("-", "_")
        parameter = parameter_of.get(typed, typed)
        if not equals or parameter not in parameter_of.values():
            name, near = self.text.partition(":")[0], suggestion(option, parameter_of)
            raise DataError(
                f"--model {name} takes options as in {name}:OPTION=VALUE,OPTION=VALUE, of "
                f"{', '.join(parameter_of)}; got {item!r}.{near}"
            )
        return parameter, _value(parameter, value)

    @property
    def title(self) -> str:
        """What the model is called in tables: the text, or the name of a file."""
        return title_of(self.text) if self.text.endswith(_SAVED) else self.text

    @property
    def parameters(self) -> list[str]:
        """Parameters of the estimator, without those that another model of its class is for."""
        names = list(inspect.signature(self.make).parameters)
        names += ["smoothing__alpha"] if "smoothing" in names else []
        # The argument is a structure by name, see `models`; trees go with the structure "auto".
        if isinstance(self.make, partial) and self.make.args:
            names.remove("n_trees")
        return names

    def estimator(self, options: Mapping[str, Any]) -> bg.classifiers.GraphClassifier:
        """Return the unfitted estimator; its own options win, others that it does not take go.

        Raises
        ------
        DataError
            If a value is from no list where it must be.
        """
        values = {n: v for n, v in options.items() if n in self.parameters}
        values |= self.options
        _check(values, of_streams="summary" in self.parameters)
        # A parameter of the estimator's smoothing, which its constructor does not take.
        alpha = {n: values.pop(n) for n in ("smoothing__alpha",) if n in values}
        estimator: bg.classifiers.GraphClassifier = self.make(**values)
        return estimator.set_params(**alpha) if alpha else estimator


def title_of(path: str) -> str:
    """Return the name of a saved model in tables, which no other model has."""
    file = Path(path)
    return file.name if file.stem in models() else file.stem


def _by_class(text: str) -> str:
    """Return a suggestion for a name such as "naive-bayes", which is what the class is called."""
    wanted = text.lower().replace("-", "").replace("_", "")
    for name, make in estimators().items():
        if wanted and make.func.__name__.lower().startswith(wanted):  # type: ignore[attr-defined]
            return f" Did you mean {name!r}?"
    return ""


def _value(parameter: str, text: str) -> Any:
    """Return the number, the word or the text that the value of an option is."""
    # The root is a column, whose name is text.
    if parameter == "root":
        return text
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    with suppress(ValueError):
        return number_of(text)
    return text


def check_taken(wanted: Sequence[Wanted], options: Iterable[str]) -> None:
    """Check that each parameter that an option sets is taken by some of the models.

    Raises
    ------
    DataError
        If none of the models takes an option.
    """
    for parameter in options:
        if any(parameter in model.parameters for model in wanted):
            continue
        # There are some: options that models take are made of their parameters.
        *others, last = [n for n in models() if parameter in Wanted.of(n).parameters]
        takers = f"{', '.join(others)} or {last}" if others else last
        models_are = "models are" if len(wanted) > 1 else "model is"
        raise DataError(
            f"{flag(parameter)} goes with --model {takers}; the {models_are} "
            f"{', '.join(w.text for w in wanted)}."
        )


# ---- What is refused before a network is learned: wrong options, and a format that cannot hold it


def learning(method: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `bayesgraph.BayesianNetwork.learn` that options say.

    Raises
    ------
    DataError
        If a name is unknown, or the method does not take an option.
    """
    options = parsed(parameters)
    name = chosen("method", method, "methods").replace("-", "_")
    _check(options)
    # The first two parameters of a method are the source of counts, and the smoothing made below.
    of_method = [*inspect.signature(registered("methods")[name]).parameters][2:]
    for parameter in options:
        if parameter not in {*of_method, *_SMOOTHING, "categorical", "check_columns"}:
            raise DataError(
                f"--method {method} does not take {flag(parameter, LEARNING)}; it takes "
                f"{', '.join(flag(n, LEARNING) for n in of_method)}."
            )
    # Options that are values of a Smoothing become one.
    smoothing = {key: options.pop(name) for name, key in _SMOOTHING.items() if name in options}
    if smoothing:
        options["smoothing"] = bg.Smoothing(**smoothing)
    return options | {"method": name}


def checked_intervals(discretizer: str | None, bins: int | None) -> Any:
    """Return the discretiser of options, or None if there is no option.

    Raises
    ------
    DataError
        If it is unknown, or needs a class, or there is only a number of intervals.
    """
    if discretizer is None:
        if bins is not None:
            raise DataError("--bins goes with --discretizer.")
        return None
    title = "discretizers without a class"
    kind = registered(title)[chosen("discretizer", discretizer, title)]
    return kind() if bins is None else kind(bins)


def check_holds(
    output: Output, table: Any, categorical: Any, declared: Iterable[Variable], *, lossy: bool
) -> None:
    """Refuse a format that cannot hold the columns of a table, whatever the arcs between them.

    Raises
    ------
    LossyExportError
        From the writer of the format.
    """
    if output.suffix in NATIVE:
        return
    # A network of these variables without arcs is written to a file that is thrown away.
    by_name = {variable.name: variable for variable in declared}
    columns = bg.learning.count_source(table, categorical=categorical).features
    variables = [by_name.get(variable.name, variable) for variable in columns]
    empty = bg.BayesianNetwork([_any_distribution(variable) for variable in variables])
    with temporary_folder() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Output(folder / f"empty{output.suffix}", output.suffix).save(empty, lossy=lossy)


def _any_distribution(variable: Any) -> bg.models.CPD:
    """Return a distribution of a variable without parents; its parameters do not matter."""
    if isinstance(variable, bg.Discrete):
        return bg.TableCPD(variable, [1 / variable.cardinality] * variable.cardinality)
    return bg.GaussianCPD(variable, 0.0, 1.0)


# ----------------------------------------------------- Arcs and tiers as texts of the command line


def arc_of(text: str, names: Sequence[str]) -> tuple[str, str]:
    """Return the arc of a text such as ``smoke:lung``, whose names may have colons themselves.

    Raises
    ------
    DataError
        If the text has no colon.
    UnknownVariableError
        If a name is no column.
    """
    parts = text.split(":")
    # The text cut at each of its colons.
    candidates = [(":".join(parts[:i]), ":".join(parts[i:])) for i in range(1, len(parts))]
    if not candidates:
        raise DataError(f"An arc is PARENT:CHILD, such as smoke:lung; got {text!r}.")
    # The first cut between two names of columns; without one, the error is of the first colon.
    for parent, child in candidates:
        if parent in names and child in names:
            return parent, child
    parent, child = candidates[0]
    raise unknown_variable(child if parent in names else parent, names, where="The table")


def tier_of(text: str, names: Sequence[str]) -> list[str]:
    """Return the names of a text such as ``age,sex``; a name with a comma is a tier by itself."""
    return [text] if text in names else [name.strip() for name in text.split(",")]


# How the texts of options become columns of a table.
NAMED = {"required": arc_of, "forbidden": arc_of, "tiers": tier_of}
