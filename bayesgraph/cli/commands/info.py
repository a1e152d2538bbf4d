"""The command that prints the card of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import bayesgraph as bg
from bayesgraph.cli.loaded import load_answering
from bayesgraph.cli.options import ModelFile, output_option
from bayesgraph.cli.output import PAGE, output_to, say
from bayesgraph.cli.registering import Commands

app = Commands("Files")
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
    card = bg.card(load_answering(model), title=f"Model card: {model.name}")
    if written is None:
        say(card.to_text())
        return
    with written.file() as file:
        card.save(file)
    written.done("Written to {}")
