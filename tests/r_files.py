"""Files as R's ``saveRDS`` and ``save`` write them, made byte by byte.

After section 1.8, "Serialization Formats", of the manual "R Internals", and the documentation of
the objects of bnlearn (``?"bn.fit class"``). Only what those objects need is here.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import bayesgraph as bg

_SYM, _PAIR, _CHAR, _LOGICAL, _INT, _REAL, _TEXT, _LIST = 1, 2, 9, 10, 13, 14, 16, 19
_ALTREP, _NOTHING, _REFERENCE = 238, 254, 255
_HAS_CLASS, _HAS_ATTRIBUTES, _HAS_TAG = 1 << 8, 1 << 9, 1 << 10
_UTF8, _ASCII, _LATIN1 = 1 << 3, 1 << 6, 1 << 2
NA_INT = -(2**31)


@dataclass
class R:
    """A vector of R: numbers, texts or items, with attributes."""

    values: Any
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass
class Wrapped:
    """A vector that R has wrapped: an alternative representation."""

    vector: R


@dataclass
class Range:
    """A range of integers, ``start:(start + length - 1)``."""

    length: int
    start: int


@dataclass
class Deferred:
    """Numbers of which R will make texts when they are needed."""

    numbers: list[float]


def named(items: dict[str, Any], **attributes: Any) -> R:
    """Return a list of R with names."""
    return R(list(items.values()), {"names": R(list(items)), **attributes})


class _Writer:
    def __init__(self, encoding: str = "utf-8") -> None:
        self.data = bytearray()
        self._encoding = encoding
        self._symbols: list[str] = []

    def integer(self, value: int) -> None:
        self.data += struct.pack(">i", value)

    def symbol(self, name: str) -> None:
        if name in self._symbols:
            self.integer((1 + self._symbols.index(name)) << 8 | _REFERENCE)
            return
        self._symbols.append(name)
        self.integer(_SYM)
        self.text(name)

    def text(self, text: str | None) -> None:
        if text is None:
            self.integer(_CHAR)
            self.integer(-1)
            return
        data = text.encode(self._encoding)
        flag = _ASCII if text.isascii() else _UTF8 if self._encoding == "utf-8" else _LATIN1
        self.integer(flag << 12 | _CHAR)
        self.integer(len(data))
        self.data += data

    def pairs(self, items: dict[str, Any]) -> None:
        for name, item in items.items():
            self.integer(_PAIR | _HAS_TAG)
            self.symbol(name)
            self.item(item)
        self.integer(_NOTHING)

    def item(self, item: Any) -> None:
        if item is None:
            self.integer(_NOTHING)
        elif isinstance(item, (Wrapped, Range, Deferred)):
            self.alternative(item)
        else:
            self.vector(item if isinstance(item, R) else R(item))

    def alternative(self, item: Wrapped | Range | Deferred) -> None:
        self.integer(_ALTREP)
        kinds = {Wrapped: "wrap_real", Range: "compact_intseq", Deferred: "deferred_string"}
        self.integer(_PAIR)
        self.symbol(kinds[type(item)])
        self.integer(_PAIR)
        self.symbol("base")
        self.integer(_NOTHING)
        if isinstance(item, Wrapped):
            self.item(R([item.vector, R(np.array([0, 0], np.int32))]))
        elif isinstance(item, Range):
            self.item(R(np.array([item.length, item.start, 1.0])))
        else:
            self.integer(_PAIR)
            self.item(R(np.array(item.numbers)))
            self.item(R(np.array([0], np.int32)))
        self.integer(_NOTHING)

    def vector(self, item: R) -> None:
        flags = _HAS_ATTRIBUTES if item.attributes else 0
        flags |= _HAS_CLASS if "class" in item.attributes else 0
        values = item.values
        if isinstance(values, np.ndarray):
            whole = values.dtype.kind in "iu"
            self.integer((_INT if whole else _REAL) | flags)
            self.integer(len(values))
            self.data += values.astype(">i4" if whole else ">f8").tobytes()
        elif all(value is None or isinstance(value, str) for value in values):
            self.integer(_TEXT | flags)
            self.integer(len(values))
            for value in values:
                self.text(value)
        else:
            self.integer(_LIST | flags)
            self.integer(len(values))
            for value in values:
                self.item(value)
        if item.attributes:
            self.pairs(item.attributes)


def rds(item: Any, *, version: int = 3, encoding: str = "utf-8") -> bytes:
    """Return a file of ``saveRDS``, not compressed."""
    writer = _Writer(encoding)
    writer.data += b"X\n" + _versions(version)
    writer.item(item)
    return bytes(writer.data)


def rda(items: dict[str, Any], *, version: int = 2) -> bytes:
    """Return a file of ``save``, not compressed."""
    writer = _Writer()
    writer.data += b"RDX%d\nX\n" % version + _versions(version)
    writer.pairs(items)
    return bytes(writer.data)


def _versions(version: int) -> bytes:
    head = struct.pack(">iii", version, 0x040301, 0x020300 if version == 2 else 0x030500)
    return head if version == 2 else head + struct.pack(">i", 5) + b"UTF-8"


def fit(network: bg.BayesianNetwork) -> R:
    """Return a network as an object of class ``bn.fit``."""
    kinds = {cpd.variable.name: _node(cpd, network) for cpd in network.cpds}
    tables = [isinstance(cpd, bg.TableCPD) for cpd in network.cpds]
    whole = "bn.fit.dnet" if all(tables) else "bn.fit.cgnet" if any(tables) else "bn.fit.gnet"
    return named(kinds, **{"class": R(["bn.fit", whole])})


def _node(cpd: Any, network: bg.BayesianNetwork) -> R:
    fields: dict[str, Any] = {
        "node": R([cpd.variable.name]),
        "parents": R([parent.name for parent in cpd.parents]),
        "children": R([c.variable.name for c in network.cpds if cpd.variable in c.parents]),
    }
    if isinstance(cpd, bg.TableCPD):
        fields["prob"] = table(cpd)
        return named(fields, **{"class": R(["bn.fit.dnode"])})
    discrete = [parent for parent in cpd.parents if isinstance(parent, bg.Discrete)]
    numbers = [parent.name for parent in cpd.parents if not isinstance(parent, bg.Discrete)]
    rows = np.concatenate([cpd.mean[..., None], cpd.coefficients], axis=-1)
    # In arrays of R the first axis varies fastest.
    values = np.moveaxis(rows, -1, 0).reshape(-1, order="F")
    deviations = np.sqrt(cpd.variance).reshape(-1, order="F")
    terms = R(["(Intercept)", *numbers])
    if not discrete:
        fields["coefficients"] = R(values, {"names": terms})
        fields["sd"] = R(deviations)
        return named({**fields, **_residuals()}, **{"class": R(["bn.fit.gnode"])})
    cells = [str(i) for i in range(len(deviations))]
    places = {"dparents": discrete, "gparents": [p for p in cpd.parents if p not in discrete]}
    for name, parents in places.items():
        index = [1 + cpd.parents.index(parent) for parent in parents]
        fields[name] = R(np.array(index, np.int32))
    fields["dlevels"] = named({p.name: R(list(p.states)) for p in discrete})
    shape = R(np.array([len(terms.values), len(cells)], np.int32))
    fields["coefficients"] = R(values, {"dim": shape, "dimnames": R([terms, R(cells)])})
    fields["sd"] = R(deviations, {"names": R(cells)})
    configs = {"levels": R(cells), "class": R(["factor"])}
    fields["configs"] = R(np.array([NA_INT], np.int32), configs)
    return named({**fields, **_residuals()}, **{"class": R(["bn.fit.cgnode"])})


def _residuals() -> dict[str, R]:
    return {"residuals": R(np.array([np.nan])), "fitted.values": R(np.array([np.nan]))}


def table(cpd: bg.TableCPD, names: Sequence[str] | None = None) -> R:
    """Return the table of a CPD; `names` are those of its axes."""
    axes = [cpd.variable, *cpd.parents]
    values = np.moveaxis(cpd.values, -1, 0)
    labels = {name: R(list(axis.states)) for name, axis in zip(names or axes, axes, strict=True)}
    labels = {getattr(name, "name", name): item for name, item in labels.items()}
    return R(
        values.reshape(-1, order="F"),
        {
            "dim": R(np.array(values.shape, np.int32)),
            "dimnames": named(labels),
            "class": R(["table"]),
        },
    )
