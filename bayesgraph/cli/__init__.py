"""The command line: fit, query, evaluate, draw and convert models without writing Python."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from bayesgraph.cli.commands import app
from bayesgraph.errors import BayesGraphError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; an error is one line and exit code 2, never a traceback."""
    command = typer.main.get_command(app)
    args = sys.argv[1:] if arguments is None else list(arguments)
    try:
        code = command.main(args, prog_name="bayesgraph", standalone_mode=False)
    except (BayesGraphError, OSError, ValueError, TypeError) as error:
        _fail(_message(error))
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(130)
    except Exception as error:
        # Errors of the option parser, whose class typer does not export.
        if not hasattr(error, "format_message"):
            raise
        _fail(error.format_message())
    else:
        sys.exit(code if isinstance(code, int) else 0)


def _message(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}"
    return str(error).replace("Value error, ", "")


def _fail(message: str) -> None:
    lines = [" ".join(line.split()) for line in message.splitlines() if line.strip()]
    typer.echo(f"bayesgraph: {'; '.join(lines)}".replace(":;", ":"), err=True)
    sys.exit(2)
