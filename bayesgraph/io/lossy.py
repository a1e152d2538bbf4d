"""Checks of models for formats that hold only tables, made before a file is written."""

from __future__ import annotations

from collections.abc import Sequence

from bayesgraph.cpds import CPD, CanonicalCPD, TableCPD
from bayesgraph.cpds.canonical import MAX_TABLE
from bayesgraph.errors import LossyExportError, LossyExportWarning, warn
from bayesgraph.inference.memory import format_count
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.variables import Count, CountVector, Discrete, Variable


def no_table(variable: Variable) -> str:
    """Return the reason why a variable cannot have a table of states, for messages."""
    if isinstance(variable, CountVector):
        return f"{variable.name!r} is a vector of counts of {len(variable.items):,} items"
    kind = "a count" if isinstance(variable, Count) else "continuous"
    return f"{variable.name!r} is {kind}"


def as_table(cpd: CPD) -> TableCPD | None:
    """Return a table, or a canonical CPD such as a noisy or as its table; None for other CPDs.

    The result is None too if the table would be too large for a file.
    """
    if isinstance(cpd, TableCPD):
        return cpd
    if isinstance(cpd, CanonicalCPD) and cpd.n_entries <= MAX_TABLE:
        return cpd.to_table()
    return None


def tables_of(network: BayesianNetwork) -> tuple[list[TableCPD], list[str], list[str]]:
    """Return a network's tables, messages on CPDs that are no tables, and messages on losses.

    Canonical CPDs become tables. The messages are the problems and the changes that
    `check_lossless` takes.
    """
    tables: list[TableCPD] = []
    problems: list[str] = []
    changes = ["arc scores are left out"] if network.arc_scores else []
    for cpd in network.cpds:
        table, family = as_table(cpd), f"a {type(cpd).__name__}"
        if table is None and isinstance(cpd, CanonicalCPD):
            family += f", whose table would have {format_count(cpd.n_entries)} numbers"
        if table is not None:
            tables.append(table)
        elif isinstance(cpd.variable, Discrete):
            problems.append(f"{cpd.variable.name!r} has {family}")
        else:
            problems.append(no_table(cpd.variable))
        if table is not None and table is not cpd:
            changes.append(f"{cpd.variable.name!r} has {family}, which is written as its table")
    return tables, problems, changes


def check_lossless(name: str, problems: Sequence[str], changes: Sequence[str]) -> None:
    """Raise an error if a format cannot hold a model, or warn if it is written with changes.

    Parameters
    ----------
    name : str
        Name of the format.
    problems, changes : sequence of str
        What the format cannot hold, and what is changed or left out.

    Raises
    ------
    LossyExportError
        If there are problems.
    """
    if problems:
        raise LossyExportError("\n  ".join([f"{name} cannot hold this model:", *problems]))
    if changes:
        text = "\n  ".join([f"Written as {name} with changes:", *changes])
        warn(text, LossyExportWarning)
