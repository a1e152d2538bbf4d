"""The difference between two models: variables, arcs, distributions and predictions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesgraph.checks import whole_number
from bayesgraph.compare.families import FamilyChange, families_table, family_changes
from bayesgraph.compare.predictions import PredictionChanges, prediction_changes
from bayesgraph.compare.structures import StructureChanges, structure_changes
from bayesgraph.display import DisplayTable, rounded
from bayesgraph.errors import DataError, DataTypeError, quoted
from bayesgraph.models.average import PosteriorAverage
from bayesgraph.models.model import Model
from bayesgraph.models.weighted import WeightedNetwork
from bayesgraph.report import Report
from bayesgraph.typing import TableLike
from bayesgraph.variables import Name

_MAXIMUM_LINES = 20
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class Diff(Report):
    """What differs between two models; it prints as one page.

    Attributes
    ----------
    title : str
        The two models, each in a few words.
    structure : StructureChanges
        Variables and arcs that were added, removed, changed or turned.
    families : tuple of FamilyChange
        Distributions that differ, the largest divergence first.
    exponents : dict from name to (float, float)
        Largest exponent by class of each feature of two weighted networks, where they differ.
    predictions : PredictionChanges or None
        None without a table.
    remarks : tuple of str
        What could not be compared, and why; weights, prior ratios and exponents of averages that
        differ.
    """

    title: str
    structure: StructureChanges
    families: tuple[FamilyChange, ...]
    exponents: dict[Name, tuple[float, float]]
    predictions: PredictionChanges | None
    remarks: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether no difference was found."""
        same = self.structure.is_empty and not self.families and not self.exponents
        found = self.predictions
        return same and not self.remarks and (found is None or found.mean_distance <= _ROUNDING)

    @property
    def summary(self) -> str:
        """The difference in one sentence."""
        changes = self.structure
        parts = [
            f"arcs: {len(changes.added)} added, {len(changes.removed)} removed, "
            f"{len(changes.turned)} turned",
            f"distributions that differ: {len(self.families)}",
        ]
        if self.predictions is not None:
            found = self.predictions
            parts.append(f"predictions that change: {found.n_changed:,} of {found.n_rows:,} rows")
        return "; ".join(parts) + "."

    def tables(self) -> list[DisplayTable]:
        """Return the tables of the page."""
        found = [*self.structure.tables(), families_table(self.families, self.remarks)]
        if self.exponents:
            shown = list(self.exponents.items())[:_MAXIMUM_LINES]
            rows = [(str(name), f"{rounded(p)} → {rounded(q)}") for name, (p, q) in shown]
            found.append(DisplayTable(f"Exponents: {len(self.exponents)} differ", rows))
        return [*found, *(self.predictions.tables() if self.predictions is not None else [])]


def diff(
    a: Any,
    b: Any,
    frame: TableLike | None = None,
    *,
    target: Name | None = None,
    n: int = 10,
) -> Diff:
    """Return what differs between two models: arcs, distributions and predictions.

    Parameters
    ----------
    a, b : models or fitted estimators
        Before and after. All models have variables and arcs; networks, weighted networks, mixtures
        and averages with equal numbers of networks have distributions to compare. An estimator also
        knows how many rows are behind a distribution, if it has ``statistics_``.
    frame : pandas, polars or pyarrow table, or mapping from name to column, optional
        Rows whose predictions are compared. Unknown categories are missing values.
    target : name, optional
        The discrete variable to predict; by default the class of the estimators.
    n : int
        Number of rows to list, with the findings that moved their log odds.

    Returns
    -------
    Diff
        It prints as one page; ``save("diff.html")`` writes it.

    Raises
    ------
    DataTypeError
        For an argument that is no model and no fitted estimator.
    DataError
        For a table without a target.
    EvidenceError
        For a continuous target.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> rain, wet = bg.Discrete("rain", ["no", "yes"]), bg.Discrete("wet", ["no", "yes"])
    >>> dry = bg.TableCPD(rain, [0.8, 0.2])
    >>> old = bg.BayesianNetwork([dry, bg.TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], [rain])])
    >>> new = bg.BayesianNetwork([dry, bg.TableCPD(wet, [[0.9, 0.1], [0.4, 0.6]], [rain])])
    >>> found = bg.diff(old, new)
    >>> found.families[0].where
    'P(wet=no | rain=yes): 0.2 → 0.4'
    """
    n = whole_number("n", "rows", n, 0)
    models = [_model(source) for source in (a, b)]
    first, second = models
    families, remarks = family_changes(a, b)
    predictions = None
    if frame is not None:
        chosen = _target(a, b) if target is None else target
        predictions = prediction_changes(first, second, chosen, frame, n)
    return Diff(
        f"{_words(a)} → {_words(b)}",
        structure_changes(first, second),
        tuple(families),
        _exponents(first, second),
        predictions,
        (*remarks, *_of_averages(first, second)),
    )


def _of_averages(before: Model, after: Model) -> list[str]:
    """Return what differs between two averages besides their networks, in words."""
    if not (isinstance(before, PosteriorAverage) and isinstance(after, PosteriorAverage)):
        return []
    found = []
    for name in ("weights", "prior_ratios", "exponents"):
        old, new = (_listed(getattr(model, name)) for model in (before, after))
        if old != new:
            found.append(f"{name} of the average: {old} → {new}")
    return found


def _listed(numbers: Any) -> Any:
    if isinstance(numbers, Mapping):
        return {name: _listed(own) for name, own in numbers.items()}
    return np.round(numbers, 6).tolist()


def _model(source: Any) -> Model:
    found = getattr(source, "network_", source)
    if not isinstance(found, Model):
        raise DataTypeError(
            f"diff compares two models or fitted estimators; got {source!r:.200}. Load files by "
            "bayesgraph.load, and fit estimators first."
        )
    return found


def _target(a: Any, b: Any) -> Name:
    names = {source.target_.name for source in (a, b) if hasattr(source, "target_")}
    names |= {m.target.name for m in map(_model, (a, b)) if isinstance(m, WeightedNetwork)}
    if len(names) != 1:
        why = f"the models predict {quoted(names)}" if names else "networks predict anything"
        raise DataError(f"target= is needed with a table: {why}. Name the variable to predict.")
    chosen: Name = names.pop()
    return chosen


def _words(source: Any) -> str:
    model = _model(source)
    kind = type(source).__name__
    return f"{kind} of {len(model.variables)} variables"


def _exponents(before: Model, after: Model) -> dict[Name, tuple[float, float]]:
    """Return the exponents of weighted networks that differ, the largest difference first."""
    if not (isinstance(before, WeightedNetwork) and isinstance(after, WeightedNetwork)):
        return {}
    found = {
        name: (float(p.max()), float(after.exponents[name].max()))
        for name, p in before.exponents.items()
        if name in after.exponents
    }
    moved = {name: pair for name, pair in found.items() if not math.isclose(*pair, abs_tol=1e-12)}
    return dict(sorted(moved.items(), key=lambda item: -abs(item[1][1] - item[1][0])))
