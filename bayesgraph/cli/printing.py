"""Tables that the command line prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table as RichTable

import bayesgraph as bg
from bayesgraph.variables import Count, CountVector, Discrete, Variable

if TYPE_CHECKING:
    from bayesgraph.classifiers.evaluation import Evaluation
    from bayesgraph.models.model import Model

_MOST_STATES = 12
_MEASURES = ("accuracy", "log loss", "Brier", "ECE")


def measures_table(results: Sequence[Evaluation]) -> RichTable:
    """Return a row of measures for each model."""
    title = "Cross-validation (seconds: median of the folds)"
    table = RichTable(title=title, collapse_padding=True, pad_edge=False)
    table.add_column("model")
    for column in (*_MEASURES, "fit s", "predict s", "parameters"):
        table.add_column(column, justify="right")
    for r in results:
        table.add_row(
            r.name,
            *(f"{value:.4f}" for value in (r.accuracy, r.log_loss, r.brier)),
            f"{r.calibration_error:.4f}",
            f"{r.fit_seconds:.4f}",
            f"{r.predict_seconds:.4f}",
            "" if r.n_parameters is None else f"{r.n_parameters:,}",
        )
    return table


def confusion_table(result: Evaluation) -> RichTable:
    """Return the confusion matrix of a model."""
    table = RichTable()
    table.add_column("")
    for name in result.classes:
        table.add_column(str(name), justify="right")
    for row, (name, counts) in enumerate(zip(result.classes, result.confusion, strict=True)):
        cells = [f"[bold]{n}[/]" if row == column else str(n) for column, n in enumerate(counts)]
        table.add_row(str(name), *cells)
    return table


def posterior_table(found: bg.Posterior) -> RichTable:
    """Return a row for each state, with a bar."""
    table = RichTable(title=f"P({', '.join(str(name) for name in found.names)})")
    for name in found.names:
        table.add_column(str(name))
    table.add_column("probability", justify="right")
    table.add_column("")
    for key, p in found.items():
        states: tuple[Any, ...] = key if len(found.names) > 1 else (key,)  # type: ignore[assignment]
        table.add_row(*(str(state) for state in states), f"{p:.6f}", "█" * round(24 * p))
    return table


def variables_table(network: Model) -> RichTable:
    """Return a row for each variable of a model."""
    table = RichTable()
    for column in ("variable", "states", "parents", "parameters"):
        table.add_column(column, justify="right" if column == "parameters" else "left")
    exponents = network.exponents if isinstance(network, bg.WeightedNetwork) else None
    if exponents is not None:
        table.add_column("exponent", justify="right")
    found = network.cpds if isinstance(network, (bg.BayesianNetwork, bg.WeightedNetwork)) else ()
    cpds = {cpd.variable: cpd for cpd in found}
    for variable in network.variables:
        cells = [str(variable.name), _states(variable), "", ""]
        if cpd := cpds.get(variable):
            cells[2:] = ", ".join(str(p.name) for p in cpd.parents), f"{cpd.n_parameters:,}"
        if exponents is not None:
            own = exponents.get(variable.name)
            cells.append("" if own is None else ", ".join(f"{w:.3g}" for w in own.reshape(-1)))
        table.add_row(*cells)
    return table


def _states(variable: Variable) -> str:
    if isinstance(variable, CountVector):
        return f"counts of {len(variable.items):,} items"
    if not isinstance(variable, Discrete):
        return "count" if isinstance(variable, Count) else "continuous"
    shown = ", ".join(str(state) for state in variable.states[:_MOST_STATES])
    more = variable.cardinality - _MOST_STATES
    return f"{shown} and {more} more" if more > 0 else shown
