"""The codec of native files: objects as JSON of their fields, with arrays as references.

A file lists the variables and the CPDs of a model once; other objects refer to them by their index
in those lists. An object is ``{tag: {field: ...}}``; a `Record` says what its fields are, and what
makes the object of them. Fields are decoded before they are checked: types by the annotations of
the function that makes the object, the rest by this function.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, fields
from itertools import repeat
from operator import attrgetter
from typing import Any

import numpy as np

from bayesgraph import models
from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import LossyExportError
from bayesgraph.core.files import Budget
from bayesgraph.core.variables import Discrete, Variable
from bayesgraph.files.archive import (
    PLAIN,
    VALUES,
    ArrayReader,
    ArrayWriter,
    decode_value,
    decode_variable,
    encode_value,
    encode_variable,
    without_repeats,
)
from bayesgraph.inference import Factor
from bayesgraph.statistics import ParameterPosterior
from bayesgraph.tables import Training, TrainingRows

# -------------------------------------------------------------------------------------- the codec


@dataclass(frozen=True)
class Record:
    """How objects of a class are stored.

    Attributes
    ----------
    holds : callable
        Returns whether an object is exactly of this class; for an instance of a subclass, which may
        have more to save, it is false.
    fields : callable
        Returns what is stored of an object, by the names of fields.
    make : callable
        Takes these fields by name, but that of what a model was trained on, and ``budget`` if it
        has such a parameter. May raise any exception for fields that no object has.
    check : callable
        Raises an exception for an object that was made of wrong fields.
    """

    holds: Callable[[Any], bool]
    fields: Callable[[Any], Mapping[str, Any]]
    make: Callable[..., Any]
    check: Callable[[Any], None] = lambda made: None


_UNIONS = (types.UnionType, typing.Union)
# Records by their tags. Modules whose imports take longer add theirs.
RECORDS: dict[str, Record] = {}


def record(
    tag: str, kind: type[Any], fields: Callable[[Any], Mapping[str, Any]]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator of the function that makes an object of a class of its stored fields.

    `fields` returns what is stored of an object of the class `kind`, under the tag `tag`.
    """

    def register(make: Callable[..., Any]) -> Callable[..., Any]:
        RECORDS[tag] = Record(lambda value: type(value) is kind, fields, make)
        return make

    return register


def dataclass_record(kind: type[Any], check: Callable[[Any], None] = lambda made: None) -> None:
    """Register a dataclass, whose fields are stored as they are; `check` raises for wrong ones."""
    RECORDS[kind.__name__] = Record(lambda value: type(value) is kind, attributes, kind, check)


def attributes(value: Any) -> dict[str, Any]:
    """Return the values of the fields of a dataclass that count when two of them are compared.

    A field of floats is an array, also if it is a number that stands for an array without axes.
    """
    content = {field.name: getattr(value, field.name) for field in fields(value) if field.compare}
    # Annotations are texts here: "Floats" or "Floats | None".
    arrays = [field.name for field in fields(value) if str(field.type).startswith("Floats")]
    return content | {k: np.asarray(content[k]) for k in arrays if content[k] is not None}


class Writer:
    """Encodes objects; variables and CPDs are listed once, and arrays collected in groups."""

    def __init__(self) -> None:
        self.arrays = ArrayWriter()
        self.variables: dict[Variable, int] = {}
        # From the `id` of a CPD to its number in the list.
        self._cpds: dict[int, int] = {}
        # The CPDs themselves stay referred to, so that no other object gets the `id` of one.
        self._items: list[tuple[models.CPD, dict[str, Any]]] = []

    def model(self, value: Any) -> dict[str, Any]:
        """Return the JSON of an object with the lists that it refers to.

        Raises
        ------
        LossyExportError
            If something in it is of a type that files do not hold.
        """
        content = self.encode(value)
        listed = [encode_variable(variable) for variable in self.variables]
        return {"variables": listed, "cpds": [item for _, item in self._items], **content}

    def encode(self, value: Any, group: str = "", owner: object = None) -> Any:
        """Return a value as JSON.

        `group` is the name of the group of its arrays, and `owner` what has it, for messages.
        """
        # A tuple may hold arrays and objects: it is encoded item by item below.
        if type(value) in VALUES and type(value) is not tuple:
            return encode_value(value, "value", owner)
        if isinstance(value, Variable):
            return {"variable": self._place(value)}
        if isinstance(value, models.CPD):
            return {"cpd": self._cpd(value)}
        if isinstance(value, np.ndarray):
            # Each type of numbers but floats has a group of its own.
            is_float = value.dtype == np.float64
            return self.arrays.add(group if is_float else f"{group}.{value.dtype}", value)
        if isinstance(value, list):
            return [self.encode(item, group, owner) for item in value]
        if type(value) is tuple:
            return {"tuple": [self.encode(item, group, owner) for item in value]}
        if isinstance(value, set):
            # A set has no order; sorting gives the same bytes for the same model.
            items = sorted(value, key=repr)
            return {"set": [self.encode(item, group, owner) for item in items]}
        if isinstance(value, Mapping):
            if all(type(key) is str for key in value):
                return {"fields": {k: self.encode(v, group, k) for k, v in value.items()}}
            pairs = value.items()
            return {"mapping": [[self.encode(k), self.encode(v, group, k)] for k, v in pairs]}
        tag = next((tag for tag, stored in RECORDS.items() if stored.holds(value)), None)
        # A NumPy scalar, or a type that files do not hold, which is an error.
        if tag is None:
            return encode_value(value, "value", owner)
        content = RECORDS[tag].fields(value).items()
        return {tag: {name: self.encode(v, f"{tag}.{name}", name) for name, v in content}}

    def _place(self, variable: Variable) -> int:
        """Return the number of a variable in the list of variables; list it if it is new."""
        return self.variables.setdefault(variable, len(self.variables))

    def _cpd(self, cpd: models.CPD) -> int:
        """Return the number of a CPD in the list of CPDs; list it if it is new."""
        place = self._cpds.get(id(cpd))
        if place is None:
            name = next((name for name, stored in STORED.items() if type(cpd) is stored), None)
            if name is None:
                raise LossyExportError(
                    f"{cpd.title}: the native format has no entry for {type(cpd).__name__}; it "
                    f"holds {', '.join(stored.__name__ for stored in STORED.values())}."
                )
            item = {
                "family": name,
                "children": [self._place(variable) for variable in cpd.children],
                "parents": [self._place(parent) for parent in cpd.parents],
            }
            # Empty arrays that a reader can do without are left out.
            for key, array in cpd.to_arrays().items():
                if array.size or key not in cpd.optional_arrays:
                    item[key] = self.encode(array, f"{name}.{key}")
            if cpd.parameter_posterior is not None:
                item["posterior"] = self.encode(cpd.parameter_posterior)
            place = self._cpds[id(cpd)] = len(self._items)
            self._items.append((cpd, item))
        return place


class Reader:
    """Decodes what `Writer` encoded.

    Methods raise any exception for content that it never writes.
    """

    def __init__(self, item: Mapping[str, Any], arrays: ArrayReader) -> None:
        self.arrays = arrays
        # Variables and CPDs by their index in the file's lists. In a list, a reference to -1, which
        # a damaged file may have, would be the last item instead of an error.
        self._variables = dict(enumerate(map(decode_variable, item["variables"])))
        self._cpds = dict(enumerate(map(self._cpd, item["cpds"])))

    def decode(self, item: Any) -> Any:
        """Return the value that `Writer.encode` encoded."""
        if isinstance(item, list):
            return [entry if type(entry) in PLAIN else self.decode(entry) for entry in item]
        if not isinstance(item, dict):
            return decode_value(item)
        if "array" in item:
            return self.arrays.view(item).copy()
        ((tag, content),) = item.items()
        match tag:
            case "variable":
                return self._variables[content]
            case "cpd":
                return self._cpds[content]
            case "tuple" if isinstance(content, list):
                return tuple(self.decode(content))
            case "set":
                # As keys of a dict, so that an item that is there twice is refused.
                return set(without_repeats(zip(self.decode(content), content, strict=True)))
            case "fields":
                return dict(zip(content, self.decode([*content.values()]), strict=True))
            case "mapping":
                return without_repeats(map(self.decode, content))
        return self.made(tag, content) if tag in RECORDS else decode_value(item)

    def made(self, tag: str, content: Mapping[str, Any]) -> Any:
        """Return the object of a tag, given its encoded fields by name."""
        stored = RECORDS[tag]
        values = self.decode({"fields": content})
        hints = _hints(stored.make)
        for name, value in values.items():
            if not conforms(value, hints.get(name, Any)):
                raise ValueError(f"{name} of {tag} is {value!r:.80}")
        if hints.get("budget") is Budget:
            values["budget"] = self.arrays.budget
        training = values.pop("training", None)
        made = stored.make(**values)
        stored.check(made)
        if training is not None:
            made.training = training
        return made

    def _cpd(self, item: Mapping[str, Any]) -> models.CPD:
        """Return the CPD of an item of the list, after the sizes of its arrays are checked."""
        name = item["family"]
        if name not in STORED:
            raise ValueError(f"it has a CPD of the unknown family {name!r}")
        stored = STORED[name]
        children = [*map(self._variables.__getitem__, item["children"])]
        parents = [*map(self._variables.__getitem__, item["parents"])]
        if len(children) != 1 and not stored.takes_children:
            raise ValueError(f"{name!r} has one variable; got {len(children)}")
        names = (*stored.arrays, *stored.other_arrays)
        # An optional array that is not in the file was empty.
        kept = [key for key in names if key in item or key not in stored.optional_arrays]
        values = {key: self.arrays.view(item[key]) for key in kept}
        # The first axes of parameters are those of the discrete parents, in their order.
        lead = tuple(parent.cardinality for parent in parents if isinstance(parent, Discrete))
        for key in stored.arrays:
            # The class would broadcast a smaller array: a small file could make a huge table.
            if values[key].shape[: len(lead)] != lead:
                raise ValueError(f"{key} of {children[0].name!r} has the shape {values[key].shape}")
        cpd = stored.from_arrays(children, parents, values)
        if "posterior" in item:
            posterior = self.decode(item["posterior"])
            _check_posterior(posterior, cpd)
            cpd.parameter_posterior = posterior
        return cpd


@functools.cache
def _hints(make: Any) -> Mapping[str, Any]:
    """Return the annotated types of the fields that make an object, a model's training included.

    Those of a dataclass or a model are the parameters of its constructor. Estimators check their
    parameters themselves.
    """
    is_constructed = isinstance(make, type) and not hasattr(make, "get_params")
    hints = typing.get_type_hints(make.__init__ if is_constructed else make)
    return {"training": Training, **hints}


# Types whose annotations name the type of their elements, too.
_WITH_PARTS = frozenset({list, tuple, set, dict, np.ndarray})


@functools.cache
def _allows(hint: Any, kind: type) -> bool:
    """Tell whether an annotation allows a type without elements, or arrays of a NumPy type.

    `kind` is the type of a value, and of an array that of its numbers, such as ``np.float64``.
    """
    if typing.get_origin(hint) in _UNIONS:
        return any(_allows(member, kind) for member in typing.get_args(hint))
    if hint is Hashable:  # a name or a state
        return kind in VALUES
    if issubclass(kind, np.generic):
        # The element type of an array: Floats has 64-bit floats, any other array type anything, and
        # so have the protocols that ArrayLike is a union of.
        is_array = typing.get_origin(hint) is np.ndarray and (hint != Floats or kind is np.float64)
        return hint is Any or is_array or getattr(hint, "_is_protocol", False)
    if hint in (int, float):
        # A whole number is a float too, as in type checkers; a boolean is no number.
        return kind in (int, hint)
    return hint is Any or (typing.get_origin(hint) is None and issubclass(kind, hint))


def conforms(value: Any, hint: Any) -> bool:
    """Tell whether a decoded value has the type of an annotation, and so have its elements."""
    kind: Any = value.dtype.type if isinstance(value, np.ndarray) else type(value)
    if kind not in _WITH_PARTS or hint is Any:
        return _allows(hint, kind)
    # From here on the value is a list, tuple, set or dict, and the annotation as `list[int]`.
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in _UNIONS:
        return any(conforms(value, member) for member in arguments)
    # Of the types with elements, only tuples are names or states.
    if hint is Hashable:
        return isinstance(value, tuple)
    if origin is None or not isinstance(value, origin):
        return False
    if isinstance(value, dict):
        return _all_conform(value, arguments[0]) and _all_conform(value.values(), arguments[1])
    if origin is tuple and arguments[-1] is not ...:
        return len(value) == len(arguments) and all(map(conforms, value, arguments))
    return _all_conform(value, arguments[0])


def _all_conform(values: Collection[Any], hint: Any) -> bool:
    """Tell whether all values have a type.

    Of values without elements, such as a million numbers, only the few distinct types are checked.
    """
    kinds = {*map(type, values)}
    if kinds.isdisjoint(_WITH_PARTS):
        return all(map(_allows, repeat(hint), kinds))
    return all(map(conforms, values, repeat(hint)))


# ------------------------------------------------------------------------------------------ CPDs


# Classes of CPDs by their names in files.
STORED: dict[str, type[models.CPD]] = {
    **{name: kind for family in models.FAMILIES.values() for name, kind in family.stored.items()},
    "joint_gaussian": models.JointGaussianCPD,
    "histogram": models.HistogramCPD,
    "trees": models.TreesCPD,
    "noisy_or": models.NoisyOrCPD,
    "noisy_max": models.NoisyMaxCPD,
    "logistic": models.LogisticCPD,
    "deterministic": models.DeterministicCPD,
}

for _kind in (ParameterPosterior, Training, TrainingRows, models.Annotations):
    dataclass_record(_kind)


def _check_posterior(posterior: ParameterPosterior, cpd: models.CPD) -> None:
    """Raise an error if the arrays of a posterior do not fit the distribution of its parameters."""
    # Arrays have an axis for each discrete parent first.
    lead = tuple(p.cardinality for p in cpd.parents if isinstance(p, Discrete))
    shapes = [lead]
    if cpd.takes_children:
        # One number for all children, or one for each.
        shapes = [(*lead, 1), (*lead, len(cpd.children))]
    # The location and the covariance of the coefficients of the continuous parents.
    size = len(cpd.continuous_parents)
    of_parents = {"centre": [(*lead, size)], "covariance": [(*lead, size, size)]}
    arrays = {k: array for k, array in attributes(posterior).items() if array is not None}
    if size and not of_parents.keys() <= arrays.keys():
        raise ValueError(f"{cpd.title} lacks the covariance of its coefficients")
    for key, array in arrays.items():
        if array.shape not in of_parents.get(key, shapes) or np.isnan(array).any():
            raise ValueError(f"the {key} of {cpd.title} have the shape {array.shape}, or NaN")
    if (posterior.rows < 0).any() or (posterior.strength < 0).any():
        raise ValueError(f"{cpd.title} rests on less than no rows")


# ---------------------------------------------------------------------------------------- models


def model_record(
    tag: str,
    kind: type[Any],
    make: Callable[..., Any] | None = None,
    **arguments: str | Callable[[Any], Any],
) -> None:
    """Register a class of models, which `make` makes of its arguments, by default the class itself.

    For each of these, `arguments` has the attribute of a model that has the value, or a function of
    the model. What a model was trained on is stored too.
    """
    getters = {k: attrgetter(v) if isinstance(v, str) else v for k, v in arguments.items()}

    def stored(model: Any) -> dict[str, Any]:
        content = {name: get(model) for name, get in getters.items()}
        content["training"] = model.training
        return {name: value for name, value in content.items() if value is not None}

    record(tag, kind, stored)(make or kind)


model_record(
    "network",
    models.BayesianNetwork,
    cpds=lambda model: list(model._blocks),
    order="variables",
    arc_scores="arc_scores",
    annotations=lambda model: model.annotations or None,
)
model_record(
    "factor_graph",
    models.FactorGraph,
    factors=lambda model: [term.source for term in model.terms],
    exponents=lambda model: [term.exponent for term in model.terms],
    domain="domain",
)
model_record(
    "weighted network",
    models.WeightedNetwork,
    network="network",
    target="target.name",
    exponents="exponents",
    bias="bias",
    prior_exponent="prior_exponent",
    domain="domain",
)
model_record(
    "ensemble",
    models.Ensemble,
    networks="networks",
    weights="weights",
    combine="combine",
    first="variables",
    arc_probabilities="_given_probabilities",
    prior_ratios="prior_ratios",
    exponents="exponents",
)


@record("factor", Factor, lambda factor: {"scope": factor.scope, "log": factor.log_values})
def _factor(scope: tuple[Discrete, ...], log: Floats) -> Factor:
    """Return a factor of its scope and its logarithms, shape (n_rows, *cardinalities)."""
    shape = tuple(variable.cardinality for variable in scope)
    # The first axis is that of the rows of a batch, of which there is one at least. The sum is the
    # number of rows, and 0 for an array without axes.
    rows = log.shape[:1]
    if log.shape != (*rows, *shape) or not sum(rows):
        raise ValueError(f"a factor of the shape {log.shape} does not fit its variables")
    if np.isnan(log).any() or np.isposinf(log).any():
        raise ValueError("a factor has NaN or infinity")
    return Factor.from_log(scope, log)
