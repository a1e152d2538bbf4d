"""Arguments and options that several commands have."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

import bayesgraph as bg
from bayesgraph.cli import models
from bayesgraph.cli.output import check_apart

# ------------------------------------------------ Arguments and options that several commands have


Data = Annotated[
    Path,
    typer.Argument(
        help="A .csv, .tsv (also .gz or .zst) or .parquet file, or - for standard input.",
        show_default=False,
    ),
]
ModelFile = Annotated[
    Path,
    typer.Argument(
        help=f"A file that ends in {', '.join(bg.files.FORMATS)}; or - for standard input, or "
        "bif:- of another format than the native one.",
        show_default=False,
    ),
]
Rows = Annotated[
    Path,
    typer.Argument(
        help="A .csv, .tsv (also .gz or .zst) or .parquet file, - for standard input, or a folder "
        "or a quoted glob of files of one kind, which may be larger than memory.",
        show_default=False,
    ),
]
Target = Annotated[str, typer.Option(help="Column with the classes.", show_default=False)]
Categorical = Annotated[
    list[str] | None,
    typer.Option(help="Numeric column to take as discrete; may be repeated; 'all' for all."),
]
CheckColumns = Annotated[
    bool, typer.Option(help="Warn of columns that look wrong, such as identifiers.")
]
Drop = Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")]
Alpha = Annotated[
    float | None, typer.Option(help="Pseudo-count for each cell of a table; 1 by default.")
]
SmoothingName = Annotated[str | None, typer.Option(help="Smoothing of sparse tables. {smoothings}")]
DiscretizerName = Annotated[
    str | None,
    typer.Option(
        help="Intervals of numbers; not for trees. {discretizers} {discretizers of streams}"
    ),
]
Exponents = Annotated[
    str | None,
    typer.Option(help="Exponents of features, such as 'none' for all 1. {exponents}"),
]
Lossy = Annotated[
    bool,
    typer.Option("--lossy", help="Write names and states in a form that the format has."),
]
Evidence = Annotated[
    list[str] | None,
    typer.Option(
        "--evidence",
        "-e",
        help="NAME=VALUE, NAME=LOW..HIGH for a number between two, or for soft evidence "
        "NAME=STATE:LIKELIHOOD,STATE:LIKELIHOOD,... of all states; may be repeated.",
    ),
]
Targets = Annotated[
    list[str] | None,
    typer.Option(
        help="Variable to query; repeat for a joint posterior; a classifier's class by default."
    ),
]
OneTarget = Annotated[
    str | None, typer.Option("--target", help="Variable; a classifier's class by default.")
]
Everything = Annotated[
    bool, typer.Option("--all", help="Print the posteriors of all unobserved variables.")
]


def output_option(text: str) -> Any:
    return typer.Option("--output", "-o", help=text)


class NamesModels(typer.core.TyperCommand):
    """A command whose help lists models, families and others, imported only to show the help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with ``{models}``, ``{families}`` and others replaced by their names."""
        lists = models.lists()
        for parameter in self.params:
            text = getattr(parameter, "help", None) or ""
            for title, names in lists.items():
                text = text.replace(f"{{{title}}}", f"{title.capitalize()}: {', '.join(names)}.")
            parameter.help = text  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)


# --------------------------------------------------------------- The option that every command has


_QUIET = inspect.Parameter(
    "quiet",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool,
        typer.Option("--quiet", help="Do not say how far the work is, or where it was written."),
    ],
)


class Commands(typer.Typer):
    """Commands of one panel of the help, each of which takes ``--quiet``."""

    def __init__(self, panel: str) -> None:
        super().__init__()
        self.panel = panel

    def command(self, *args: Any, **options: Any) -> Callable[[Any], Any]:
        """Return a decorator that adds a function to the commands; see `typer.Typer.command`."""
        add = super().command(*args, rich_help_panel=self.panel, **options)

        def added(function: Callable[..., None]) -> Callable[..., None]:
            add(_checked(function))
            return function

        return added


# Parameters that name a file to write; other paths, and models, are read.
_WRITTEN = ("output", "plot", "destination")


def _checked(function: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(function)
    def run(*, quiet: bool, **given: Any) -> None:
        # `main` has seen the option already; it is declared here, for the help and the parser.
        del quiet
        listed = {n: v if isinstance(v, list) else [v] for n, v in given.items() if v is not None}
        written = [path for name in _WRITTEN for path in listed.pop(name, ())]
        paths = [item for items in listed.values() for item in items if isinstance(item, Path)]
        # A model may be the name of one, or of a file.
        check_apart(written, [*map(Path, listed.get("model", ())), *paths])
        function(**given)

    signature = inspect.signature(function, eval_str=True)
    parameters = [*signature.parameters.values(), _QUIET]
    ordered = sorted(parameters, key=lambda parameter: parameter.kind)
    run.__signature__ = signature.replace(parameters=ordered)  # type: ignore[attr-defined]
    return run
