"""Commands on files of models: show, render, explore and convert; and warm-up."""

from __future__ import annotations

import tempfile
import time
import webbrowser
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import bayesgraph as bg
from bayesgraph import cli
from bayesgraph.cli import reading
from bayesgraph.cli.options import Commands, Texts
from bayesgraph.cli.output import PAGE, PICTURES, model_to, output_to, put, say
from bayesgraph.cli.progress import say_share
from bayesgraph.core.errors import DataError
from bayesgraph.files import skipped_in_reading

app: Commands = Commands("Files")
# Seconds after which a page of `explore` is removed by a later call; a browser has read it by then.
_SECONDS_KEPT = 3600.0


@app.add()
def show(model: Path, *, tables: bool = False, table: Texts = None) -> None:
    """Print the variables of a model, their parents, and the arcs with their scores.

    Parameters
    ----------
    tables
        Print the distribution of each variable instead.
    table
        Variable whose distribution to print as a whole; may be repeated.

    Examples
    --------
    bayesgraph show iris.bayesgraph
    """
    if tables or table:
        network: Any = reading.load_model(model)
        names = [reading.named(network, text) for text in table or ()]
        say(cli.printing.distributions_text(network, names))
        return
    loaded, text = reading.load_whole(model, _with_text)
    network = reading.network_of(loaded)
    say(network)
    if reading.is_classifier(loaded):
        # A regressor has no classes.
        kind = "target" if getattr(loaded, "classes_", None) is None else "class"
        say(f"{text}, {kind} {loaded.target_.name!r}")
    say(cli.printing.variables_table(network))
    # The arcs of an average differ from network to network, and so do their scores.
    if len(network.networks) == 1 and network.arc_scores:
        say(cli.printing.scores_table(network.arc_scores))


def _with_text(file: Path) -> tuple[Any, str | None]:
    """Load what answers questions, and the text of an estimator with its parameters."""
    loaded = bg.files.load_saved(file)
    text = getattr(loaded, "text", None)
    if text is None and reading.is_classifier(loaded):
        # Only the estimator itself knows a text that its file does not have.
        text = repr(bg.load(file))
    return loaded, text


@app.add()
def render(
    model: Path,
    *,
    output: Path,
    evidence: Texts = None,
    beliefs: bool = False,
    tables: bool = False,
) -> None:
    """Draw the graph of a model; an .html file is an offline page that answers questions.

    Parameters
    ----------
    output
        An .svg, .png, .pdf, .dot or .html file.
    beliefs
        Draw the posterior in each node.
    tables
        Draw the probability tables.

    Examples
    --------
    bayesgraph render alarm.bif -o alarm.svg -e CVP=HIGH --beliefs
    """
    drawn = output_to(output, (*PICTURES, PAGE))
    if drawn.suffix == PAGE:
        if beliefs or tables:
            option = "--beliefs" if beliefs else "--tables"
            raise DataError(f"{option} goes with a picture; an .html page always has them.")
        drawn.write(partial(_page, model, evidence), "Written to {}; any browser opens it")
        return
    loaded = reading.load_answering(model)
    network = reading.network_of(loaded)
    # The node of the class is drawn in another way.
    target = loaded.target_.name if reading.is_classifier(loaded) else None
    findings = reading.evidence_of(network, evidence) or None
    options = {"evidence": findings, "target": target, "beliefs": beliefs, "tables": tables}
    drawn.write(partial(network.render, **options), "Drawn to {}")


@app.add()
def explore(model: Path, *, evidence: Texts = None) -> None:
    """Open a model in the browser: a page in a temporary file, which answers questions.

    The page is removed by the next call that is an hour later.

    Examples
    --------
    bayesgraph explore alarm.bif -e CVP=HIGH
    """
    # Pages of earlier calls.
    for old in Path(tempfile.gettempdir()).glob(f"bayesgraph-*{PAGE}"):
        with suppress(OSError):
            if time.time() - old.stat().st_mtime > _SECONDS_KEPT:
                old.unlink()
    page = _page(model, evidence)
    with tempfile.NamedTemporaryFile(
        "w", prefix="bayesgraph-", suffix=PAGE, delete=False, encoding="utf-8"
    ) as file:
        file.write(page)
    path = Path(file.name)
    opened = webbrowser.open(path.as_uri())
    say(f"Written to {path}{'' if opened else '; open it in a browser'}")


def _page(model: Path, evidence: list[str] | None, output: Path | None = None) -> Any:
    """Write a model as a page, or return the page without a path to write to."""
    loaded = reading.load_whole(model)
    findings = reading.evidence_of(reading.network_of(loaded), evidence) or None
    return loaded.to_html(output, evidence=findings, title=model.name.split(".")[0])


@app.add()
def convert(source: Path, destination: Path, *, lossy: bool = False, report: bool = False) -> None:
    """Convert a model from one format to another, or to a picture, named by the suffixes.

    Parameters
    ----------
    source
        A file of a model; or - for standard input, or bif:- of another format.
    destination
        The file to write; or - for standard output, or bif:- of another format.
    report
        Print what other programs read in another form, and what is lost.

    Examples
    --------
    bayesgraph convert alarm.bif.gz alarm.xmlbif --lossy --report
    """
    output = model_to(destination, PICTURES)
    with skipped_in_reading() as skipped:
        loaded = reading.load_whole(source)
    # The report of what the format could not hold; a picture has none.
    lost = None
    if output.suffix in PICTURES:
        output.write(reading.network_of(loaded).render)
    else:
        lost = output.save(loaded, lossy=lossy)
    output.done(f"{source} written to {{}}")
    if report and lost is not None:
        output.done(str(replace(lost, skipped=skipped.lines())))


@app.add("warm-up")
def warm_up() -> None:
    """Compile everything that is compiled, for images and machines that must answer at once.

    It takes two to six minutes, once for a machine.

    Examples
    --------
    bayesgraph warm-up
    """
    cli.warm_up.compile_all(say_share)
    say("All kernels are compiled.")


@app.add()
def info(model: Path, *, output: Path | None = None) -> None:
    """Print what a model was fitted on, its structure, its settings and a checksum.

    Parameters
    ----------
    output
        A .txt, .md or .html file, else printed; md:- prints Markdown.

    Examples
    --------
    bayesgraph info heart.bayesgraph -o heart-card.html
    """
    written = None if output is None else output_to(output, (".txt", ".md", PAGE))
    card = bg.card(reading.load_answering(model), title=f"Model card: {model.name}")
    put(card, written, card.save, "Written to {}")
