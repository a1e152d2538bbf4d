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
import pkgutil
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

import bayesgraph as bg
from bayesgraph.cli.entry import OPTIONS
from bayesgraph.cli.output import check_apart
from bayesgraph.cli.reading import Reading
from bayesgraph.core.errors import DataError, suggestion

# ------------------------------------------------------ The lists of names that options choose from


# Where the lists are that the help reads; to import them all takes a while.
_LISTS = {
    "models": "bayesgraph.cli.models:models",
    "families": "bayesgraph.models:FAMILIES",
    "smoothings": "bayesgraph.statistics:SCHEMES",
    "discretizers": "bayesgraph.classifiers:DISCRETIZERS",
    "discretizers without a class": "bayesgraph.classifiers:UNSUPERVISED",
    "discretizers of streams": "bayesgraph.learning:DISCRETIZERS",
    "exponents": "bayesgraph.learning:ALL_SCHEMES",
    "summaries": "bayesgraph.statistics:SUMMARIES",
    "detectors": "bayesgraph.learning:DETECTORS",
    "methods": "bayesgraph.learning:METHODS",
    "scores": "bayesgraph.learning:GENERAL_SCORES",
    "structures": "bayesgraph.learning:LEARNERS",
    "measures": "bayesgraph.cli.printing:MEASURES",
}
# The lists that the value of a parameter is from.
CHOICES = {
    "distributions": ["families"],
    "smoothing": ["smoothings"],
    "discretizer": ["discretizers", "discretizers of streams"],
    "exponents": ["exponents"],
    "summary": ["summaries"],
    "detector": ["detectors"],
    "score": ["scores"],
    "structure": ["structures"],
}


def registered(title: str) -> Any:
    """Return what the library has of a list that options choose from."""
    found = pkgutil.resolve_name(_LISTS[title])
    return found() if title == "models" else found


def names_of(title: str) -> list[str]:
    """Return the names of a list that options choose from, as they are typed."""
    found: Iterable[str] = registered(title)
    return [name.replace("_", "-") if title == "methods" else name for name in found]


def lists() -> dict[str, list[str]]:
    """Return the names that options choose from, by the heading of each list."""
    return {title: names_of(title) for title in _LISTS}


def chosen(option: str, value: str, title: str) -> str:
    """Return the value of an option, which must be a name of a list.

    Raises
    ------
    DataError
        If it is none; the message has the names and the nearest one.
    """
    known = names_of(title)
    if value not in known:
        near = suggestion(value, known)
        raise DataError(f"--{option} is one of {', '.join(known)}; got {value!r}.{near}")
    return value


# ------------------------------------------------------- Options from signatures and docstrings


Texts = list[str] | None

# Options that are not two signs and the name of the parameter.
_FLAGS = {
    "output": ("--output", "-o"),
    "evidence": ("--evidence", "-e"),
    "set_": ("--set", "-s"),
    "costs": ("--cost", "-c"),
    "everything": ("--all",),
    "count": ("-k",),
    "n": ("-n",),
}
# The least value of options that are numbers.
_LEAST = {"cv": 2, "repeats": 1, "ahead": 1, "count": 1, "n": 0, "bins": 1, "bootstrap": 1}
# Parameters of the library that no text can be given for, and the form of those that may be
# repeated.
NOT_TYPED = ("priors", "items", "losses", "ranges")
_REPEATED = {
    "categorical": "COLUMN|all",
    "distributions": "COLUMN=FAMILY|FAMILY",
    "required": "PARENT:CHILD",
    "forbidden": "PARENT:CHILD",
    "tiers": "NAME,NAME,...",
    "evidence": "NAME=VALUE",
    "do": "NAME=VALUE",
    "costs": "NAME=NUMBER",
    "fixed": "NAME",
    "among": "NAME",
}


def documented(docstring: str | None) -> dict[str, str]:
    """Return what a docstring in numpydoc's form says of each parameter."""
    text = inspect.cleandoc(docstring or "")
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n---|\Z)", text, re.M | re.S)
    entries = re.findall(
        r"^((?:\S+,\s)*\S+)(?: : .*)?\n((?:(?: .*)?\n)*)",
        f"{section[1]}\n" if section else "",
        re.M,
    )
    return {
        name: " ".join(lines.split())
        for names, lines in entries
        for name in re.split(r",\s", names)
    }


def _option(
    name: str, kind: Any, text: str, flags: Sequence[str], default: Any = None, **look: Any
) -> inspect.Parameter:
    """Return the parameter of a command that is an option."""
    declared = typer.Option(*flags, help=text, min=_LEAST.get(name), **look)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, declared]
    )


def library_options(
    functions: Iterable[Any],
    documents: Iterable[Any],
    left_out: Collection[str] = (),
    names: Mapping[str, str] = OPTIONS,
) -> list[inspect.Parameter]:
    """Return the options of all parameters of functions that have a default.

    Parameters
    ----------
    functions : iterable of functions and classes
    documents : iterable of functions and classes
        Whose docstrings say what a parameter is, the first that has it.
    left_out : collection of str
        Parameters that are no options.
    names : mapping from parameter to option
        Of the options with a name of their own.
    """
    texts: dict[str, str] = {}
    for document in documents:
        # "As in `fit`" is no help here.
        entries = documented(document.__doc__)
        texts = {name: text for name, text in entries.items() if text[:3] != "As "} | texts
    annotations = {
        p.name: str(p.annotation)
        for function in functions
        for p in inspect.signature(function).parameters.values()
        if p.default is not p.empty and p.name not in {*NOT_TYPED, *left_out}
    }
    if "smoothing" in annotations:
        annotations["smoothing__alpha"] = "float"
        texts["smoothing__alpha"] = "Pseudo-count for each cell of a table; 1 by default."
    return [_of_library(name, kind, texts, names) for name, kind in annotations.items()]


def _of_library(
    name: str, annotation: str, texts: Mapping[str, str], names: Mapping[str, str]
) -> inspect.Parameter:
    """Return the option of a parameter of the library."""
    metavar = _REPEATED.get(name)
    words = "".join({*re.findall(r"\w+", annotation)} - {"None"})
    kind = list[str] if metavar else {"int": int, "float": float, "bool": bool}.get(words, str)
    option = names.get(name, name).replace("_", "-")
    flags = (f"--{option}/--no-{option}",) if kind is bool else (f"--{option}",)
    sentence = re.split(r"(?<!\.)\.(?: |$)", re.sub(r":\w+:`|`", "", texts[name]).lstrip("* "))[0]
    lists = [f"{{{title}}}" for title in CHOICES.get(name, ())]
    text = " ".join([f"{sentence}.", *["May be repeated."][: metavar is not None], *lists])
    look = {"metavar": metavar, "rich_help_panel": "Parameters, as in Python"}
    return _option(name, kind | None, text, _FLAGS.get(name, flags), **look)


# ----------------------------------------------------------------------- Commands made of functions


# Parameters that name a file to write; other paths, and models, are read.
_WRITTEN = ("output", "plot", "destination")


class Commands(typer.Typer):
    """Commands of one panel of the help, each of which takes ``--quiet``."""

    def __init__(self, panel: str) -> None:
        super().__init__()
        self.panel = panel

    def add(
        self,
        name: str | None = None,
        parameters: Callable[[], list[inspect.Parameter]] | None = None,
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
            texts = documented(__doc__) | documented(function.__doc__)
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
            more = [option for option in self.parameters() if option.name not in named]
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
                names = f"{title.capitalize()}: {', '.join(names_of(title))}."
                text = text.replace(f"{{{title}}}", names)
            parameter.help = text
        super().format_help(ctx, formatter)


def _runner(
    function: Callable[..., None], texts: dict[str, str], more: Sequence[inspect.Parameter] = ()
) -> Callable[..., None]:
    """Return a function that checks what is written, and runs a command, with `more` options."""
    parameters = [
        *_declared(function, texts),
        *more,
        _option("quiet", bool, texts["quiet"], ("--quiet",), False),
    ]
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
    parameters = inspect.signature(function, eval_str=True).parameters
    for name, parameter in parameters.items():
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            argument = typer.Argument(help=texts[name], show_default=False)
            yield parameter.replace(annotation=Annotated[parameter.annotation, argument])
        elif parameter.kind is parameter.KEYWORD_ONLY and name != "reading":
            yield _own_option(parameter, texts)
    if "reading" in parameters:
        texts = documented(Reading.__doc__)
        for parameter in inspect.signature(Reading, eval_str=True).parameters.values():
            yield _own_option(parameter, texts, rich_help_panel="How the table is written")


def _own_option(
    parameter: inspect.Parameter, texts: Mapping[str, str], **look: Any
) -> inspect.Parameter:
    """Return the option of a parameter of a command."""
    name = parameter.name
    # Only what is so by default has an option against it.
    alone = (f"--{name.replace('_', '-')}",) if parameter.default is False else ()
    flags = _FLAGS.get(name, alone)
    return _option(name, parameter.annotation, texts[name], flags, parameter.default, **look)
