"""Tables that the command line prints."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import bayesgraph as bg
from bayesgraph.cli.progress import LINE
from bayesgraph.core.display import DisplayTable
from bayesgraph.core.errors import DataError
from bayesgraph.core.variables import Count, CountVector, Discrete, Name, Variable
from bayesgraph.models import CPD, FAMILIES, Model, TreesCPD

# ------------------------------------------------------------- Tables that the command line prints


# Number of states of a variable that a line names.
_MAX_STATES = 12

# What is measured of models, by name as it is typed: the heading of the column, and its text.
MEASURES: dict[str, tuple[str, Callable[[bg.classifiers.Evaluation], str]]] = {
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
# The measures that are shown by default, before seconds and parameters.
_SHOWN = ("accuracy", "auc", "log-loss", "brier", "ece")
# Columns of a terminal, and the least of them that a column of text gets.
_WIDTH, _LEAST = 80, 12


def _printed(
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    labels: int = 1,
    note: str = "",
) -> Any:
    """Return a table as text: `labels` columns of text, and then numbers; or for --json as it is.

    The widest column of text is wrapped where lines would be longer than a terminal: it continues
    in lines whose other cells are empty.
    """
    if LINE.json:
        return {"title": title, "header": header, "rows": rows}
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    widest = max(range(labels), key=widths.__getitem__)
    # What the other columns leave to the widest one; two blanks stand before each column.
    room = max(_LEAST, _WIDTH - sum(widths) - 2 * len(widths) + widths[widest])
    body = []
    for row in rows:
        for i, line in enumerate(textwrap.wrap(row[widest], room) or [""]):
            cells = [""] * len(row) if i else list(row)
            cells[widest] = line
            body.append(cells)
    title = textwrap.fill(title, _WIDTH, subsequent_indent=" " * 8, break_on_hyphens=False)
    return DisplayTable(title, body, header, note=note, labels=labels).text()


def measures_table(
    results: Sequence[bg.classifiers.Evaluation], *, cv: int | None, measures: Sequence[str] = ()
) -> Any:
    """Return a table as text, with a row for each model and a column for each measure.

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
    return _printed(title, ["model", *heads], rows)


def tests_table(results: Sequence[bg.classifiers.Evaluation]) -> Any:
    """Return the differences between each model and the first, with their p-values, as text."""
    # By default the tests compare log losses.
    accuracy, log_loss = bg.paired_tests(results, measure="accuracy"), bg.paired_tests(results)
    rows = []
    for tests in zip(accuracy, log_loss, strict=True):
        cells = [(f"{test.difference:+.4f}", f"{test.p_value:.3f}") for test in tests]
        rows.append([tests[0].name, *cells[0], *cells[1]])
    title = f"Against {results[0].name} (corrected t-test of folds; p adjusted by Holm)"
    return _printed(title, ("model", "accuracy", "p", "log loss", "p"), rows)


def confusion_table(result: bg.classifiers.Evaluation, target: str) -> Any:
    """Return the confusion matrix of a model as text."""
    classes = list(map(str, result.classes))
    lines = zip(classes, result.confusion.tolist(), strict=True)
    rows = [[name, *map(str, counts)] for name, counts in lines]
    title = f"{result.name}: confusion matrix (rows: true {target})"
    return _printed(title, ["", *classes], rows)


def scores_table(scores: dict[tuple[Any, Any], float]) -> Any:
    """Return a table as text, with a row for each arc that has a score, the highest score first."""
    ranked = sorted(scores.items(), key=lambda item: -item[1])
    rows = [[str(parent), str(child), f"{score:.6f}"] for (parent, child), score in ranked]
    return _printed("Arcs by score (nats a row)", ("parent", "child", "score"), rows, labels=2)


def variables_table(network: Model) -> Any:
    """Return a row for each variable of a model as text: states, parents, parameters."""
    # Only a weighted network has a target, and exponents of its distributions.
    exponents = network.exponents if network.target is not None else None
    # Of several networks a variable has several distributions.
    single = network.networks[0].cpds if len(network.networks) == 1 else ()
    cpds = {cpd.variable: cpd for cpd in single}
    # From the class of a distribution to a name such as "gaussian".
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
    header = ["variable", "states", "parents", "parameters", "exponent"]
    return _printed("Variables", header[: 4 if exponents is None else 5], rows, labels=3)


def _states(variable: Variable) -> str:
    """Return in words what values a variable has, with the first of its states."""
    if isinstance(variable, CountVector):
        return f"counts of {len(variable.items):,} items"
    if not isinstance(variable, Discrete):
        return "count" if isinstance(variable, Count) else "continuous"
    shown = ", ".join(str(state) for state in variable.states[:_MAX_STATES])
    more = variable.cardinality - _MAX_STATES
    return f"{shown} and {more} more" if more > 0 else shown


# ------------------------------------ Conditional distributions as text in the width of a terminal


# Maximum numbers of rows and columns of each table, if all variables are printed; and if some are
# named, no limit.
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
    # Several trees together have no leaves that could be listed one by one.
    if not isinstance(cpd, TreesCPD) or len(cpd.trees.roots) > 1:
        return cpd.to_text(max_rows=max_rows, max_columns=max_columns)
    leaves = cpd.describe(max_rows, max_columns)
    # The first column of a leaf, its conditions, becomes the last one.
    header, *rows = [[*cells, path] for path, *cells in (leaves.header, *leaves.rows)]
    return str(_printed(cpd.title, header, rows, len(header), leaves.note))
