"""The exponents that lead from one network to another of the same graph."""

from __future__ import annotations

import numpy as np

from bayesgraph.cpds import TableCPD
from bayesgraph.errors import ModelError, UnsupportedModelError
from bayesgraph.factors.algebra import Floats
from bayesgraph.models.factor_graph import FactorGraph
from bayesgraph.models.network import BayesianNetwork


def exponents_between(base: BayesianNetwork, wanted: BayesianNetwork) -> FactorGraph:
    """Return the tables of one network, each cell raised to the exponent that makes it another's.

    ``w = log q / log p`` for the cell p of the base and q of the network wanted, so that ``p^w`` is
    q: the factor graph answers every question as the network wanted does.

    Parameters
    ----------
    base, wanted : BayesianNetwork
        Of tables, with the same variables and arcs.

    Returns
    -------
    FactorGraph
        Of the CPDs of `base` in the order of its variables, with one exponent a cell; free.

    Raises
    ------
    UnsupportedModelError
        For other CPDs than tables.
    ModelError
        For cells that are 0 or 1 in one network and not in the other, which no exponent changes.
    """
    tables, exponents = [], []
    for cpd in base.cpds:
        other = wanted[cpd.variable.name]
        if not isinstance(cpd, TableCPD) or not isinstance(other, TableCPD):
            raise UnsupportedModelError(
                f"Exponents of cells are for tables; {cpd.variable.name!r} has none."
            )
        if cpd.scope != other.scope:
            raise ModelError(
                f"{cpd.title} and {other.title} differ in their parents; exponents keep the graph."
            )
        tables.append(cpd)
        exponents.append(_exponents(cpd, other))
    return FactorGraph(tables, exponents=exponents, domain="free")


def _exponents(base: TableCPD, wanted: TableCPD) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        log_base, log_wanted = np.log(base.values), np.log(wanted.values)
        found = np.where(log_base == log_wanted, 1.0, log_wanted / log_base)
    wrong = ~np.isfinite(found) | (np.isinf(log_base) & (log_base != log_wanted))
    if wrong.any():
        raise ModelError(
            f"{int(wrong.sum())} cells of {base!r} are 0 or 1, which no exponent makes anything "
            "else; smooth the tables with alpha above 0."
        )
    return np.asarray(found)
