"""Commands that learn models from tables: fit, learn, update and merge."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import bayesgraph as bg
from bayesgraph import cli
from bayesgraph.cli import models, progress
from bayesgraph.cli import reading as texts
from bayesgraph.cli.options import Commands, Texts
from bayesgraph.cli.output import NATIVE, PICTURES, check_once, is_stream, model_to, output_to, say
from bayesgraph.cli.reading import Reading
from bayesgraph.core.errors import DataError, quoted
from bayesgraph.core.variables import MissingIndicator

app: Commands = Commands("Learning")


@app.add(parameters=models.of_estimators)
def fit(
    data: Path,
    *,
    reading: Reading,
    target: str,
    output: Path,
    model: str = "auto",
    drop: Texts = None,
    cache: bool = False,
    **parameters: Any,
) -> None:
    """Fit a classifier to a table and save it.

    Parameters
    ----------
    data
        A .csv, .tsv (also .gz or .zst) or .parquet file, - for standard input, or a folder
        or a quoted glob of files of one kind, which may be larger than memory.
    target
        Column with the classes.
    output
        Where to save the model.
    model
        Which model, with options of its own as in kdb:k=3; 'auto' chooses a naive Bayes
        or a tree, averaged with --trees random trees. A saved classifier stands for its
        own options. {models}
    cache
        Keep encoded rows of a folder or a glob in a temporary folder between passes.

    Examples
    --------
    bayesgraph fit iris.csv --target species -o iris.bayesgraph
    """
    writer = output_to(output, NATIVE)
    options = models.parsed(parameters)
    wanted = models.Wanted.of(model)
    models.check_taken([wanted], options)
    classifier = wanted.estimator(options)
    if cache and not texts.is_many(data):
        raise DataError(f"--cache goes with a folder or a glob; {data} is read once.")
    with progress.rows_read("fitting") as read:
        table, _ = texts.used_columns(data, reading, drop, read, target)
        if isinstance(table, bg.tables.Dataset):
            table.cache = cache
            classifier.fit(table, target)
            n_rows = table.n_rows or 0
        else:
            n_rows = table.num_rows
            # Only some estimators say what share of their work is done.
            takes_progress = "progress" in inspect.signature(classifier.fit).parameters
            options_of_fit = {"progress": progress.say_share} if takes_progress else {}
            classifier.fit(table.drop_columns(target), table.select([target]), **options_of_fit)
    writer.save(classifier)
    # Columns with an indicator of missing values: to the model an empty cell is evidence.
    columns = quoted(v.of for v in classifier.network_.variables if isinstance(v, MissingIndicator))
    cells = f" (whether {columns} is missing tells of the class too)" if columns else ""
    writer.done(f"Fitted on {n_rows:,} rows: {classifier.network_}{cells}; saved to {{}}")


@app.add(parameters=models.of_learners)
def learn(
    data: Path,
    *,
    reading: Reading,
    output: Path,
    method: str = "hill-climb",
    discretizer: str | None = None,
    bins: int | None = None,
    em: bool = False,
    bootstrap: int | None = None,
    plot: Path | None = None,
    drop: Texts = None,
    lossy: bool = False,
    **parameters: Any,
) -> None:
    """Learn a network over all columns of a table, which has no class, and save it.

    Parameters
    ----------
    data
        A .csv, .tsv (also .gz or .zst) or .parquet file, - for standard input, or a folder
        or a quoted glob of files of one kind, which may be larger than memory.
    output
        Where to save the network.
    method
        How arcs are found. {methods}
    discretizer
        Intervals of numbers, of a single file. {discretizers without a class}
    bins
        Intervals of --discretizer; 10 by default.
    em
        Estimate parameters by EM where values are missing.
    bootstrap
        Number of samples of the rows; saves the network averaged over them.
    plot
        Draw the network to an .svg, .png, .pdf or .dot.

    Examples
    --------
    bayesgraph learn patients.csv --tier age,sex --tier smokes --tier ill -o
    patients.bayesgraph
    """
    writer = model_to(output)
    drawn_to = None if plot is None else output_to(plot, PICTURES)
    options = models.learning(method, parameters) | ({"missing": "em"} if em else {})
    intervals = models.checked_intervals(discretizer, bins)
    categorical = options.get("categorical")
    with progress.rows_read("learning") as read:
        table, names = texts.used_columns(data, reading, drop, read)
        # Arcs and tiers are texts, which name columns.
        for option, names_of_text in models.NAMED.items():
            if option in options:
                options[option] = [names_of_text(text, names) for text in options[option]]
        if intervals is not None:
            if texts.is_many(data):
                raise DataError(f"--discretizer goes with a single file; got {data}.")
            variables = intervals.set_params(categorical=categorical).fit(table).variables_
            # Only columns that were cut are declared: `learn` infers the others from the table.
            options["variables"] = [v for v in variables if isinstance(v, bg.Binned)]
        models.check_holds(writer, table, categorical, options.get("variables", ()), lossy=lossy)
        # What is drawn: the network, or the arcs with how many samples have them.
        drawn: Any
        if bootstrap is None:
            drawn = network = bg.BayesianNetwork.learn(table, **options)
        else:
            drawn = bg.arc_confidence(table, n_samples=bootstrap, **options)
            network = drawn.network
    writer.save(network, lossy=lossy)
    if not is_stream(output):
        if bootstrap is not None:
            say(drawn)
        elif network.arc_scores:
            say(cli.printing.scores_table(network.arc_scores))
    writer.done(f"Learned {network}; saved to {{}}")
    if drawn_to is not None:
        drawn_to.write(drawn.render, "Drawn to {}")


@app.add()
def update(model: Path, data: Path, *, reading: Reading, output: Path | None = None) -> None:
    """Learn from the rows of another table, which must also have the column with the classes.

    Parameters
    ----------
    output
        Where to save the updated model; else in its place.

    Examples
    --------
    bayesgraph update iris.bayesgraph more.csv
    """
    writer = output_to(model if output is None else output, NATIVE)
    check_once(model, data)
    classifier = texts.load_classifier(model)
    if not hasattr(classifier, "partial_fit"):
        raise DataError(
            f"{model} holds {classifier!r}, which learns from one table at once; use 'bayesgraph "
            "fit' on all rows, or another model."
        )
    X, y = texts.labelled_rows(classifier, data, reading)
    before = classifier.classes_.tolist()
    classifier.partial_fit(X, y)
    writer.save(classifier)
    new = [label for label in classifier.classes_.tolist() if label not in before]
    # A new class is named because it may be a misspelt one.
    classes = f", with the new classes {quoted(new)}" if new else ""
    writer.done(f"Learned {y.num_rows:,} more rows{classes}; saved to {{}}")


@app.add()
def merge(parts: list[Path], *, output: Path) -> None:
    """Make one classifier of the statistics of several, as if it were fitted on all their rows.

    Parameters
    ----------
    parts
        Classifiers fitted on different rows, or statistics that collect returned.
    output
        Where to save the classifier of all rows.

    Examples
    --------
    bayesgraph merge north.bayesgraph south.bayesgraph -o both.bayesgraph
    """
    writer = output_to(output, NATIVE)
    check_once(*parts)
    total = bg.classifiers.CollectedStatistics.total(map(texts.load_whole, parts), map(str, parts))
    classifier = type(total.estimator).from_statistics(total)
    writer.save(classifier)
    writer.done(f"Merged {total!r}; saved {classifier.network_} to {{}}")
