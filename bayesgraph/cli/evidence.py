"""Texts of the command line as variables, states, numbers and likelihoods."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bayesgraph.errors import EvidenceError, quoted, unknown_variable
from bayesgraph.variables import (
    Binned,
    Continuous,
    CountVector,
    Discrete,
    Grouped,
    Name,
    Variable,
)

if TYPE_CHECKING:
    from bayesgraph.models.model import Model


def named(model: Model, text: str) -> Name:
    """Return the variable name that a text stands for; names need not be strings."""
    fitting = [name for name in model.names if str(name) == text]
    if len(fitting) > 1:
        raise EvidenceError(
            f"{text!r} stands for several variables: {quoted(fitting)}. Ask from Python."
        )
    if fitting:
        return fitting[0]
    raise unknown_variable(text, model.names, where="The model")


def evidence_of(model: Model, items: Sequence[str] | None) -> dict[Name, Any]:
    """Return what texts such as ``wet=yes`` and ``wet=yes:4,no:1`` say of variables."""
    given: dict[Name, Any] = {}
    for item in items or ():
        text, equals, value = item.partition("=")
        if not equals:
            raise EvidenceError(f"Evidence is NAME=VALUE; got {item!r}.")
        # Names may have "=" in them: the longest one that fits is meant.
        fitting = [str(name) for name in model.names if item.startswith(f"{name}=")]
        if fitting:
            text = max(fitting, key=len)
            value = item[len(text) + 1 :]
        name = named(model, text)
        if name in given:
            raise EvidenceError(f"Evidence on {text!r} is given more than once.")
        given[name] = _value(model.variable(name), value)
    return given


def _counts(variable: CountVector, text: str) -> dict[Name, float]:
    """Return the counts that a text such as ``free:2,money:1`` stands for."""
    by_text = {str(item): item for item in variable.items}
    counts: dict[Name, float] = {}
    for part in text.split(","):
        item, _, number = part.rpartition(":")
        try:
            counts[by_text.get(item, item)] = float(number)
        except ValueError as error:
            raise EvidenceError(
                f"{variable.name!r} takes counts such as {variable.items[0]}:2, separated by "
                f"commas; got {text!r}."
            ) from error
    return counts


def _value(variable: Variable, text: str) -> Any:
    """Return the state, the number or the likelihoods that a text stands for."""
    if isinstance(variable, Continuous):
        try:
            return float(text)
        except ValueError as error:
            raise EvidenceError(
                f"{variable.name!r} is continuous and takes a number; got {text!r}."
            ) from error
    if isinstance(variable, CountVector):
        return _counts(variable, text)
    return _state(variable, text)


def _state(variable: Discrete, text: str) -> Any:
    """Return the state or the likelihoods that a text stands for.

    What it cannot be told for comes back as it is: the model's own error names the states and the
    nearest one.
    """
    known = values_of(variable)
    by_text: dict[str, Any] = {str(state): state for state in known}
    if len(by_text) < len(known):
        raise EvidenceError(
            f"States of {variable.name!r} read the same as text: {quoted(known)}. "
            "Ask from Python, where their types tell them apart."
        )
    if text in by_text:
        return by_text[text]
    if isinstance(variable, Binned):
        with suppress(ValueError):
            return float(text)
    if text.lower() in ("true", "false") and {True, False} == set(known):
        return text.lower() == "true"
    return _likelihood(variable, text, by_text) if ":" in text else text


def _likelihood(variable: Discrete, text: str, by_text: Mapping[str, Any]) -> dict[Any, float]:
    """Return the likelihoods that a text such as ``yes:4,no:1`` stands for."""
    likelihood = {}
    # A comma before a space is one inside an interval or a group.
    for part in re.split(r",(?! )", text):
        state, _, number = part.rpartition(":")
        try:
            likelihood[by_text.get(state, state)] = float(number)
        except ValueError as error:
            raise EvidenceError(
                f"Soft evidence is STATE:LIKELIHOOD,...; got {part!r} for {variable.name!r}."
            ) from error
    return likelihood


def values_of(variable: Discrete) -> tuple[Any, ...]:
    """Return what may be observed of a variable: the values in its groups, or its states."""
    return variable.values if isinstance(variable, Grouped) else variable.states
