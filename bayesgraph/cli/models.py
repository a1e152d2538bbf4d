"""The models that the command line fits, and the options that only some of the models take."""

from __future__ import annotations

import inspect
import pkgutil
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bayesgraph as bg
from bayesgraph.cli.entry import OPTIONS
from bayesgraph.cli.output import NATIVE, Output
from bayesgraph.core.errors import DataError, suggestion, unknown_variable
from bayesgraph.core.files import temporary_folder

if TYPE_CHECKING:
    from bayesgraph.classifiers import Discretizer, GraphClassifier
    from bayesgraph.core.variables import Variable

# -------- The models that the command line fits, and the options that only some of the models take


# Where the lists are that the help reads; to import them all takes a while.
_LISTS = {
    "families": "bayesgraph.models:FAMILIES",
    "smoothings": "bayesgraph.statistics:SCHEMES",
    "discretizers": "bayesgraph.classifiers:DISCRETIZERS",
    "discretizers without a class": "bayesgraph.classifiers:UNSUPERVISED",
    "discretizers of streams": "bayesgraph.learning:DISCRETIZERS",
    "exponents": "bayesgraph.learning:ALL_SCHEMES",
    "summaries": "bayesgraph.statistics:SUMMARIES",
    "detectors": "bayesgraph.learning:DETECTORS",
    "methods": "bayesgraph.learning:METHODS",
    "scores": "bayesgraph.learning:GENERAL_SCORES",
    "measures": "bayesgraph.cli.printing:MEASURES",
}
# The list that the value of a parameter is from; exponents also have names for single models.
_CHOICES = {
    "distributions": "families",
    "smoothing": "smoothings",
    "summary": "summaries",
    "detector": "detectors",
}
# What numbers may be, by parameter.
_RANGES: dict[str, tuple[str, Callable[[float], bool]]] = {
    "smoothing__alpha": ("a number from 0 on", lambda x: 0 <= x < float("inf")),
    "decay": ("a number in (0, 1]", lambda x: 0 < x <= 1),
}
# Parameters that no text can be given for.
_NOT_TYPED = ("priors", "items")
_WORDS = {"none": None, "true": True, "false": False}
_SAVED = ".bayesgraph"


def estimators() -> dict[str, Callable[..., Any]]:
    """Return the estimators that have a name on the command line, the default first."""
    classes = [getattr(bg, name) for name in dir(bg) if name.endswith(("Classifier", "Regressor"))]
    named = {c.command: partial(c, **c.command_options) for c in classes if c.command}
    return {"auto": named.pop("auto"), **named}


def models() -> dict[str, Callable[..., Any]]:
    """Return all models by name: estimators, and learners of structures without an estimator."""
    learners = {
        name.replace("_", "-"): partial(bg.BayesianNetworkClassifier, name)
        for name in bg.BayesianNetworkClassifier.learners
    }
    return {**estimators(), **{n: m for n, m in learners.items() if n not in estimators()}}


def registered(title: str) -> Any:
    """Return what the library has of a list that options choose from."""
    return models() if title == "models" else pkgutil.resolve_name(_LISTS[title])


def names_of(title: str) -> list[str]:
    """Return the names of a list that options choose from, as they are typed."""
    found: Iterable[str] = registered(title)
    return [name.replace("_", "-") if title == "methods" else name for name in found]


def lists() -> dict[str, list[str]]:
    """Return the names that options choose from, by the heading of each list."""
    return {title: names_of(title) for title in ("models", *_LISTS)}


def chosen(option: str, value: str, title: str) -> str:
    """Return the value of an option, which must be a name of a list.

    Raises
    ------
    DataError
        If it is none; the message has the names and the nearest one.
    """
    known = names_of(title)
    if value not in known:
        near = suggestion(value, known)
        raise DataError(f"--{option} is one of {', '.join(known)}; got {value!r}.{near}")
    return value


@dataclass(frozen=True)
class Wanted:
    """A model as --model names it, such as ``nb``, ``kdb:k=3`` or ``heart.bayesgraph``.

    Attributes
    ----------
    text : str
        As given.
    make : callable
        Returns an unfitted estimator, given parameters.
    own : mapping from parameter to value
        The options after the colon.
    """

    text: str
    make: Callable[..., Any]
    own: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> Wanted:
        """Return the model of a text.

        Raises
        ------
        DataError
            If there is no such model, or it does not have an option.
        """
        name, _, rest = text.partition(":")
        known = models()
        if name in known:
            found = cls(text, known[name])
            given = [found._option(item, name) for item in rest.split(",")] if rest else []
            return cls(text, known[name], dict(given))
        if text.endswith(_SAVED):
            # What makes unfitted estimators with the parameters of a saved one.
            saved = bg.load(text)
            if not hasattr(saved, "get_params"):
                raise DataError(
                    f"--model {text} holds {saved!r}, which is not a classifier to fit."
                )
            return cls(text, partial(saved.__class__, **saved.get_params(deep=False)))
        near = _by_class(name) or suggestion(name, known)
        raise DataError(
            f"--model is one of {', '.join(known)}, or a saved classifier; got {text!r}.{near}"
        )

    def _option(self, item: str, name: str) -> tuple[str, Any]:
        """Return parameter and value of one option after the colon."""
        option, equals, value = item.partition("=")
        known = {OPTIONS.get(p, p): p for p in self.parameters if p not in _NOT_TYPED}
        typed = option.strip().replace("-", "_")
        parameter = known.get(typed, typed if typed in known.values() else None)
        if not equals or parameter is None:
            near = suggestion(option, known)
            raise DataError(
                f"--model {name} takes options as in {name}:OPTION=VALUE,OPTION=VALUE, of "
                f"{', '.join(known)}; got {item!r}.{near}"
            )
        return parameter, _value(value)

    @property
    def name(self) -> str:
        """The text without options."""
        return self.text.partition(":")[0] if self.own else self.text

    @property
    def title(self) -> str:
        """What the model is called in tables: the text, or the name of a file."""
        return title_of(self.text) if self.text.endswith(_SAVED) else self.text

    @property
    def parameters(self) -> list[str]:
        """Parameters of the estimator, without those that another model of its class is for."""
        names = list(inspect.signature(self.make).parameters)
        names += ["smoothing__alpha"] if "smoothing" in names else []
        if self.name == "auto":
            names.remove("structure")  # which other models are named after
        elif isinstance(self.make, partial) and self.make.args:
            names.remove("n_trees")  # whose structure is always chosen by `auto`
        return names

    def estimator(self, options: Mapping[str, Any]) -> GraphClassifier:
        """Return the unfitted estimator; its own options win, others that it does not take go.

        Parameters
        ----------
        options : mapping from parameter to value
            As for `check_taken`.

        Raises
        ------
        DataError
            If a value is from no list where it must be.
        """
        typed = {n: v for n, v in options.items() if v is not None and n in self.parameters}
        given = {n: None if v == "none" else v for n, v in typed.items()}
        given |= self.own
        # Refuse names that are in no list, before a table is read.
        of_streams = " of streams" if "summary" in self.parameters else ""
        lists = {**_CHOICES, "discretizer": f"discretizers{of_streams}"}
        for parameter, title in lists.items():
            value = given.get(parameter)
            values = value.values() if isinstance(value, Mapping) else [value]
            for text in values:
                if isinstance(text, str):
                    chosen(OPTIONS.get(parameter, parameter), text, title)
        check_numbers(given)
        alpha = {n: v for n, v in given.items() if n == "smoothing__alpha"}
        found: GraphClassifier = self.make(**{n: v for n, v in given.items() if n not in alpha})
        return found.set_params(**alpha) if alpha else found


def check_numbers(given: Mapping[str, Any]) -> None:
    """Refuse numbers out of range, before a table is read."""
    for parameter, (needed, fits) in _RANGES.items():
        value = given.get(parameter)
        if value is not None and (isinstance(value, str) or not fits(value)):
            raise DataError(f"--{OPTIONS.get(parameter, parameter)} is {needed}; got {value}.")


def title_of(path: str) -> str:
    """Return what a saved model is called in tables, which no other model is."""
    file = Path(path)
    return file.name if file.stem in models() else file.stem


def _by_class(text: str) -> str:
    """Return a suggestion for a name such as "naive-bayes", which is what the class is called."""
    wanted = text.lower().replace("-", "").replace("_", "")
    for name, make in estimators().items():
        if wanted and make.func.__name__.lower().startswith(wanted):  # type: ignore[attr-defined]
            return f" Did you mean {name!r}?"
    return ""


def _value(text: str) -> Any:
    """Return the number, the word or the text that the value of an option is."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    with suppress(ValueError):
        return int(text)
    with suppress(ValueError):
        return float(text)
    return text


def check_taken(wanted: Sequence[Wanted], options: Mapping[str, Any]) -> None:
    """Check that each option that was given is taken by some of the models.

    Parameters
    ----------
    wanted : models
    options : mapping from parameter of an estimator to value
        The value of an option that was not given is None.

    Raises
    ------
    DataError
        If none of the models takes an option.
    """
    for parameter, value in options.items():
        if value is None or any(parameter in model.parameters for model in wanted):
            continue
        *others, last = [n for n in models() if parameter in Wanted.of(n).parameters]
        takers = f"{', '.join(others)} or {last}" if others else last
        several = len(wanted) > 1
        raise DataError(
            f"--{OPTIONS.get(parameter, parameter)} goes with --model {takers}; the "
            f"model{'s are' if several else ' is'} {', '.join(w.text for w in wanted)}."
        )


def all_or_named(names: Sequence[str] | None) -> Any:
    """Return the columns of --categorical: "all", a list of names, or None."""
    named = list(names) if names else None
    return "all" if named == ["all"] else named


def families(items: Sequence[str] | None) -> str | dict[str, str] | None:
    """Return the requested distributions in the form that NaiveBayesClassifier takes.

    Raises
    ------
    DataError
        If one of several texts is not COLUMN=FAMILY.
    """
    if not items:
        return None
    if len(items) == 1 and "=" not in items[0]:
        return items[0]
    found = {}
    for item in items:
        column, equals, family = item.rpartition("=")
        if not equals:
            raise DataError(
                f"--distribution takes COLUMN=FAMILY, such as visits=poisson; got {item!r}."
            )
        found[column] = family
    return found


# ---- What is refused before a network is learned: wrong options, and a format that cannot hold it


# Options by parameter of a learner.
LEARNING_OPTIONS = {
    "score": "score",
    "alpha": "level",
    "required": "required",
    "forbidden": "forbidden",
    "tiers": "tier",
    "max_parents": "max-parents",
    "restarts": "restarts",
}


def checked_learning(method: str, score: str | None, options: Mapping[str, Any]) -> str:
    """Return the name of a method in Python, which takes the options.

    Raises
    ------
    DataError
        If the method or the score is unknown, or the method does not take an option.
    """
    name = chosen("method", method, "methods").replace("-", "_")
    if score is not None:
        chosen("score", score, "scores")
    taken = inspect.signature(registered("methods")[name]).parameters
    for parameter in options:
        if parameter not in taken:
            known = [_option(n) for n in LEARNING_OPTIONS if n in taken]
            raise DataError(
                f"--method {method} does not take {_option(parameter)}; it takes "
                f"{', '.join(known)}."
            )
    return name


def _option(parameter: str) -> str:
    return f"--{LEARNING_OPTIONS[parameter]}"


def checked_smoothing(scheme: str | None, alpha: float | None) -> bg.Smoothing | None:
    """Return the smoothing of options, or None if there is no option.

    Raises
    ------
    DataError
        If the scheme is unknown, or the pseudo-count is none.
    """
    if scheme is None and alpha is None:
        return None
    check_numbers({"smoothing__alpha": alpha})
    given: dict[str, Any] = {"scheme": chosen("smoothing", scheme or "dirichlet", "smoothings")}
    if alpha is not None:
        given["alpha"] = alpha
    return bg.Smoothing(**given)


def checked_intervals(discretizer: str | None, bins: int | None) -> Discretizer | None:
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
    kind = registered("discretizers without a class")[
        chosen("discretizer", discretizer, "discretizers without a class")
    ]
    return kind() if bins is None else kind(bins)  # type: ignore[no-any-return]


def intervals_of(table: Any, discretizer: Discretizer, categorical: Any) -> list[Variable]:
    """Return the variables of the columns of numbers, whose states are intervals.

    Raises
    ------
    DataError
        For a dataset, of which there is no table in memory.
    """
    if isinstance(table, bg.Dataset):
        raise DataError(f"--discretizer goes with a single file; got {table.source}.")
    found = discretizer.set_params(categorical=categorical).fit(table).variables_
    return [variable for variable in found if isinstance(variable, bg.Binned)]


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
    known = {variable.name: variable for variable in declared}
    found = bg.count_source(table, categorical=categorical).features
    variables = [known.get(variable.name, variable) for variable in found]
    empty = bg.BayesianNetwork([_any_distribution(variable) for variable in variables])
    with temporary_folder() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Output(folder / f"empty{output.suffix}", output.suffix).save(empty, lossy=lossy)


def _any_distribution(variable: Any) -> bg.CPD:
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
    ways = [(":".join(parts[:i]), ":".join(parts[i:])) for i in range(1, len(parts))]
    if not ways:
        raise DataError(f"An arc is PARENT:CHILD, such as smoke:lung; got {text!r}.")
    for parent, child in ways:
        if parent in names and child in names:
            return parent, child
    parent, child = ways[0]
    raise unknown_variable(child if parent in names else parent, names, where="The table")


def tier_of(text: str, names: Sequence[str]) -> list[str]:
    """Return the names of a text such as ``age,sex``; a name with a comma is a tier by itself."""
    return [text] if text in names else [name.strip() for name in text.split(",")]
