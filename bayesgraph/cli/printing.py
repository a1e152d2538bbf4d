"""Tables that the command line prints."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

import bayesgraph as bg
from bayesgraph.cli.progress import LINE
from bayesgraph.core.errors import DataError
from bayesgraph.core.variables import Count, CountVector, Discrete, Name, Variable
from bayesgraph.models import CPD, FAMILIES, TreesCPD

if TYPE_CHECKING:
    from bayesgraph.classifiers import Evaluation
    from bayesgraph.models import Model

# ------------------------------------------------------------- Tables that the command line prints


_MAX_STATES = 12

# What is measured of models, by name as it is typed: the heading of the column, and its text.
MEASURES: dict[str, tuple[str, Callable[[Evaluation], str]]] = {
    "accuracy": ("accuracy", lambda r: f"{r.accuracy:.4f}"),
    "balanced-accuracy": ("balanced", lambda r: f"{r.balanced_accuracy:.4f}"),
    "auc": ("AUC", lambda r: f"{r.auc:.4f}"),
    "f1": ("F1", lambda r: f"{r.f1:.4f}"),
    "log-loss": ("log loss", lambda r: f"{r.log_loss:.4f}"),
    "brier": ("Brier", lambda r: f"{r.brier:.4f}"),
    "rmse": ("RMSE", lambda r: f"{r.rmse:.4f}"),
    "ece": ("ECE", lambda r: f"{r.calibration_error:.4f}"),
    "fit-seconds": ("fit s", lambda r: "" if math.isnan(r.fit_seconds) else f"{r.fit_seconds:.2f}"),
    "test-seconds": ("test s", lambda r: f"{r.predict_seconds:.2f}"),
    "parameters": ("parameters", lambda r: "" if r.n_parameters is None else f"{r.n_parameters:,}"),
}
_SHOWN = ("accuracy", "auc", "log-loss", "brier", "ece")


def show(table: RichTable) -> None:
    """Print a table on standard output."""
    # Created at each use: the stream may have been replaced since the module was imported.
    # Names are printed as they are, whatever brackets and colons they have.
    with LINE.hidden():
        Console(highlight=False, markup=False, emoji=False, soft_wrap=True).print(table)


def _table(
    texts: Sequence[Any], numbers: Sequence[Any], rows: Iterable[Sequence[str | Text]], **look: Any
) -> RichTable:
    """Return a table of columns of text, followed by right-aligned columns of numbers.

    `texts` and `numbers` are the headings of the columns, `look` options of rich's table.
    """
    table = RichTable(**look)
    for name in texts:
        table.add_column(str(name), overflow="fold")
    for name in numbers:
        table.add_column(str(name), justify="right")
    for row in rows:
        table.add_row(*row)
    return table


def measures_table(
    results: Sequence[Evaluation], *, cv: int | None, measures: Sequence[str] = ()
) -> RichTable:
    """Return a table with a row for each model and a column for each measure.

    `cv` is the number of folds; None if the models were fitted before. Without names of measures,
    these are accuracy, AUC, losses, seconds and parameters.
    """
    seconds = "test-seconds" if cv is None else "fit-seconds"
    chosen = [MEASURES[name] for name in measures or (*_SHOWN, seconds, "parameters")]
    rows = [[r.name, *(text(r) for _, text in chosen)] for r in results]
    repeats = f" x {results[0].repeats}" if results[0].repeats > 1 else ""
    heads = [heading for heading, _ in chosen]
    timed = " (median s)" if {"fit s", "test s"} & {*heads} else ""
    title = f"Cross-validation, {cv} folds{repeats}{timed}" if cv else "Test of saved models"
    return _table(["model"], heads, rows, title=title, collapse_padding=True, pad_edge=False)


def tests_table(results: Sequence[Evaluation]) -> RichTable:
    """Return a table with the differences between each model and the first, and their p-values."""
    both = zip(bg.paired_tests(results, measure="accuracy"), bg.paired_tests(results), strict=True)
    rows = [
        [pair[0].name, *(x for t in pair for x in (f"{t.difference:+.4f}", f"{t.p_value:.3f}"))]
        for pair in both
    ]
    title = f"Against {results[0].name} (corrected t-test of folds; p adjusted by Holm)"
    heads = ("accuracy", "p", "log loss", "p")
    return _table(["model"], heads, rows, title=title, collapse_padding=True, pad_edge=False)


def confusion_table(result: Evaluation) -> RichTable:
    """Return the confusion matrix of a model as a table."""
    rows: list[list[str | Text]] = [
        [
            str(name),
            *(Text(f"{n}", "bold" if row == column else "") for column, n in enumerate(line)),
        ]
        for row, (name, line) in enumerate(zip(result.classes, result.confusion, strict=True))
    ]
    return _table([""], list(result.classes), rows)


def scores_table(scores: dict[tuple[Any, Any], float]) -> RichTable:
    """Return a table with a row for each arc that has a score, the highest score first."""
    ranked = sorted(scores.items(), key=lambda item: -item[1])
    rows = [[str(parent), str(child), f"{score:.6f}"] for (parent, child), score in ranked]
    return _table(["parent", "child"], ["score"], rows, title="Arcs by score (nats a row)")


def variables_table(network: Model) -> RichTable:
    """Return a table with a row for each variable of a model: states, parents, parameters."""
    exponents = network.exponents if network.target is not None else None
    inner = network.networks[0].cpds if len(network.networks) == 1 else ()
    cpds = {cpd.variable: cpd for cpd in inner}
    # Such as "gaussian".
    families = {kind: name for name, family in FAMILIES.items() for kind in family.stored.values()}
    rows = []
    for variable in network.variables:
        cells = [str(variable.name), _states(variable), "", ""]
        if cpd := cpds.get(variable):
            if not isinstance(variable, Discrete):
                cells[1] += f": {families.get(type(cpd), type(cpd).__name__)}"
            cells[2:] = ", ".join(str(p.name) for p in cpd.parents), f"{cpd.n_parameters:,}"
        if exponents is not None:
            values = exponents.get(variable.name, np.empty(0))
            cells.append(", ".join(f"{value:.3g}" for value in values.reshape(-1)))
        rows.append(cells)
    numbers = ["parameters", "exponent"][: 1 if exponents is None else 2]
    return _table(["variable", "states", "parents"], numbers, rows)


def _states(variable: Variable) -> str:
    if isinstance(variable, CountVector):
        return f"counts of {len(variable.items):,} items"
    if not isinstance(variable, Discrete):
        return "count" if isinstance(variable, Count) else "continuous"
    shown = ", ".join(str(state) for state in variable.states[:_MAX_STATES])
    more = variable.cardinality - _MAX_STATES
    return f"{shown} and {more} more" if more > 0 else shown


# ------------------------------------ Conditional distributions as text in the width of a terminal


_WIDTH = 80
# Rows and columns of each table where those of all variables are printed.
_SOME = 20, 24
_ALL = 1 << 30, 1 << 30


def distributions_text(network: Any, names: Sequence[Name]) -> str:
    """Return the distributions of some variables as text, of all without names.

    Those of named variables are whole, of the others rows and states are left out beyond a page.

    Raises
    ------
    DataError
        If the model has no distribution of each variable given others.
    """
    if len(network.networks) != 1:
        raise DataError(
            f"Tables are those of a single network; got {network!r}. Fit one, such as by "
            "--trees 0, or ask by 'bayesgraph query'."
        )
    limits = _ALL if names else _SOME
    chosen = [c for c in network.cpds if not names or {v.name for v in c.children} & {*names}]
    return "\n\n".join(_text(cpd, *limits) for cpd in chosen)


def _text(cpd: CPD, max_rows: int, max_columns: int) -> str:
    """Return a distribution as text; of a tree the leaves, with conditions behind numbers."""
    if not isinstance(cpd, TreesCPD) or len(cpd.trees.roots) > 1:
        return cpd.to_text(max_rows=max_rows, max_columns=max_columns)
    leaves = cpd.describe(max_rows, max_columns)
    lines = [cpd.title]
    for path, *cells in (leaves.header, *leaves.rows):
        widths = [max(len(name), len("0.000")) for name in leaves.header[1:]]
        lines.append(f"  {'  '.join(map(str.rjust, cells, widths))}  {path}")
    if leaves.note:
        lines.append(f"  {leaves.note}")
    return "\n".join(
        textwrap.fill(line, _WIDTH, subsequent_indent=" " * 8, break_on_hyphens=False)
        for line in lines
    )
