"""Networks and factor graphs in native files: JSON and arrays.

The variables of a model are listed once; other entries refer to them by their index in that list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.cpds import (
    CPD,
    DeterministicCPD,
    HistogramCPD,
    JointGaussianCPD,
    LogisticCPD,
    NoisyMaxCPD,
    NoisyOrCPD,
    ParameterPosterior,
    TreeAverageCPD,
    TreeCPD,
)
from bayesgraph.errors import LossyExportError
from bayesgraph.factors import Factor
from bayesgraph.families import FAMILIES
from bayesgraph.io.archive import ArrayReader, ArrayWriter, without_repeats
from bayesgraph.io.training_payload import with_training
from bayesgraph.io.variable_payload import decode_variable, encode_variable
from bayesgraph.models.annotations import Annotations
from bayesgraph.models.factor_graph import FactorGraph
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.variables import (
    Discrete,
    Name,
    Variable,
)


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
    "tree": TreeCPD,
    "tree_average": TreeAverageCPD,
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
