"""Checks of models for formats that hold only tables, made before a file is written."""

from __future__ import annotations

from collections.abc import Sequence

from bayesgraph.cpds import TableCPD
from bayesgraph.errors import LossyExportError, LossyExportWarning, warn
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.variables import Count, CountVector, Discrete, Variable


def no_table(variable: Variable) -> str:
    """Return the reason why a variable cannot have a table of states, for messages."""
    if isinstance(variable, CountVector):
        return f"{variable.name!r} is a vector of counts of {len(variable.items):,} items"
    kind = "a count" if isinstance(variable, Count) else "continuous"
    return f"{variable.name!r} is {kind}"


def tables_of(network: BayesianNetwork) -> tuple[list[TableCPD], list[str], list[str]]:
    """Return a network's tables, messages on CPDs that are no tables, and messages on losses.

    The messages are the problems and the changes that `check_lossless` takes.
    """
    tables = [cpd for cpd in network.cpds if isinstance(cpd, TableCPD)]
    problems = [
        f"{cpd.variable.name!r} has a {type(cpd).__name__}"
        if isinstance(cpd.variable, Discrete)
        else no_table(cpd.variable)
        for cpd in network.cpds
        if not isinstance(cpd, TableCPD)
    ]
    return tables, problems, ["arc scores are left out"] if network.arc_scores else []


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
