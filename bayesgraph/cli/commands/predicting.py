"""Commands that predict classes, and measure how well models do: predict and evaluate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import bayesgraph as bg
from bayesgraph import cli, late_methods
from bayesgraph.cli import models
from bayesgraph.cli.columns import features_and_labels, known_table
from bayesgraph.cli.loaded import checked_classifier, load_classifier
from bayesgraph.cli.options import (
    Alpha,
    Categorical,
    Data,
    DiscretizerName,
    Drop,
    ModelFile,
    NamesModels,
    Rows,
    SmoothingName,
    Target,
    output_option,
)
from bayesgraph.cli.output import FIGURES, check_output, put_rows
from bayesgraph.cli.reading import Reading, is_many, reads_table
from bayesgraph.errors import DataError
from bayesgraph.variables import has_text_states

_MAX_CLASSES = 20


app = typer.Typer()


@app.command(epilog="Example: bayesgraph predict iris.bayesgraph new.csv -o predictions.csv")
@reads_table
def predict(
    model: ModelFile,
    data: Rows,
    reading: Reading,
    output: Annotated[
        str | None,
        output_option(
            "A .csv or .parquet file, else printed; or of many files also a folder, with a /."
        ),
    ] = None,
) -> None:
    """Predict the class of each row, with the probability of every class, or a number."""
    if is_many(data):
        _predict_dataset(load_classifier(model), data, reading, output)
        return
    estimator = checked_classifier(bg.io.load_saved(model), model)
    if not getattr(estimator, "predicts", True):
        estimator = load_classifier(model)
    table = known_table(estimator, data, reading)
    columns = late_methods.predicted_columns(estimator, table)
    n_rows = len(columns[str(estimator.target_.name)])
    put_rows(columns, output, f"Predicted {n_rows:,} rows")


def _predict_dataset(estimator: Any, data: Path, reading: Reading, output: str | None) -> None:
    """Predict the rows of a folder or a glob, and write the predictions."""
    if output is None or output == "-":
        raise DataError(f"--output is needed: {data} is many files, whose rows are not printed.")
    texts = [str(v.name) for v in estimator.features_ if has_text_states(v)]
    with cli.rows_progress.rows_read("predicting") as progress:
        dataset = reading.dataset(data, progress, texts)
        n_rows = late_methods.predict_dataset(estimator, dataset, output)
    typer.echo(f"Predicted {n_rows:,} rows; written to {output}")


@app.command(
    cls=NamesModels,
    epilog="Example: bayesgraph evaluate iris.csv --target species --model nb --model tan --cv 10",
)
@reads_table
def evaluate(
    data: Data,
    reading: Reading,
    target: Target,
    model: Annotated[
        list[str] | None,
        typer.Option(help="May be repeated; all estimators by default. {models}"),
    ] = None,
    cv: Annotated[int, typer.Option(help="Number of folds.")] = 10,
    seed: Annotated[int, typer.Option(help="Of the shuffling of rows into folds.")] = 0,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw confusion matrices, ROC curves and calibration to an SVG, PNG or PDF."
        ),
    ] = None,
    categorical: Categorical = None,
    drop: Drop = None,
    alpha: Alpha = None,
    smoothing: SmoothingName = None,
    discretizer: DiscretizerName = None,
) -> None:
    """Evaluate models by stratified cross-validation on the same folds."""
    if plot is not None:
        check_output(plot, FIGURES)
    chosen = dict.fromkeys(model or models.estimators())
    options = {"discretizer": discretizer, "smoothing": smoothing}
    models.check_taken(chosen, options)
    X, y = features_and_labels(reading.table(data), target, drop, data)
    classifiers = {
        name: models.make_classifier(name, categorical, alpha, options) for name in chosen
    }
    with cli.printing.folds_done(cv * len(classifiers)) as progress:
        results = bg.evaluate(classifiers, X, y, cv=cv, random_state=seed, progress=progress)
    cli.printing.show(cli.printing.measures_table(results))
    for result in results:
        if len(result.classes) <= _MAX_CLASSES:
            typer.echo(f"\n{result.name}: confusion matrix (rows: true {target})")
            cli.printing.show(cli.printing.confusion_table(result))
    if plot is not None:
        bg.plots.save_figure(bg.plots.evaluation_figure(results), plot)
        typer.echo(f"Drawn to {plot}")
