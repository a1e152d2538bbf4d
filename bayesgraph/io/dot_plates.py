"""What pictures show of distributions of counts and of other leaves of a naive Bayes.

Every family is one entry of `describe`, which shows the name and the number of parameters of those
that it does not know.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bayesgraph.cpds import (
    DirichletMultinomialCPD,
    KernelDensityPlate,
    LogNormalPlate,
    MultinomialCPD,
    NegativeBinomialPlate,
    Plate,
    PoissonPlate,
    PresenceCPD,
    StudentPlate,
)
from bayesgraph.factors.algebra import Floats
from bayesgraph.io.dot_labels import (
    LONGEST_HEAD,
    LocalTable,
    cell,
    configurations,
    describe,
    left_out,
    number,
    texts,
)
from bayesgraph.variables import CountVector

__all__ = ["describe"]


@describe.register
def _(source: MultinomialCPD, most_rows: int, most_columns: int) -> LocalTable:
    return _items(source, source.probabilities, most_rows, most_columns)


@describe.register
def _(source: DirichletMultinomialCPD, most_rows: int, most_columns: int) -> LocalTable:
    shares = source.concentration / source.concentration.sum(axis=-1, keepdims=True)
    return _items(source, shares, most_rows, most_columns)


@describe.register
def _(source: PresenceCPD, most_rows: int, most_columns: int) -> LocalTable:
    return _items(source, source.probabilities, most_rows, most_columns)


@describe.register
def _(source: PoissonPlate, most_rows: int, most_columns: int) -> LocalTable:
    return _numbers(source, {"rate": source.rate}, most_rows)


@describe.register
def _(source: NegativeBinomialPlate, most_rows: int, most_columns: int) -> LocalTable:
    mean = source.shape / source.exposure
    # A Poisson count whose rate has a gamma distribution (Gelman et al. 2013, section 2.6).
    sd = np.sqrt(mean * (1.0 + 1.0 / source.exposure))
    return _numbers(source, {"mean": mean, "sd": sd}, most_rows)


@describe.register
def _(source: LogNormalPlate, most_rows: int, most_columns: int) -> LocalTable:
    columns = {"mean of log": source.mean, "sd of log": np.sqrt(source.variance)}
    return _numbers(source, columns, most_rows)


@describe.register
def _(source: StudentPlate, most_rows: int, most_columns: int) -> LocalTable:
    columns = {"location": source.location, "scale": source.scale, "df": source.dof}
    return _numbers(source, columns, most_rows)


@describe.register
def _(source: KernelDensityPlate, most_rows: int, most_columns: int) -> LocalTable:
    columns = {"kernels": source.counts, "bandwidth": source.bandwidth}
    return _numbers(source, columns, most_rows)


def _items(source: Plate, shares: Floats, most_rows: int, most_columns: int) -> LocalTable:
    """Return the probabilities of the most probable items, the most probable first."""
    variable = source.variable
    assert isinstance(variable, CountVector)  # the families above have no other child
    table = shares.reshape(source.cells, -1)
    kept = np.argsort(-table.mean(axis=0), kind="stable")[:most_columns]
    shown = table[:most_rows, kept]
    header = texts([parent.name for parent in source.parents], LONGEST_HEAD)
    header += texts([variable.items[i] for i in kept.tolist()], LONGEST_HEAD)
    rows = [
        [*key, *(cell(float(value), probability=True) for value in row)]
        for key, row in zip(configurations(source.parents, len(shown)), shown, strict=True)
    ]
    note = left_out(len(table) - len(shown), table.shape[1] - len(kept), "item")
    return LocalTable(header, rows, shown / max(float(shown.max()), 1e-300), note)


def _numbers(source: Plate, columns: Mapping[str, Floats], most_rows: int) -> LocalTable:
    """Return the parameters of a single child."""
    if len(source.children) > 1:
        return LocalTable([], [], None, f"{type(source).__name__}, {len(source.children)} children")
    header = [*texts([parent.name for parent in source.parents], LONGEST_HEAD), *columns]
    n_rows = min(source.cells, most_rows)
    values = [column.reshape(source.cells) for column in columns.values()]
    rows = [
        [*key, *(number(float(value[i])) for value in values)]
        for i, key in enumerate(configurations(source.parents, n_rows))
    ]
    return LocalTable(header, rows, None, left_out(source.cells - n_rows, 0))
