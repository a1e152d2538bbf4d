"""Networks and factor graphs in native files: JSON and arrays.

The variables of a model are listed once; other entries refer to them by their index in that list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.errors import LossyExportError, quoted
from bayesgraph.core.variables import Discrete, Name, Variable
from bayesgraph.files.archive import (
    ArrayReader,
    ArrayWriter,
    decode_value,
    decode_variable,
    encode_value,
    encode_variable,
    without_repeats,
)
from bayesgraph.inference import Factor
from bayesgraph.models import (
    CPD,
    FAMILIES,
    Annotations,
    BayesianNetwork,
    DeterministicCPD,
    Ensemble,
    FactorGraph,
    HistogramCPD,
    JointGaussianCPD,
    LogisticCPD,
    Model,
    NoisyMaxCPD,
    NoisyOrCPD,
    TreesCPD,
    WeightedNetwork,
)
from bayesgraph.statistics import ParameterPosterior
from bayesgraph.tables import Training, TrainingRows

# ------------------- What a model was fitted on, in native files: JSON without a value of the data


Encode = Callable[[Any, ArrayWriter], dict[str, Any]]
Decode = Callable[[Any, ArrayReader], Any]


def with_training(encode: Encode, decode: Decode) -> tuple[Encode, Decode]:
    """Return the encoder and the decoder of a kind of models that keep what they were fitted on."""

    def encoded(model: Model, arrays: ArrayWriter) -> dict[str, Any]:
        item = encode(model, arrays)
        if model.training is not None:
            item["training"] = encode_training(model.training)
        return item

    def decoded(item: Mapping[str, Any], arrays: ArrayReader) -> Any:
        model = decode(item, arrays)
        if "training" in item:  # networks made by hand have none
            model.training = decode_training(item["training"])
        return model

    return encoded, decoded


def encode_training(training: Training) -> dict[str, Any]:
    """Return as JSON what a model was fitted on."""
    item: dict[str, Any] = {
        "method": training.method,
        "columns": training.n_columns,
        "settings": dict(training.settings),
        "version": training.version,
    }
    if training.rows is not None:
        item["rows"] = encode_rows(training.rows)
    return item


def decode_training(item: Any) -> Training:
    """Return what `encode_training` encoded."""
    return Training(
        item["method"],
        item["columns"],
        decode_rows(item["rows"]) if "rows" in item else None,
        item["settings"],
        item["version"],
    )


def encode_rows(rows: TrainingRows) -> dict[str, Any]:
    """Return numbers of rows and of missing values as JSON."""
    missing = [[encode_value(name), n] for name, n in rows.missing.items()]
    return {"n": rows.n_rows, "missing": missing, "weight": rows.weight}


def decode_rows(item: Any) -> TrainingRows:
    """Return what `encode_rows` encoded."""
    missing = without_repeats((decode_value(name), n) for name, n in item["missing"])
    return TrainingRows(item["n"], missing, item["weight"])


# ------------------------------------- Networks and factor graphs in native files: JSON and arrays


@dataclass(frozen=True)
class Kind:
    """A kind of model that native files hold.

    Attributes
    ----------
    holds : callable
        Returns whether a model is exactly of this kind; for an instance of a subclass, which may
        have more to save, it is false.
    encode : callable
        From model and ArrayWriter to a dict that JSON can hold.
    decode : callable
        From that dict and ArrayReader to the model. May raise LookupError, TypeError, ValueError
        for content that `encode` never returns.
    """

    holds: Callable[[object], bool]
    encode: Callable[[Any, ArrayWriter], dict[str, Any]]
    decode: Callable[[Any, ArrayReader], Any]


# Classes of CPDs by their names in files.
STORED: dict[str, type[CPD]] = {
    **{name: kind for family in FAMILIES.values() for name, kind in family.stored.items()},
    "joint_gaussian": JointGaussianCPD,
    "histogram": HistogramCPD,
    "trees": TreesCPD,
    "noisy_or": NoisyOrCPD,
    "noisy_max": NoisyMaxCPD,
    "logistic": LogisticCPD,
    "deterministic": DeterministicCPD,
}

# The arrays of a `ParameterPosterior`.
_OF_POSTERIOR = ("rows", "strength", "centre", "covariance")

# The annotations of single variables.
_OF_VARIABLES = ("positions", "notes", "titles")


def positions(variables: Iterable[Variable]) -> dict[Variable, int]:
    """Return the index of each variable."""
    return {variable: i for i, variable in enumerate(variables)}


# ------------------------------------------------------------------------------------------ CPDs


def encode_cpd(cpd: CPD, at: Mapping[Variable, int], arrays: ArrayWriter) -> dict[str, Any]:
    """Return a CPD as JSON, in which variables are indices and arrays are references.

    `at` maps each variable to its index.

    Raises
    ------
    LossyExportError
        If the class of the CPD is not in `STORED`.
    """
    name = next((name for name, stored in STORED.items() if type(cpd) is stored), None)
    if name is None:
        raise LossyExportError(
            f"{cpd.title}: the native format has no entry for {type(cpd).__name__}; it holds "
            f"{', '.join(stored.__name__ for stored in STORED.values())}."
        )
    child: dict[str, Any] = {"children": [at[variable] for variable in cpd.children]}
    if not cpd.takes_children:
        child = {"variable": at[cpd.variable]}
    return {
        "family": name,
        **child,
        "parents": [at[parent] for parent in cpd.parents],
        **{
            key: arrays.add(_group(f"{name}.{key}", array), array)
            for key, array in cpd.to_arrays().items()
            if array.size or key not in cpd.optional_arrays
        },
        **_encode_posterior(cpd.parameter_posterior, arrays),
    }


def _encode_posterior(
    posterior: ParameterPosterior | None, arrays: ArrayWriter
) -> dict[str, dict[str, Any]]:
    if posterior is None:
        return {}
    found = {key: getattr(posterior, key) for key in _OF_POSTERIOR}
    return {
        "posterior": {
            key: arrays.add(f"posterior.{key}", np.asarray(array, dtype=np.float64))
            for key, array in found.items()
            if array is not None
        }
    }


def _group(name: str, array: NDArray[Any]) -> str:
    """Return the name of the group of an array: small integers have a group for each size."""
    is_small = array.dtype.kind == "i" and array.dtype.itemsize < 8
    return f"{name}.{array.dtype}" if is_small else name


def decode_cpd(item: Any, variables: list[Variable], arrays: ArrayReader) -> CPD:
    """Return the CPD that `encode_cpd` encoded."""
    name = item["family"]
    if name not in STORED:
        raise ValueError(f"it has a CPD of the unknown family {name!r}")
    stored = STORED[name]
    places = item["children"] if stored.takes_children else [item["variable"]]
    children = [variable_at(variables, place) for place in places]
    parents = [variable_at(variables, parent) for parent in item["parents"]]
    names = (*stored.arrays, *stored.other_arrays)
    kept = [key for key in names if key in item or key not in stored.optional_arrays]
    values = {key: arrays.view(item[key]) for key in kept}
    lead = tuple(parent.cardinality for parent in parents if isinstance(parent, Discrete))
    for key in stored.arrays:
        array = values[key]
        # `encode_cpd` never writes a small array that the class would broadcast to a huge table.
        if array.shape[: len(lead)] != lead:
            raise ValueError(f"{key} of {children[0].name!r} has the shape {array.shape}")
    cpd = stored.from_arrays(children, parents, values)
    if "posterior" in item:
        cpd.parameter_posterior = _decode_posterior(item["posterior"], cpd, arrays)
    return cpd


def _decode_posterior(item: Any, cpd: CPD, arrays: ArrayReader) -> ParameterPosterior:
    found = {key: arrays.take(item[key]) for key in _OF_POSTERIOR if key in item}
    lead = tuple(p.cardinality for p in cpd.parents if isinstance(p, Discrete))
    shapes = [lead]
    if cpd.takes_children:
        shapes = [(*lead, 1), (*lead, len(cpd.children))]
    size = len(cpd.continuous_parents)
    of_parents = {"centre": [(*lead, size)], "covariance": [(*lead, size, size)]}
    if size and not of_parents.keys() <= found.keys():
        raise ValueError(f"{cpd.title} lacks the covariance of its coefficients")
    for key, array in found.items():
        allowed = of_parents.get(key, shapes)
        if array.shape not in allowed or np.isnan(array).any():
            raise ValueError(f"the {key} of {cpd.title} have the shape {array.shape}, or NaN")
    if (found["rows"] < 0).any() or (found["strength"] < 0).any():
        raise ValueError(f"{cpd.title} rests on less than no rows")
    return ParameterPosterior(**found)


def variable_at(variables: Sequence[Variable], position: Any) -> Variable:
    """Return the variable at an index read from a file; an error if it is no valid index."""
    if type(position) is not int or position < 0:
        raise ValueError(f"expected the position of a variable; got {position!r:.80}")
    return variables[position]


# -------------------------------------------------------------------------------------- networks


def _encode_network(model: BayesianNetwork, arrays: ArrayWriter) -> dict[str, Any]:
    at = positions(model.variables)
    by_name: dict[Name, int] = {variable.name: i for variable, i in at.items()}
    return {
        "variables": [encode_variable(variable) for variable in model.variables],
        "cpds": [encode_cpd(cpd, at, arrays) for cpd in model.blocks],
        "scored_arcs": [[by_name[parent], by_name[child]] for parent, child in model.arc_scores],
        "arc_scores": arrays.add(
            "arc_scores", np.array([float(score) for score in model.arc_scores.values()])
        ),
        **_encode_annotations(model.annotations, by_name),
    }


def _encode_annotations(annotations: Annotations, at: Mapping[Name, int]) -> dict[str, Any]:
    """Return annotations in which positions of variables stand for their names."""
    if not annotations:
        return {}
    mappings = {key: getattr(annotations, key) for key in _OF_VARIABLES}
    listed = {key: [[at[n], value] for n, value in m.items()] for key, m in mappings.items() if m}
    return {"annotations": {"note": annotations.note, **listed}}


def _decode_annotations(item: Any, variables: Sequence[Variable]) -> Annotations:
    mappings = {
        key: without_repeats((variable_at(variables, i).name, value) for i, value in item[key])
        for key in _OF_VARIABLES
        if key in item
    }
    return Annotations(item["note"], **mappings)


def _decode_network(item: Any, arrays: ArrayReader) -> BayesianNetwork:
    variables = [decode_variable(variable) for variable in item["variables"]]
    cpds = [decode_cpd(cpd, variables, arrays) for cpd in item["cpds"]]
    scores = decode_arcs(item["scored_arcs"], item["arc_scores"], variables, arrays)
    annotations = None
    if "annotations" in item:
        annotations = _decode_annotations(item["annotations"], variables)
    return BayesianNetwork(cpds, arc_scores=scores, order=variables, annotations=annotations)


def decode_arcs(
    arcs: Any, numbers: Any, variables: Sequence[Variable], arrays: ArrayReader
) -> dict[tuple[Name, Name], float]:
    """Return the number of each arc, given pairs of positions and the reference to an array."""
    named = [(variable_at(variables, i).name, variable_at(variables, j).name) for i, j in arcs]
    values = arrays.view(numbers)
    if values.ndim != 1:
        raise ValueError(f"the scores of arcs have the shape {values.shape}")
    return without_repeats(zip(named, values.tolist(), strict=True))


# --------------------------------------------------------------------------------- factor graphs


def _encode_factor_graph(model: FactorGraph, arrays: ArrayWriter) -> dict[str, Any]:
    at = positions(model.variables)
    terms: list[dict[str, Any]] = []
    for term in model.terms:
        if isinstance(term.source, Factor):
            source: dict[str, Any] = {
                "scope": [at[variable] for variable in term.source.scope],
                "log_values": arrays.add("factor.log_values", term.source.log_values),
            }
        else:
            source = {"cpd": encode_cpd(term.source, at, arrays)}
        terms.append({**source, "exponent": arrays.add("exponents", term.exponent)})
    return {
        "domain": model.domain,
        "variables": [encode_variable(variable) for variable in model.variables],
        "terms": terms,
    }


def _decode_factor_graph(item: Any, arrays: ArrayReader) -> FactorGraph:
    variables = [decode_variable(variable) for variable in item["variables"]]
    return FactorGraph(
        [_decode_source(term, variables, arrays) for term in item["terms"]],
        exponents=[arrays.view(term["exponent"]) for term in item["terms"]],
        domain=item["domain"],
    )


def _decode_source(item: Any, variables: list[Variable], arrays: ArrayReader) -> Factor | CPD:
    if "cpd" in item:
        return decode_cpd(item["cpd"], variables, arrays)
    scope = [variable_at(variables, position) for position in item["scope"]]
    discrete = [variable for variable in scope if isinstance(variable, Discrete)]
    log_values = arrays.take(item["log_values"])
    shape = tuple(variable.cardinality for variable in discrete)
    rows = log_values.shape[:1]
    if len(discrete) < len(scope) or log_values.shape != (*rows, *shape) or not sum(rows):
        raise ValueError(f"a factor of the shape {log_values.shape} does not fit its variables")
    if np.isnan(log_values).any() or np.isposinf(log_values).any():
        raise ValueError("a factor has NaN or infinity")
    return Factor.from_log(discrete, log_values)


NETWORK = Kind(
    lambda model: type(model) is BayesianNetwork, *with_training(_encode_network, _decode_network)
)
FACTOR_GRAPH = Kind(
    lambda model: type(model) is FactorGraph,
    *with_training(_encode_factor_graph, _decode_factor_graph),
)


# --------------- Models made of networks in native files: mixtures, weighted networks and averages
# A mixture lists each CPD once, although networks share CPDs, and the indices of the CPDs of each
# network. The members of an average are encoded as in files of their own.


def _encode_mixture(model: Ensemble, arrays: ArrayWriter) -> dict[str, Any]:
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


def _decode_mixture(item: Any, arrays: ArrayReader) -> Ensemble:
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
    return Ensemble(networks, weights, "joint", arc_probabilities=arcs(item["arc_probabilities"]))


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


def _encode_average(model: Ensemble, arrays: ArrayWriter) -> dict[str, Any]:
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


def _decode_average(item: Any, arrays: ArrayReader) -> Ensemble:
    members = [MODELS[m["model"]].decode(m["network"], arrays) for m in item["members"]]
    first = [decode_variable(variable) for variable in item["variables"]]
    ratios, exponents = (
        {variable_at(first, place).name: arrays.take(own) for place, own in item[key]}
        for key in ("prior_ratios", "exponents")
    )
    return Ensemble(
        members,
        arrays.take(item["weights"]),
        first=first,
        prior_ratios=ratios,
        exponents=exponents,
        combine="posterior",
    )


MIXTURE = Kind(
    lambda model: type(model) is Ensemble and model.combine == "joint",
    *with_training(_encode_mixture, _decode_mixture),
)
WEIGHTED = Kind(
    lambda model: type(model) is WeightedNetwork,
    *with_training(_encode_weighted, _decode_weighted),
)
AVERAGE = Kind(
    lambda model: type(model) is Ensemble and model.combine == "posterior",
    *with_training(_encode_average, _decode_average),
)
# Kinds of models that a file of another kind may contain, by their name in that file.
MODELS: dict[str, Kind] = {
    "network": NETWORK,
    "factor graph": FACTOR_GRAPH,
    "mixture": MIXTURE,
    "weighted network": WEIGHTED,
    "average": AVERAGE,
}
