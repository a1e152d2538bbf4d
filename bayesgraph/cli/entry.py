"""The command line: fit, query, evaluate, draw and convert models without writing Python."""

from __future__ import annotations

import errno
import functools
import os
import re
import sys
import warnings
from collections.abc import Collection, Sequence
from typing import Any

from bayesgraph import cli
from bayesgraph.cli.progress import LINE
from bayesgraph.core.errors import BayesGraphError, cause, optional_module
from bayesgraph.core.version import __version__

# A small installation, to load and ask from Python, may lack it.
typer = optional_module("typer", what="The command line")

# ------------ Messages of the library in the words of the command line: ``--alpha`` for ``alpha=``


# Options of commands by parameter of the library, where they have another name.
OPTIONS = {
    "distributions": "distribution",
    "n_trees": "trees",
    "smoothing__alpha": "alpha",
    "tiers": "tier",
    "costs": "cost",
    "fixed": "fix",
    "do": "set",
    "n_samples": "bootstrap",
}
# A parameter as messages write it: ``alpha=`` before a blank, a sign or the end, or ``name=False``.
_PARAMETER = re.compile(r"(?<![\w.-])([a-z][a-z_]*)=(False\b|(?=[\s,;:.)]|$))")


def as_typed(message: str, options: Collection[str]) -> str:
    """Return a message with options in the place of the parameters that they set.

    Parameters
    ----------
    message : str
        One that names an option already is left as it is.
    options : collection of str
        Of the command, such as ``--alpha`` and ``--no-check-columns``.
    """

    def option(match: re.Match[str]) -> str:
        # The groups of `_PARAMETER` are the parameter, and "False" or nothing.
        name = OPTIONS.get(match[1], match[1]).replace("_", "-")
        typed = f"--no-{name}" if match[2] else f"--{name}"
        return typed if typed in options and typed not in message else match[0]

    return _PARAMETER.sub(option, message)


# ---------- The command line: fit, query, evaluate, draw and convert models without writing Python


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; an error is one line and exit code 2, never a traceback.

    The environment variable BAYESGRAPH_TRACEBACK=1 lets the traceback of errors through.
    """
    args = sys.argv[1:] if arguments is None else list(arguments)
    try:
        # A line may be drawn before the options are read. It begins with the name of the command.
        LINE.json, quiet = "--json" in args, "--quiet" in args
        with warnings.catch_warnings(), LINE.working("".join(args[:1]), quiet=quiet):
            warnings.showwarning = functools.partial(_show_warning, args, set())
            code = _run(args)
            sys.stdout.flush()
    # Codes of a shell: 128 and the number of the signal, SIGINT or SIGPIPE.
    except (typer.Abort, KeyboardInterrupt):
        code = 130
    except BrokenPipeError:
        # Whoever reads the output has seen enough.
        code = 141
    except Exception as error:
        if os.environ.get("BAYESGRAPH_TRACEBACK") == "1":
            raise
        say_aside(_message(error, args))
        code = 2
    try:
        if sys.stdout:
            sys.stdout.flush()
    except OSError:
        # What is left in the buffer has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    # A command returns None; typer returns a code in its place where a command raised its Exit.
    sys.exit(code if isinstance(code, int) else 0)


def _run(args: Sequence[str]) -> Any:
    """Run a command, and return its exit code."""
    # Standard output is None if the shell has closed it.
    if not sys.stdout:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    if "" in args:
        raise ValueError("An argument is empty: ''. Is it a variable of the shell without value?")
    if args == ["--version"]:
        # The commands and the parsing of options take longer to import than typer.
        return typer.echo(__version__)
    # The bare command shows the help, as if it were asked for.
    return _command().main(args or ["--help"], prog_name="bayesgraph", standalone_mode=False)


@functools.cache
def _command() -> Any:
    """Return all commands with their options, which typer derives from their signatures."""
    return typer.main.get_command(cli.commands.app)


def _options(args: Sequence[str]) -> list[str]:
    """Return the options of the command that arguments begin with; none if it is no command."""
    # The text is empty without arguments.
    command = _command().commands.get("".join(args[:1]))
    parameters = () if command is None else command.get_params(typer.Context(command))
    return [option for p in parameters for option in (*p.opts, *p.secondary_opts)]


def _message(error: Exception, args: Sequence[str]) -> str:
    """Return the message of an error, in the words of the command line."""
    # Errors of the option parser are recognised by a method: typer does not export their classes.
    if hasattr(error, "format_message"):
        message = str(error.format_message())
        # The argument has a full stop if it is the name of a file.
        if "unexpected extra argument" in message and "." in message:
            message += ". Of a folder or a glob that the shell replaces by several files, give the "
            message += "folder, or the glob in quotes"
        hint = f" See 'bayesgraph {args[0]} --help'." if _options(args) else ""
        return message.rstrip(".") + "." + hint if hint else message
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename or 'standard output'}"
    if isinstance(error, BayesGraphError):
        return as_typed(str(error), _options(args))
    if isinstance(error, (OSError, ValueError, TypeError)) and str(error):
        return str(error)
    return f"{cause(error)}. BAYESGRAPH_TRACEBACK=1 in the environment shows where."


def _show_warning(
    args: Sequence[str], shown: set[str], message: Warning | str, *_: Any, **__: Any
) -> None:
    """Write a warning, unless its text is among those `shown` already.

    `args` are those of the command, and the others those of `warnings.showwarning`.
    """
    text = as_typed(str(message), _options(args))
    if text not in shown:
        shown.add(text)
        say_aside(f"warning: {text}")


def say_aside(message: str) -> None:
    """Write a message on standard error, in one line."""
    lines = [" ".join(line.split()) for line in message.splitlines() if line.strip()]
    # After a colon the next line needs no semicolon.
    with LINE.hidden():
        typer.echo(f"bayesgraph: {'; '.join(lines)}".replace(":;", ":"), err=True)
