"""The commands, in groups of those that have to do with each other."""

from __future__ import annotations

from typing import Annotated

import typer

import bayesgraph as bg
from bayesgraph.cli import files, learning, options, predicting, questions
from bayesgraph.core.compilation import tiers

app = typer.Typer(
    name="bayesgraph",
    cls=options.Root,
    help="Probabilistic graphical models: every classifier is a graph that answers questions.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 10_000},
)
for _group in (learning.app, predicting.app, questions.app, questions.comparing, files.app):
    app.add_typer(_group)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    # No process compiles kernels meanwhile: a command ends before it would have compiled anything.
    tiers.background.allowed = False
    if version:
        typer.echo(bg.__version__)
        raise typer.Exit
