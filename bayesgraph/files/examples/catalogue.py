"""Names, sources and files of the networks, diagrams and tables that come with the package."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bayesgraph.core.errors import DataError, quoted, suggestion
from bayesgraph.files.formats import load
from bayesgraph.models import BayesianNetwork
from bayesgraph.tables import read_table

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Source:
    """Where a network, a diagram or a table comes from.

    Attributes
    ----------
    about : str
        What it is of, in a line.
    source : str
        The publication, and what was changed.
    licence : str
    path : pathlib.Path
        The file, which commands and other programs can read.
    """

    about: str
    source: str
    licence: str
    path: Path

    def __str__(self) -> str:
        return f"{self.about} ({self.source}; {self.licence})"


@cache
def _sources(kind: str) -> Mapping[str, Source]:
    """Return the sources of the networks, diagrams or tables by name."""
    files = {path.name.split(".")[0]: path for path in (_FOLDER / kind).iterdir()}
    entries = tomllib.loads((_FOLDER / "sources.toml").read_text("utf-8"))[kind]
    return MappingProxyType({name: Source(**entries[name], path=files[name]) for name in entries})


def networks() -> Mapping[str, Source]:
    """Return the sources of the networks by name, from the smallest kinds to the hardest.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> bg.examples.networks()["alarm"].about
    'A patient under anaesthesia, monitored'
    """
    return _sources("networks")


def tables() -> Mapping[str, Source]:
    """Return the sources of the tables by name.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> sorted(bg.examples.tables())
    ['car', 'credit', 'heart', 'iris', 'thyroid', 'vote']
    """
    return _sources("tables")


def diagrams() -> Mapping[str, Source]:
    """Return the sources of the causal diagrams by name, for :func:`questions.read_dagitty`.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> file = bg.examples.diagrams()["confounding"].path
    >>> bg.questions.read_dagitty(file).exposures
    ('E',)
    """
    return _sources("diagrams")


def network(name: str) -> BayesianNetwork:
    """Load a network of the literature.

    Raises
    ------
    DataError
        If there is none of this name.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> bg.examples.network("asia").query("lung", {"xray": "yes"})["yes"]
    0.4887...
    """
    loaded: BayesianNetwork = load(_named(name, "networks").path)
    return loaded


def table(name: str) -> Any:
    """Read a table, as :func:`bayesgraph.read_table` does.

    Raises
    ------
    DataError
        If there is none of this name.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> bg.examples.table("heart").shape
    (303, 14)
    """
    return read_table(_named(name, "tables").path)


def _named(name: str, kind: str) -> Source:
    """Return the source of a name; `kind` is "networks", "tables" or "diagrams"."""
    sources = _sources(kind)
    if name not in sources:
        near = suggestion(name, sources) or f" There are {quoted(sources, maximum=30)}."
        for other in ("network", "table", "diagram"):
            if name in _sources(f"{other}s"):
                near = f" {name!r} is a {other}."
        # Without the plural's "s".
        raise DataError(f"bayesgraph.examples has no {kind[:-1]} {name!r}.{near}")
    return sources[name]
