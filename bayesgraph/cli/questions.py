"""Commands that ask models, and compare them with each other or with other findings."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import bayesgraph as bg
from bayesgraph.cli import options
from bayesgraph.cli import reading as texts
from bayesgraph.cli.options import Commands, Texts
from bayesgraph.cli.output import FIGURES, check_once, output_to, put, put_rows, rows_to, say
from bayesgraph.cli.progress import LINE
from bayesgraph.cli.reading import Reading
from bayesgraph.core.display import rounded
from bayesgraph.core.errors import DataError, EvidenceError
from bayesgraph.core.variables import Continuous, Discrete

app: Commands = Commands("Asking")
comparing: Commands = Commands("Comparing")


@app.add()
def query(
    model: Path, *, target: Texts = None, evidence: Texts = None, everything: bool = False
) -> None:
    """Print the exact posterior of one or several variables.

    Parameters
    ----------
    target
        Variable to query; repeat for a joint posterior; a classifier's class by default.

    Examples
    --------
    bayesgraph query alarm.bif --target HYPOVOLEMIA -e CVP=HIGH -e BP=LOW
    """
    _print_posterior(model, target, everything, evidence, None)


def _print_posterior(
    path: Path, target: Texts, everything: bool, evidence: Texts, set_: Texts
) -> None:
    """Print the posterior of variables, or those of all, given evidence and what is set."""
    if everything and target:
        raise DataError("--all and --target exclude each other; leave one of them out.")
    loaded = texts.load_answering(path)
    network = texts.network_of(loaded)
    findings, do = texts.evidence_of(network, evidence), texts.evidence_of(network, set_) or None
    if everything:
        marginals = network.marginals(findings, do=do)
        say(marginals, marginals._display(len(marginals)).text())
        return
    targets = texts.targets_of(loaded, path, target, "--target or --all")
    for name in do or ():
        if name in targets:
            raise EvidenceError(
                f"{str(name)!r} is both the target and set by --set; leave it out of one of them."
            )
    posterior = network.query(targets if len(targets) > 1 else targets[0], findings, do=do)
    # A posterior with all of its states, however many.
    is_table = isinstance(posterior, bg.inference.Posterior)
    say(posterior, posterior._display(len(posterior)).text() if is_table else None)
    # Only a joint distribution gives evidence a probability.
    if findings and network._is_joint:
        values = [(network.variable(name), value) for name, value in findings.items()]
        word = "probability"
        # Numbers give a density; a range of numbers has a probability.
        if any(isinstance(v, Continuous) and not isinstance(x, bg.Between) for v, x in values):
            word = "density"
        if any(isinstance(v, Discrete) and isinstance(x, Mapping) for v, x in values):
            word = "likelihood"  # its scale is that of the likelihoods given: the log may exceed 0
        title, log = f"log {word} of the evidence", posterior.log_evidence
        say({title: log}, f"{title}: {rounded(log, 6)}")


@app.add("do")
def intervene(
    model: Path,
    *,
    target: Texts = None,
    set_: Texts = None,
    evidence: Texts = None,
    everything: bool = False,
) -> None:
    """Print the posterior after an intervention that sets variables, whatever their causes.

    Parameters
    ----------
    target
        Variable to query; repeat for a joint posterior; a classifier's class by default.
    set_
        NAME=VALUE, a variable that is set; may be repeated; needed.

    Examples
    --------
    bayesgraph do alarm.bif -s VENTLUNG=HIGH -e BP=LOW --target HRBP
    """
    if not set_:
        raise DataError("--set is needed, such as -s smoke=no; without it, use 'bayesgraph query'.")
    _print_posterior(model, target, everything, evidence, set_)


def _options_of(question: str) -> list[inspect.Parameter]:
    """Return the options of a function of `bayesgraph.questions`.

    The docstring of `options` has the texts of those that all commands share.
    """
    function = getattr(bg.questions, question)
    return options.library_options([function], [options, function])


def answer(question: str, path: Path, parameters: Mapping[str, Any]) -> Any:
    """Ask a function of `bayesgraph.questions`, given texts, and return its result."""
    loaded, asked = texts.load_answering(path), parameters["target"]
    # One variable: that of the option, or a classifier's class.
    (target,) = texts.targets_of(loaded, path, None if asked is None else [asked])
    model = texts.network_of(loaded)
    values = {
        name: texts.argument(model, target, name, text)
        for name, text in parameters.items()
        if text is not None
    }
    return getattr(bg.questions, question)(model, **values | {"target": target})


@app.add("ask-next", partial(_options_of, "next_question"))
def ask_next(model: Path, **parameters: Any) -> None:
    """Print what to ask for next: which variables say most about the target, per price.

    Examples
    --------
    bayesgraph ask-next heart.bayesgraph -e sex=male --cost cp=1 --cost thal=100
    """
    ranking = answer("next_question", model, parameters)
    say(ranking.posterior)
    say(ranking)


@app.add(parameters=partial(_options_of, "explanation"))
def explain(model: Path, **parameters: Any) -> None:
    """Print why a posterior is as it is, in sentences that can be read aloud.

    Examples
    --------
    bayesgraph explain alarm.bif --target HYPOVOLEMIA -e CVP=HIGH -e BP=LOW
    """
    say(answer("explanation", model, parameters))


@comparing.add(parameters=partial(_options_of, "flip"))
def flip(model: Path, **parameters: Any) -> None:
    """Print the smallest change of findings that turns the answer.

    Examples
    --------
    bayesgraph flip heart.bayesgraph -e age=63 -e chol=260 --to no --fix age
    """
    # First the errors of the question itself, such as a missing target.
    changes = answer("flip", model, parameters)
    if not parameters["evidence"]:
        raise DataError("-e is needed, such as -e smoke=no: flip changes findings that it names.")
    say(changes)


@comparing.add(parameters=partial(_options_of, "tornado"))
def tornado(model: Path, *, output: Path | None = None, **parameters: Any) -> None:
    """Print how far a probability moves with single parameters or findings.

    Parameters
    ----------
    output
        Draw an .svg, .png or .pdf; else bars are printed.

    Examples
    --------
    bayesgraph tornado alarm.bif --target HYPOVOLEMIA --state TRUE -e CVP=HIGH
    """
    drawn = None if output is None else output_to(output, FIGURES)
    moves = answer("tornado", model, parameters)
    put(moves, drawn, partial(_draw, moves), "Drawn to {}")


def _draw(result: Any, file: Path) -> None:
    """Write the plot of a result to a file."""
    bg.pictures.save_figure(bg.plot(result), file)


@app.add()
def mpe(
    model: Path,
    *,
    evidence: Texts = None,
    over: Texts = None,
    count: int = 1,
    method: str = "exact",
    max_seconds: float | None = None,
    max_steps: int | None = None,
) -> None:
    """Print the most probable explanation of the evidence: an assignment of all variables.

    Where elimination needs too much memory, or with --method search, it is the best that a search
    finds; the bound of its log probability is printed unless it is proved.

    Parameters
    ----------
    over
        Variable to assign, with all others summed out; may be repeated; by default all.
    count
        Number of assignments, the best first.
    method
        Method: exact, or search.
    max_seconds
        When a search ends.
    max_steps
        When a search ends, in nodes.

    Examples
    --------
    bayesgraph mpe alarm.bif -e CVP=HIGH -e BP=LOW --over HYPOVOLEMIA
    """
    network = texts.load_model(model)
    findings = texts.evidence_of(network, evidence)

    # Log probabilities of the best assignment so far, and an upper bound of that of any other.
    def progress(best: float, bound: float) -> None:
        LINE.detail = f"best {rounded(best)}, at most {rounded(bound)}"

    search: Any = {"method": method, "max_seconds": max_seconds, "max_steps": max_steps}
    search["progress"] = progress
    if over is None and count == 1:
        say(network.most_probable(findings, **search))
        return
    names = None if over is None else [texts.named(network, text) for text in over]
    for assignment in network.k_most_probable(count, findings, over=names, **search):
        say(assignment)


@app.add()
def sample(
    model: Path,
    *,
    n: int = 10,
    evidence: Texts = None,
    seed: int | None = None,
    output: Path | None = None,
) -> None:
    """Draw rows of all variables, given evidence, from the exact posterior.

    Parameters
    ----------
    n
        Number of rows.
    seed
        Seed; by default other rows each time.
    output
        A .csv or .parquet file, else printed.

    Examples
    --------
    bayesgraph sample alarm.bif -n 1000 -e BP=LOW -o rows.csv
    """
    written = rows_to(output)
    network = texts.load_model(model)
    findings = texts.evidence_of(network, evidence)
    drawn = network.sample(n, findings, random_state=seed, frame="pyarrow")
    put_rows(dict(zip(drawn.column_names, drawn.columns, strict=True)), written, f"Drew {n:,} rows")


@comparing.add()
def diff(
    before: Path,
    after: Path,
    *,
    reading: Reading,
    rows: Path | None = None,
    target: str | None = None,
    output: Path | None = None,
) -> None:
    """Print what differs between two models: arcs, distributions and predictions.

    Parameters
    ----------
    before
        A file of a model.
    after
        Another.
    rows
        Table of rows whose predictions are compared.
    output
        A .html or .txt file, else printed.

    Examples
    --------
    bayesgraph diff old.bayesgraph new.bayesgraph --rows new.csv -o review.html
    """
    check_once(before, after, rows)
    written = None if output is None else output_to(output, (".html", ".txt"))
    first, second = texts.load_whole(before), texts.load_whole(after)
    network = texts.network_of(first)
    name = None if target is None else texts.named(network, target)
    table = None if rows is None else reading.table(rows, network.variables)
    difference = bg.diff(first, second, table, target=name)
    put(difference, written, difference.save, f"{difference.summary} Written to {{}}")
