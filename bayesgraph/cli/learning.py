"""Commands that learn models from tables: fit, learn, update and merge."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import bayesgraph as bg
from bayesgraph import cli
from bayesgraph.cli import models, options, progress
from bayesgraph.cli.models import (
    arc_of,
    check_holds,
    checked_intervals,
    checked_learning,
    checked_smoothing,
    intervals_of,
    tier_of,
)
from bayesgraph.cli.output import NATIVE, PICTURES, check_once, is_stream, model_to, output_to, say
from bayesgraph.cli.reading import (
    Reading,
    all_columns,
    features_and_labels,
    is_many,
    known_columns,
    load_classifier,
    load_whole,
    read_known,
    reads_table,
    used_columns,
)
from bayesgraph.core.errors import DataError, quoted
from bayesgraph.core.variables import MissingIndicator

if TYPE_CHECKING:
    from bayesgraph.classifiers import GraphClassifier

app = options.Commands("Learning")


def _of_streams(text: str) -> Any:
    return typer.Option(help=text, rich_help_panel="For the models stream and stream-weighted")


@app.command(
    cls=options.NamesModels,
    epilog="Example: bayesgraph fit iris.csv --target species -o iris.bayesgraph",
)
@reads_table
def fit(
    data: options.Rows,
    reading: Reading,
    target: options.Target,
    output: Annotated[Path, options.output_option("Where to save the model.")],
    model: Annotated[
        str,
        typer.Option(
            help="Which model, with options of its own as in kdb:k=3; 'auto' chooses a naive Bayes "
            "or a tree. A saved classifier stands for its own options. {models}"
        ),
    ] = "auto",
    trees: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Random trees that 'auto' is averaged with, 100 by default; 0 for a single "
            "network to read.",
        ),
    ] = None,
    categorical: options.Categorical = None,
    drop: options.Drop = None,
    alpha: options.Alpha = None,
    smoothing: options.SmoothingName = None,
    distribution: Annotated[
        list[str] | None,
        typer.Option(
            help="For naive Bayes: COLUMN=FAMILY, or FAMILY for all numeric columns; may be "
            "repeated. {families}"
        ),
    ] = None,
    discretizer: options.DiscretizerName = None,
    exponents: options.Exponents = None,
    summary: Annotated[
        str | None,
        _of_streams("Summary of numeric columns. {summaries}"),
    ] = None,
    decay: Annotated[
        float | None, _of_streams("Factor of the weight of past rows at each new row, in (0, 1].")
    ] = None,
    detector: Annotated[
        str | None,
        _of_streams(
            "Detector of drift, which resets the model; files hold adwin alone. {detectors}"
        ),
    ] = None,
    check_columns: options.CheckColumns = True,
    cache: Annotated[
        bool,
        typer.Option(
            "--cache",
            help="Keep encoded rows of a folder or a glob in a temporary folder between passes.",
        ),
    ] = False,
) -> None:
    """Fit a classifier to a table and save it."""
    saved = output_to(output, NATIVE)
    options = {
        "distributions": models.families(distribution),
        "discretizer": discretizer,
        "exponents": exponents,
        "n_trees": trees,
        "categorical": models.all_or_named(categorical),
        "smoothing": smoothing,
        "smoothing__alpha": alpha,
        "summary": summary,
        "decay": decay,
        "detector": detector,
        "check_columns": None if check_columns else False,
    }
    wanted = models.Wanted.of(model)
    models.check_taken([wanted], options)
    classifier = wanted.estimator(options)
    if is_many(data):
        n_rows = _fit_dataset(classifier, data, reading, target, drop or (), cache)
    elif cache:
        raise DataError(f"--cache goes with a folder or a glob; {data} is read once.")
    else:
        X, y = features_and_labels(reading.table(data), target, drop, data)
        _fit_table(classifier, X, y)
        n_rows = len(y)
    saved.save(classifier)
    empty = quoted(v.of for v in classifier.network_.variables if isinstance(v, MissingIndicator))
    told = f" with indicators of missing cells of {empty}" if empty else ""
    saved.done(f"Fitted {classifier.network_} on {n_rows:,} rows{told}; saved to {{}}")


def _fit_table(classifier: GraphClassifier, X: Any, y: Any) -> None:
    """Fit a classifier on a table in memory; some say how far they are."""
    if "progress" in inspect.signature(classifier.fit).parameters:
        classifier.fit(X, y, progress=progress.say_share)
    else:
        classifier.fit(X, y)


def _fit_dataset(
    classifier: GraphClassifier,
    data: Path,
    reading: Reading,
    target: str,
    drop: Sequence[str],
    cache: bool,
) -> int:
    """Fit a classifier on a folder or a glob, and return the number of rows."""
    with progress.rows_read("fitting") as read:
        dataset = used_columns(reading.dataset(data, read), data, target, drop)
        dataset.cache = cache
        classifier.fit(dataset, target)
        return dataset.n_rows or 0


@app.command(
    cls=options.NamesModels,
    epilog="Example: bayesgraph learn patients.csv --tier age,sex --tier smokes --tier ill -o "
    "patients.bayesgraph",
)
@reads_table
def learn(
    data: options.Rows,
    reading: Reading,
    output: Annotated[Path, options.output_option("Where to save the network.")],
    method: Annotated[str, typer.Option(help="How arcs are found. {methods}")] = "hill-climb",
    score: Annotated[
        str | None, typer.Option(help="What the arcs maximise; bic by default. {scores}")
    ] = None,
    level: Annotated[
        float | None, typer.Option(help="Of the tests, for pc: 0.05 by default.")
    ] = None,
    required: Annotated[
        list[str] | None, typer.Option(help="PARENT:CHILD, an arc to have; may be repeated.")
    ] = None,
    forbidden: Annotated[
        list[str] | None, typer.Option(help="PARENT:CHILD, an arc not to have; may be repeated.")
    ] = None,
    tier: Annotated[
        list[str] | None,
        typer.Option(help="Columns of a time, NAME,NAME,...; may be repeated, the earliest first."),
    ] = None,
    max_parents: Annotated[int | None, typer.Option(help="Of a variable.")] = None,
    restarts: Annotated[
        int | None,
        typer.Option(min=0, help="Searches from changed graphs that in succession find no better."),
    ] = None,
    discretizer: Annotated[
        str | None,
        typer.Option(help="Intervals of numbers, of a single file. {discretizers without a class}"),
    ] = None,
    bins: Annotated[
        int | None, typer.Option(min=1, help="Intervals of --discretizer; 10 by default.")
    ] = None,
    em: Annotated[
        bool, typer.Option("--em", help="Estimate parameters by EM where values are missing.")
    ] = False,
    bootstrap: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of samples of the rows; saves the network averaged over them."
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the network to an .svg, .png, .pdf or .dot.")
    ] = None,
    categorical: options.Categorical = None,
    drop: options.Drop = None,
    alpha: options.Alpha = None,
    smoothing: options.SmoothingName = None,
    check_columns: options.CheckColumns = True,
    lossy: options.Lossy = False,
) -> None:
    """Learn a network over all columns of a table, which has no class, and save it."""
    saved = model_to(output)
    drawn_to = None if plot is None else output_to(plot, PICTURES)
    given: dict[str, Any] = {
        "score": score,
        "alpha": level,
        "required": required,
        "forbidden": forbidden,
        "tiers": tier,
        "max_parents": max_parents,
        "restarts": restarts,
    }
    intervals = checked_intervals(discretizer, bins)
    given = {name: value for name, value in given.items() if value is not None}
    given["method"] = checked_learning(method, score, given)
    of_all = {
        "smoothing": checked_smoothing(smoothing, alpha),
        "check_columns": None if check_columns else False,
        "missing": "em" if em else None,
    }
    given |= {name: value for name, value in of_all.items() if value is not None}
    with progress.rows_read("learning") as read:
        table, names = all_columns(data, reading, drop or (), read)
        for option in ("required", "forbidden"):
            if option in given:
                given[option] = [arc_of(text, names) for text in given[option]]
        if tier:
            given["tiers"] = [tier_of(text, names) for text in tier]
        given["categorical"] = models.all_or_named(categorical)
        if intervals is not None:
            given["variables"] = intervals_of(table, intervals, given["categorical"])
        check_holds(saved, table, given["categorical"], given.get("variables", ()), lossy=lossy)
        drawn: Any
        if bootstrap is None:
            drawn = network = bg.BayesianNetwork.learn(table, **given)
        else:
            drawn = bg.arc_confidence(table, n_samples=bootstrap, **given)
            network = drawn.network
    saved.save(network, lossy=lossy)
    if is_stream(output):
        pass
    elif bootstrap is not None:
        say(repr(drawn))
    elif network.arc_scores:
        cli.printing.show(cli.printing.scores_table(dict(network.arc_scores)))
    saved.done(f"Learned {network}; saved to {{}}")
    if drawn_to is not None:
        with drawn_to.file() as file:
            drawn.render(file)
        drawn_to.done("Drawn to {}")


@app.command(epilog="Example: bayesgraph update iris.bayesgraph more.csv")
@reads_table
def update(
    model: options.ModelFile,
    data: options.Data,
    reading: Reading,
    output: Annotated[
        Path | None, options.output_option("Where to save the updated model; else in its place.")
    ] = None,
) -> None:
    """Learn from the rows of another table, which must also have the column with the classes."""
    destination = output_to(model if output is None else output, NATIVE)
    check_once(model, data)
    classifier = load_classifier(model)
    if not hasattr(classifier, "partial_fit"):
        raise DataError(
            f"{model} holds {classifier!r}, which learns from one table at once; use 'bayesgraph "
            "fit' on all rows, or another model."
        )
    table = known_columns(classifier, read_known(classifier, data, reading), data, labelled=True)
    target = table.column_names[-1]
    before = classifier.classes_.tolist()
    classifier.partial_fit(table.drop_columns(target), table.select([target]))
    destination.save(classifier)
    new = [label for label in classifier.classes_.tolist() if label not in before]
    # A new class is named because it may be a misspelt one.
    classes = f", with the new classes {quoted(new)}" if new else ""
    destination.done(f"Learned {table.num_rows:,} more rows{classes}; saved to {{}}")


@app.command(
    epilog="Example: bayesgraph merge north.bayesgraph south.bayesgraph -o both.bayesgraph"
)
def merge(
    parts: Annotated[
        list[Path],
        typer.Argument(
            help="Classifiers fitted on different rows, or statistics that collect returned.",
            show_default=False,
        ),
    ],
    output: Annotated[Path, options.output_option("Where to save the classifier of all rows.")],
) -> None:
    """Make one classifier of the statistics of several, as if it were fitted on all their rows."""
    saved = output_to(output, NATIVE)
    check_once(*parts)
    total = bg.CollectedStatistics.total(map(load_whole, parts), map(str, parts))
    classifier = type(total.estimator).from_statistics(total)
    saved.save(classifier)
    saved.done(f"Merged {total!r}; saved {classifier.network_} to {{}}")
