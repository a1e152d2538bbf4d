"""The command that prints the card of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import bayesgraph as bg
from bayesgraph import late_methods
from bayesgraph.cli.options import ModelFile
from bayesgraph.cli.output import PAGE, check_output

app = typer.Typer()


@app.command(epilog="Example: bayesgraph info heart.bayesgraph --html heart-card.html")
def info(
    model: ModelFile,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write the card to an .html file.")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Print what a model was fitted on, its structure, its settings and a checksum."""
    if html is not None:
        check_output(html, (PAGE,))
    card = late_methods.card(bg.io.load_saved(model), title=f"Model card: {model.name}")
    if html is None or markdown:
        typer.echo(card.to_markdown() if markdown else card.to_text(), nl=not markdown)
    if html is not None:
        card.save(html)
        typer.echo(f"Written to {html}", err=markdown)
