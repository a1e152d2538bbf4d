"""Commands: fit, update, query, evaluate, draw and convert models without writing Python."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeGuard

import typer
import typer.core

# Both packages import their names at the first use, so that each command imports what it needs.
import bayesgraph as bg
from bayesgraph import cli, late_methods
from bayesgraph.cli import models
from bayesgraph.cli.arcs import arc_of, tier_of
from bayesgraph.cli.evidence import evidence_of, named, prices_of, state_of
from bayesgraph.cli.reading import Reading, is_many, reads_table
from bayesgraph.compilation import tiers
from bayesgraph.errors import (
    DataError,
    FileFormatError,
    LossyExportError,
    quoted,
    unknown_variable,
)
from bayesgraph.io import tables
from bayesgraph.variables import Continuous, Name, has_text_states

if TYPE_CHECKING:
    from bayesgraph import Dataset, FitPrice
    from bayesgraph.classifiers.graph_classifier import GraphClassifier
    from bayesgraph.models.model import Model

app = typer.Typer(
    name="bayesgraph",
    help="Probabilistic graphical models: every classifier is a graph that answers questions.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
)
_MAX_CLASSES = 20
_PICTURES = (".svg", ".png", ".pdf", ".dot")


Data = Annotated[
    Path,
    typer.Argument(
        help="A .csv, .tsv (also .gz or .zst) or .parquet file, or - for standard input.",
        show_default=False,
    ),
]
ModelFile = Annotated[
    Path,
    typer.Argument(help=f"A file that ends in {', '.join(bg.io.FORMATS)}.", show_default=False),
]
Rows = Annotated[
    Path,
    typer.Argument(
        help="A .csv, .tsv (also .gz or .zst) or .parquet file, - for standard input, or a folder "
        "or a quoted glob of files of one kind, which may be larger than memory.",
        show_default=False,
    ),
]
Target = Annotated[str, typer.Option(help="Column with the classes.", show_default=False)]
Categorical = Annotated[
    list[str] | None,
    typer.Option(help="Numeric column to take as discrete; may be repeated; 'all' for all."),
]
Drop = Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")]
Alpha = Annotated[
    float | None, typer.Option(help="Pseudo-count for each cell of a table; 1 by default.")
]
SmoothingName = Annotated[str | None, typer.Option(help="Smoothing of sparse tables. {smoothings}")]
DiscretizerName = Annotated[
    str | None,
    typer.Option(
        help="Intervals of numbers; not for trees. {discretizers} {discretizers of streams}"
    ),
]
Evidence = Annotated[
    list[str] | None,
    typer.Option(
        "--evidence",
        "-e",
        help="NAME=VALUE, or NAME=STATE:LIKELIHOOD,STATE:LIKELIHOOD,... for soft evidence.",
    ),
]
Targets = Annotated[
    list[str] | None,
    typer.Option(
        help="Variable to query; repeat for a joint posterior; a classifier's class by default."
    ),
]
OneTarget = Annotated[
    str | None, typer.Option("--target", help="Variable; a classifier's class by default.")
]
Everything = Annotated[
    bool, typer.Option("--all", help="Print the posteriors of all unobserved variables.")
]


def _output(text: str) -> Any:
    return typer.Option("--output", "-o", help=text)


def _of_streams(text: str) -> Any:
    return typer.Option(help=text, rich_help_panel="For the models stream and stream-weighted")


class _NamesModels(typer.core.TyperCommand):
    """A command whose help lists models, families and others, imported only to show the help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with ``{models}``, ``{families}`` and others replaced by their names."""
        lists = models.lists()
        for parameter in self.params:
            text = getattr(parameter, "help", None) or ""
            for title, names in lists.items():
                text = text.replace(f"{{{title}}}", f"{title.capitalize()}: {', '.join(names)}.")
            parameter.help = text  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)


@app.command(
    cls=_NamesModels, epilog="Example: bayesgraph fit iris.csv --target species -o iris.bayesgraph"
)
@reads_table
def fit(
    data: Rows,
    reading: Reading,
    target: Target,
    output: Annotated[
        Path | None, _output("Where to save the model; needed unless --dry-run.")
    ] = None,
    model: Annotated[
        str, typer.Option(help="Which model; 'auto' chooses a naive Bayes or a tree. {models}")
    ] = "auto",
    trees: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Random trees that 'auto' is averaged with, 100 by default; 0 for a single "
            "network to read.",
        ),
    ] = None,
    categorical: Categorical = None,
    drop: Drop = None,
    alpha: Alpha = None,
    smoothing: SmoothingName = None,
    distribution: Annotated[
        list[str] | None,
        typer.Option(
            help="For naive Bayes: COLUMN=FAMILY, or FAMILY for all numeric columns; may be "
            "repeated. {families}"
        ),
    ] = None,
    discretizer: DiscretizerName = None,
    summary: Annotated[
        str | None,
        _of_streams("Summary of numeric columns. {summaries}"),
    ] = None,
    decay: Annotated[
        float | None, _of_streams("Factor of the weight of past rows at each new row, in (0, 1].")
    ] = None,
    window: Annotated[int | None, _of_streams("Number of the last rows to learn from.")] = None,
    detector: Annotated[
        str | None,
        _of_streams("Detector of drift, which resets the model. {detectors}"),
    ] = None,
    check_columns: Annotated[
        bool, typer.Option(help="Warn of columns that look wrong, such as identifiers.")
    ] = True,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print passes, bytes and time of the fit, and leave it at that."
        ),
    ] = False,
    cache: Annotated[
        bool,
        typer.Option(
            "--cache",
            help="Keep encoded rows of a folder or a glob in a temporary folder between passes.",
        ),
    ] = False,
) -> None:
    """Fit a classifier to a table and save it."""
    if output is None and not dry_run:
        raise DataError("--output is needed: where to save the model.")
    if output is not None:
        _check_output(output, (".bayesgraph",))
    options = {
        "distributions": models.families(distribution),
        "discretizer": discretizer,
        "n_trees": trees,
        "smoothing": smoothing,
        "summary": summary,
        "decay": decay,
        "window": window,
        "detector": detector,
        "check_columns": None if check_columns else False,
    }
    models.check_taken([model], options)
    classifier = models.make_classifier(model, categorical, alpha, options)
    if output is None or dry_run:
        typer.echo(repr(_price(classifier, data, reading, target, drop or ())))
        return
    if is_many(data):
        n_rows = _fit_dataset(classifier, data, reading, target, drop or (), cache)
    elif cache:
        raise DataError(f"--cache goes with a folder or a glob; {data} is read once.")
    else:
        X, y = _features_and_labels(reading.table(data), target, drop, data)
        _fit_table(classifier, X, y)
        n_rows = len(y)
    classifier.save(output)
    typer.echo(f"Fitted {classifier.network_} on {n_rows:,} rows; saved to {output}")


def _fit_table(classifier: GraphClassifier, X: Any, y: Any) -> None:
    """Fit a classifier on a table in memory, with a bar if it says how far it is."""
    if "progress" not in inspect.signature(classifier.fit).parameters:
        classifier.fit(X, y)
        return
    with cli.printing.fitted() as progress:
        classifier.fit(X, y, progress=progress)


def _fit_dataset(
    classifier: GraphClassifier,
    data: Path,
    reading: Reading,
    target: str,
    drop: Sequence[str],
    cache: bool,
) -> int:
    """Fit a classifier on a folder or a glob, and return the number of rows."""
    with cli.rows_progress.rows_read("fitting") as progress:
        dataset = _used(reading.dataset(data, progress), data, target, drop)
        dataset.cache = cache
        classifier.fit(dataset, target)
        return dataset.n_rows or 0


def _used(dataset: Dataset, data: Path, target: str, drop: Sequence[str]) -> Dataset:
    """Return a dataset without the columns to drop."""
    dataset.checked([target], "--target")
    dataset.checked(list(dict.fromkeys(drop)), "--drop")
    used = [name for name in dataset.names if name not in drop]
    if not set(used) - {target}:
        raise DataError(f"{data} has no column besides {quoted([target, *drop])} to learn from.")
    return bg.open_dataset(dataset, columns=used)


def _price(
    classifier: GraphClassifier, data: Path, reading: Reading, target: str, drop: Sequence[str]
) -> FitPrice:
    """Return the price of a fit."""
    if "dry_run" not in inspect.signature(classifier.fit).parameters:
        raise DataError(f"--dry-run is for models that count in passes; got {classifier!r}.")
    if not is_many(data):
        X, y = _features_and_labels(reading.table(data), target, drop, data)
        return classifier.fit(X, y, dry_run=True)  # type: ignore[no-any-return]
    with cli.rows_progress.rows_read("reading") as progress:
        dataset = _used(reading.dataset(data, progress), data, target, drop)
        return classifier.fit(dataset, target, dry_run=True)  # type: ignore[no-any-return]


@app.command(
    epilog="Example: bayesgraph learn patients.csv --tier age,sex --tier smokes --tier ill -o "
    "patients.bayesgraph"
)
@reads_table
def learn(
    data: Rows,
    reading: Reading,
    output: Annotated[Path, _output("Where to save the network.")],
    method: Annotated[
        str, typer.Option(help="hill-climb, tabu, pc (tests of independence) or chow-liu (a tree).")
    ] = "hill-climb",
    score: Annotated[
        str | None, typer.Option(help="For hill-climb and tabu: bic (the default), aic or bdeu.")
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
    em: Annotated[
        bool, typer.Option("--em", help="Estimate parameters by EM where values are missing.")
    ] = False,
    bootstrap: Annotated[
        int | None,
        typer.Option(help="Number of samples of the rows; saves the network averaged over them."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the network to an .svg, .png, .pdf or .dot.")
    ] = None,
    categorical: Categorical = None,
    drop: Drop = None,
    alpha: Alpha = None,
) -> None:
    """Learn a network over all columns of a table, which has no class, and save it."""
    _check_output(output, tuple(bg.io.FORMATS))
    if plot is not None:
        _check_output(plot, _PICTURES)
    with cli.rows_progress.rows_read("learning") as progress:
        table, names = _all_columns(data, reading, drop or (), progress)
        given: dict[str, Any] = {
            "method": method.replace("-", "_"),
            "score": score,
            "alpha": level,
            "required": [arc_of(text, names) for text in required or ()] or None,
            "forbidden": [arc_of(text, names) for text in forbidden or ()] or None,
            "tiers": [tier_of(text, names) for text in tier or ()] or None,
            "max_parents": max_parents,
            "missing": "em" if em else None,
            "categorical": "all" if categorical == ["all"] else categorical,
            "smoothing": "dirichlet" if alpha is None else alpha,
        }
        given = {name: value for name, value in given.items() if value is not None}
        drawn: Any
        if bootstrap is None:
            drawn = network = bg.BayesianNetwork.learn(table, **given)
        else:
            drawn = bg.arc_confidence(table, n_samples=bootstrap, **given)
            network = drawn.network
    if bootstrap is not None:
        typer.echo(repr(drawn))
    elif network.arc_scores:
        cli.printing.show(cli.printing.scores_table(dict(network.arc_scores)))
    network.save(output)
    typer.echo(f"Learned {network}; saved to {output}")
    if plot is not None:
        drawn.render(plot)
        typer.echo(f"Drawn to {plot}")


def _all_columns(
    data: Path, reading: Reading, drop: Sequence[str], progress: Any
) -> tuple[Any, list[str]]:
    """Return a table or a dataset without the columns to drop, and the names of the others."""
    if is_many(data):
        dataset = reading.dataset(data, progress)
        dataset.checked(list(dict.fromkeys(drop)), "--drop")
        names = [name for name in dataset.names if name not in drop]
        return bg.open_dataset(dataset, columns=names), names
    table = reading.table(data)
    for name in drop:
        if name not in table.column_names:
            raise unknown_variable(name, table.column_names, where=str(data))
    names = [name for name in table.column_names if name not in drop]
    return table.select(names), names


@app.command(epilog="Example: bayesgraph predict iris.bayesgraph new.csv -o predictions.csv")
@reads_table
def predict(
    model: ModelFile,
    data: Rows,
    reading: Reading,
    output: Annotated[
        str | None,
        _output("A .csv or .parquet file, else printed; or of many files also a folder, with a /."),
    ] = None,
) -> None:
    """Predict the class of each row, with the probability of every class, or a number."""
    if is_many(data):
        _predict_dataset(_load_classifier(model), data, reading, output)
        return
    estimator = _checked_classifier(bg.io.load_saved(model), model)
    if not getattr(estimator, "predicts", True):
        estimator = _load_classifier(model)
    columns = _predictions(estimator, _known_table(estimator, data, reading))
    if output is None or output == "-":
        tables.print_table(columns, sys.stdout.buffer)
    else:
        tables.write_table(columns, output)
        n_rows = len(columns[str(estimator.target_.name)])
        typer.echo(f"Predicted {n_rows:,} rows; written to {output}")


def _predict_dataset(estimator: Any, data: Path, reading: Reading, output: str | None) -> None:
    """Predict the rows of a folder or a glob, and write the predictions."""
    if output is None or output == "-":
        raise DataError(f"--output is needed: {data} is many files, whose rows are not printed.")
    texts = [str(v.name) for v in estimator.features_ if has_text_states(v)]
    with cli.rows_progress.rows_read("predicting") as progress:
        dataset = reading.dataset(data, progress, texts)
        n_rows = late_methods.call("predict_dataset", estimator, dataset, output)
    typer.echo(f"Predicted {n_rows:,} rows; written to {output}")


def _predictions(estimator: Any, table: Any) -> dict[str, Any]:
    """Return the columns that are predicted for the rows of a table."""
    columns: dict[str, Any] = late_methods.call("predicted_columns", estimator, table)
    return columns


@app.command(epilog="Example: bayesgraph update iris.bayesgraph more.csv")
@reads_table
def update(
    model: ModelFile,
    data: Data,
    reading: Reading,
    output: Annotated[
        Path | None, _output("Where to save the updated model; else in its place.")
    ] = None,
) -> None:
    """Learn from the rows of another table, which must also have the column with the classes."""
    destination = model if output is None else output
    _check_output(destination, (".bayesgraph",))
    classifier = _load_classifier(model)
    if not hasattr(classifier, "partial_fit"):
        raise DataError(
            f"{model} holds {classifier!r}, which learns from one table at once; use 'bayesgraph "
            "fit' on all rows, or another model."
        )
    table = _known_table(classifier, data, reading, labelled=True)
    target = table.column_names[-1]
    before = classifier.classes_.tolist()
    classifier.partial_fit(table.drop_columns(target), table.select([target]))
    classifier.save(destination)
    new = [label for label in classifier.classes_.tolist() if label not in before]
    # A new class is named because it may be a misspelt one.
    classes = f", with the new classes {quoted(new)}" if new else ""
    learned = f"Learned {table.num_rows:,} more rows{classes}; saved to {destination}"
    typer.echo(learned)


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
    output: Annotated[Path, _output("Where to save the classifier of all rows.")],
) -> None:
    """Make one classifier of the statistics of several, as if it were fitted on all their rows."""
    _check_output(output, (".bayesgraph",))
    total = bg.CollectedStatistics.total(parts)
    classifier = type(total.estimator).from_statistics(total)
    classifier.save(output)
    typer.echo(f"Merged {total!r}; saved {classifier.network_} to {output}")


@app.command(
    cls=_NamesModels,
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
        _check_output(plot, (".svg", ".png", ".pdf"))
    chosen = dict.fromkeys(model or models.estimators())
    options = {"discretizer": discretizer, "smoothing": smoothing}
    models.check_taken(chosen, options)
    X, y = _features_and_labels(reading.table(data), target, drop, data)
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


@app.command(
    epilog="Example: bayesgraph query alarm.bif --target HYPOVOLEMIA -e CVP=HIGH -e BP=LOW"
)
def query(
    model: ModelFile,
    target: Targets = None,
    evidence: Evidence = None,
    everything: Everything = False,
) -> None:
    """Print the exact posterior of one or several variables."""
    loaded = bg.io.load_saved(model)
    network = _network(loaded)
    targets = _targets(loaded, model, target, everything)
    _print_posterior(network, targets, evidence_of(network, evidence), None)


def _targets(
    loaded: Any, path: Path, target: Sequence[str] | None, everything: bool
) -> list[Name] | None:
    """Return the variables to query; None for all."""
    network = _network(loaded)
    if everything and target:
        raise DataError("--all and --target exclude each other; leave one of them out.")
    if everything:
        return None
    if target:
        return [named(network, text) for text in target]
    if _is_classifier(loaded):
        return [loaded.target_.name]
    raise DataError(
        f"--target or --all is needed: {path} is not a classifier. It has {quoted(network.names)}."
    )


def _one_target(path: Path, target: str | None) -> tuple[Model, Name]:
    """Return the model of a file, and the variable that an option names."""
    loaded = bg.io.load_saved(path)
    names = _targets(loaded, path, None if target is None else [target], False)
    assert names is not None  # not all variables were asked for
    return _network(loaded), names[0]


def _print_posterior(
    network: Model,
    targets: Sequence[Name] | None,
    given: dict[Name, Any],
    do: dict[Name, Any] | None,
) -> None:
    if targets is None:
        typer.echo(repr(network.marginals(given, do=do)))
        return
    found = network.query(list(targets) if len(targets) > 1 else targets[0], given, do=do)
    # A posterior with all of its states, however many.
    whole = found._display(len(found)).text() if isinstance(found, bg.Posterior) else repr(found)
    typer.echo(whole)
    if given and not isinstance(network, (bg.WeightedNetwork, bg.PosteriorAverage)):
        word = "density" if _has_continuous(network, given) else "probability"
        typer.echo(f"log {word} of the evidence: {found.log_evidence:.6g}")


def _has_continuous(model: Model, given: Iterable[Name]) -> bool:
    return any(isinstance(model.variable(name), Continuous) for name in given)


@app.command(
    name="do",
    epilog="Example: bayesgraph do alarm.bif -s VENTLUNG=HIGH -e BP=LOW --target HRBP",
)
def intervene(
    model: ModelFile,
    target: Targets = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", "-s", help="NAME=VALUE, a variable that is set; may be repeated; needed."
        ),
    ] = None,
    evidence: Evidence = None,
    everything: Everything = False,
) -> None:
    """Print the posterior after an intervention that sets variables, whatever their causes."""
    loaded = bg.io.load_saved(model)
    network = _network(loaded)
    if not set_:
        raise DataError("--set is needed, such as -s smoke=no; without it, use 'bayesgraph query'.")
    values = evidence_of(network, set_)
    targets = _targets(loaded, model, target, everything)
    _print_posterior(network, targets, evidence_of(network, evidence), values)


@app.command(
    name="ask-next",
    epilog="Example: bayesgraph ask-next heart.bayesgraph -e sex=male --cost cp=1 --cost thal=100",
)
def ask_next(
    model: ModelFile,
    target: OneTarget = None,
    evidence: Evidence = None,
    cost: Annotated[
        list[str] | None,
        typer.Option(
            "--cost",
            "-c",
            help="NAME=PRICE of a variable that may be asked for; may be repeated. By default all "
            "may be asked for.",
        ),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="Rank by information (the default) or accuracy.")
    ] = None,
    ahead: Annotated[int, typer.Option(min=1, max=2, help="Number of questions ahead.")] = 1,
) -> None:
    """Print what to ask for next: which variables say most about the target, per price."""
    network, name = _one_target(model, target)
    given, prices = evidence_of(network, evidence), prices_of(network, cost)
    ranking = network.next_question(name, given, costs=prices, by=by, ahead=ahead)
    typer.echo(repr(ranking.posterior))
    typer.echo(repr(ranking))


@app.command(
    epilog="Example: bayesgraph explain alarm.bif --target HYPOVOLEMIA -e CVP=HIGH -e BP=LOW"
)
def explain(
    model: ModelFile,
    target: OneTarget = None,
    evidence: Evidence = None,
    finding: Annotated[
        str | None, typer.Option(help="The one variable to tell about, observed or not.")
    ] = None,
    state: Annotated[
        str | None, typer.Option(help="State of the target; the most probable one by default.")
    ] = None,
) -> None:
    """Print why a posterior is as it is, in sentences that can be read aloud."""
    network, name = _one_target(model, target)
    options = {
        "finding": None if finding is None else named(network, finding),
        "state": None if state is None else state_of(network.variable(name), state),
    }
    typer.echo(repr(network.explanation(name, evidence_of(network, evidence), **options)))


@app.command(epilog="Example: bayesgraph mpe alarm.bif -e CVP=HIGH -e BP=LOW --over HYPOVOLEMIA")
def mpe(
    model: ModelFile,
    evidence: Evidence = None,
    over: Annotated[
        list[str] | None,
        typer.Option(
            help="Variable to assign, with all others summed out; may be repeated; by default all."
        ),
    ] = None,
    count: Annotated[
        int, typer.Option("-k", min=1, help="Number of assignments, the best first.")
    ] = 1,
) -> None:
    """Print the most probable explanation of the evidence: an assignment of all variables."""
    network = _network(bg.io.load_saved(model))
    given = evidence_of(network, evidence)
    if over is None and count == 1:
        found = [network.most_probable(given)]
    else:
        names = None if over is None else [named(network, text) for text in over]
        found = network.k_most_probable(count, given, over=names)
    typer.echo("\n".join(map(repr, found)))


@app.command(epilog="Example: bayesgraph sample alarm.bif -n 1000 -e BP=LOW -o rows.csv")
def sample(
    model: ModelFile,
    n: Annotated[int, typer.Option("-n", min=0, help="Number of rows.")] = 10,
    evidence: Evidence = None,
    seed: Annotated[int | None, typer.Option(help="Seed; by default other rows each time.")] = None,
    output: Annotated[str | None, _output("A .csv or .parquet file, else printed.")] = None,
) -> None:
    """Draw rows of all variables, given evidence, from the exact posterior."""
    network = _network(bg.io.load_saved(model))
    given = evidence_of(network, evidence)
    drawn = network.sample(n, given, random_state=seed, frame="pyarrow")
    columns = dict(zip(drawn.column_names, drawn.columns, strict=True))
    if output is None or output == "-":
        tables.print_table(columns, sys.stdout.buffer)
    else:
        tables.write_table(columns, output)
        typer.echo(f"Drew {n:,} rows; written to {output}")


@app.command(
    epilog="Example: bayesgraph diff old.bayesgraph new.bayesgraph --rows new.csv -o review.html"
)
@reads_table
def diff(
    before: ModelFile,
    after: ModelFile,
    reading: Reading,
    rows: Annotated[
        Path | None, typer.Option(help="Table of rows whose predictions are compared.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Variable to predict; a classifier's class by default.")
    ] = None,
    output: Annotated[Path | None, _output("A .html or .txt file, else printed.")] = None,
) -> None:
    """Print what differs between two models: arcs, distributions and predictions."""
    if output is not None:
        _check_output(output, (".html", ".txt"))
    first, second = bg.load(before), bg.load(after)
    network = _network(first)
    name = None if target is None else named(network, target)
    texts = [str(v.name) for v in network.variables if has_text_states(v)]
    table = None if rows is None else reading.table(rows, texts)
    found = bg.diff(first, second, table, target=name)
    if output is None:
        typer.echo(found.to_text())
    else:
        found.save(output)
        typer.echo(f"{found.summary} Written to {output}")


@app.command(
    epilog="Example: bayesgraph flip heart.bayesgraph -e age=63 -e chol=260 --to no --fix age"
)
def flip(
    model: ModelFile,
    evidence: Evidence = None,
    target: OneTarget = None,
    to: Annotated[str | None, typer.Option(help="The answer to reach; any other else.")] = None,
    at_least: Annotated[float | None, typer.Option(help="Probability of --to to reach.")] = None,
    cost: Annotated[
        list[str] | None, typer.Option(help="NAME=WEIGHT of a finding; may be repeated.")
    ] = None,
    fix: Annotated[list[str] | None, typer.Option(help="Finding that stays; may be repeated.")] = (
        None
    ),
) -> None:
    """Print the smallest change of findings that turns the answer."""
    network, name = _one_target(model, target)
    wanted = None if to is None else state_of(network.variable(name), to)
    found = network.flip(
        name,
        evidence_of(network, evidence),
        wanted,
        at_least=at_least,
        costs=prices_of(network, cost),
        fixed=[named(network, text) for text in fix or ()],
    )
    typer.echo(repr(found))


@app.command(
    epilog="Example: bayesgraph tornado alarm.bif --target HYPOVOLEMIA --state TRUE -e CVP=HIGH"
)
def tornado(
    model: ModelFile,
    target: OneTarget = None,
    state: Annotated[str | None, typer.Option(help="The most probable one by default.")] = None,
    evidence: Evidence = None,
    by: Annotated[str, typer.Option(help="What varies: 'parameters' or 'findings'.")] = (
        "parameters"
    ),
    spread: Annotated[float, typer.Option(help="Share by which parameters vary.")] = 0.1,
    output: Annotated[
        Path | None, _output("Draw an .svg, .png or .pdf; else bars are printed.")
    ] = None,
) -> None:
    """Print how far a probability moves with single parameters or findings."""
    if output is not None:
        _check_output(output, (".svg", ".png", ".pdf"))
    network, name = _one_target(model, target)
    given = evidence_of(network, evidence)
    if state is None:
        chosen = network.query(name, given).argmax
    else:
        chosen = state_of(network.variable(name), state)
    found = network.tornado(name, chosen, given, by=by, spread=spread)
    if output is None:
        typer.echo(repr(found))
    else:
        bg.plots.save_figure(found.plot(), output)
        typer.echo(f"Drawn to {output}")


@app.command(epilog="Example: bayesgraph show iris.bayesgraph")
def show(model: ModelFile) -> None:
    """Print the variables of a model, their parents, and the arcs with their scores."""
    loaded = bg.io.load_saved(model)
    network = _network(loaded)
    typer.echo(repr(network))
    if _is_classifier(loaded):
        # Only the estimator itself knows a text that its file does not have.
        text = getattr(loaded, "text", None) or repr(bg.load(model))
        typer.echo(f"{text}, class {loaded.target_.name!r}")
    cli.printing.show(cli.printing.variables_table(network))
    if isinstance(network, (bg.BayesianNetwork, bg.WeightedNetwork)) and network.arc_scores:
        cli.printing.show(cli.printing.scores_table(dict(network.arc_scores)))


@app.command(epilog="Example: bayesgraph render alarm.bif -o alarm.svg -e CVP=HIGH --beliefs")
def render(
    model: ModelFile,
    output: Annotated[Path, _output("An .svg, .png, .pdf or .dot file.")],
    evidence: Evidence = None,
    beliefs: Annotated[bool, typer.Option(help="Draw the posterior in each node.")] = False,
    tables: Annotated[bool, typer.Option(help="Draw the probability tables.")] = False,
) -> None:
    """Draw the graph of a model."""
    _check_output(output, _PICTURES)
    loaded = bg.io.load_saved(model)
    network = _network(loaded)
    options: dict[str, Any] = {
        "evidence": evidence_of(network, evidence) or None,
        "beliefs": beliefs,
        "tables": tables,
    }
    if _is_classifier(loaded):
        options["target"] = loaded.target_.name
    network.render(output, **options)
    typer.echo(f"Drawn to {output}")


@app.command(name="warm-up", epilog="Example: bayesgraph warm-up")
def warm_up(
    background: Annotated[
        bool, typer.Option(help="Without a bar, until the end of standard input.", hidden=True)
    ] = False,
) -> None:
    """Compile everything that is compiled, for images and machines that must answer at once."""
    if background:
        cli.warm_up.in_background()
    else:
        cli.warm_up.with_progress()
        typer.echo("All kernels are compiled.")


@app.command(epilog="Example: bayesgraph convert alarm.bif.gz alarm.xmlbif --lossy --report")
def convert(
    source: Annotated[Path, typer.Argument(help="The model to read.", show_default=False)],
    destination: Annotated[Path, typer.Argument(help="The file to write.", show_default=False)],
    lossy: Annotated[
        bool, typer.Option("--lossy", help="Write names and states in a form that the format has.")
    ] = False,
    report: Annotated[
        bool, typer.Option("--report", help="Print what other programs read in another form.")
    ] = False,
) -> None:
    """Convert a model from one format to another, or to a picture, named by the suffixes."""
    loaded = bg.load(source)
    told = None
    if destination.suffix.lower() in _PICTURES:
        _network(loaded).render(destination)
    else:
        options = {"strict": False} if lossy and bg.io.format_of(destination).is_strict else {}
        try:
            told = loaded.save(destination, **options)
        except LossyExportError as error:
            raise LossyExportError(str(error).replace("strict=False", "--lossy")) from error
    typer.echo(f"{source} written to {destination}")
    if report and told is not None:
        typer.echo(str(told))


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    # A command ends before another process would have compiled anything.
    tiers.background.allowed = False
    if version:
        typer.echo(bg.__version__)
        raise typer.Exit


# ------------------------------------------------------------------------------------- helpers


def _features_and_labels(
    table: Any, target: str, drop: Sequence[str] | None, data: Path
) -> tuple[Any, Any]:
    names = table.column_names
    for name in (target, *(drop or ())):
        if name not in names:
            raise unknown_variable(name, names, where=str(data))
    left_out = {target, *(drop or ())}
    features = [name for name in names if name not in left_out]
    if not features:
        raise DataError(f"{data} has no column besides {quoted(left_out)} to learn from.")
    return table.select(features), table.select([target])


def _load_classifier(path: Path) -> GraphClassifier:
    return _checked_classifier(bg.load(path), path)


def _checked_classifier(model: Any, path: Path) -> GraphClassifier:
    if not _is_classifier(model):
        raise DataError(
            f"{path} holds {model!r}, which has no class to predict; use 'bayesgraph query', or "
            "'bayesgraph fit' to make a classifier."
        )
    return model


def _known_table(
    classifier: GraphClassifier,
    data: Path,
    reading: Reading,
    *,
    labelled: bool = False,
) -> Any:
    """Read a table from a file and return the columns of a classifier's features.

    If `labelled` is true, the column of the classes follows as the last one. `missing` are texts of
    CSV cells that mean a missing value, in addition to the usual ones.
    """
    variables = (*classifier.features_, *((classifier.target_,) if labelled else ()))
    # A code such as 0012 stays text if it was text when the model was fitted.
    table = reading.table(data, [str(v.name) for v in variables if has_text_states(v)])
    names = [str(name) for name in classifier.layout_.columns]
    target = str(classifier.target_.name)
    if labelled and target not in table.column_names:
        raise DataError(f"{data} lacks the column {target!r} with the classes to learn from.")
    if getattr(classifier, "is_open", False):
        return table.select([n for n in table.column_names if n != target] + [target] * labelled)
    lacking = [name for name in names if name not in table.column_names]
    if lacking:
        raise DataError(
            f"{data} lacks the columns {quoted(lacking)} that the model was fitted on. (An empty "
            "column stands for a feature that is not observed; dates are read by --dates.)"
        )
    return table.select([*names, target] if labelled else names)


def _is_classifier(model: Any) -> TypeGuard[GraphClassifier]:
    return hasattr(model, "network_")


def _network(loaded: Any) -> Model:
    if _is_classifier(loaded):
        return loaded.network_
    # Collected statistics name the estimator to make of them; models have none.
    if hasattr(loaded, "estimator"):
        raise DataError(f"The file holds {loaded!r}; 'bayesgraph merge' makes a classifier of it.")
    model: Model = loaded
    return model


def _check_output(path: Path, suffixes: tuple[str, ...]) -> None:
    """Raise an error for an output path that cannot be written, before the work begins."""
    if not path.name.lower().endswith(suffixes):
        raise FileFormatError(f"{str(path)!r}: the suffix must be one of {quoted(suffixes)}.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no directory {str(path.parent)!r}.")
