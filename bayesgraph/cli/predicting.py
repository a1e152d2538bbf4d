"""Commands that predict classes, and measure how well models do: predict and evaluate."""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bayesgraph as bg
from bayesgraph import cli
from bayesgraph.classifiers import predicted_columns, with_policy
from bayesgraph.cli import models, progress
from bayesgraph.cli import reading as texts
from bayesgraph.cli.entry import say_aside
from bayesgraph.cli.models import Wanted
from bayesgraph.cli.options import Commands, Texts, chosen, flag
from bayesgraph.cli.output import (
    FIGURES,
    Output,
    check_once,
    is_stream,
    output_to,
    put_rows,
    rows_to,
    say,
)
from bayesgraph.cli.reading import Reading
from bayesgraph.core.errors import BayesGraphError, DataError
from bayesgraph.tables import WRITTEN, check_unseen

if TYPE_CHECKING:
    from bayesgraph.classifiers import Evaluation

# Number of classes up to which `evaluate` prints confusion matrices.
_MAX_CLASSES = 20


app: Commands = Commands("Predicting")


@app.add()
def predict(
    model: Path,
    data: Path,
    *,
    reading: Reading,
    target: str | None = None,
    keep: Texts = None,
    unseen: str | None = None,
    output: Path | None = None,
) -> None:
    """Predict the class of each row, with the probability of every class, or a number.

    Parameters
    ----------
    data
        A .csv, .tsv (also .gz or .zst) or .parquet file, - for standard input, or a folder
        or a quoted glob of files of one kind, which may be larger than memory.
    target
        Variable to predict; a classifier's class by default.
    keep
        Column to write too, such as a number of the row; may be repeated; 'all' for all.
    unseen
        Treatment of values that the model never saw: 'warn' or 'missing' take them as
        missing, 'error' refuses them; by default what a classifier says, else 'error'.
    output
        A .csv or .parquet file, else printed; or of many files also a folder, with a /.

    Examples
    --------
    bayesgraph predict iris.bayesgraph new.csv --keep id -o found.csv
    """
    if unseen is not None:
        check_unseen(unseen)
    if texts.is_many(data):
        if target is not None:
            raise DataError(f"--target goes with a single file; {data} is a folder or a glob.")
        estimator = _treating(texts.load_classifier(model), unseen)
        _predict_dataset(estimator, data, reading, keep, output)
        return
    written = rows_to(output)
    check_once(model, data)
    loaded = texts.load_whole(model, _load_predicting)
    # Other models have no target of their own, and say so.
    name = target or str(texts.targets_of(loaded, model, None)[0])
    if texts.is_classifier(loaded) and name == str(loaded.target_.name):
        estimator = _treating(loaded, unseen)
        table = texts.read_known(estimator, data, reading)
        kept = texts.kept_columns(keep, table, data)
        columns = predicted_columns(estimator, texts.known_columns(estimator, table, data))
    else:
        network = texts.network_of(loaded)
        table = reading.table(data, network.variables)
        kept = texts.kept_columns(keep, table, data)
        variable: Any = network.variable(texts.named(network, name))
        posteriors = network.query_rows(variable.name, table, unseen=unseen or "error")
        states = [str(state) for state in variable.states]
        # Of each row the most probable state, and all probabilities.
        columns = {name: [states[code] for code in posteriors.argmax(axis=1).tolist()]}
        columns |= {f"P({name}={s})": p for s, p in zip(states, posteriors.T, strict=True)}
    predicted = {_unlike(name, kept): column for name, column in columns.items()}
    put_rows(kept | predicted, written, f"Predicted {table.num_rows:,} rows")


def _unlike(name: str, kept: Container[str]) -> str:
    """Return a name of a predicted column that no kept one has, such as the class itself."""
    while name in kept:
        name = f"predicted {name}"
    return name


def _load_predicting(file: Path) -> Any:
    """Load of a classifier what answers questions, if that predicts as the whole does.

    Else the classifier itself is loaded, which takes longer.
    """
    loaded = bg.files.load_saved(file)
    return loaded if getattr(loaded, "predicts", True) else bg.load(file)


def _treating(estimator: Any, unseen: Any) -> Any:
    """Return a classifier with a policy for unseen values, if there is one."""
    return estimator if unseen is None else with_policy(estimator, unseen)


def _predict_dataset(
    estimator: Any, data: Path, reading: Reading, keep: Texts, output: Path | None
) -> None:
    """Predict the rows of a folder or a glob, and write the predictions."""
    if output is None:
        raise DataError(
            f"--output is needed: {data} is many files; -o - writes their rows to standard output."
        )
    # What else there may be, such as a folder, is checked before the rows are read.
    written = output_to(output, WRITTEN) if is_stream(output) else Output(output, "")
    with progress.rows_read("predicting") as read:
        dataset = reading.dataset(data, read, estimator.features_)
        names = dataset.names if keep == ["all"] else keep or ()
        predicted = partial(bg.files.predict_dataset, estimator, dataset, keep=names)
        n_rows = written.write(predicted)
    written.done(f"Predicted {n_rows:,} rows; written to {{}}")


@app.add(parameters=models.of_estimators)
def evaluate(
    data: Path,
    *,
    reading: Reading,
    target: str,
    model: Texts = None,
    scoring: Texts = None,
    cv: int = 10,
    repeats: int = 1,
    seed: int = 0,
    as_saved: bool = False,
    plot: Path | None = None,
    drop: Texts = None,
    **parameters: Any,
) -> None:
    """Evaluate models by stratified cross-validation on the same folds.

    Parameters
    ----------
    target
        Column with the classes.
    model
        May be repeated, with options of its own as in kdb:k=3 or nb:discretizer=mdlp;
        the others are compared with the first. A saved classifier stands for its own
        options. All estimators by default. {models}
    scoring
        NAME,NAME,... of what to show; may be repeated. {measures}
    cv
        Number of folds.
    repeats
        How often to cross-validate, with other folds each time.
    seed
        Of the shuffling of rows into folds.
    as_saved
        Test saved classifiers as they are on all rows, which should be new to them.
    plot
        Draw confusion matrices, ROC curves and calibration to an SVG, PNG or PDF.

    Examples
    --------
    bayesgraph evaluate iris.csv --target species --model nb --model kdb:k=3
    """
    drawn = None if plot is None else output_to(plot, FIGURES)
    named_measures = [name for text in scoring or () for name in text.split(",")]
    measures = [chosen("scoring", name, "measures") for name in named_measures]
    options = models.parsed(parameters)
    if as_saved:
        of_folds = {"--repeats": repeats > 1, "--cv": cv != 10, "--seed": seed, "--drop": drop}
        if typed := [*(name for name, value in of_folds.items() if value), *map(flag, options)]:
            raise DataError(f"{typed[0]} goes with folds; --as-saved fits nothing.")
        results = _as_saved(model or [], data, reading, target)
    else:
        table, _ = texts.used_columns(data, reading, drop, target=target)
        X, y = table.drop_columns(target), table.select([target])
        folds = {"cv": cv, "repeats": repeats, "random_state": seed}
        results = _cross_validated(model or [], options, X, y, folds)
    say(cli.printing.measures_table(results, cv=None if as_saved else cv, measures=measures))
    if len(results) > 1 and not as_saved:
        say(cli.printing.tests_table(results))
    for result in results:
        if len(result.classes) <= _MAX_CLASSES:
            table = cli.printing.confusion_table(result, target)
            say(table, f"\n{table}")
    if drawn is not None:
        figure = bg.pictures.evaluation_figure(results)
        drawn.write(partial(bg.pictures.save_figure, figure), "Drawn to {}")


def _cross_validated(
    names: Sequence[str], options: dict[str, Any], X: Any, y: Any, folds: dict[str, int]
) -> list[Evaluation]:
    """Return the results of models; without names of all, of which some may refuse the table."""
    wanted = [Wanted.of(name) for name in dict.fromkeys(names or models.estimators())]
    models.check_taken(wanted, options)
    _check_titles([one.title for one in wanted])
    estimators = {one.title: one.estimator(options) for one in wanted}
    # Regressors, which take no part unless they are named: then they are an error.
    numeric = [title for title, one in estimators.items() if not hasattr(one, "predict_proba")]
    if names and numeric:
        raise DataError(f"evaluate compares classifiers; {', '.join(numeric)} predicts a number.")
    results: list[Evaluation] = []
    refused: dict[str, BayesGraphError] = {}
    n_steps = folds["cv"] * folds["repeats"] * (len(estimators) - len(numeric))
    with progress.steps_done("cross-validating", n_steps) as done:
        for title in [title for title in estimators if title not in numeric]:
            try:
                results += bg.evaluate({title: estimators[title]}, X, y, **folds, progress=done)
            except BayesGraphError as error:
                if names:
                    raise
                refused[title] = error
    # No model took the table: the reason of the first stands for all.
    if not results:
        raise next(iter(refused.values()))
    for title, reason in refused.items():
        say_aside(f"{title} is left out: {reason}")
    return results


def _check_titles(titles: Sequence[str]) -> None:
    """Raise a DataError if two models would have one name in tables."""
    if len(set(titles)) < len(titles):
        raise DataError("Several saved classifiers have the same file name; rename one of them.")


def _as_saved(names: Sequence[str], data: Path, reading: Reading, target: str) -> list[Evaluation]:
    """Return how saved classifiers do on all rows of a table."""
    if not names:
        raise DataError("--as-saved needs --model FILE, such as --model heart.bayesgraph.")
    names = list(dict.fromkeys(names))
    _check_titles([models.title_of(name) for name in names])
    results: list[Evaluation] = []
    for name in names:
        estimator = texts.load_classifier(Path(name))
        if target != str(estimator.target_.name):
            raise DataError(f"{name} predicts {estimator.target_.name!r}, not {target!r}.")
        if not hasattr(estimator, "predict_proba"):
            raise DataError(f"evaluate compares classifiers; {name} predicts a number.")
        X, y = texts.labelled_rows(estimator, data, reading)
        results += bg.evaluate({models.title_of(name): estimator}, X, y, cv="prefit")
    return results
