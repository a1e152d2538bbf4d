"""Tables that the command line prints, and the bar of a cross-validation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table as RichTable
from rich.text import Text

import bayesgraph as bg
from bayesgraph.variables import Count, CountVector, Discrete, Variable

if TYPE_CHECKING:
    from bayesgraph.classifiers.evaluation import Evaluation
    from bayesgraph.models.model import Model

_MAX_STATES = 12
# Seconds after which the bar of a fit appears.
_SOON = 2.0
_MEASURES = "accuracy", "log loss", "Brier", "ECE", "fit s", "predict s", "parameters"


def show(table: RichTable) -> None:
    """Print a table on standard output."""
    # Created at each use: the stream may have been replaced since the module was imported.
    # Names are printed as they are, whatever brackets and colons they have.
    Console(highlight=False, markup=False, emoji=False, soft_wrap=True).print(table)


@contextmanager
def folds_done(total: int) -> Iterator[Callable[[str], None]]:
    """Yield a function that advances a bar on standard error, if that is a terminal.

    It takes the name of the model whose fold is done; `total` is the number of calls.
    """
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("cross-validating", total=total)
        yield lambda name: bar.update(task, advance=1, description=name)


@contextmanager
def fitted() -> Iterator[Callable[[float, str], None]]:
    """Yield the `progress` of a fit: a bar on standard error, if that is a terminal.

    It appears after a few seconds, and takes the share that is done and what is done next.
    """
    console, begin = Console(stderr=True), time.monotonic()
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("fitting", total=1.0, visible=False)

        def progress(share: float, phase: str) -> None:
            is_long = time.monotonic() - begin > _SOON
            bar.update(task, completed=share, description=phase, visible=is_long)

        yield progress


def _table(
    texts: Sequence[Any], numbers: Sequence[Any], rows: Iterable[Sequence[str | Text]], **look: Any
) -> RichTable:
    """Return a table of columns of text, followed by right-aligned columns of numbers.

    `texts` and `numbers` are the headings of the columns, `look` options of rich's table.
    """
    table = RichTable(**look)
    for name in texts:
        table.add_column(str(name))
    for name in numbers:
        table.add_column(str(name), justify="right")
    for row in rows:
        table.add_row(*row)
    return table


def measures_table(results: Sequence[Evaluation]) -> RichTable:
    """Return a table with a row for each model: accuracy, losses, seconds and parameters."""
    rows = []
    for r in results:
        measures = (r.accuracy, r.log_loss, r.brier, r.calibration_error)
        found = [f"{value:.4f}" for value in (*measures, r.fit_seconds, r.predict_seconds)]
        rows.append([r.name, *found, "" if r.n_parameters is None else f"{r.n_parameters:,}"])
    title = "Cross-validation (seconds: median of the folds)"
    return _table(["model"], _MEASURES, rows, title=title, collapse_padding=True, pad_edge=False)


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
    exponents = network.exponents if isinstance(network, bg.WeightedNetwork) else None
    known = network.cpds if isinstance(network, (bg.BayesianNetwork, bg.WeightedNetwork)) else ()
    cpds = {cpd.variable: cpd for cpd in known}
    rows = []
    for variable in network.variables:
        cells = [str(variable.name), _states(variable), "", ""]
        if cpd := cpds.get(variable):
            cells[2:] = ", ".join(str(p.name) for p in cpd.parents), f"{cpd.n_parameters:,}"
        if exponents is not None:
            own = exponents.get(variable.name)
            cells.append("" if own is None else ", ".join(f"{w:.3g}" for w in own.reshape(-1)))
        rows.append(cells)
    numbers = ["parameters"] if exponents is None else ["parameters", "exponent"]
    return _table(["variable", "states", "parents"], numbers, rows)


def _states(variable: Variable) -> str:
    if isinstance(variable, CountVector):
        return f"counts of {len(variable.items):,} items"
    if not isinstance(variable, Discrete):
        return "count" if isinstance(variable, Count) else "continuous"
    shown = ", ".join(str(state) for state in variable.states[:_MAX_STATES])
    more = variable.cardinality - _MAX_STATES
    return f"{shown} and {more} more" if more > 0 else shown
