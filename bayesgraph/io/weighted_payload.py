"""What native files say of weighted networks: the network, its exponents and biases."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesgraph.io.archive import ArrayReader, ArrayWriter
from bayesgraph.io.payloads import NETWORK, Kind, positions, variable_at
from bayesgraph.models.weighted import WeightedNetwork


def _encode(model: WeightedNetwork, arrays: ArrayWriter) -> dict[str, Any]:
    at = positions(model.variables)
    values = np.concatenate([np.empty(0), *(e.ravel() for e in model.exponents.values())])
    return {
        "network": NETWORK.encode(model.network, arrays),
        "class": at[model.target],
        "domain": model.domain,
        "prior_exponent": model.prior_exponent,
        "by_class": [bool(exponent.ndim) for exponent in model.exponents.values()],
        "exponents": arrays.add("weighted.exponents", values),
        "bias": arrays.add("weighted.bias", model.bias),
    }


def _decode(item: Any, arrays: ArrayReader) -> WeightedNetwork:
    network = NETWORK.decode(item["network"], arrays)
    target = variable_at(network.variables, item["class"])
    bias = arrays.take(item["bias"])
    values = arrays.take(item["exponents"])
    by_class = item["by_class"]
    names = [v.name for v in network.variables if v != target]
    sizes = [len(bias) if each else 1 for each in by_class]
    if len(names) != len(by_class) or sum(sizes) != len(values):
        raise ValueError("the exponents do not fit the features")
    parts = np.split(values, np.cumsum(sizes)[:-1]) if sizes else []
    exponents = {
        name: part if each else part[0]
        for name, part, each in zip(names, parts, by_class, strict=True)
    }
    return WeightedNetwork(
        network,
        target.name,
        exponents,
        bias=bias,
        prior_exponent=item["prior_exponent"],
        domain=item["domain"],
    )


WEIGHTED = Kind(lambda model: type(model) is WeightedNetwork, _encode, _decode)
