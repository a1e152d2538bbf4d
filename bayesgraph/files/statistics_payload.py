"""Sufficient statistics of fitted models in native files.

They let a loaded classifier learn more rows and forget rows, as the saved classifier would. Each
summary is stored with its request, which says what is counted of which columns. A new type of
summary needs one entry in `SUMMARIES`. Variables are stored as indices in the list of the model's
variables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from bayesgraph.core.arrays import LENGTHS, Floats
from bayesgraph.core.variables import Continuous, CountVector, Discrete, Variable
from bayesgraph.files.archive import ArrayReader, ArrayWriter, decode_value, encode_value
from bayesgraph.files.payloads import variable_at
from bayesgraph.statistics import (
    TRANSFORMS,
    Families,
    FamiliesSummary,
    Family,
    FamilyStatistics,
    GroupMoments,
    Moments,
    MomentsSummary,
    PairMoments,
    Pairs,
    PairsSummary,
    Samples,
    SamplesSummary,
    Singles,
    SinglesSummary,
    Statistics,
    Totals,
    TotalsSummary,
)


class _Writer:
    """Encodes statistics: variables as indices, arrays as references, and dataclasses as dicts."""

    def __init__(self, variables: Sequence[Variable], arrays: ArrayWriter) -> None:
        self._at = {variable: i for i, variable in enumerate(variables)}
        self._arrays = arrays

    def encode(self, value: Any, name: str = "") -> Any:
        """Return a value as JSON; an array is added to the group of arrays that `name` names."""
        if isinstance(value, Variable):
            return self._at[value]
        if isinstance(value, (np.ndarray, np.floating)):  # np.floating is an array without axes
            return self._arrays.add(f"statistics.{name}", np.asarray(value, dtype=np.float64))
        if isinstance(value, tuple):
            return [self.encode(item) for item in value]
        if not is_dataclass(value):
            return encode_value(value)
        entries = {f.name: self.encode(getattr(value, f.name), f.name) for f in fields(value)}
        # The entries of a summary's request are merged with the other entries.
        return entries.pop("request", {}) | entries


class _Reader:
    """Decodes and checks the variables and arrays of statistics.

    Methods raise ValueError, TypeError or LookupError for content that `_Writer` never writes.
    """

    def __init__(self, variables: Sequence[Variable], arrays: ArrayReader) -> None:
        self._variables = variables
        self._arrays = arrays
        self.budget = arrays.budget

    def variable(self, place: Any, kind: type[Any]) -> Any:
        found = variable_at(self._variables, place)
        if not isinstance(found, kind):
            raise ValueError(f"expected a variable of the type {kind.__name__}; got {found!r}")
        return found

    def variables(self, places: Any, kind: Any = (Discrete, Continuous)) -> tuple[Any, ...]:
        found = tuple(variable_at(self._variables, place) for place in places)
        if len(set(found)) < len(found) or not all(isinstance(v, kind) for v in found):
            raise ValueError(f"statistics are of the wrong variables {found!r:.80}")
        return found

    def given(self, place: Any) -> Discrete | None:
        found: Discrete | None = None if place is None else self.variable(place, Discrete)
        return found

    def head(self, item: Any, kind: Any = (Discrete, Continuous)) -> tuple[Any, Any]:
        """Return the columns of a request, and the variable by which their statistics are grouped.

        That variable is None if the rows are not grouped. `kind` is the required class of the
        columns.
        """
        return self.variables(item["columns"], kind), self.given(item["given"])

    def array(self, reference: Any, *shapes: tuple[int, ...]) -> Floats:
        """Return an array of finite floats; its shape must be one of `shapes` if there are any."""
        array = self._arrays.take(reference)
        if array.dtype != np.float64 or not np.isfinite(array).all():
            raise ValueError(f"statistics are finite floats; got {array.dtype}")
        if shapes and array.shape not in shapes:
            raise ValueError(f"statistics have the shape {array.shape}, not {shapes}")
        return array

    def weights(self, reference: Any, *shapes: tuple[int, ...]) -> Floats:
        """Return an array of finite floats that are not negative; see `array`."""
        array = self.array(reference, *shapes)
        if (array < 0).any():
            raise ValueError("a weight or a sum of squares is negative")
        return array

    def moments(self, item: Any, shape: tuple[int, int]) -> GroupMoments:
        """Return the moments (weight, mean, sum of squares) of columns in each group of rows."""
        return GroupMoments(
            self.weights(item["count"], shape),
            self.array(item["mean"], shape),
            self.weights(item["square"], shape),
        )

    def pair_moments(self, item: Any, n_groups: int, d: int) -> PairMoments:
        """Return the moments and comoments of pairs of columns in each group of rows.

        `d` is the number of columns.
        """
        full, short = (n_groups, d, d), (n_groups, d, 1)
        return PairMoments(
            self.weights(item["count"], (n_groups, 1, 1), full),
            self.array(item["mean"], short, full),
            self.weights(item["square"], short, full),
            self.array(item["comoment"], full),
        )


def _n_groups(given: Discrete | None) -> int:
    return 1 if given is None else given.cardinality


# -------------------------------------------------------------------------------- summaries


def _decode_singles(item: Any, read: _Reader) -> SinglesSummary:
    request = Singles(*read.head(item))
    n_groups = _n_groups(request.given)
    states = sum(v.cardinality for v in request.columns if isinstance(v, Discrete))
    numbers = sum(isinstance(v, Continuous) for v in request.columns)
    return SinglesSummary(
        request,
        read.weights(item["totals"], (n_groups,)),
        read.weights(item["counts"], (n_groups, states)),
        read.moments(item["moments"], (n_groups, numbers)),
    )


def _encode_pairs(summary: PairsSummary, out: _Writer) -> dict[str, Any]:
    entries = out.encode(summary)
    # The entries of the request are part of "singles".
    return {name: entries[name] for name in ("singles", "pair_counts", "pair_moments", "mixed")}


def _decode_pairs(item: Any, read: _Reader) -> PairsSummary:
    singles = _decode_singles(item["singles"], read)
    request = Pairs(singles.request.columns, singles.request.given)
    n_groups = _n_groups(request.given)
    cards = [v.cardinality for v in request.columns if isinstance(v, Discrete)]
    numbers = sum(isinstance(v, Continuous) for v in request.columns)
    cells = n_groups * (sum(cards) ** 2 - sum(card * card for card in cards)) // 2
    mixed = n_groups * sum(cards) if numbers else 0
    return PairsSummary(
        request,
        singles,
        read.weights(item["pair_counts"], (cells,)),
        read.pair_moments(item["pair_moments"], n_groups, numbers),
        read.moments(item["mixed"], (mixed, numbers)),
    )


def _encode_families(summary: FamiliesSummary, out: _Writer) -> dict[str, Any]:
    found = zip(summary.request.families, summary.found, strict=True)
    return {"families": [out.encode(family) | out.encode(counts) for family, counts in found]}


def _decode_families(item: Any, read: _Reader) -> FamiliesSummary:
    families, found = [], []
    for part in item["families"]:
        family = Family(
            read.variables(part["discrete"], Discrete),
            read.variables(part["continuous"], Continuous),
        )
        cards = tuple(v.cardinality for v in family.discrete)
        n = len(family.continuous)
        families.append(family)
        found.append(
            FamilyStatistics(
                read.weights(part["counts"], cards),
                read.array(part["mean"], (*cards, n)),
                read.array(part["comoment"], (*cards, n, n)),
            )
        )
    return FamiliesSummary(Families(tuple(families)), tuple(found))


def _decode_transformed(item: Any, read: _Reader) -> MomentsSummary:
    columns, given = read.head(item, Continuous)
    functions = tuple(item["functions"])
    if not set(functions) <= TRANSFORMS.keys():
        raise ValueError(f"moments are of the unknown functions {functions!r:.80}")
    shape = (_n_groups(given), len(columns) * len(functions))
    return MomentsSummary(Moments(columns, functions, given), read.moments(item["moments"], shape))


def _joined(cells: tuple[tuple[Floats, ...], ...]) -> Floats:
    return np.concatenate([np.empty(0), *(part for column in cells for part in column)])


def _encode_samples(summary: SamplesSummary, out: _Writer) -> dict[str, Any]:
    values, weights = _joined(summary.values), _joined(summary.weights)
    return {
        **out.encode(summary.request),
        "sizes": [[len(part) for part in column] for column in summary.values],
        "values": out.encode(values, "values"),
        "weights": out.encode(weights, "weights"),
    }


def _decode_samples(item: Any, read: _Reader) -> SamplesSummary:
    request = Samples(*read.head(item, Continuous))
    sizes = item["sizes"]
    n_groups = _n_groups(request.given)
    flat = [size for column in sizes for size in column]
    if not all(type(size) is int and size >= 0 for size in flat):
        raise ValueError(f"expected numbers of values; got {sizes!r:.80}")
    if [len(column) for column in sizes] != [n_groups] * len(request.columns):
        raise ValueError(f"{len(sizes)} columns of values are not those of the request")
    total = (sum(flat),)
    stops = np.cumsum(flat)[:-1]
    values = np.split(read.array(item["values"], total), stops)
    weights = np.split(read.array(item["weights"], total), stops)
    if not all((np.diff(part) > 0).all() for part in values):
        raise ValueError("the values of a column are not ascending")
    if not all((part > 0).all() for part in weights):
        raise ValueError("a weight is not positive")
    rows = range(0, len(flat), n_groups)
    return SamplesSummary(
        request,
        tuple(tuple(values[at : at + n_groups]) for at in rows),
        tuple(tuple(weights[at : at + n_groups]) for at in rows),
    )


def _encode_totals(summary: TotalsSummary, out: _Writer) -> dict[str, Any]:
    last = int(np.flatnonzero(summary.lengths.any(axis=0)).max(initial=-1)) + 1
    entries: dict[str, Any] = out.encode(replace(summary, lengths=summary.lengths[:, :last]))
    return entries


def _decode_totals(item: Any, read: _Reader) -> TotalsSummary:
    vector, given = read.variable(item["vector"], CountVector), read.given(item["given"])
    threshold = decode_value(item["threshold"])
    if threshold is not None and not (type(threshold) is float and math.isfinite(threshold)):
        raise ValueError(f"expected a threshold; got {threshold!r:.80}")
    n_groups, n_items = _n_groups(given), len(vector.items)
    known = read.weights(item["lengths"])
    if known.shape[:-1] != (n_groups,) or known.shape[-1] > len(LENGTHS):
        raise ValueError(f"lengths have the shape {known.shape}")
    read.budget.take(8 * n_groups * len(LENGTHS), "the lengths of rows")
    lengths = np.zeros((n_groups, len(LENGTHS)))
    lengths[:, : known.shape[-1]] = known
    return TotalsSummary(
        Totals(vector, given, threshold),
        read.weights(item["sums"], (n_groups, n_items)),
        read.weights(item["seen"], (n_groups, 1), (n_groups, n_items)),
        lengths,
    )


class _Codec(NamedTuple):
    """The class of a summary, its decoder, and its encoder (by default `_Writer.encode`).

    A decoder takes the dict that the encoder returned, and a _Reader.
    """

    type: type[Any]
    decode: Callable[[Any, _Reader], Any]
    encode: Callable[[Any, _Writer], dict[str, Any]] = lambda summary, out: out.encode(summary)


SUMMARIES: dict[str, _Codec] = {
    "singles": _Codec(SinglesSummary, _decode_singles),
    "pairs": _Codec(PairsSummary, _decode_pairs, _encode_pairs),
    "families": _Codec(FamiliesSummary, _decode_families, _encode_families),
    "moments": _Codec(MomentsSummary, _decode_transformed),
    "samples": _Codec(SamplesSummary, _decode_samples, _encode_samples),
    "totals": _Codec(TotalsSummary, _decode_totals, _encode_totals),
}
_NAMES = {codec.type: name for name, codec in SUMMARIES.items()}


def encode_statistics(
    statistics: Statistics, variables: Sequence[Variable], arrays: ArrayWriter
) -> list[dict[str, Any]]:
    """Return statistics as JSON.

    Parameters
    ----------
    statistics : Statistics
    variables : sequence of Variable
        Variables of the model, among them all variables of the requests.
    arrays : ArrayWriter
    """
    out = _Writer(variables, arrays)
    found = []
    for summary in statistics.summaries.values():
        name = _NAMES[type(summary)]
        found.append({"summary": name, **SUMMARIES[name].encode(summary, out)})
    return found


def decode_statistics(
    items: Sequence[Mapping[str, Any]], variables: Sequence[Variable], arrays: ArrayReader
) -> Statistics:
    """Return the statistics that `encode_statistics` encoded.

    Raises
    ------
    ValueError, TypeError, LookupError
        If the content is not such an encoding.
    """
    read = _Reader(variables, arrays)
    summaries = [SUMMARIES[item["summary"]].decode(item, read) for item in items]
    found = {summary.request: summary for summary in summaries}
    if len(found) < len(summaries):
        raise ValueError("the same statistics are there twice")
    return Statistics(found)
