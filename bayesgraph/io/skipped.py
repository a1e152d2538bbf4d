"""What readers leave out of a file, such as names of networks, properties, colours and comments.

A reader says so by `skip`, and whoever listens within `skipped_in_reading` gets all of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice

_NOTED: ContextVar[Skipped | None] = ContextVar("_NOTED", default=None)
# Names of networks that say nothing; writers give them.
_NO_NAMES = ("", "unknown", "network")
_SHOWN = 12


class Skipped:
    """What was left out of the files that were read.

    Examples
    --------
    >>> with skipped_in_reading() as found:
    ...     skip("variables", "property", 2)
    >>> found.lines()
    ('of the variables: property (2)',)
    """

    def __init__(self) -> None:
        self._found: dict[str, Counter[str]] = {}

    def add(self, of: str, what: str, count: int) -> None:
        """Note that something was left out of the network, its variables or the file."""
        self._found.setdefault(of, Counter())[what] += count

    def lines(self) -> tuple[str, ...]:
        """Return a line of text for each part of the file that something was left out of."""
        return tuple(f"of the {of}: {_listed(found)}" for of, found in self._found.items())


def _listed(found: Counter[str]) -> str:
    shown = [f"{what} ({n:,})" if n > 1 else what for what, n in islice(found.items(), _SHOWN)]
    return ", ".join(shown) + f" and {len(found) - _SHOWN} more" * (len(found) > _SHOWN)


@contextmanager
def skipped_in_reading() -> Iterator[Skipped]:
    """Collect what the readers leave out that are called within."""
    found = Skipped()
    token = _NOTED.set(found)
    try:
        yield found
    finally:
        _NOTED.reset(token)


def is_noted() -> bool:
    """Return whether anybody listens, for readers that would have to look for what they skip."""
    return _NOTED.get() is not None


def skip(of: str, what: str, count: int = 1) -> None:
    """Say that something is left out: `of` is "network", "variables", "tables" or "file"."""
    if count and (noted := _NOTED.get()) is not None:
        noted.add(of, what, count)


def skip_name(name: str) -> None:
    """Say that the name of the network is left out, unless it is one that means nothing."""
    if name not in _NO_NAMES:
        skip("network", f"the name {name!r:.80}")
