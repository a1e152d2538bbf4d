"""The command that prints the card of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bayesgraph import late_methods
from bayesgraph.cli.loaded import load_answering
from bayesgraph.cli.options import ModelFile
from bayesgraph.cli.output import PAGE, output_to, say
from bayesgraph.cli.registering import Commands

app = Commands()


@app.command(epilog="Example: bayesgraph info heart.bayesgraph --html heart-card.html")
def info(
    model: ModelFile,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write the card to an .html file.")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Print what a model was fitted on, its structure, its settings and a checksum."""
    written = None if html is None else output_to(html, (PAGE,))
    card = late_methods.card(load_answering(model), title=f"Model card: {model.name}")
    if written is None or markdown:
        say(card.to_markdown().rstrip("\n") if markdown else card.to_text())
    if written is not None:
        with written.file() as file:
            card.save(file)
        written.done("Written to {}")
