"""Interventions: variables that are set from outside, whatever their parents.

An intervention do(x = v) replaces the distribution of x given its parents by the value v, and
leaves all other distributions as they are (Pearl 2009, section 3.2; the truncated factorisation).
A query with `do=` asks a network that is cut once for the variables that are set; their values are
evidence, so that one program serves all values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesgraph.cpds import CPD, Plate, TableCPD
from bayesgraph.cpds.intervention import SetCPD
from bayesgraph.errors import EvidenceError, quoted
from bayesgraph.models.evidence import PLAIN, Belief, as_mapping, is_soft, scalar
from bayesgraph.typing import EvidenceLike
from bayesgraph.variables import Continuous, CountVector, Discrete, Name, Variable, is_missing

if TYPE_CHECKING:
    from bayesgraph.models.model import Model


def read_values(model: Model, values: Any) -> dict[Name, Any]:
    """Return the values that an intervention sets, by the names of the model's variables.

    Raises
    ------
    EvidenceError
        For no variables, a variable named twice, or likelihoods, a belief or a missing value
        instead of a value.
    UnknownVariableError
        For an unknown name; the message suggests the nearest one.
    """
    if not isinstance(values, Mapping) or not values:
        raise EvidenceError(
            "An intervention is a mapping from variable name to the value that it is set to, such "
            f"as {{'smoke': 'no'}}; got {values!r:.80}."
        )
    found: dict[Name, Any] = {}
    for name, given in values.items():
        variable, value = model.variable(name), scalar(given)
        if variable.name in found:
            raise EvidenceError(f"The intervention names {variable.name!r} more than once.")
        soft = isinstance(value, Belief) or is_soft(value)
        if not isinstance(variable, CountVector) and (soft or is_missing(value)):
            raise EvidenceError(
                f"An intervention sets {variable.name!r} to one value; got {given!r:.80}. Leave it "
                "out if it is not set, or average the answers over its values."
            )
        found[variable.name] = value
    return found


def under(
    model: Model, do: Mapping[Name, Any], evidence: EvidenceLike
) -> tuple[Model, dict[Name, Any]]:
    """Return the model without the arcs into the variables that are set, and all evidence on it.

    The evidence includes the values that are set; see `Model.with_values_set`.
    """
    if type(do) is not dict:
        do = read_values(model, do)
    for value in do.values():
        if type(value) not in PLAIN or value != value:
            do = read_values(model, do)
            break
    given = evidence if type(evidence) is dict else as_mapping(evidence)
    if any(name in given for name in do):
        both = quoted(name for name in do if name in given)
        raise EvidenceError(f"{both} is both set by do= and observed; leave it out of one of them.")
    cut, known = model.with_values_set(do)
    return cut, {**given, **known}


def without_distributions(blocks: Iterable[CPD], chosen: Collection[Variable]) -> list[CPD]:
    """Return the CPDs, with each chosen variable free of parents and of a distribution.

    Their potentials are 1, for queries that observe them.
    """
    return replaced(blocks, {v: SetCPD(v) for v in chosen})


def set_to(blocks: Iterable[CPD], values: Mapping[Variable, Any]) -> list[CPD]:
    """Return the CPDs of a network in which variables have the given encoded values.

    A discrete variable has one possible state. Other variables have no CPD any more, and their
    values are part of the distributions of their children.

    Raises
    ------
    UnsupportedModelError
        If a child of a continuous variable that is set has no form without it.
    """
    tables = {v: _certain(v, x) if isinstance(v, Discrete) else None for v, x in values.items()}
    cut = replaced(blocks, tables)
    numbers: dict[Variable, Any] = {v: x for v, x in values.items() if isinstance(v, Continuous)}
    return [cpd.with_parents_set(numbers) for cpd in cut] if numbers else cut


def _certain(variable: Discrete, code: int) -> CPD:
    return TableCPD(variable, np.arange(variable.cardinality) == code)


def replaced(blocks: Iterable[CPD], others: Mapping[Variable, CPD | None]) -> list[CPD]:
    """Return the CPDs in order, with those of some variables replaced, or left out if None."""
    found: list[CPD] = []
    for block in blocks:
        chosen = [child for child in block.children if child in others]
        if not chosen:
            found.append(block)
            continue
        found += [cpd for cpd in map(others.__getitem__, chosen) if cpd is not None]
        rest = [child for child in block.children if child not in others]
        if isinstance(block, Plate) and not block.siblings_depend:
            found += [block.over(rest)] if rest else []
        elif rest:
            found += [single for single in block.singles() if single.variable not in others]
    return found
