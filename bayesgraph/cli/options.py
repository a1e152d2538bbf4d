"""Commands made of functions: parameters are arguments and options, docstrings are the help.

Parameters
----------
data
    A .csv, .tsv (also .gz or .zst) or .parquet file, or - for standard input.
model
    A file; or - for standard input, or bif:- of another format than the native one. {formats}
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
json
    Print answers as lines of JSON.
"""

from __future__ import annotations

import functools
import inspect
import pkgutil
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from bayesgraph.cli.entry import OPTIONS
from bayesgraph.cli.output import is_stream
from bayesgraph.cli.reading import Reading
from bayesgraph.core.errors import BayesGraphError, DataError, suggestion
from bayesgraph.tables import check_apart

# ------------------------------------------------------ The lists of names that options choose from


# Where the lists are that the help reads; to import them all takes a while.
LISTS = {
    "models": "bayesgraph.cli.models:models",
    "families": "bayesgraph.models:FAMILIES",
    "smoothings": "bayesgraph.statistics:SCHEMES",
    "discretizers": "bayesgraph.classifiers:DISCRETIZERS",
    "discretizers without a class": "bayesgraph.classifiers:UNSUPERVISED",
    "discretizers of streams": "bayesgraph.learning:DISCRETIZERS",
    "exponents": "bayesgraph.learning:ALL_SCHEMES",
    "summaries": "bayesgraph.statistics:SUMMARIES",
    "sketches": "bayesgraph.statistics:SKETCHES",
    "detectors": "bayesgraph.learning:DETECTORS",
    "methods": "bayesgraph.learning:METHODS",
    "scores": "bayesgraph.learning:GENERAL_SCORES",
    "structures": "bayesgraph.learning:LEARNERS",
    "measures": "bayesgraph.cli.printing:MEASURES",
    "formats": "bayesgraph.files:FORMATS",
}
# The lists that the value of a parameter is from.
CHOICES = {
    "distributions": ["families"],
    "smoothing": ["smoothings"],
    "discretizer": ["discretizers", "discretizers of streams"],
    "exponents": ["exponents"],
    "summary": ["summaries"],
    "sketch": ["sketches"],
    "detector": ["detectors"],
    "score": ["scores"],
    "structure": ["structures"],
}


def registered(title: str) -> Any:
    """Return a list of the library that options choose from."""
    # Models are made on demand, by a function.
    names = pkgutil.resolve_name(LISTS[title])
    return names() if title == "models" else names


def names_of(title: str) -> list[str]:
    """Return the names of a list that options choose from, as they are typed."""
    # Methods have the names of functions, with underscores.
    names: Iterable[str] = registered(title)
    return [name.replace("_", "-") if title == "methods" else name for name in names]


def chosen(option: str, value: str, title: str) -> str:
    """Return the value of an option, which must be a name of a list.

    Raises
    ------
    DataError
        If it is none; the message has the names and the nearest one.
    """
    names = names_of(title)
    if value not in names:
        near = suggestion(value, names)
        raise DataError(f"--{option} is one of {', '.join(names)}; got {value!r}.{near}")
    return value


def flag(parameter: str, names: Mapping[str, str] = OPTIONS) -> str:
    """Return the option of a parameter, such as ``--check-columns``."""
    return f"--{names.get(parameter, parameter).replace('_', '-')}"


# ------------------------------------------------------- Options from signatures and docstrings


Texts = list[str] | None

# Options that are not two hyphens and the name of the parameter.
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
    """Return the text of each parameter of a docstring in numpydoc's form.

    Several parameters may share a text, as ``low, high : float``.
    """
    text = inspect.cleandoc(docstring or "")
    # Up to the title of the next section, a line above hyphens, or to the end.
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n---|\Z)", text, re.M | re.S)
    body = f"{section[1]}\n" if section else ""
    # A line of names, with or without a type, and the lines below it that are indented or empty.
    entries = re.findall(r"^((?:\S+,\s)*\S+)(?: : .*)?\n((?:(?: .*)?\n)*)", body, re.M)
    return {
        name: " ".join(lines.split())
        for names, lines in entries
        for name in re.split(r",\s", names)
    }


def _option(
    name: str, kind: Any, text: str, flags: Sequence[str], default: Any = None, **of_typer: Any
) -> inspect.Parameter:
    """Return the parameter of a command that is an option.

    `text` is its help; `flags` are its names, unless `_FLAGS` has others; `of_typer` has further
    arguments of `typer.Option`.
    """
    declared = typer.Option(*_FLAGS.get(name, flags), help=text, min=_LEAST.get(name), **of_typer)
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
        # "As in `fit`" is no help here. Texts that are there already, of earlier docstrings, stay.
        entries = documented(document.__doc__)
        texts = {name: text for name, text in entries.items() if text[:3] != "As "} | texts
    # Each parameter with its annotation, which is a text in modules that postpone annotations.
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
    """Return the option of a parameter of the library, whose text begins its help."""
    metavar = _REPEATED.get(name)
    # The text of a type, such as "int | None"; other types than these are given as text.
    types = {*re.findall(r"\w+", annotation)} - {"None"}
    kind: Any = next((kind for kind in (int, float, bool) if types == {kind.__name__}), str)
    option = flag(name, names)
    flags = f"{option}/--no-{option[2:]}" if kind is bool else option
    # Without the roles and backquotes of reStructuredText, and the bullet of a list.
    plain = re.sub(r":\w+:`|`", "", texts[name]).lstrip("* ")
    # The first sentence: it ends with a full stop, and not with that of "..." or "et al.".
    text = re.split(r"(?<!\.)(?<! al)\.(?: |$)", plain)[0] + "."
    if metavar is not None:
        kind, text = list[str], f"{text} May be repeated."
    # `format_help` puts the names of the lists in the place of their titles.
    text = " ".join([text, *(f"{{{title}}}" for title in CHOICES.get(name, ()))])
    of_typer = {"metavar": metavar, "rich_help_panel": "Parameters, as in Python"}
    return _option(name, kind | None, text, (flags,), **of_typer)


def _declared(function: Any, texts: Mapping[str, str], **of_typer: Any) -> list[inspect.Parameter]:
    """Return the arguments and options of a function of a command, as typer takes them.

    Parameters without a default are arguments, unless they are given by keyword alone.
    """
    parameters = []
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        # In their place `_runner` adds the options of the library, and those of `Reading`.
        if parameter.kind is parameter.VAR_KEYWORD or name == "reading":
            continue
        kind, default = parameter.annotation, parameter.default
        if default is parameter.empty and parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            argument = typer.Argument(help=texts[name], show_default=False)
            parameters.append(parameter.replace(annotation=Annotated[kind, argument]))
        else:
            # Without a name given here, typer adds --no-NAME to a flag: for those on by default.
            flags = (flag(name),) if default is False else ()
            parameters.append(_option(name, kind, texts[name], flags, default, **of_typer))
    return parameters


# ----------------------------------------------------------------------- Commands made of functions


# Parameters that name a file to write; other paths, and models, are read.
_WRITTEN = ("output", "plot", "destination")


class Commands(typer.Typer):
    """Commands of one panel of the help, each of which takes ``--quiet``."""

    def __init__(self, panel: str) -> None:
        super().__init__()
        self.panel = panel

    def add(
        self, name: str | None = None, parameters: Callable[[], list[inspect.Parameter]] = list
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
            # The options are not known yet: `_Command` finds them, and what it calls.
            text = inspect.cleandoc(function.__doc__ or "")
            example = text.partition("Examples\n--------\n")[2]
            command = functools.partial(_Command, parameters=parameters, function=function)
            self.command(
                name or function.__name__,
                cls=command,  # type: ignore[arg-type]
                help=text.partition("\n\n")[0],
                epilog=f"Example: {' '.join(example.split())}",
                rich_help_panel=self.panel,
            )(_for_all)
            return function

        return added


def _for_all(*, quiet: bool = False, json: bool = False) -> None:
    """Take what every command takes; `main` has seen the options already."""


class _Command(typer.core.TyperCommand):
    """A command whose options, some of which are those of the library, are found when needed."""

    def __init__(self, *args: Any, parameters: Any, function: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.parameters, self.function = parameters, function

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options, with those of the library, which are found at the first call."""
        # None once they are there.
        if self.parameters is not None:
            # typer makes options of the signatures of an app's commands: this app has one alone.
            app = typer.Typer(add_completion=False)
            app.command()(_runner(self.function, self.parameters()))
            whole = typer.main.get_command(app)
            self.params, self.callback, self.parameters = whole.params, whole.callback, None
        return super().get_params(ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with ``{models}``, ``{families}`` and others replaced by their names."""
        for parameter in self.get_params(ctx):
            text = getattr(parameter, "help", None) or ""
            for title in re.findall(r"\{([a-z ]+)\}", text):
                names = f"{title.capitalize()}: {', '.join(names_of(title))}."
                text = text.replace(f"{{{title}}}", names)
            parameter.help = text
        super().format_help(ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options, each on a line of its own above its text."""
        titles = {"argument": "Arguments", "option": "Options"}
        entries = [
            (p.rich_help_panel or titles[p.param_type_name], p.get_help_record(ctx))
            for p in self.get_params(ctx)
        ]
        _write_sections(formatter, 8, entries)


class Root(typer.core.TyperGroup):
    """The command that has all others."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, with a title for each group."""
        entries = [
            (getattr(command, "rich_help_panel", ""), (name, command.get_short_help_str(200)))
            for name, command in self.commands.items()
        ]
        _write_sections(formatter, 10, entries)


def _write_sections(formatter: Any, indent: int, entries: Sequence[tuple[Any, Any]]) -> None:
    """Write pairs of a name and a text under their titles; titles come in order of appearance.

    Texts are indented by `indent` columns: a longer name has a line of its own above its text.
    """
    sections: dict[Any, list[Any]] = {}
    for title, entry in entries:
        sections.setdefault(title, []).append(entry)
    for title, rows in sections.items():
        with formatter.section(title):
            formatter.write_dl(rows, indent)


def _runner(
    function: Callable[..., None], library: Sequence[inspect.Parameter]
) -> Callable[..., None]:
    """Return a function that checks what is written, and runs a command.

    Its signature, from which typer makes arguments and options, has those of the function, those of
    `Reading` if it reads a table, those of the library, and ``--quiet``.
    """
    # The docstring of this module has the texts of options that commands share.
    texts = documented(__doc__) | documented(function.__doc__)
    parameters = _declared(function, texts)
    names = {parameter.name for parameter in parameters}
    reading = inspect.signature(Reading).parameters
    reads_table = "reading" in inspect.signature(function).parameters
    if reads_table:
        of_typer = {"rich_help_panel": "How the table is written"}
        parameters += _declared(Reading, documented(Reading.__doc__), **of_typer)
    parameters += [option for option in library if option.name not in names]

    # Typer calls it with the values of all arguments and options by name.
    def run(*, quiet: bool, json: bool, **values: Any) -> None:
        del quiet, json  # `main` has seen them
        # An option that may be repeated has a list; in `listed` each has one. Files that are read
        # must not be written.
        listed = {n: v if isinstance(v, list) else [v] for n, v in values.items() if v is not None}
        written = [path for name in _WRITTEN for path in listed.pop(name, ())]
        read = [
            item
            for name, items in listed.items()
            for item in items
            # A model may be the name of one, or of a file.
            if name == "model" or isinstance(item, Path)
        ]
        # Standard input may be one of the files written, by a redirection of the shell.
        check_apart(
            [path for path in written if not is_stream(path)],
            [Path("/dev/stdin") if is_stream(path) else Path(path) for path in read],
        )
        # The options that may be repeated, each with one of the texts given for it.
        several = [(flag(n), x) for n, v in values.items() if isinstance(v, list) for x in v]
        repeated = [(option, text) for option, text in several if isinstance(text, str)]
        if reads_table:
            values["reading"] = Reading(**{name: values.pop(name) for name in reading})
        try:
            function(**values)
        except BayesGraphError as error:
            # The error may be of a text with commas, for which the option has to be repeated.
            for option, text in repeated:
                # A name, or what stands behind NAME= or PARENT:.
                if "," in text and repr(re.split("[=:]", text, maxsplit=1)[-1]) in str(error):
                    raise DataError(f"{error} Repeat {option} for each.") from error
            raise

    parameters += _declared(_for_all, texts)
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run
