"""Commands made of functions: parameters are arguments and options, docstrings are the help.

Parameters
----------
data
    A .csv, .tsv (also .gz or .zst) or .parquet file, or - for standard input.
model
    A file that ends in {formats}; or - for standard input, or bif:- of another format than the
    native one.
target
    Variable; a classifier's class by default.
evidence
    NAME=VALUE, NAME=LOW..HIGH for a number between two, or for soft evidence
    NAME=STATE:LIKELIHOOD,STATE:LIKELIHOOD,... of all states; may be repeated.
everything
    Print the posteriors of all unobserved variables.
drop
    Column to leave out; may be repeated.
lossy
    Write names and states in a form that the format has.
quiet
    Do not say how far the work is, or where it was written.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

import bayesgraph as bg
from bayesgraph.cli import models
from bayesgraph.cli.output import check_apart
from bayesgraph.cli.reading import Reading

Texts = list[str] | None

# Options that are not two signs and the name of the parameter.
_FLAGS = {
    "output": ("--output", "-o"),
    "evidence": ("--evidence", "-e"),
    "set_": ("--set", "-s"),
    "cost": ("--cost", "-c"),
    "everything": ("--all",),
    "count": ("-k",),
    "n": ("-n",),
}
# The least value of options that are numbers.
_LEAST = {"cv": 2, "repeats": 1, "ahead": 1, "count": 1, "n": 0, "bins": 1, "bootstrap": 1}
# Parameters that name a file to write; other paths, and models, are read.
_WRITTEN = ("output", "plot", "destination")
_READING_PANEL = "How the table is written"


class Commands(typer.Typer):
    """Commands of one panel of the help, each of which takes ``--quiet``."""

    def __init__(self, panel: str) -> None:
        super().__init__()
        self.panel = panel

    def add(
        self,
        name: str | None = None,
        parameters: Callable[[], list[models.LibraryOption]] | None = None,
    ) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """Return a decorator that makes a command of a function.

        Parameters
        ----------
        name : str, optional
            Of the command, if it is not that of the function.
        parameters : callable, optional
            Returns options of the library, which the function takes as ``**parameters``. They are
            found when the command is used.
        """

        def added(function: Callable[..., None]) -> Callable[..., None]:
            texts = models.documented(__doc__) | models.documented(function.__doc__)
            texts["model"] = texts["model"].replace("{formats}", ", ".join(bg.files.FORMATS))
            summary, example = _summary_and_example(function)
            self.command(
                name or function.__name__,
                cls=functools.partial(  # type: ignore[arg-type]
                    _Command, parameters=parameters, function=function, texts=texts
                ),
                help=summary,
                epilog=f"Example: {example}",
                rich_help_panel=self.panel,
            )(_runner(function, texts))
            return function

        return added


def _summary_and_example(function: Callable[..., None]) -> tuple[str, str]:
    text = inspect.cleandoc(function.__doc__ or "")
    example = text.partition("Examples\n--------\n")[2]
    return text.partition("\n\n")[0], " ".join(example.split())


class _Command(typer.core.TyperCommand):
    """A command with options of the library, which is imported only where they are needed."""

    def __init__(
        self, *args: Any, parameters: Any, function: Any, texts: Any, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self.parameters, self.function, self.texts = parameters, function, texts

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options, with those of the library."""
        if self.parameters is not None:
            named = {parameter.name for parameter in self.params}
            more = [_of_library(o) for o in self.parameters() if o.parameter not in named]
            app = typer.Typer(add_completion=False)
            app.command()(_runner(self.function, self.texts, more))
            whole = typer.main.get_command(app)
            self.params, self.callback, self.parameters = whole.params, whole.callback, None
        return super().get_params(ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with ``{models}``, ``{families}`` and others replaced by their names."""
        for parameter in self.get_params(ctx):
            text = getattr(parameter, "help", None) or ""
            titles = re.findall(r"\{([a-z ]+)\}", text)
            for title in titles:
                names = f"{title.capitalize()}: {', '.join(models.names_of(title))}."
                text = text.replace(f"{{{title}}}", names)
            parameter.help = text
        super().format_help(ctx, formatter)


def _of_library(option: models.LibraryOption) -> inspect.Parameter:
    """Return an option of the library as a parameter of a command."""
    declared = typer.Option(
        *option.flags,
        help=option.help,
        metavar=option.metavar,
        rich_help_panel="Parameters, as in Python",
    )
    return inspect.Parameter(
        option.parameter,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[option.type | None, declared],
    )


def _runner(
    function: Callable[..., None], texts: dict[str, str], more: Sequence[inspect.Parameter] = ()
) -> Callable[..., None]:
    """Return a function that checks what is written, and runs a command, with `more` options."""
    parameters = [*_declared(function, texts), *more]
    reading = [*inspect.signature(Reading).parameters]
    reads_table = "reading" in inspect.signature(function).parameters

    def run(*, quiet: bool, **given: Any) -> None:
        # `main` has seen the option already; it is declared here, for the help and the parser.
        del quiet
        listed = {n: v if isinstance(v, list) else [v] for n, v in given.items() if v is not None}
        written = [path for name in _WRITTEN for path in listed.pop(name, ())]
        paths = [item for items in listed.values() for item in items if isinstance(item, Path)]
        # A model may be the name of one, or of a file.
        check_apart(written, [*map(Path, listed.get("model", ())), *paths])
        if reads_table:
            given["reading"] = Reading(**{name: given.pop(name) for name in reading})
        function(**given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _declared(function: Callable[..., None], texts: dict[str, str]) -> Iterator[inspect.Parameter]:
    """Yield the parameters of a command as typer takes them."""
    of_reading: list[inspect.Parameter] = []
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        if parameter.annotation is Reading:
            documented = models.documented(Reading.__doc__)
            of_reading = [
                _option(p, documented[name], _READING_PANEL)
                for name, p in inspect.signature(Reading, eval_str=True).parameters.items()
            ]
        elif parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            argument = typer.Argument(help=texts[parameter.name], show_default=False)
            yield parameter.replace(annotation=Annotated[parameter.annotation, argument])
        elif parameter.kind is parameter.KEYWORD_ONLY:
            yield _option(parameter, texts[parameter.name])
    yield from of_reading
    quiet = inspect.Parameter(
        "quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=bool
    )
    yield _option(quiet, texts["quiet"])


def _option(parameter: inspect.Parameter, text: str, panel: str | None = None) -> inspect.Parameter:
    name = parameter.name
    # Only what is so by default has an option against it.
    alone = (f"--{name.replace('_', '-')}",) if parameter.default is False else ()
    option = typer.Option(
        *_FLAGS.get(name, alone), help=text, min=_LEAST.get(name), rich_help_panel=panel
    )
    annotation: Any = Annotated[parameter.annotation, option]
    return parameter.replace(annotation=annotation, kind=parameter.KEYWORD_ONLY)
