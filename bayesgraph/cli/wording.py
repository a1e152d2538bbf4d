"""Messages of the library in the words of the command line: ``--alpha`` for ``alpha=``."""

from __future__ import annotations

import re
from collections.abc import Collection

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

    def option(found: re.Match[str]) -> str:
        name = OPTIONS.get(found[1], found[1]).replace("_", "-")
        typed = f"--no-{name}" if found[2] else f"--{name}"
        return typed if typed in options and typed not in message else found[0]

    return _PARAMETER.sub(option, message)
