"""The option that every command has."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

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
            add(_silenced(function))
            return function

        return added


def _silenced(function: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(function)
    def run(*, quiet: bool, **given: Any) -> None:
        # `main` has seen the option already; it is declared here, for the help and the parser.
        del quiet
        function(**given)

    signature = inspect.signature(function, eval_str=True)
    parameters = [*signature.parameters.values(), _QUIET]
    ordered = sorted(parameters, key=lambda parameter: parameter.kind)
    run.__signature__ = signature.replace(parameters=ordered)  # type: ignore[attr-defined]
    return run
