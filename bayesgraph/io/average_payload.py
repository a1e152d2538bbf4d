"""What native files say of averages: their members, each as a file of its own would."""

from __future__ import annotations

from typing import Any

from bayesgraph.errors import LossyExportError, quoted
from bayesgraph.io.archive import ArrayReader, ArrayWriter
from bayesgraph.io.mixture_payload import MIXTURE
from bayesgraph.io.payloads import (
    FACTOR_GRAPH,
    NETWORK,
    Kind,
    decode_variable,
    encode_variable,
)
from bayesgraph.io.weighted_payload import WEIGHTED
from bayesgraph.models.average import PosteriorAverage

_MEMBERS: dict[str, Kind] = {
    "network": NETWORK,
    "factor graph": FACTOR_GRAPH,
    "mixture": MIXTURE,
    "weighted network": WEIGHTED,
}


def _encode(model: PosteriorAverage, arrays: ArrayWriter) -> dict[str, Any]:
    members = []
    for network in model.networks:
        name = next((name for name, kind in _MEMBERS.items() if kind.holds(network)), None)
        if name is None:
            raise LossyExportError(
                f"The native format holds averages of {quoted(_MEMBERS)}; got {network!r}."
            )
        members.append({"model": name, "network": _MEMBERS[name].encode(network, arrays)})
    return {
        "variables": [encode_variable(variable) for variable in model.variables],
        "members": members,
        "weights": arrays.add("average.weights", model.weights),
    }


def _decode(item: Any, arrays: ArrayReader) -> PosteriorAverage:
    members = [_MEMBERS[m["model"]].decode(m["network"], arrays) for m in item["members"]]
    first = [decode_variable(variable) for variable in item["variables"]]
    return PosteriorAverage(members, arrays.take(item["weights"]), first=first)


AVERAGE = Kind(lambda model: type(model) is PosteriorAverage, _encode, _decode)
