"""Models made of networks in native files: mixtures, weighted networks and averages.

A mixture lists each CPD once, although networks share CPDs, and the indices of the CPDs of each
network. The members of an average are encoded as in files of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesgraph.cpds import CPD
from bayesgraph.errors import LossyExportError, quoted
from bayesgraph.io.archive import ArrayReader, ArrayWriter
from bayesgraph.io.payloads import (
    FACTOR_GRAPH,
    NETWORK,
    Kind,
    decode_arcs,
    decode_cpd,
    encode_cpd,
    positions,
    variable_at,
)
from bayesgraph.io.training_payload import with_training
from bayesgraph.io.variable_payload import decode_variable, encode_variable
from bayesgraph.models.average import PosteriorAverage
from bayesgraph.models.mixture import NetworkMixture
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.models.weighted import WeightedNetwork
from bayesgraph.variables import Name


def _encode_mixture(model: NetworkMixture, arrays: ArrayWriter) -> dict[str, Any]:
    at = positions(model.variables)
    by_name = {variable.name: i for variable, i in at.items()}
    numbers: dict[int, int] = {}
    cpds: list[CPD] = []
    for network in model.networks:
        for cpd in network.blocks:
            if numbers.setdefault(id(cpd), len(cpds)) == len(cpds):
                cpds.append(cpd)
    return {
        "variables": [encode_variable(variable) for variable in model.variables],
        "cpds": [encode_cpd(cpd, at, arrays) for cpd in cpds],
        "networks": [
            {
                "cpds": [numbers[id(cpd)] for cpd in network.blocks],
                "order": [at[variable] for variable in network.variables],
                "arc_scores": _encode_arcs("arc_scores", network.arc_scores, by_name, arrays),
            }
            for network in model.networks
        ],
        "weights": arrays.add("mixture.weights", model.weights),
        "arc_probabilities": _encode_arcs(
            "arc_probabilities", model.arc_probabilities, by_name, arrays
        ),
    }


def _encode_arcs(
    group: str, values: Any, by_name: dict[Name, int], arrays: ArrayWriter
) -> dict[str, Any]:
    numbers = np.array([float(value) for value in values.values()])
    return {
        "arcs": [[by_name[parent], by_name[child]] for parent, child in values],
        "values": arrays.add(group, numbers),
    }


def _decode_mixture(item: Any, arrays: ArrayReader) -> NetworkMixture:
    variables = [decode_variable(variable) for variable in item["variables"]]
    cpds = [decode_cpd(cpd, variables, arrays) for cpd in item["cpds"]]

    def arcs(part: Any) -> dict[tuple[Name, Name], float]:
        return decode_arcs(part["arcs"], part["values"], variables, arrays)

    networks = []
    for network in item["networks"]:
        if any(type(i) is not int or i < 0 for i in network["cpds"]):
            raise ValueError("a network names its CPDs by something else than their numbers")
        networks.append(
            BayesianNetwork(
                [cpds[i] for i in network["cpds"]],
                arc_scores=arcs(network["arc_scores"]),
                order=[variable_at(variables, i) for i in network["order"]],
            )
        )
    weights = arrays.take(item["weights"])
    return NetworkMixture(networks, weights, arc_probabilities=arcs(item["arc_probabilities"]))


def _encode_weighted(model: WeightedNetwork, arrays: ArrayWriter) -> dict[str, Any]:
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


def _decode_weighted(item: Any, arrays: ArrayReader) -> WeightedNetwork:
    network = NETWORK.decode(item["network"], arrays)
    target = variable_at(network.variables, item["class"])
    bias = arrays.take(item["bias"])
    values = arrays.take(item["exponents"])
    by_class = item["by_class"]
    names = [v.name for v in network.variables if v != target]
    sizes = [len(bias) if each else 1 for each in by_class]
    if not all(type(each) is bool for each in by_class) or bias.ndim != 1 or values.ndim != 1:
        raise ValueError("the exponents are no list of numbers, with a bias for each class")
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


def _encode_average(model: PosteriorAverage, arrays: ArrayWriter) -> dict[str, Any]:
    members = []
    for network in model.networks:
        name = next((name for name, kind in MODELS.items() if kind.holds(network)), None)
        if name is None:
            raise LossyExportError(
                f"The native format holds averages of {quoted(MODELS)}; got {network!r}."
            )
        members.append({"model": name, "network": MODELS[name].encode(network, arrays)})
    return {
        "variables": [encode_variable(variable) for variable in model.variables],
        "members": members,
        "weights": arrays.add("average.weights", model.weights),
        "prior_ratios": [
            [model.number[name], arrays.add("average.prior_ratios", ratio)]
            for name, ratio in model.prior_ratios.items()
        ],
        "exponents": [
            [model.number[name], arrays.add("average.exponents", own)]
            for name, own in model.exponents.items()
        ],
    }


def _decode_average(item: Any, arrays: ArrayReader) -> PosteriorAverage:
    members = [MODELS[m["model"]].decode(m["network"], arrays) for m in item["members"]]
    first = [decode_variable(variable) for variable in item["variables"]]
    ratios, exponents = (
        {variable_at(first, place).name: arrays.take(own) for place, own in item[key]}
        for key in ("prior_ratios", "exponents")
    )
    return PosteriorAverage(
        members,
        arrays.take(item["weights"]),
        first=first,
        prior_ratios=ratios,
        exponents=exponents,
    )


MIXTURE = Kind(
    lambda model: type(model) is NetworkMixture, *with_training(_encode_mixture, _decode_mixture)
)
WEIGHTED = Kind(
    lambda model: type(model) is WeightedNetwork,
    *with_training(_encode_weighted, _decode_weighted),
)
AVERAGE = Kind(
    lambda model: type(model) is PosteriorAverage, *with_training(_encode_average, _decode_average)
)
# Kinds of models that a file of another kind may contain, by their name in that file.
MODELS: dict[str, Kind] = {
    "network": NETWORK,
    "factor graph": FACTOR_GRAPH,
    "mixture": MIXTURE,
    "weighted network": WEIGHTED,
    "average": AVERAGE,
}
