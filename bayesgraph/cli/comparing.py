"""Commands that compare: models with each other, and a model with changes of what it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import bayesgraph as bg
from bayesgraph.cli.options import Commands, Evidence, ModelFile, OneTarget, output_option
from bayesgraph.cli.output import FIGURES, check_once, output_to, say
from bayesgraph.cli.reading import (
    Reading,
    evidence_of,
    load_whole,
    named,
    network_of,
    one_target,
    prices_of,
    reads_table,
    state_of,
)
from bayesgraph.core.errors import DataError
from bayesgraph.core.variables import has_text_states

app = Commands("Comparing")


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
    output: Annotated[Path | None, output_option("A .html or .txt file, else printed.")] = None,
) -> None:
    """Print what differs between two models: arcs, distributions and predictions."""
    written = None if output is None else output_to(output, (".html", ".txt"))
    check_once(before, after, rows)
    first, second = load_whole(before), load_whole(after)
    network = network_of(first)
    name = None if target is None else named(network, target)
    texts = [str(v.name) for v in network.variables if has_text_states(v)]
    table = None if rows is None else reading.table(rows, texts)
    found = bg.diff(first, second, table, target=name)
    if written is None:
        say(found.to_text())
        return
    with written.file() as file:
        found.save(file)
    written.done(f"{found.summary} Written to {{}}")


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
        list[str] | None,
        typer.Option(help="NAME=WEIGHT of changing a finding, 1 by default; may be repeated."),
    ] = None,
    fix: Annotated[list[str] | None, typer.Option(help="Finding that stays; may be repeated.")] = (
        None
    ),
) -> None:
    """Print the smallest change of findings that turns the answer."""
    network, name = one_target(model, target)
    wanted = None if to is None else state_of(network.variable(name), to)
    given, prices = evidence_of(network, evidence), prices_of(network, cost)
    if not given:
        raise DataError("-e is needed, such as -e smoke=no: flip changes findings that it names.")
    found = bg.questions.flip(
        network,
        name,
        given,
        wanted,
        at_least=at_least,
        costs=prices,
        fixed=[named(network, text) for text in fix or ()],
    )
    say(repr(found))


@app.command(
    epilog="Example: bayesgraph tornado alarm.bif --target HYPOVOLEMIA --state TRUE -e CVP=HIGH"
)
def tornado(
    model: ModelFile,
    target: OneTarget = None,
    state: Annotated[
        str | None, typer.Option(help="By default the second of two, or the most probable.")
    ] = None,
    evidence: Evidence = None,
    by: Annotated[str, typer.Option(help="What varies: 'parameters' or 'findings'.")] = (
        "parameters"
    ),
    spread: Annotated[float, typer.Option(help="Share by which parameters vary.")] = 0.1,
    output: Annotated[
        Path | None, output_option("Draw an .svg, .png or .pdf; else bars are printed.")
    ] = None,
) -> None:
    """Print how far a probability moves with single parameters or findings."""
    drawn = None if output is None else output_to(output, FIGURES)
    network, name = one_target(model, target)
    given = evidence_of(network, evidence)
    chosen = None if state is None else state_of(network.variable(name), state)
    found = bg.questions.tornado(network, name, chosen, given, by=by, spread=spread)
    if drawn is None:
        say(repr(found))
        return
    with drawn.file() as file:
        bg.pictures.save_figure(bg.plot(found), file)
    drawn.done("Drawn to {}")
