"""Commands that ask models: query, do, ask-next, explain, mpe and sample."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bayesgraph as bg
from bayesgraph.cli import reading
from bayesgraph.cli.options import Commands, Texts
from bayesgraph.cli.output import put_rows, rows_to, say
from bayesgraph.core.display import rounded
from bayesgraph.core.errors import DataError, EvidenceError
from bayesgraph.core.variables import Continuous, Discrete, Name

if TYPE_CHECKING:
    from bayesgraph.models import Model

app = Commands("Asking")


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


@app.add("ask-next")
def ask_next(
    model: Path,
    *,
    target: str | None = None,
    evidence: Texts = None,
    cost: Texts = None,
    by: str | None = None,
    ahead: int = 1,
) -> None:
    """Print what to ask for next: which variables say most about the target, per price.

    Parameters
    ----------
    cost
        NAME=PRICE of a variable that may be asked for; may be repeated. Variables
        without a price are then left out; by default all are ranked.
    by
        Rank by information, in nats (the default), or accuracy.
    ahead
        Number of questions ahead: 1 or 2.

    Examples
    --------
    bayesgraph ask-next heart.bayesgraph -e sex=male --cost cp=1 --cost thal=100
    """
    network, name = reading.one_target(model, target)
    given, prices = reading.evidence_of(network, evidence), reading.prices_of(network, cost)
    ranking = bg.questions.next_question(network, name, given, costs=prices, by=by, ahead=ahead)
    say(repr(ranking.posterior))
    say(repr(ranking))


@app.add()
def explain(
    model: Path,
    *,
    target: str | None = None,
    evidence: Texts = None,
    finding: str | None = None,
    state: str | None = None,
) -> None:
    """Print why a posterior is as it is, in sentences that can be read aloud.

    Parameters
    ----------
    finding
        The one variable to tell about, observed or not.
    state
        State of the target; the most probable one by default.

    Examples
    --------
    bayesgraph explain alarm.bif --target HYPOVOLEMIA -e CVP=HIGH -e BP=LOW
    """
    network, name = reading.one_target(model, target)
    options = {
        "finding": None if finding is None else reading.named(network, finding),
        "state": None if state is None else reading.state_of(network.variable(name), state),
    }
    given = reading.evidence_of(network, evidence)
    say(repr(bg.questions.explanation(network, name, given, **options)))


@app.add()
def mpe(model: Path, *, evidence: Texts = None, over: Texts = None, count: int = 1) -> None:
    """Print the most probable explanation of the evidence: an assignment of all variables.

    Parameters
    ----------
    over
        Variable to assign, with all others summed out; may be repeated; by default all.
    count
        Number of assignments, the best first.

    Examples
    --------
    bayesgraph mpe alarm.bif -e CVP=HIGH -e BP=LOW --over HYPOVOLEMIA
    """
    network = reading.load_model(model)
    given = reading.evidence_of(network, evidence)
    if over is None and count == 1:
        found = [network.most_probable(given)]
    else:
        names = None if over is None else [reading.named(network, text) for text in over]
        found = network.k_most_probable(count, given, over=names)
    say("\n".join(map(repr, found)))


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
    network = reading.load_model(model)
    given = reading.evidence_of(network, evidence)
    drawn = network.sample(n, given, random_state=seed, frame="pyarrow")
    columns = dict(zip(drawn.column_names, drawn.columns, strict=True))
    put_rows(columns, written, f"Drew {n:,} rows")
