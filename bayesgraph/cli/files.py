"""Commands on files of models: show, render, explore and convert; and warm-up."""

from __future__ import annotations

import tempfile
import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import bayesgraph as bg
from bayesgraph import cli
from bayesgraph.cli import reading
from bayesgraph.cli.options import Commands, Evidence, Lossy, ModelFile, output_option
from bayesgraph.cli.output import PAGE, PICTURES, model_to, output_to, say
from bayesgraph.core.errors import DataError
from bayesgraph.files import skipped_in_reading

# --------------------- Commands on files of models: show, render, explore and convert; and warm-up


app = Commands("Files")


@app.command(epilog="Example: bayesgraph show iris.bayesgraph")
def show(
    model: ModelFile,
    tables: Annotated[
        bool, typer.Option("--tables", help="Print the distribution of each variable instead.")
    ] = False,
    table: Annotated[
        list[str] | None,
        typer.Option(help="Variable whose distribution to print as a whole; may be repeated."),
    ] = None,
) -> None:
    """Print the variables of a model, their parents, and the arcs with their scores."""
    if tables or table:
        network = reading.load_model(model)
        say(
            cli.printing.distributions_text(
                network, [reading.named(network, t) for t in table or ()]
            )
        )
        return
    with reading.model_file(model) as file:
        loaded = bg.files.load_saved(file)
        # Only the estimator itself knows a text that its file does not have.
        whole = reading.is_classifier(loaded) and getattr(loaded, "text", None) is None
        text = repr(bg.load(file)) if whole else getattr(loaded, "text", None)
    network = reading.network_of(loaded)
    say(repr(network))
    if reading.is_classifier(loaded):
        kind = "target" if getattr(loaded, "classes_", None) is None else "class"
        say(f"{text}, {kind} {loaded.target_.name!r}")
    cli.printing.show(cli.printing.variables_table(network))
    if isinstance(network, (bg.BayesianNetwork, bg.WeightedNetwork)) and network.arc_scores:
        cli.printing.show(cli.printing.scores_table(dict(network.arc_scores)))


@app.command(epilog="Example: bayesgraph render alarm.bif -o alarm.svg -e CVP=HIGH --beliefs")
def render(
    model: ModelFile,
    output: Annotated[Path, output_option("An .svg, .png, .pdf, .dot or .html file.")],
    evidence: Evidence = None,
    beliefs: Annotated[bool, typer.Option(help="Draw the posterior in each node.")] = False,
    tables: Annotated[bool, typer.Option(help="Draw the probability tables.")] = False,
) -> None:
    """Draw the graph of a model; an .html file is an offline page that answers questions."""
    drawn = output_to(output, (*PICTURES, PAGE))
    if drawn.suffix == PAGE:
        for option, is_given in (("--beliefs", beliefs), ("--tables", tables)):
            if is_given:
                raise DataError(f"{option} goes with a picture; an .html page always has them.")
        with drawn.file() as file:
            _page(model, evidence, file)
        drawn.done("Written to {}; any browser opens it")
        return
    loaded = reading.load_answering(model)
    network = reading.network_of(loaded)
    options: dict[str, Any] = {
        "evidence": reading.evidence_of(network, evidence) or None,
        "beliefs": beliefs,
        "tables": tables,
    }
    if reading.is_classifier(loaded):
        options["target"] = loaded.target_.name
    with drawn.file() as file:
        network.render(file, **options)
    drawn.done("Drawn to {}")


@app.command(epilog="Example: bayesgraph explore alarm.bif -e CVP=HIGH")
def explore(model: ModelFile, evidence: Evidence = None) -> None:
    """Open a model in the browser: a page in a temporary file, which answers questions."""
    page = _page(model, evidence)
    with tempfile.NamedTemporaryFile(
        "w", prefix="bayesgraph-", suffix=PAGE, delete=False, encoding="utf-8"
    ) as file:
        file.write(page)
    path = Path(file.name)
    opened = webbrowser.open(path.as_uri())
    say(f"Written to {path}{'' if opened else '; open it in a browser'}")


def _page(model: Path, evidence: list[str] | None, output: Path | None = None) -> str:
    """Return a model as a page, and write it if there is a path to write to."""
    loaded = reading.load_whole(model)
    given = reading.evidence_of(reading.network_of(loaded), evidence) or None
    page: str = loaded.to_html(output, evidence=given, title=model.name.split(".")[0])
    return page


@app.command(epilog="Example: bayesgraph convert alarm.bif.gz alarm.xmlbif --lossy --report")
def convert(
    source: ModelFile,
    destination: Annotated[
        Path,
        typer.Argument(
            help="The file to write; or - for standard output, or bif:- of another format.",
            show_default=False,
        ),
    ],
    lossy: Lossy = False,
    report: Annotated[
        bool,
        typer.Option(
            "--report", help="Print what other programs read in another form, and what is lost."
        ),
    ] = False,
) -> None:
    """Convert a model from one format to another, or to a picture, named by the suffixes."""
    output = model_to(destination, PICTURES)
    with skipped_in_reading() as skipped:
        loaded = reading.load_whole(source)
    if output.suffix in PICTURES:
        with output.file() as file:
            reading.network_of(loaded).render(file)
        told = None
    else:
        told = output.save(loaded, lossy=lossy)
    output.done(f"{source} written to {{}}")
    if report and told is not None:
        output.done(str(replace(told, skipped=skipped.lines())))


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
        say("All kernels are compiled.")


# ----------------------------------------------------- The command that prints the card of a model


_FORMS = (".txt", ".md", PAGE)


@app.command(epilog="Example: bayesgraph info heart.bayesgraph -o heart-card.html")
def info(
    model: ModelFile,
    output: Annotated[
        Path | None,
        output_option("A .txt, .md or .html file, else printed; md:- prints Markdown."),
    ] = None,
) -> None:
    """Print what a model was fitted on, its structure, its settings and a checksum."""
    written = None if output is None else output_to(output, _FORMS)
    card = bg.card(reading.load_answering(model), title=f"Model card: {model.name}")
    if written is None:
        say(card.to_text())
        return
    with written.file() as file:
        card.save(file)
    written.done("Written to {}")
