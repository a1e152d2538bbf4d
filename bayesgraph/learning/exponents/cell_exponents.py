"""Exponents of table entries that turn one network into another network of the same graph."""

from __future__ import annotations

import numpy as np

from bayesgraph.cpds import TableCPD
from bayesgraph.errors import ModelError, UnsupportedModelError
from bayesgraph.factors.algebra import Floats
from bayesgraph.models.factor_graph import FactorGraph
from bayesgraph.models.network import BayesianNetwork


def exponents_between(base: BayesianNetwork, wanted: BayesianNetwork) -> FactorGraph:
    """Return the tables of a base network, with exponents that turn them into a wanted network.

    A table entry with probability p in the base and q in the wanted network has the exponent ``w =
    log q / log p``, so that ``p^w = q``: the factor graph returned has the same distribution as the
    wanted network.

    Parameters
    ----------
    base, wanted : BayesianNetwork
        Networks of table CPDs, with the same variables and arcs.

    Returns
    -------
    FactorGraph
        The CPDs of `base` in the order of its variables, with one exponent per table entry, which
        may be any real number (domain "free").

    Raises
    ------
    UnsupportedModelError
        If a CPD is not a table.
    ModelError
        If an entry is 0 or 1 in only one of the networks: powers of 0 and 1 stay 0 and 1.
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
