"""What native files say of mixtures: the CPDs that their networks share, and who has which."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesgraph.cpds import CPD
from bayesgraph.io.archive import ArrayReader, ArrayWriter
from bayesgraph.io.payloads import (
    Kind,
    decode_cpd,
    decode_variable,
    encode_cpd,
    encode_variable,
    positions,
    variable_at,
)
from bayesgraph.models.mixture import NetworkMixture
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.variables import Name


def _encode(model: NetworkMixture, arrays: ArrayWriter) -> dict[str, Any]:
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


def _decode(item: Any, arrays: ArrayReader) -> NetworkMixture:
    variables = [decode_variable(variable) for variable in item["variables"]]
    cpds = [decode_cpd(cpd, variables, arrays) for cpd in item["cpds"]]

    def arcs(part: Any) -> dict[tuple[Name, Name], float]:
        named = [tuple(variable_at(variables, i).name for i in arc) for arc in part["arcs"]]
        return dict(zip(named, arrays.view(part["values"]).tolist(), strict=True))  # type: ignore[arg-type]

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


MIXTURE = Kind(lambda model: type(model) is NetworkMixture, _encode, _decode)
