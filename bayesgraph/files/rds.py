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

import bz2
import lzma
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import (
    BayesGraphError,
    BayesGraphWarning,
    FileFormatError,
    optional_module,
    quoted,
    suggestion,
    warn,
)
from bayesgraph.core.files import Budget
from bayesgraph.core.variables import Continuous, Discrete, Variable
from bayesgraph.files.exporting import skip
from bayesgraph.files.formats import FileFormat
from bayesgraph.files.readers import Draft, Normalize
from bayesgraph.models import BayesianNetwork, GaussianCPD, TableCPD

# ----- Objects in files that R's ``saveRDS`` and ``save`` write, as plain vectors, lists and texts
# The bytes are parsed by the package rdata: ``pip install 'bayesgraph[r]'``. Nothing in a file is
# executed: functions and expressions are skipped as data, and compiled ones refused. The layout of
# the files is that of section 1.8, "Serialization Formats", of the manual "R Internals".


_BZIP2, _XZ = b"BZh", b"\xfd7zXZ\x00"
# What an xz file may ask for its dictionary; R writes 8 MB at most.
_XZ_MEMORY = 64 << 20
# What an object takes while it is parsed and converted, without its numbers and texts.
_BYTES_OF_OBJECT = 900
# Of a range such as 1:3, of which a file has only the ends; longer ones number rows of data.
_LONGEST_RANGE = 10_000
# Of numbers and texts, as the parser reads them and as they are converted.
_COPIES_OF_NUMBERS = 3
_HEADS = (b"RDX2\n", b"RDX3\n")  # of files with several objects, before the format
_XDR = b"X\n"
_OTHER_FORMATS = (b"A\n", b"A\r\n", b"B\n", b"RDA2\n", b"RDA3\n", b"RDB2\n", b"RDB3\n")
# Bits of the flags of a text (CHARSXP) that name its encoding.
_BYTES_FLAG, _LATIN1_FLAG, _UTF8_FLAG = 1 << 1, 1 << 2, 1 << 3


@dataclass(frozen=True, eq=False)
class RObject:
    """A value of R.

    Attributes
    ----------
    kind : {"list", "text", "numbers", "other"}
    values : sequence of RObject, sequence of str or None, or ndarray
        By the kind: items, texts (None for ``NA``), or numbers (NaN for ``NA``); empty for others.
    attributes : mapping from str to RObject
    """

    kind: str
    values: Any = ()
    attributes: Mapping[str, RObject] = field(default_factory=dict)

    def attribute(self, name: str) -> RObject:
        """Return an attribute, an empty object if it lacks it."""
        return self.attributes.get(name, _NOTHING)

    @property
    def items(self) -> Sequence[RObject]:
        """The items of a list; empty for everything else."""
        return self.values if self.kind == "list" else ()

    @property
    def texts(self) -> list[str] | None:
        """The texts of a vector without missing ones; None for everything else."""
        return list(self.values) if self.kind == "text" and None not in self.values else None

    @property
    def numbers(self) -> Floats | None:
        """The numbers of a vector; None for everything else."""
        return self.values if self.kind == "numbers" else None

    @property
    def classes(self) -> Sequence[str]:
        """The values of the attribute ``class``."""
        return self.attribute("class").texts or ()

    def fields(self) -> dict[str, RObject]:
        """Return the items of a list by their names; of equal names, the first one."""
        fields: dict[str, RObject] = {}
        for name, item in zip(self.attribute("names").values, self.items, strict=False):
            if isinstance(name, str):
                fields.setdefault(name, item)
        return fields


_NOTHING = RObject("other")


def objects_of(data: bytes, budget: Budget) -> dict[str | None, RObject]:
    """Return the objects of a file by their names.

    A file of ``saveRDS`` has one object without a name (None), one of ``save`` has several.

    Raises
    ------
    FileFormatError
        If it is no such file, is truncated, or beyond the limit.
    MissingDependencyError
        If rdata is not installed.
    """
    data = _inflated(data, budget)
    head = next((head for head in _HEADS if data.startswith(head)), b"")
    if not data.startswith(_XDR, len(head)):
        expected = f"a file that R saved; got one that begins with {data[:8]!r}"
        if data.startswith(_OTHER_FORMATS):
            expected = "R's binary format in network byte order; got its text or native format"
        raise FileFormatError(
            f"{budget.source}: expected {expected}. Write it in R by saveRDS(fit, file) or "
            "save(fit, file=...), without ascii=."
        )
    root = _parsed(memoryview(data)[len(head) + len(_XDR) :], budget)
    # After a head comes a pairlist of all objects, otherwise one object.
    if not head:
        return {None: _converted(root, budget)}
    return {name: _converted(item, budget) for name, item in _pairs(root)}


def _inflated(data: bytes, budget: Budget) -> bytes:
    """Return the content of a file, inflated if it is compressed by bzip2 or xz.

    Whoever reads the file has inflated gzip, R's default, already.
    """
    if data.startswith(_BZIP2):
        packed: Any = bz2.BZ2Decompressor()
    elif data.startswith(_XZ):
        packed = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
    else:
        return data
    content: bytes = packed.decompress(data, budget.inflated + 1)
    if len(content) > budget.inflated:
        raise budget.refusal("the inflated content", len(content), budget.inflated)
    if not packed.eof:
        raise FileFormatError(f"{budget.source}: the compressed file is truncated; get it again.")
    budget.take(len(content), "the inflated content")
    return content


def _parsed(data: memoryview, budget: Budget) -> Any:
    """Return the root of the tree of rdata's objects, charging the budget for each of them.

    rdata's parser believes the lengths in a file. Each array, and the tables of compiled code, is
    made by a method that is replaced here.
    """
    module = optional_module("rdata.parser._xdr", extra="r", what="Reading files of R")
    base: Any = module.ParserXDR

    def parse_object(self: Any, *args: Any, **kwargs: Any) -> Any:
        budget.take(_BYTES_OF_OBJECT, "its objects")
        return base.parse_R_object(self, *args, **kwargs)

    def parse_numbers(self: Any, dtype: Any, length: int) -> Any:
        # The numbers have to be in what is left of the file.
        nbytes = length * np.dtype(dtype).itemsize
        if not 0 <= nbytes <= len(data) - self.file.tell():
            raise FileFormatError(
                f"{budget.source}: expected {length:,} more numbers; the file ends before. It may "
                "be truncated; get it again."
            )
        # A single number is part of `_BYTES_OF_OBJECT`.
        if length > 1:
            budget.take(_COPIES_OF_NUMBERS * nbytes, "its numbers")
        return base._parse_array_values(self, dtype, length)

    def parse_text(self: Any, length: int) -> Any:
        if length > len(data) - self.file.tell():
            raise FileFormatError(f"{budget.source} ends within a text; get it again.")
        budget.take(_COPIES_OF_NUMBERS * length, "its texts")
        return base.parse_string(self, length)

    def parse_code(self: Any, *args: Any) -> Any:
        raise FileFormatError(
            f"{budget.source} has compiled R code, which is not read. Save the fit without "
            "functions."
        )

    methods: dict[str, Callable[..., Any]] = {
        "parse_R_object": parse_object,
        "_parse_array_values": parse_numbers,
        "parse_string": parse_text,
        "_parse_bytecode": parse_code,
    }
    # An alternative representation such as 1:1000000000 stays what it is: one object.
    parser = type("_ChargedParser", (base,), methods)(
        data, expand_altrep=False, altrep_constructor_dict={}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rdata warns of tags that it skips
        return parser.parse_all().object


def _kind(item: Any) -> str:
    return str(item.info.type.name)


def _pairs(item: Any) -> list[tuple[str, Any]]:
    """Return the tags and values of a pairlist."""
    pairs = []
    # A linked list: each cell has a tag, a value and the next cell.
    while _kind(item) == "LIST":
        value, next_cell = item.value
        if item.tag is not None:
            pairs.append((_symbol(item.tag), value))
        item = next_cell
    return pairs


def _symbol(tag: Any) -> str:
    """Return the name of a symbol, which a file has once and then refers to; empty for others."""
    symbol = tag.referenced_object if _kind(tag) == "REF" else tag
    return (_text(symbol.value) or "") if _kind(symbol) == "SYM" else ""


def _text(item: Any) -> str | None:
    """Return the text of a CHARSXP, whose flags name the encoding; None for NA."""
    if _kind(item) != "CHAR" or item.value is None:
        return None
    data: bytes = item.value
    # Text is UTF-8 if its flags say so, and mostly if they say nothing.
    if not item.info.gp & (_LATIN1_FLAG | _BYTES_FLAG):
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            if item.info.gp & _UTF8_FLAG:
                raise
    return data.decode("latin-1")  # as of a session in another encoding, which is not named


def _converted(item: Any, budget: Budget) -> RObject:
    """Return an object of rdata's tree as a plain value."""
    kind = _kind(item)
    attributes: dict[str, RObject] = {}
    if item.attributes is not None:
        attributes = {name: _converted(value, budget) for name, value in _pairs(item.attributes)}
    if kind == "ALTREP":
        return _expanded(item, budget)
    if kind == "VEC":
        return RObject("list", [_converted(entry, budget) for entry in item.value], attributes)
    if kind == "STR":
        return RObject("text", [_text(entry) for entry in item.value], attributes)
    if kind == "REAL":
        return RObject("numbers", np.asarray(item.value, dtype=np.float64), attributes)
    if kind == "INT":
        # rdata masks missing integers.
        values = np.ma.filled(np.ma.asarray(item.value, dtype=np.float64), np.nan)
        return RObject("numbers", values, attributes)
    return _NOTHING


def _expanded(item: Any, budget: Budget) -> RObject:
    """Return a vector that R has stored in another way (ALTREP): wrapped, or as a range.

    A wrapped vector is a list of the vector and of flags that say whether it is sorted. Numbers as
    texts are a pairlist of the numbers, and a range is a vector of length, start and step.
    """
    # The class of the representation (its name comes first), what it holds, and attributes.
    info, state, extra = item.value
    name = _symbol(info.value[0])
    attributes = {key: _converted(value, budget) for key, value in _pairs(extra)}
    if name.startswith("wrap_"):
        inner = _converted(state.value[0], budget)
        return RObject(inner.kind, inner.values, {**inner.attributes, **attributes})
    if name == "deferred_string":
        values = _converted(state.value[0], budget).values
        budget.take(_BYTES_OF_OBJECT * len(values), "its texts")
        # A number as R's as.character does, which shows 15 digits; None for NA.
        shown = [None if np.isnan(value) else f"{value:.15g}" for value in values]
        return RObject("text", shown, attributes)
    if name.startswith("compact_"):
        length, start, step = map(float, _converted(state, budget).values)
        if length <= _LONGEST_RANGE:
            return RObject("numbers", start + step * np.arange(int(length)), attributes)
    return _NOTHING


# ---- Networks that R's package bnlearn has fitted (Scutari 2010), from ``.rds`` and ``.rda`` files


_DISCRETE = ("bn.fit.dnode", "bn.fit.onode")
_GAUSSIAN, _CONDITIONAL = "bn.fit.gnode", "bn.fit.cgnode"
# Fields of a node that are read, or follow from those of others.
_READ = ("node", "parents", "children", "prob", "coefficients", "sd", "dlevels")
_INTERCEPT = "(Intercept)"


def parse(
    data: bytes,
    budget: Budget,
    *,
    name: str | None = None,
    normalize: Normalize = True,
    replace_unidentifiable: bool = False,
) -> BayesianNetwork:
    """Return a network that bnlearn has fitted, from a file of R's ``saveRDS`` or ``save``.

    Discrete, Gaussian and conditional Gaussian fits are read, the classifiers ``naive.bayes`` and
    ``tree.bayes`` among them. Variables come in the order of the fit, names and states are text. No
    code is executed.

    Parameters
    ----------
    data : bytes
        Compressed or not, in the binary format that R writes unless it is told otherwise.
    budget : Budget
    name : str, optional
        Which object of a file of ``save``; by default its only fit.
    normalize : bool or "always"
        Whether rows whose sum is off by up to 0.02 are divided by their sum, with one warning; see
        :func:`bayesgraph.files.bif.parse`.
    replace_unidentifiable : bool
        Whether distributions that the data do not determine, which are ``NaN`` in the file, become
        uniform, and such coefficients of a regression zero, with one warning. bnlearn's argument of
        this name does the same. Otherwise they are refused.

    Raises
    ------
    FileFormatError
        If the file has no fit of bnlearn, or the fit is inconsistent; the message names the node.
    MissingDependencyError
        If rdata is not installed.
    """
    source = budget.source
    item = _chosen(objects_of(data, budget), name, source)
    try:
        draft = Draft("R's bnlearn", "table", budget, normalize)
        return _Fit(item, draft, replace=replace_unidentifiable).network()
    except FileFormatError:
        raise
    except BayesGraphError as error:
        raise FileFormatError(f"{source}: {error}") from error


def _chosen(objects: Mapping[str | None, RObject], name: str | None, source: str) -> RObject:
    """Return the object of a name, or the only fit, of a file."""
    if name is not None and name not in objects:
        names = [key for key in objects if key is not None]
        raise FileFormatError(
            f"{source}: expected an object {name!r}; got {quoted(names) or 'one without a name'}."
            f"{suggestion(name, names)}"
        )
    candidates = {key: o for key, o in objects.items() if name is None or key == name}
    fits = [key for key, item in candidates.items() if "bn.fit" in item.classes]
    if len(fits) == 1:
        return candidates[fits[0]]
    if fits:
        raise FileFormatError(
            f"{source} has several fits: {quoted(fits)}. Name one of them by name=."
        )
    # A structure without distributions has a message of its own.
    for item in candidates.values():
        if "bn" in item.classes:
            raise FileFormatError(f"{source}: {_structure(item)}")
    kinds = [tuple(item.classes) or item.kind for item in candidates.values()]
    raise FileFormatError(
        f"{source}: expected a fit of bnlearn (class bn.fit); got {quoted(kinds)}. Save what "
        "bn.fit() returns."
    )


def _structure(item: RObject) -> str:
    """Return the message for an object of class ``bn``, which has arcs and no distributions."""
    # A matrix with the columns "from" and "to", one after the other.
    arcs = item.fields().get("arcs", _NOTHING).texts or []
    pairs = list(zip(arcs[: len(arcs) // 2], arcs[len(arcs) // 2 :], strict=False))
    shown = ", ".join(f"{a} -> {b}" for a, b in pairs[:8]) + (", ..." if pairs[8:] else "")
    return (
        f"expected a fitted network; got a structure of {len(pairs)} arcs ({shown}) without "
        "distributions. Fit it in R by bn.fit(structure, data), or give its arcs to "
        "BayesianNetwork.fit."
    )


class _Fit:
    """The nodes of a fit, and the variables and distributions made of them."""

    def __init__(self, item: RObject, draft: Draft, *, replace: bool) -> None:
        self._draft = draft
        self._error = draft.error
        self._replace = replace
        # Nodes whose undetermined numbers were replaced, for the warning.
        self._replaced: list[str] = []
        source, names = draft.budget.source, item.attribute("names").texts
        if not names or len(names) != len(item.items):
            raise FileFormatError(f"{source}: expected a list of named nodes; got {item.kind}.")
        self._nodes = dict(zip(names, item.items, strict=True))
        if len(self._nodes) < len(names):
            raise FileFormatError(f"{source}: two nodes have one name among {quoted(names)}.")
        self._fields = {name: node.fields() for name, node in self._nodes.items()}

    def _field(self, name: str, key: str) -> RObject:
        return self._fields[name].get(key, _NOTHING)

    def network(self) -> BayesianNetwork:
        """Return the network of the fit."""
        kinds = {name: self._kind(name) for name in self._nodes}
        for name, kind in kinds.items():
            if kind in _DISCRETE:
                # The first axis of a table is the child's: its labels are the states.
                self._draft.declare(name, name, Discrete, self._table(name)[1][0])
            else:
                self._draft.declare(name, name, Continuous)
        for name, kind in kinds.items():
            # character(0) is what a node without parents has.
            names = self._field(name, "parents").texts
            if names is None:
                raise self._error(name, "expected the names of its parents; there are none.")
            family = self._draft.family(name, name, names)
            if kind in _DISCRETE:
                self._draft.cpds[name] = self._table_cpd(name, family)
            else:
                self._draft.cpds[name] = self._gaussian(name, family, kind)
            for key in self._fields[name]:
                if key not in _READ:
                    skip("variables", key)
        network = self._draft.network()
        if self._replaced:
            warn(
                f"{self._draft.budget.source}: the data did not determine all distributions of "
                f"{quoted(self._replaced)}; they are now uniform, and coefficients zero.",
                BayesGraphWarning,
            )
        return network

    def _kind(self, name: str) -> str:
        """Return the class of a node."""
        kinds = (*_DISCRETE, _GAUSSIAN, _CONDITIONAL)
        classes = self._nodes[name].classes
        node_kind = next((kind for kind in kinds if kind in classes), None)
        if node_kind is None:
            raise self._error(name, f"expected a class of {quoted(kinds)}; got {quoted(classes)}.")
        return node_kind

    # ----------------------------------------------------------------------------------- tables

    def _table(self, name: str) -> tuple[RObject, list[list[str]]]:
        """Return the table of a discrete node, as R stores it, and the labels of each of its axes.

        The child's axis is the first one, and its states vary fastest.
        """
        table = self._field(name, "prob")
        labels = [entry.texts or [] for entry in table.attribute("dimnames").items]
        shape, values = table.attribute("dim").numbers, table.numbers
        lengths = [*map(len, labels)]
        if values is None or shape is None or not labels or lengths != shape.tolist():
            raise self._error(
                name, "expected a table with dimensions and a label for each row and column."
            )
        if len(values) != math.prod(lengths):
            raise self._error(name, f"expected {math.prod(lengths)} numbers; got {len(values)}.")
        return table, labels

    def _table_cpd(self, name: str, family: Sequence[Variable]) -> TableCPD:
        """Return the distribution of a discrete node, whose parents are the other axes."""
        *parents, child = family
        table, labels = self._table(name)
        discrete = [variable for variable in (*parents, child) if isinstance(variable, Discrete)]
        shape = self._draft.shape(name, discrete)
        states = [list(variable.states) for variable in discrete[:-1]]
        if len(discrete) < len(family) or states != labels[1:]:
            raise self._error(
                name,
                f"its table has the axes {quoted(table.attribute('dimnames').fields())} with "
                f"{quoted(labels[1:])}, its parents are {quoted(parents)}.",
            )
        # Arrays of R have the first axis, which is the child's, vary fastest.
        values = np.moveaxis(table.values.reshape([shape[-1], *shape[:-1]], order="F"), 0, -1)
        # Rows of NaN are of states of the parents without data.
        empty = np.isnan(values).all(axis=-1, keepdims=True)
        if empty.any():
            self._refuse_unidentified(
                name,
                f"{int(empty.sum())} of {empty.size} distributions are NaN: the data have no case "
                "of these states of the parents. Read with replace_unidentifiable=True, which "
                'makes them uniform, or fit in R with method = "bayes".',
            )
            values = np.where(empty, 1.0 / shape[-1], values)
        return self._draft.table(name, discrete, np.ascontiguousarray(values))

    def _refuse_unidentified(self, name: str, message: str) -> None:
        """Refuse what the data did not determine, or note that it is replaced."""
        if not self._replace:
            raise self._error(name, message)
        self._replaced.append(name)

    # -------------------------------------------------------------------------------- Gaussians

    def _gaussian(self, name: str, family: Sequence[Variable], kind: str) -> GaussianCPD:
        """Return a linear Gaussian; a conditional one for each state of its discrete parents.

        `kind` is the node's class.
        """
        parents = family[:-1]
        discrete = [parent for parent in parents if isinstance(parent, Discrete)]
        continuous = [parent for parent in parents if not isinstance(parent, Discrete)]
        if bool(discrete) != (kind == _CONDITIONAL):
            raise self._error(name, f"its class does not fit its parents {quoted(parents)}.")
        levels = self._field(name, "dlevels").fields()
        for parent in discrete:
            if levels.get(str(parent.name), _NOTHING).texts != list(parent.states):
                raise self._error(name, f"its levels of {parent.name!r} are not {parent!r}.")
        # Configurations of the discrete parents, one without any.
        cells = math.prod(parent.cardinality for parent in discrete)
        coefficients = self._coefficients(name, continuous, cells)
        deviations = self._field(name, "sd").numbers
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
        # The axes of the parents; on the last axis are the intercept and then the slopes.
        by_cell = np.moveaxis(coefficients.reshape(-1, *shape, order="F"), 0, -1)
        means, slopes = by_cell[..., 0], by_cell[..., 1:]
        variances = np.square(deviations).reshape(shape, order="F")
        return GaussianCPD(Continuous(name), means, variances, parents, slopes)

    def _coefficients(self, name: str, parents: Sequence[Variable], cells: int) -> Floats:
        """Return the intercept and the slopes of a node, shape (1 + n_parents, cells).

        `parents` are the continuous ones, whose slopes are in their order.
        """
        item = self._field(name, "coefficients")
        values, n = item.numbers, 1 + len(parents)
        if values is None or len(values) != n * cells:
            raise self._error(name, f"expected {n} coefficients for each of {cells} regressions.")
        values = values.reshape(n, cells, order="F")
        missing = np.isnan(values)
        if missing.any():
            self._refuse_unidentified(
                name,
                f"{int(missing.sum())} coefficients are NaN: the data do not determine them. Read "
                "with replace_unidentifiable=True, which makes them zero.",
            )
            values = np.where(missing, 0.0, values)
        order = [_INTERCEPT, *(parent.name for parent in parents)]
        # The names of the coefficients: those of the rows of a matrix, or else of a named vector.
        labels = (*item.attribute("dimnames").items, item.attribute("names"))
        rows = labels[0].texts
        if rows is None or rows == order:
            return values
        if sorted(rows) != sorted(map(str, order)):
            raise self._error(name, f"its coefficients are of {quoted(rows)}, not {quoted(order)}.")
        return values[[rows.index(str(key)) for key in order]]


FORMAT = FileFormat("R's bnlearn", parse)
