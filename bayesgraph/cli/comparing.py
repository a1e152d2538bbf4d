"""Commands that compare: models with each other, and a model with changes of what it is told."""

from __future__ import annotations

from pathlib import Path

import bayesgraph as bg
from bayesgraph.cli.options import Commands, Texts
from bayesgraph.cli.output import FIGURES, check_once, output_to, say
from bayesgraph.cli.reading import (
    Reading,
    evidence_of,
    load_whole,
    named,
    network_of,
    one_target,
    prices_of,
    state_of,
)
from bayesgraph.core.errors import DataError
from bayesgraph.core.variables import has_text_states

app = Commands("Comparing")


@app.add()
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
    written = None if output is None else output_to(output, (".html", ".txt"))
    check_once(before, after, rows)
    first, second = load_whole(before), load_whole(after)
    network = network_of(first)
    name = None if target is None else named(network, target)
    texts = [str(v.name) for v in network.variables if has_text_states(v)]
    table = None if rows is None else reading.table(rows, texts)
    difference = bg.diff(first, second, table, target=name)
    if written is None:
        say(difference.to_text())
        return
    with written.file() as file:
        difference.save(file)
    written.done(f"{difference.summary} Written to {{}}")


@app.add()
def flip(
    model: Path,
    *,
    evidence: Texts = None,
    target: str | None = None,
    to: str | None = None,
    at_least: float | None = None,
    cost: Texts = None,
    fix: Texts = None,
) -> None:
    """Print the smallest change of findings that turns the answer.

    Parameters
    ----------
    to
        The answer to reach; any other else.
    at_least
        Probability of --to to reach.
    cost
        NAME=WEIGHT of changing a finding, 1 by default; may be repeated.
    fix
        Finding that stays; may be repeated.

    Examples
    --------
    bayesgraph flip heart.bayesgraph -e age=63 -e chol=260 --to no --fix age
    """
    network, name = one_target(model, target)
    wanted = None if to is None else state_of(network.variable(name), to)
    findings, prices = evidence_of(network, evidence), prices_of(network, cost)
    if not findings:
        raise DataError("-e is needed, such as -e smoke=no: flip changes findings that it names.")
    fixed = [named(network, text) for text in fix or ()]
    say(
        repr(
            bg.questions.flip(
                network, name, findings, wanted, at_least=at_least, costs=prices, fixed=fixed
            )
        )
    )


@app.add()
def tornado(
    model: Path,
    *,
    target: str | None = None,
    state: str | None = None,
    evidence: Texts = None,
    by: str = "parameters",
    spread: float = 0.1,
    output: Path | None = None,
) -> None:
    """Print how far a probability moves with single parameters or findings.

    Parameters
    ----------
    state
        By default the second of two, or the most probable.
    by
        What varies: 'parameters' or 'findings'.
    spread
        Share by which parameters vary.
    output
        Draw an .svg, .png or .pdf; else bars are printed.

    Examples
    --------
    bayesgraph tornado alarm.bif --target HYPOVOLEMIA --state TRUE -e CVP=HIGH
    """
    drawn = None if output is None else output_to(output, FIGURES)
    network, name = one_target(model, target)
    findings = evidence_of(network, evidence)
    wanted = None if state is None else state_of(network.variable(name), state)
    moves = bg.questions.tornado(network, name, wanted, findings, by=by, spread=spread)
    if drawn is None:
        say(repr(moves))
        return
    with drawn.file() as file:
        bg.pictures.save_figure(bg.plot(moves), file)
    drawn.done("Drawn to {}")
