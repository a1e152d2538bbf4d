"""Variables as JSON: in native files, and in the lines from which other formats restore them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bayesgraph.io.json_values import Json, decode_value, encode_value
from bayesgraph.variables import (
    Binned,
    Continuous,
    Count,
    CountVector,
    Discrete,
    Grouped,
    MissingIndicator,
    Variable,
)

# From the tag of a variable to its class and the attribute that lists its values; subclasses first.
_VARIABLES: dict[str, tuple[type[Any], str]] = {
    "counts": (CountVector, "items"),
    "count": (Count, ""),
    "continuous": (Continuous, ""),
    "binned": (Binned, "cuts"),
    "grouped": (Grouped, "groups"),
    "indicator": (MissingIndicator, ""),
    "discrete": (Discrete, "states"),
}


def encode_variable(variable: Variable) -> dict[str, Any]:
    """Return a variable as JSON.

    Raises
    ------
    LossyExportError
        If a name or a state is of a type that files do not hold.
    """

    def encoded(values: Iterable[Any]) -> list[Json]:
        return [encode_value(value, values_name[:-1], variable) for value in values]

    tag = next(tag for tag, (kind, _) in _VARIABLES.items() if isinstance(variable, kind))
    values_name = _VARIABLES[tag][1]
    item: dict[str, Any] = {tag: encode_value(variable.name, "name", variable)}
    if isinstance(variable, Grouped):
        item["groups"] = [encoded(group) for group in variable.groups]
        return item | ({"others": True} if variable.others else {})
    if isinstance(variable, MissingIndicator):
        return item | {"of": encode_value(variable.of, "name", variable)}
    return item | ({values_name: encoded(getattr(variable, values_name))} if values_name else {})


def decode_variable(item: Mapping[str, Any]) -> Variable:
    """Return the variable that `encode_variable` encoded."""
    tag = next((tag for tag in _VARIABLES if tag in item), "discrete")
    kind, values_name = _VARIABLES[tag]
    name = decode_value(item[tag])
    if tag == "grouped":
        groups = [[decode_value(value) for value in group] for group in item["groups"]]
        return Grouped(name, groups, item.get("others") is True)
    if tag == "indicator":
        return MissingIndicator(name, decode_value(item["of"]))
    lists = [[decode_value(value) for value in item[values_name]]] if values_name else []
    variable: Variable = kind(name, *lists)
    return variable
