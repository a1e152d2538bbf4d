"""Networks that R's package bnlearn has fitted (Scutari 2010), from ``.rds`` and ``.rda`` files.

They are read only: ``pip install 'bayesgraph[r]'``. The correspondence of nodes:

====================================  =========================================================
``bn.fit.dnode``, ``bn.fit.onode``    TableCPD; the order of an ordered factor is that of states
``bn.fit.gnode``                      GaussianCPD
``bn.fit.cgnode``                     GaussianCPD with discrete parents
====================================  =========================================================

A fit's residuals and fitted values are skipped, and a structure without a fit is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from bayesgraph.cpds import CPD, GaussianCPD, TableCPD
from bayesgraph.errors import (
    BayesGraphError,
    BayesGraphWarning,
    FileFormatError,
    quoted,
    suggestion,
    warn,
)
from bayesgraph.factors.algebra import Floats
from bayesgraph.io import FileFormat
from bayesgraph.io.budget import MAX_AXES, reading
from bayesgraph.io.files import PathLike, path_text
from bayesgraph.io.r_objects import RObject, numbers, read_objects, texts, whole
from bayesgraph.io.row_sums import Normalize, RoundedRows
from bayesgraph.io.skipped import skip
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.variables import Continuous, Discrete, Variable

_DISCRETE = ("bn.fit.dnode", "bn.fit.onode")
_GAUSSIAN, _CONDITIONAL = "bn.fit.gnode", "bn.fit.cgnode"
# Fields of a node that are read, or follow from those of others.
_READ = ("node", "parents", "children", "prob", "coefficients", "sd", "dlevels")
_INTERCEPT = "(Intercept)"


def read_rds(
    path: PathLike,
    *,
    name: str | None = None,
    normalize: Normalize = True,
    replace_unidentifiable: bool = False,
    limit: int | None = None,
) -> BayesianNetwork:
    """Read a network that bnlearn has fitted, from a file of R's ``saveRDS`` or ``save``.

    Discrete, Gaussian and conditional Gaussian fits are read, the classifiers ``naive.bayes`` and
    ``tree.bayes`` among them. Variables come in the order of the fit, names and states are text. No
    code is executed.

    Parameters
    ----------
    path : str or path
        Compressed or not, in the binary format that R writes unless it is told otherwise.
    name : str, optional
        Which object of a file of ``save``; by default its only fit.
    normalize : bool or "always"
        Whether rows whose sum is off by up to 0.02 are divided by their sum, with one warning; see
        `read_bif`.
    replace_unidentifiable : bool
        Whether distributions that the data do not determine, which are ``NaN`` in the file, become
        uniform, and such coefficients of a regression zero, with one warning. bnlearn's argument of
        this name does the same. Otherwise they are refused.
    limit : int, optional
        Bytes that reading the file may allocate; by default 64 MB and 40 times the file's bytes.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileFormatError
        If the file has no fit of bnlearn, or the fit is inconsistent; the message names the node.
    MissingDependencyError
        If rdata is not installed.
    """
    source = path_text(path)
    with reading(source, "a file of R"):
        item = _chosen(read_objects(path, limit), name, source)
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                return _Fit(item, source, replace=replace_unidentifiable).network(normalize)
        except FileFormatError:
            raise
        except BayesGraphError as error:
            raise FileFormatError(f"{source}: {error}") from error


def _chosen(objects: Mapping[str | None, RObject], name: str | None, source: str) -> RObject:
    if name is not None and name not in objects:
        known = [key for key in objects if key is not None]
        raise FileFormatError(
            f"{source}: expected an object {name!r}; got {quoted(known) or 'one without a name'}."
            f"{suggestion(name, known)}"
        )
    candidates = {key: o for key, o in objects.items() if name is None or key == name}
    fits = [key for key, item in candidates.items() if "bn.fit" in item.classes]
    if len(fits) == 1:
        return candidates[fits[0]]
    if fits:
        raise FileFormatError(
            f"{source} has several fits: {quoted(fits)}. Name one of them by name=."
        )
    for item in candidates.values():
        if "bn" in item.classes:
            raise FileFormatError(f"{source}: {_structure(item)}")
    found = [item.classes or item.kind for item in candidates.values()]
    raise FileFormatError(
        f"{source}: expected a fit of bnlearn (class bn.fit); got {quoted(found)}. Save what "
        "bn.fit() returns."
    )


def _structure(item: RObject) -> str:
    """Return what to say of an object of class ``bn``, which has arcs and no distributions."""
    fields = item.fields()
    arcs = texts(fields.get("arcs")) or []
    pairs = list(zip(arcs[: len(arcs) // 2], arcs[len(arcs) // 2 :], strict=False))
    shown = ", ".join(f"{a} -> {b}" for a, b in pairs[:8]) + (", ..." if pairs[8:] else "")
    return (
        f"expected a fitted network; got a structure of {len(pairs)} arcs ({shown}) without "
        "distributions. Fit it in R by bn.fit(structure, data), or give its arcs to "
        "BayesianNetwork.fit."
    )


class _Fit:
    """The nodes of a fit, and the variables and distributions made of them."""

    def __init__(self, item: RObject, source: str, *, replace: bool) -> None:
        self._source = source
        self._replace = replace
        self._replaced: list[str] = []
        names = texts(item.attributes.get("names"))
        if item.kind != "list" or not names or len(names) != len(item.values):
            raise FileFormatError(f"{source}: expected a list of named nodes; got {item.kind}.")
        self._nodes = dict(zip(names, item.values, strict=True))
        if len(self._nodes) < len(names):
            raise FileFormatError(f"{source}: two nodes have one name among {quoted(names)}.")
        self._variables = {name: self._variable(name) for name in names}

    def network(self, normalize: Normalize) -> BayesianNetwork:
        """Return the network of the fit."""
        rounded = RoundedRows(normalize=normalize)
        network = BayesianNetwork([self._cpd(name, rounded) for name in self._nodes])
        rounded.warn(self._source)
        for node in self._nodes.values():
            for name in node.fields():
                if name not in _READ:
                    skip("variables", name)
        if self._replaced:
            warn(
                f"{self._source}: the data did not determine all distributions of "
                f"{quoted(self._replaced)}; they are now uniform, and coefficients zero.",
                BayesGraphWarning,
            )
        return network

    def _error(self, name: str, message: str) -> FileFormatError:
        return FileFormatError(f"{self._source}: node {name!r}: {message}")

    def _kind(self, name: str) -> str:
        kinds = (*_DISCRETE, _GAUSSIAN, _CONDITIONAL)
        classes = self._nodes[name].classes
        found = next((kind for kind in kinds if kind in classes), None)
        if found is None:
            raise self._error(name, f"expected a class of {quoted(kinds)}; got {quoted(classes)}.")
        return found

    def _variable(self, name: str) -> Variable:
        if self._kind(name) not in _DISCRETE:
            return Continuous(name)
        return Discrete(name, self._table(name)[1][0])

    def _parents(self, name: str) -> list[Variable]:
        given = self._nodes[name].fields().get("parents")
        # character(0) is what a node without parents has.
        names = texts(given)
        if names is None:
            raise self._error(name, "expected the names of its parents; there are none.")
        unknown = [parent for parent in names if parent not in self._variables]
        if unknown:
            raise self._error(name, f"its parents {quoted(unknown)} are no nodes of the fit.")
        return [self._variables[parent] for parent in names]

    def _cpd(self, name: str, rounded: RoundedRows) -> CPD:
        kind = self._kind(name)
        if kind in _DISCRETE:
            return self._table_cpd(name, rounded)
        return self._gaussian_cpd(name, conditional=kind == _CONDITIONAL)

    # ----------------------------------------------------------------------------------- tables

    def _table(self, name: str) -> tuple[RObject, list[list[str]]]:
        """Return the table of a discrete node and the labels of each of its axes."""
        table = self._nodes[name].fields().get("prob", RObject("other"))
        shape, labels = whole(table.attributes.get("dim")), table.attributes.get("dimnames")
        listed = labels.values if labels is not None and labels.kind == "list" else []
        found = [texts(entry) for entry in listed]
        values = numbers(table)
        if values is None or not shape or not found or [len(x or ()) for x in found] != shape:
            raise self._error(
                name, "expected a table with dimensions and a label for each row and column."
            )
        if len(values) != math.prod(shape):
            raise self._error(name, f"expected {math.prod(shape)} numbers; got {len(values)}.")
        return table, [list(entry or ()) for entry in found]

    def _table_cpd(self, name: str, rounded: RoundedRows) -> TableCPD:
        table, labels = self._table(name)
        parents = self._parents(name)
        if len(labels) > MAX_AXES:
            raise self._error(name, f"expected at most {MAX_AXES - 1} parents.")
        wrong = [
            parent
            for parent, states in zip(parents, labels[1:], strict=False)
            if not isinstance(parent, Discrete) or list(parent.states) != states
        ]
        if len(labels) != 1 + len(parents) or wrong:
            raise self._error(
                name,
                f"its table has the axes {quoted(_axes(table))} with {quoted(labels[1:])}, its "
                f"parents are {quoted(parents)}.",
            )
        shape = [len(states) for states in labels]
        # Arrays of R have the first axis, which is the child's, vary fastest.
        values = np.moveaxis(table.values.reshape(shape, order="F"), 0, -1)
        values = self._identified(name, np.ascontiguousarray(values))
        child, *given = [self._variables[name], *parents]
        discrete = [parent for parent in given if isinstance(parent, Discrete)]
        assert isinstance(child, Discrete)
        return TableCPD(child, rounded.repaired(name, values), discrete)

    def _identified(self, name: str, values: Floats) -> Floats:
        """Return a table whose rows of NaN, of parents' states without data, are uniform."""
        empty = np.asarray(np.isnan(values).all(axis=-1))
        if not empty.any():
            return values
        if not self._replace:
            raise self._error(
                name,
                f"{int(empty.sum())} of {empty.size} distributions are NaN: the data have no case "
                "of these states of the parents. Read with replace_unidentifiable=True, which "
                'makes them uniform, or fit in R with method = "bayes".',
            )
        self._replaced.append(name)
        return np.where(empty[..., None], 1.0 / values.shape[-1], values)

    # -------------------------------------------------------------------------------- Gaussians

    def _gaussian_cpd(self, name: str, *, conditional: bool) -> GaussianCPD:
        parents = self._parents(name)
        discrete = [parent for parent in parents if isinstance(parent, Discrete)]
        continuous = [parent for parent in parents if not isinstance(parent, Discrete)]
        if bool(discrete) != conditional:
            raise self._error(name, f"its class does not fit its parents {quoted(parents)}.")
        if conditional:
            self._check_levels(name, discrete)
        fields = self._nodes[name].fields()
        cells = math.prod(parent.cardinality for parent in discrete)
        rows = self._coefficients(name, fields, continuous, cells)
        deviations = numbers(fields.get("sd"))
        if deviations is None or len(deviations) != cells:
            raise self._error(name, f"expected {cells} standard deviations (sd).")
        if not (deviations > 0).all() or not np.isfinite(deviations).all():
            raise self._error(
                name,
                f"expected positive standard deviations; the smallest is {deviations.min():.6g}. "
                "There may be too few cases of some states of its parents.",
            )
        # Among the configurations of the discrete parents, the first parent varies fastest.
        shape = [parent.cardinality for parent in discrete]
        table = np.moveaxis(rows.reshape(-1, *shape, order="F"), 0, -1)
        return GaussianCPD(
            Continuous(name),
            table[..., 0],
            np.square(deviations).reshape(shape, order="F"),
            parents,
            table[..., 1:],
        )

    def _check_levels(self, name: str, discrete: Sequence[Discrete]) -> None:
        levels = self._nodes[name].fields().get("dlevels", RObject("other")).fields()
        for parent in discrete:
            if texts(levels.get(str(parent.name))) != list(parent.states):
                raise self._error(name, f"its levels of {parent.name!r} are not {parent!r}.")

    def _coefficients(
        self, name: str, fields: Mapping[str, RObject], parents: Sequence[Variable], cells: int
    ) -> Floats:
        """Return the intercept and the slopes of a node as rows, a column for each cell."""
        item = fields.get("coefficients", RObject("other"))
        values, n = numbers(item), 1 + len(parents)
        if values is None or len(values) != n * cells:
            raise self._error(name, f"expected {n} coefficients for each of {cells} regressions.")
        values = values.reshape(n, cells, order="F")
        missing = np.isnan(values)
        if missing.any():
            if not self._replace:
                raise self._error(
                    name,
                    f"{int(missing.sum())} coefficients are NaN: the data do not determine them. "
                    "Read with replace_unidentifiable=True, which makes them zero.",
                )
            self._replaced.append(name)
            values = np.where(missing, 0.0, values)
        order = [_INTERCEPT, *(parent.name for parent in parents)]
        rows = _row_names(item)
        if rows is None or rows == order:
            return values
        if sorted(rows) != sorted(map(str, order)):
            raise self._error(name, f"its coefficients are of {quoted(rows)}, not {quoted(order)}.")
        return values[[rows.index(str(key)) for key in order]]


def _row_names(item: RObject) -> list[str] | None:
    """Return the names of the coefficients, which are a named vector or a matrix."""
    labels = item.attributes.get("dimnames")
    if labels is not None and labels.kind == "list" and labels.values:
        return texts(labels.values[0])
    return texts(item.attributes.get("names"))


def _axes(table: RObject) -> list[str]:
    """Return the names of the axes of a table, as far as it has some."""
    labels = table.attributes.get("dimnames")
    return [name or "" for name in (labels.names or ())] if labels is not None else []


FORMAT = FileFormat("R's bnlearn", read_rds, None)
