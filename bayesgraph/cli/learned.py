"""What is refused before a network is learned: wrong options, and a format that cannot hold it."""

from __future__ import annotations

import inspect
import tempfile
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bayesgraph as bg
from bayesgraph.cli.models import check_numbers, chosen, registered
from bayesgraph.cli.output import NATIVE, Output
from bayesgraph.errors import DataError

if TYPE_CHECKING:
    from bayesgraph.classifiers.discretizers import Discretizer
    from bayesgraph.variables import Variable

# Options by parameter of a learner.
OPTIONS = {
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
            known = [_option(n) for n in OPTIONS if n in taken]
            raise DataError(
                f"--method {method} does not take {_option(parameter)}; it takes "
                f"{', '.join(known)}."
            )
    return name


def _option(parameter: str) -> str:
    return f"--{OPTIONS[parameter]}"


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
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Output(Path(folder) / f"empty{output.suffix}", output.suffix).save(empty, lossy=lossy)


def _any_distribution(variable: Any) -> bg.CPD:
    if isinstance(variable, bg.Discrete):
        return bg.TableCPD(variable, [1 / variable.cardinality] * variable.cardinality)
    return bg.GaussianCPD(variable, 0.0, 1.0)
