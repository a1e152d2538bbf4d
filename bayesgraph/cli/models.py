"""The models that the command line fits, and the options that only some of the models take."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import bayesgraph as bg
from bayesgraph.errors import DataError, suggestion

if TYPE_CHECKING:
    from bayesgraph.classifiers.graph_classifier import GraphClassifier

# Where the lists are that the help reads; to import them all takes a while.
_LISTS = {
    "families": "bayesgraph.families:FAMILIES",
    "smoothings": "bayesgraph.learning.smoothing:SCHEMES",
    "discretizers": "bayesgraph.classifiers.discretizers:DISCRETIZERS",
    "discretizers of streams": "bayesgraph.learning.streaming.settings:DISCRETIZERS",
    "summaries": "bayesgraph.statistics.sketches:SUMMARIES",
    "detectors": "bayesgraph.drift.detectors:DETECTORS",
}
# Options by parameter, where they have another name.
_OPTIONS = {"distributions": "distribution", "n_trees": "trees"}
# Models that take a parameter, where others of the same estimator ignore it.
_TAKERS = {"n_trees": ("auto",)}


def estimators() -> dict[str, Callable[..., GraphClassifier]]:
    """Return the estimators that have a name on the command line, the default first."""
    classes = [getattr(bg, name) for name in dir(bg) if name.endswith("Classifier")]
    named = {c.command: partial(c, **c.command_options) for c in classes if c.command}
    return {"auto": named.pop("auto"), **named}


def models() -> dict[str, Callable[..., GraphClassifier]]:
    """Return all models by name: estimators, and learners of structures without an estimator."""
    learners = {
        name.replace("_", "-"): partial(bg.BayesianNetworkClassifier, name)
        for name in bg.BayesianNetworkClassifier.learners
    }
    return {**estimators(), **{n: m for n, m in learners.items() if n not in estimators()}}


def lists() -> dict[str, Iterable[str]]:
    """Return the names that options choose from, by the heading of each list."""
    return {"models": models(), **{name: pkgutil.resolve_name(at) for name, at in _LISTS.items()}}


def _takes(model: str, parameter: str) -> bool:
    takes = parameter in inspect.signature(models()[model]).parameters
    return takes and model in _TAKERS.get(parameter, (model,))


def check_taken(names: Collection[str], options: Mapping[str, Any]) -> None:
    """Check that models exist, and that each option that was given is taken by some of them.

    Parameters
    ----------
    names : names of models
    options : mapping from parameter of an estimator to value
        The value of an option that was not given is None.

    Raises
    ------
    DataError
        If a model is unknown, or none of the models takes an option.
    """
    for name in names:
        if name not in models():
            near = suggestion(name, models())
            raise DataError(f"--model is one of {', '.join(models())}; got {name!r}.{near}")
    for parameter, value in options.items():
        if value is not None and not any(_takes(name, parameter) for name in names):
            *others, last = [name for name in models() if _takes(name, parameter)]
            takers = f"{', '.join(others)} or {last}" if others else last
            several = len(names) > 1
            raise DataError(
                f"--{_OPTIONS.get(parameter, parameter)} goes with --model {takers}; the "
                f"model{'s are' if several else ' is'} {', '.join(names)}."
            )


def make_classifier(
    model: str,
    categorical: Sequence[str] | None,
    alpha: float | None,
    options: Mapping[str, Any],
) -> GraphClassifier:
    """Return the unfitted classifier of a name; options that it does not take are ignored.

    Parameters
    ----------
    model : str
    categorical : names, or ["all"], or None
    alpha : float, optional
        Pseudo-count, instead of the default of the model's smoothing.
    options : mapping from parameter to value
        As for `check_taken`.
    """
    named: Any = list(categorical) if categorical else None
    chosen = {n: v for n, v in options.items() if v is not None and _takes(model, n)}
    chosen["categorical"] = "all" if named == ["all"] else named
    classifier = models()[model](**chosen)
    if alpha is not None:
        classifier.set_params(smoothing__alpha=alpha)
    return classifier


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
