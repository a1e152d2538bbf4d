"""Commands that ask models: query, do, ask-next, explain, mpe and sample."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import bayesgraph as bg
from bayesgraph.cli import options, reading
from bayesgraph.cli.output import put_rows, rows_to, say
from bayesgraph.core.display import rounded
from bayesgraph.core.errors import DataError, EvidenceError
from bayesgraph.core.variables import Continuous, Discrete, Name

if TYPE_CHECKING:
    from bayesgraph.models import Model

app = options.Commands("Asking")


@app.command(
    epilog="Example: bayesgraph query alarm.bif --target HYPOVOLEMIA -e CVP=HIGH -e BP=LOW"
)
def query(
    model: options.ModelFile,
    target: options.Targets = None,
    evidence: options.Evidence = None,
    everything: options.Everything = False,
) -> None:
    """Print the exact posterior of one or several variables."""
    _print_posterior(model, target, everything, evidence, None)


def _print_posterior(
    path: Path,
    target: list[str] | None,
    everything: bool,
    evidence: list[str] | None,
    set_: list[str] | None,
) -> None:
    """Print the posterior of variables, or those of all, given evidence and what is set."""
    if everything and target:
        raise DataError("--all and --target exclude each other; leave one of them out.")
    loaded = reading.load_answering(path)
    network = reading.network_of(loaded)
    given, do = reading.evidence_of(network, evidence), reading.evidence_of(network, set_) or None
    if everything:
        marginals = network.marginals(given, do=do)
        say(marginals._display(len(marginals)).text())
        return
    targets = reading.targets_of(loaded, path, target, "--target or --all")
    for name in do or ():
        if name in targets:
            raise EvidenceError(
                f"{str(name)!r} is both the target and set by --set; leave it out of one of them."
            )
    found = network.query(targets if len(targets) > 1 else targets[0], given, do=do)
    # A posterior with all of its states, however many.
    whole = found._display(len(found)).text() if isinstance(found, bg.Posterior) else repr(found)
    say(whole)
    if given and not isinstance(network, (bg.WeightedNetwork, bg.PosteriorAverage)):
        word = "density" if _has_densities(network, given) else "probability"
        if any(
            (isinstance(value, Mapping) and isinstance(network.variable(name), Discrete))
            for name, value in given.items()
        ):
            word = "likelihood"  # its size is that of the likelihoods given, and may exceed 0
        say(f"log {word} of the evidence: {rounded(found.log_evidence, 6)}")


def _has_densities(model: Model, given: Mapping[Name, Any]) -> bool:
    """Tell whether a number is given; a range of numbers has a probability."""
    numbers = (v for name, v in given.items() if isinstance(model.variable(name), Continuous))
    return not all(isinstance(value, bg.Between) for value in numbers)


@app.command(
    name="do",
    epilog="Example: bayesgraph do alarm.bif -s VENTLUNG=HIGH -e BP=LOW --target HRBP",
)
def intervene(
    model: options.ModelFile,
    target: options.Targets = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", "-s", help="NAME=VALUE, a variable that is set; may be repeated; needed."
        ),
    ] = None,
    evidence: options.Evidence = None,
    everything: options.Everything = False,
) -> None:
    """Print the posterior after an intervention that sets variables, whatever their causes."""
    if not set_:
        raise DataError("--set is needed, such as -s smoke=no; without it, use 'bayesgraph query'.")
    _print_posterior(model, target, everything, evidence, set_)


@app.command(
    name="ask-next",
    epilog="Example: bayesgraph ask-next heart.bayesgraph -e sex=male --cost cp=1 --cost thal=100",
)
def ask_next(
    model: options.ModelFile,
    target: options.OneTarget = None,
    evidence: options.Evidence = None,
    cost: Annotated[
        list[str] | None,
        typer.Option(
            "--cost",
            "-c",
            help="NAME=PRICE of a variable that may be asked for; may be repeated. Variables "
            "without a price are then left out; by default all are ranked.",
        ),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="Rank by information, in nats (the default), or accuracy.")
    ] = None,
    ahead: Annotated[int, typer.Option(min=1, max=2, help="Number of questions ahead.")] = 1,
) -> None:
    """Print what to ask for next: which variables say most about the target, per price."""
    network, name = reading.one_target(model, target)
    given, prices = reading.evidence_of(network, evidence), reading.prices_of(network, cost)
    ranking = bg.questions.next_question(network, name, given, costs=prices, by=by, ahead=ahead)
    say(repr(ranking.posterior))
    say(repr(ranking))


@app.command(
    epilog="Example: bayesgraph explain alarm.bif --target HYPOVOLEMIA -e CVP=HIGH -e BP=LOW"
)
def explain(
    model: options.ModelFile,
    target: options.OneTarget = None,
    evidence: options.Evidence = None,
    finding: Annotated[
        str | None, typer.Option(help="The one variable to tell about, observed or not.")
    ] = None,
    state: Annotated[
        str | None, typer.Option(help="State of the target; the most probable one by default.")
    ] = None,
) -> None:
    """Print why a posterior is as it is, in sentences that can be read aloud."""
    network, name = reading.one_target(model, target)
    options = {
        "finding": None if finding is None else reading.named(network, finding),
        "state": None if state is None else reading.state_of(network.variable(name), state),
    }
    given = reading.evidence_of(network, evidence)
    say(repr(bg.questions.explanation(network, name, given, **options)))


@app.command(epilog="Example: bayesgraph mpe alarm.bif -e CVP=HIGH -e BP=LOW --over HYPOVOLEMIA")
def mpe(
    model: options.ModelFile,
    evidence: options.Evidence = None,
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
    network = reading.load_model(model)
    given = reading.evidence_of(network, evidence)
    if over is None and count == 1:
        found = [network.most_probable(given)]
    else:
        names = None if over is None else [reading.named(network, text) for text in over]
        found = network.k_most_probable(count, given, over=names)
    say("\n".join(map(repr, found)))


@app.command(epilog="Example: bayesgraph sample alarm.bif -n 1000 -e BP=LOW -o rows.csv")
def sample(
    model: options.ModelFile,
    n: Annotated[int, typer.Option("-n", min=0, help="Number of rows.")] = 10,
    evidence: options.Evidence = None,
    seed: Annotated[int | None, typer.Option(help="Seed; by default other rows each time.")] = None,
    output: Annotated[
        Path | None, options.output_option("A .csv or .parquet file, else printed.")
    ] = None,
) -> None:
    """Draw rows of all variables, given evidence, from the exact posterior."""
    written = rows_to(output)
    network = reading.load_model(model)
    given = reading.evidence_of(network, evidence)
    drawn = network.sample(n, given, random_state=seed, frame="pyarrow")
    columns = dict(zip(drawn.column_names, drawn.columns, strict=True))
    put_rows(columns, written, f"Drew {n:,} rows")
