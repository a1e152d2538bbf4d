"""The command line: fit, ask, judge, draw and convert models without writing Python."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeGuard

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as RichTable

# The package's names load when they are used: --help and --version answer at once.
import bayesgraph as bg
from bayesgraph.errors import (
    BayesGraphError,
    DataError,
    EvidenceError,
    FileFormatError,
    quoted,
    unknown_variable,
)
from bayesgraph.variables import (
    Binned,
    Continuous,
    Count,
    CountVector,
    Discrete,
    Grouped,
    Name,
    Variable,
)

if TYPE_CHECKING:
    from bayesgraph.classifiers.evaluation import Evaluation
    from bayesgraph.classifiers.prediction import GraphClassifier
    from bayesgraph.model import GraphicalModel

app = typer.Typer(
    name="bayesgraph",
    help="Probabilistic graphical models: every classifier is a graph that answers questions.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
)
_MOST_STATES = 12
_MOST_CLASSES = 20
_MEASURES = ("accuracy", "log loss", "Brier", "ECE")


class ModelName(StrEnum):
    """Models that the command line fits."""

    AUTO = "auto"
    NB = "nb"
    WEIGHTED = "weighted"
    TAN = "tan"
    AODE = "aode"
    KDB = "kdb"
    FOREST = "forest"
    CHOW_LIU = "chow-liu"
    TREE = "tree"
    STREAM = "stream"
    STREAM_WEIGHTED = "stream-weighted"


Data = Annotated[Path, typer.Argument(help="A .csv, .tsv or .parquet file.", show_default=False)]
ModelFile = Annotated[
    Path,
    typer.Argument(help="A .bayesgraph, .bif, .bif.gz, .uai or .uai.gz file.", show_default=False),
]
Target = Annotated[str, typer.Option(help="Column with the classes.", show_default=False)]
Categorical = Annotated[
    list[str] | None,
    typer.Option(help="Numeric column to take as discrete; may be repeated; 'all' for all."),
]
Drop = Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")]
Missing = Annotated[
    list[str] | None,
    typer.Option(help="Text that means missing in a CSV, besides an empty cell, NA and NaN."),
]
Alpha = Annotated[float, typer.Option(help="Pseudo-count for each cell of a table.")]
DiscretizerName = Annotated[
    str | None,
    typer.Option(
        "--discretizer",
        help="What makes intervals of numbers: mdlp, modl, frequency or width (not for trees and "
        "streams).",
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


def _console() -> Console:
    # Made when needed: the stream may have been replaced since the module was imported.
    return Console(highlight=False, soft_wrap=True)


@app.command(epilog="Example: bayesgraph fit iris.csv --target species -o iris.bayesgraph")
def fit(
    data: Data,
    target: Target,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to save the model.")],
    model: Annotated[
        ModelName, typer.Option(help="Which model; 'auto' chooses a naive Bayes or a tree.")
    ] = ModelName.AUTO,
    categorical: Categorical = None,
    drop: Drop = None,
    missing: Missing = None,
    alpha: Alpha = 1.0,
    distribution: Annotated[
        list[str] | None,
        typer.Option(
            help="For naive Bayes: COLUMN=FAMILY, or FAMILY for all numeric columns; may be "
            "repeated. Families: gaussian, categorical, bernoulli, multinomial, poisson, "
            "lognormal, kernel."
        ),
    ] = None,
    discretizer: DiscretizerName = None,
) -> None:
    """Fit a classifier to a table and save it."""
    _check_output(output, (".bayesgraph",))
    families = _families(model, distribution)
    X, y = _features_and_labels(data, target, drop, missing)
    classifier = _classifier(model, categorical, alpha, discretizer)
    if families is not None:
        classifier.set_params(distributions=families)
    classifier.fit(X, y)
    classifier.save(output)
    _console().print(f"Fitted {classifier.network_} on {len(y):,} rows; saved to {output}")


@app.command(epilog="Example: bayesgraph predict iris.bayesgraph new.csv -o predictions.csv")
def predict(
    model: ModelFile,
    data: Data,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A .csv or .parquet file; else printed.")
    ] = None,
    missing: Missing = None,
) -> None:
    """Predict the class of each row, with the probability of every class."""
    classifier = _load(model)
    if not _is_classifier(classifier):
        raise DataError(
            f"{model} holds {classifier!r}, which has no class to predict; use 'bayesgraph query', "
            "or 'bayesgraph fit' to make a classifier."
        )
    table = bg.read_table(
        data,
        missing=(*bg.io.tables.MISSING, *(missing or ())),
        # A code such as 0012 stays text if it was text when the model was fitted.
        text=[str(v.name) for v in classifier.features_ if _has_text_states(v)],
    )
    names = [str(name) for name in classifier.layout_.columns]
    lacking = [name for name in names if name not in table.column_names]
    if lacking:
        raise DataError(
            f"{data} lacks the columns {quoted(lacking)} that the model was fitted on. (An empty "
            "column stands for a feature that is not observed.)"
        )
    probabilities = classifier.predict_proba(table.select(names))
    best = classifier.classes_[probabilities.argmax(axis=1)]
    target = str(classifier.target_.name)
    columns: dict[str, Any] = {target: best}
    for state, column in zip(classifier.classes_, probabilities.T, strict=True):
        columns[f"P({target}={state})"] = column
    if output is None:
        bg.io.tables.print_table(columns, sys.stdout.buffer)
    else:
        bg.io.tables.write_table(columns, output)
        _console().print(f"Predicted {len(best):,} rows; written to {output}")


@app.command(
    epilog="Example: bayesgraph evaluate iris.csv --target species --model nb --model tan --cv 10"
)
def evaluate(
    data: Data,
    target: Target,
    model: Annotated[
        list[ModelName] | None, typer.Option(help="May be repeated; all models by default.")
    ] = None,
    cv: Annotated[int, typer.Option(help="Number of folds.")] = 10,
    seed: Annotated[int, typer.Option(help="Of the shuffling of rows into folds.")] = 0,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw confusion matrices, ROC curves and reliability to an SVG, PNG or PDF."
        ),
    ] = None,
    categorical: Categorical = None,
    drop: Drop = None,
    missing: Missing = None,
    alpha: Alpha = 1.0,
    discretizer: DiscretizerName = None,
) -> None:
    """Judge models by stratified cross-validation on the same folds."""
    if plot is not None:
        _check_output(plot, (".svg", ".png", ".pdf"))
    X, y = _features_and_labels(data, target, drop, missing)
    chosen = dict.fromkeys(model or list(ModelName))
    models = {name.value: _classifier(name, categorical, alpha, discretizer) for name in chosen}
    console, progress_console = _console(), Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=progress_console,
        transient=True,
        disable=not progress_console.is_terminal,
    ) as progress:
        task = progress.add_task("cross-validating", total=cv * len(models))
        results = bg.cross_validate(
            models,
            X,
            y,
            cv=cv,
            random_state=seed,
            progress=lambda name: progress.update(task, advance=1, description=name),
        )
    console.print(_measures(results))
    for result in results:
        if len(result.classes) <= _MOST_CLASSES:
            console.print(f"\n{result.name}: confusion matrix (rows: true {target})", markup=False)
            console.print(_confusion(result))
    if plot is not None:
        bg.plots.save_figure(bg.plots.evaluation_figure(results), plot)
        console.print(f"Drawn to {plot}")


def _measures(results: Sequence[Evaluation]) -> RichTable:
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


def _confusion(result: Evaluation) -> RichTable:
    table = RichTable()
    table.add_column("")
    for name in result.classes:
        table.add_column(str(name), justify="right")
    for row, (name, counts) in enumerate(zip(result.classes, result.confusion, strict=True)):
        cells = [f"[bold]{n}[/]" if row == column else str(n) for column, n in enumerate(counts)]
        table.add_row(str(name), *cells)
    return table


@app.command(
    epilog="Example: bayesgraph query alarm.bif --target HYPOVOLEMIA -e CVP=HIGH -e BP=LOW"
)
def query(
    model: ModelFile,
    target: Annotated[
        list[str] | None,
        typer.Option(
            help="Variable asked for; repeat for a joint posterior; a classifier's class "
            "by default."
        ),
    ] = None,
    evidence: Evidence = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Print the posteriors of all unobserved variables.")
    ] = False,
) -> None:
    """Print the exact posterior of one or several variables."""
    loaded = _load(model)
    network = _network(loaded)
    if everything:
        if target:
            raise DataError("--all and --target exclude each other; leave one of them out.")
        _console().print(repr(network.marginals(_evidence(network, evidence))), markup=False)
        return
    if target:
        targets = [_name(network, text) for text in target]
    elif _is_classifier(loaded):
        targets = [loaded.target_.name]
    else:
        raise DataError(
            f"--target or --all is needed: {model} is not a classifier. It has "
            f"{quoted(network.names)}."
        )
    given = _evidence(network, evidence)
    found = network.query(targets if len(targets) > 1 else targets[0], given)
    console = _console()
    if isinstance(found, bg.Posterior):
        console.print(_posterior(found))
    else:
        console.print(repr(found), markup=False)
    if given and not isinstance(network, bg.WeightedNetwork):
        word = "density" if _has_continuous(network, given) else "probability"
        console.print(f"log {word} of the evidence: {found.log_evidence:.6g}", markup=False)


def _has_continuous(model: GraphicalModel, given: Iterable[Name]) -> bool:
    return any(isinstance(model.variable(name), Continuous) for name in given)


def _posterior(found: bg.Posterior) -> RichTable:
    table = RichTable(title=f"P({', '.join(str(name) for name in found.names)})")
    for name in found.names:
        table.add_column(str(name))
    table.add_column("probability", justify="right")
    table.add_column("")
    for key, p in found.items():
        states: tuple[Any, ...] = key if len(found.names) > 1 else (key,)  # type: ignore[assignment]
        table.add_row(*(str(state) for state in states), f"{p:.6f}", "█" * round(24 * p))
    return table


@app.command(epilog="Example: bayesgraph show iris.bayesgraph")
def show(model: ModelFile) -> None:
    """Print what a model is made of: variables, parents, arcs and their scores."""
    loaded = _load(model)
    network = _network(loaded)
    console = _console()
    console.print(repr(network), markup=False)
    if _is_classifier(loaded):
        console.print(f"{loaded!r}, class {loaded.target_.name!r}", markup=False)
    console.print(_variables(network))
    if isinstance(network, (bg.BayesianNetwork, bg.WeightedNetwork)) and network.arc_scores:
        scores = RichTable(title="Arcs by score (nats a row)")
        for column in ("parent", "child", "score"):
            scores.add_column(column, justify="right" if column == "score" else "left")
        ranked = sorted(network.arc_scores.items(), key=lambda item: -item[1])
        for (parent, child), score in ranked:
            scores.add_row(str(parent), str(child), f"{score:.6f}")
        console.print(scores)


def _variables(network: GraphicalModel) -> RichTable:
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


@app.command(epilog="Example: bayesgraph render alarm.bif -o alarm.svg -e CVP=HIGH --beliefs")
def render(
    model: ModelFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="An .svg, .png, .pdf or .dot file.")
    ],
    evidence: Evidence = None,
    beliefs: Annotated[bool, typer.Option(help="Draw the posterior in each node.")] = False,
    tables: Annotated[bool, typer.Option(help="Draw the probability tables.")] = False,
) -> None:
    """Draw the graph of a model."""
    _check_output(output, (".svg", ".png", ".pdf", ".dot"))
    loaded = _load(model)
    network = _network(loaded)
    options: dict[str, Any] = {
        "evidence": _evidence(network, evidence) or None,
        "beliefs": beliefs,
        "tables": tables,
    }
    if _is_classifier(loaded):
        options["target"] = loaded.target_.name
    bg.io.write(network, output, **options)
    _console().print(f"Drawn to {output}")


@app.command(epilog="Example: bayesgraph convert alarm.bif.gz alarm.bayesgraph")
def convert(
    source: Annotated[Path, typer.Argument(help="The model to read.", show_default=False)],
    destination: Annotated[Path, typer.Argument(help="The file to write.", show_default=False)],
) -> None:
    """Convert a model from one format to another, told by the suffixes."""
    loaded = _load(source)
    native = destination.name.lower().endswith(".bayesgraph")
    bg.io.write(loaded if native else _network(loaded), destination)
    _console().print(f"{source} written to {destination}")


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        _console().print(bg.__version__)
        raise typer.Exit


# ------------------------------------------------------------------------------------- helpers

_ESTIMATORS = {
    ModelName.AUTO: "BayesianNetworkClassifier",
    ModelName.NB: "NaiveBayesClassifier",
    ModelName.WEIGHTED: "WeightedNaiveBayesClassifier",
    ModelName.TAN: "TANClassifier",
    ModelName.AODE: "AODEClassifier",
    ModelName.KDB: "KDBClassifier",
}


def _families(model: ModelName, items: Sequence[str] | None) -> str | dict[str, str] | None:
    """Return the distributions that were asked for, as NaiveBayesClassifier takes them."""
    if not items:
        return None
    if model is not ModelName.NB:
        raise DataError(f"--distribution goes with --model nb; the model is {model.value}.")
    if len(items) == 1 and "=" not in items[0]:
        return items[0]
    families = {}
    for item in items:
        column, equals, family = item.rpartition("=")
        if not equals:
            raise DataError(
                f"--distribution takes COLUMN=FAMILY, such as visits=poisson; got {item!r}."
            )
        families[column] = family
    return families


def _classifier(
    model: ModelName,
    categorical: Sequence[str] | None,
    alpha: float,
    discretizer: str | None,
) -> GraphClassifier:
    named: Any = list(categorical) if categorical else None
    options: dict[str, Any] = {
        "alpha": alpha,
        "categorical": "all" if named == ["all"] else named,
    }
    if model is ModelName.TREE:
        return bg.DecisionTreeNetworkClassifier(ccp_alpha="cv", **options)
    if model is ModelName.STREAM:
        return bg.StreamingNaiveBayesClassifier(**options)
    if model is ModelName.STREAM_WEIGHTED:
        return bg.StreamingWeightedNaiveBayesClassifier(**options)
    options["discretizer"] = discretizer
    if model in _ESTIMATORS:
        return getattr(bg, _ESTIMATORS[model])(**options)  # type: ignore[no-any-return]
    return bg.BayesianNetworkClassifier(model.value.replace("-", "_"), **options)


def _features_and_labels(
    data: Path, target: str, drop: Sequence[str] | None, missing: Sequence[str] | None
) -> tuple[Any, Any]:
    table = bg.read_table(data, missing=(*bg.io.tables.MISSING, *(missing or ())))
    names = table.column_names
    for name in (target, *(drop or ())):
        if name not in names:
            raise unknown_variable(name, names, where=str(data))
    left_out = {target, *(drop or ())}
    features = [name for name in names if name not in left_out]
    if not features:
        raise DataError(f"{data} has no column besides {quoted(left_out)} to learn from.")
    return table.select(features), table.select([target])


def _load(path: Path) -> Any:
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    return bg.read(path)


def _is_classifier(model: Any) -> TypeGuard[GraphClassifier]:
    return hasattr(model, "network_")


def _has_text_states(variable: Variable) -> bool:
    """Tell whether a column of a variable's values is text."""
    if not isinstance(variable, Discrete) or isinstance(variable, Binned):
        return False
    return all(isinstance(value, str) for value in _values(variable))


def _values(variable: Discrete) -> tuple[Any, ...]:
    """Return what may be observed of a variable: the values in its groups, or its states."""
    return variable.values if isinstance(variable, Grouped) else variable.states


def _network(loaded: Any) -> GraphicalModel:
    return loaded.network_ if _is_classifier(loaded) else loaded


def _check_output(path: Path, suffixes: tuple[str, ...]) -> None:
    """Refuse a path that cannot be written before the work is done, not after."""
    if not path.name.lower().endswith(suffixes):
        raise FileFormatError(f"{str(path)!r}: the suffix must be one of {quoted(suffixes)}.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no directory {str(path.parent)!r}.")


def _name(model: GraphicalModel, text: str) -> Name:
    """Return the variable name that a text stands for; names need not be strings."""
    fitting = [name for name in model.names if str(name) == text]
    if len(fitting) > 1:
        raise EvidenceError(
            f"{text!r} stands for several variables: {quoted(fitting)}. Ask from Python."
        )
    if fitting:
        return fitting[0]
    raise unknown_variable(text, model.names, where="The model")


def _evidence(model: GraphicalModel, items: Sequence[str] | None) -> dict[Name, Any]:
    given: dict[Name, Any] = {}
    for item in items or ():
        text, equals, value = item.partition("=")
        if not equals:
            raise EvidenceError(f"Evidence is NAME=VALUE; got {item!r}.")
        # Names may have "=" in them: the longest one that fits is meant.
        fitting = [str(name) for name in model.names if item.startswith(f"{name}=")]
        if fitting:
            text = max(fitting, key=len)
            value = item[len(text) + 1 :]
        name = _name(model, text)
        if name in given:
            raise EvidenceError(f"Evidence on {text!r} is given more than once.")
        given[name] = _value(model.variable(name), value)
    return given


def _counts(variable: CountVector, text: str) -> dict[Name, float]:
    """Return the counts that a text such as ``free:2,money:1`` stands for."""
    by_text = {str(item): item for item in variable.items}
    counts: dict[Name, float] = {}
    for part in text.split(","):
        item, _, number = part.rpartition(":")
        try:
            counts[by_text.get(item, item)] = float(number)
        except ValueError as error:
            raise EvidenceError(
                f"{variable.name!r} takes counts such as {variable.items[0]}:2, separated by "
                f"commas; got {text!r}."
            ) from error
    return counts


def _value(variable: Variable, text: str) -> Any:
    """Return the state, the number or the likelihoods that a text stands for."""
    if isinstance(variable, Continuous):
        try:
            return float(text)
        except ValueError as error:
            raise EvidenceError(
                f"{variable.name!r} is continuous and takes a number; got {text!r}."
            ) from error
    if isinstance(variable, CountVector):
        return _counts(variable, text)
    return _state(variable, text)


def _state(variable: Discrete, text: str) -> Any:
    """Return the state or the likelihoods that a text stands for.

    What it cannot be told for comes back as it is: the model's own error names the states and the
    nearest one.
    """
    known = _values(variable)
    by_text: dict[str, Any] = {str(state): state for state in known}
    if len(by_text) < len(known):
        raise EvidenceError(
            f"States of {variable.name!r} read the same as text: {quoted(known)}. "
            "Ask from Python, where their types tell them apart."
        )
    if text in by_text:
        return by_text[text]
    if isinstance(variable, Binned):
        with suppress(ValueError):
            return float(text)
    if text.lower() in ("true", "false") and {True, False} == set(known):
        return text.lower() == "true"
    return _likelihood(variable, text, by_text) if ":" in text else text


def _likelihood(variable: Discrete, text: str, by_text: Mapping[str, Any]) -> dict[Any, float]:
    """Return the likelihoods that a text such as ``yes:4,no:1`` stands for."""
    likelihood = {}
    # A comma before a space is one inside an interval or a group.
    for part in re.split(r",(?! )", text):
        state, _, number = part.rpartition(":")
        try:
            likelihood[by_text.get(state, state)] = float(number)
        except ValueError as error:
            raise EvidenceError(
                f"Soft evidence is STATE:LIKELIHOOD,...; got {part!r} for {variable.name!r}."
            ) from error
    return likelihood


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; an error is one line and exit code 2, never a traceback."""
    command = typer.main.get_command(app)
    args = sys.argv[1:] if arguments is None else list(arguments)
    try:
        code = command.main(args, prog_name="bayesgraph", standalone_mode=False)
    except (BayesGraphError, OSError, ValueError, TypeError) as error:
        _fail(_message(error))
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(130)
    except Exception as error:
        # Errors of the option parser, whose module typer keeps to itself.
        if not hasattr(error, "format_message"):
            raise
        _fail(error.format_message())
    else:
        sys.exit(code if isinstance(code, int) else 0)


def _message(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}"
    return str(error).replace("Value error, ", "")


def _fail(message: str) -> None:
    lines = [" ".join(line.split()) for line in message.splitlines() if line.strip()]
    typer.echo(f"bayesgraph: {'; '.join(lines)}".replace(":;", ":"), err=True)
    sys.exit(2)


if __name__ == "__main__":
    main()
