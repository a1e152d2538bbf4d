"""The models that the command line fits, and the options that only some of them take."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import bayesgraph as bg
from bayesgraph.errors import DataError

if TYPE_CHECKING:
    from bayesgraph.classifiers.prediction import GraphClassifier


class ModelName(StrEnum):
    """Models that the command line fits."""

    AUTO = "auto"
    NB = "nb"
    WEIGHTED = "weighted"
    TAN = "tan"
    AODE = "aode"
    KDB = "kdb"
    FOREST = "forest"
    CHOW_LIU = "chow-liu"
    TREE = "tree"
    STREAM = "stream"
    STREAM_WEIGHTED = "stream-weighted"


_ESTIMATORS = {
    ModelName.AUTO: "BayesianNetworkClassifier",
    ModelName.NB: "NaiveBayesClassifier",
    ModelName.WEIGHTED: "WeightedNaiveBayesClassifier",
    ModelName.TAN: "TANClassifier",
    ModelName.AODE: "AODEClassifier",
    ModelName.KDB: "KDBClassifier",
    ModelName.STREAM: "StreamingNaiveBayesClassifier",
    ModelName.STREAM_WEIGHTED: "StreamingWeightedNaiveBayesClassifier",
}
_STREAMS = (ModelName.STREAM, ModelName.STREAM_WEIGHTED)
_WITH_INTERVALS = tuple(name for name in ModelName if name not in (*_STREAMS, ModelName.TREE))

# Which models take an option, by the name of the estimator's parameter and of the option.
_TAKERS: dict[str, tuple[str, tuple[ModelName, ...]]] = {
    "distributions": ("--distribution", (ModelName.NB,)),
    "discretizer": ("--discretizer", _WITH_INTERVALS),
    "summary": ("--summary", _STREAMS),
    "decay": ("--decay", _STREAMS),
    "window": ("--window", _STREAMS),
    "detector": ("--detector", _STREAMS),
}


def check_taken(models: Collection[ModelName], options: Mapping[str, Any]) -> None:
    """Refuse an option that was given and that none of the models takes.

    Raises
    ------
    DataError
    """
    for parameter, value in options.items():
        option, takers = _TAKERS[parameter]
        if value is not None and not set(takers) & set(models):
            several = len(models) > 1
            raise DataError(
                f"{option} goes with --model {_listed(takers)}; the model{'s are' * several}"
                f"{' is' * (not several)} {', '.join(models)}."
            )


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def make_classifier(
    model: ModelName,
    categorical: Sequence[str] | None,
    alpha: float,
    options: Mapping[str, Any],
) -> GraphClassifier:
    """Return the classifier of a name, with those of the options that it takes.

    Parameters
    ----------
    model : ModelName
    categorical : names, or ["all"], or None
    alpha : float
    options : mapping from parameter to value
        Those of `check_taken`; None where one was not given.
    """
    named: Any = list(categorical) if categorical else None
    chosen = {
        name: value
        for name, value in options.items()
        if value is not None and model in _TAKERS[name][1]
    }
    chosen |= {"alpha": alpha, "categorical": "all" if named == ["all"] else named}
    if model is ModelName.TREE:
        return bg.DecisionTreeNetworkClassifier(ccp_alpha="cv", **chosen)
    if model in _ESTIMATORS:
        return getattr(bg, _ESTIMATORS[model])(**chosen)  # type: ignore[no-any-return]
    return bg.BayesianNetworkClassifier(model.value.replace("-", "_"), **chosen)


def families(items: Sequence[str] | None) -> str | dict[str, str] | None:
    """Return the distributions that were asked for, as NaiveBayesClassifier takes them.

    Raises
    ------
    DataError
        For what is no COLUMN=FAMILY, beside others.
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
