"""Evidence from texts of the command line: states, numbers, counts and likelihoods."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bayesgraph.errors import EvidenceError, quoted, unknown_variable
from bayesgraph.models.evidence import Between
from bayesgraph.variables import (
    Binned,
    Continuous,
    CountVector,
    Discrete,
    Name,
    Variable,
    values_of,
)

if TYPE_CHECKING:
    from bayesgraph.models.model import Model


def named(model: Model, text: str) -> Name:
    """Return the name of the variable that a text stands for; names need not be strings."""
    fitting = [name for name in model.names if str(name) == text]
    if len(fitting) > 1:
        raise EvidenceError(
            f"{text!r} stands for several variables: {quoted(fitting)}. Query it from Python."
        )
    if fitting:
        return fitting[0]
    raise unknown_variable(text, model.names, where="The model")


def evidence_of(model: Model, items: Sequence[str] | None) -> dict[Name, Any]:
    """Return evidence given as texts such as ``wet=yes`` or ``wet=yes:4,no:1`` (likelihoods)."""
    given: dict[Name, Any] = {}
    for item in items or ():
        name, value = _parts(model, item, "Evidence is NAME=VALUE")
        if name in given:
            raise EvidenceError(f"Evidence on {str(name)!r} is given more than once.")
        given[name] = _value(model.variable(name), value)
    return given


def prices_of(model: Model, items: Sequence[str] | None) -> dict[Name, float] | None:
    """Return prices given as texts such as ``xray=20``; None if there are none."""
    found: dict[Name, float] = {}
    for item in items or ():
        name, price = _parts(model, item, "A price is NAME=NUMBER")
        try:
            found[name] = float(price)
        except ValueError as error:
            raise EvidenceError(
                f"The price of {str(name)!r} is a number; got {price!r}."
            ) from error
    return found or None


def _parts(model: Model, item: str, expected: str) -> tuple[Name, str]:
    """Return the name of a variable, and the text after it and the sign "="."""
    text, equals, value = item.partition("=")
    if not equals:
        raise EvidenceError(f"{expected}; got {item!r}.")
    # Names may contain "=": the longest name that matches is taken.
    fitting = [str(name) for name in model.names if item.startswith(f"{name}=")]
    if fitting:
        text = max(fitting, key=len)
        value = item[len(text) + 1 :]
    return named(model, text), value


def _value(variable: Variable, text: str) -> Any:
    """Return the evidence of a text: state, number, counts or likelihoods of a variable."""
    if isinstance(variable, (Continuous, Binned)) and (between := _between(variable, text)):
        return between
    if isinstance(variable, Continuous):
        try:
            return _number(text)
        except ValueError as error:
            raise EvidenceError(
                f"{variable.name!r} is continuous and takes a number, or a range such as 50..60; "
                f"got {text!r}."
            ) from error
    if isinstance(variable, CountVector):
        return _numbers(variable, text, {str(item): item for item in variable.items})
    return _state(variable, text)


def _number(text: str) -> float:
    """Return a number, as an int if it is written as one, which flips then change to whole ones."""
    with suppress(ValueError):
        return int(text)
    return float(text)


def _between(variable: Variable, text: str) -> Between | None:
    """Return the range of a text such as ``50..60``, ``50..`` or ``..60``, None if it is none."""
    low, dots, high = text.partition("..")
    if not dots:
        return None
    try:
        return Between(*(float(x) if x else e for x, e in ((low, -math.inf), (high, math.inf))))
    except (ValueError, EvidenceError) as error:
        raise EvidenceError(
            f"A range of {variable.name!r} is LOW..HIGH, with one or both numbers, LOW below HIGH; "
            f"got {text!r}."
        ) from error


def state_of(variable: Variable, text: str) -> Any:
    """Return the state that a text stands for; the text itself of what has no states."""
    return _state(variable, text) if isinstance(variable, Discrete) else text


def _state(variable: Discrete, text: str) -> Any:
    """Return the state, number or likelihoods of a discrete variable that a text stands for.

    Other text is returned unchanged: the model's own error names the states and the nearest one.
    """
    known = values_of(variable)
    by_text: dict[str, Any] = {str(state): state for state in known}
    if len(by_text) < len(known):
        raise EvidenceError(
            f"States of {variable.name!r} read the same as text: {quoted(known)}. "
            "Query it from Python, where their types differ."
        )
    if text in by_text:
        return by_text[text]
    if isinstance(variable, Binned):
        with suppress(ValueError):
            return _number(text)
    if text.lower() in ("true", "false") and {True, False} == set(known):
        return text.lower() == "true"
    return _numbers(variable, text, by_text) if ":" in text else text


def _numbers(variable: Variable, text: str, by_text: Mapping[str, Any]) -> dict[Any, float]:
    """Return the likelihoods of states, or the counts of items, of a text such as ``yes:4,no:1``.

    `by_text` maps the text of each state or item to the state or item.
    """
    found = {}
    # A comma before a space is part of an interval or a group.
    for item in re.split(r",(?! )", text):
        key, _, number = item.rpartition(":")
        try:
            found[by_text.get(key, key)] = float(number)
        except ValueError as error:
            pattern = "ITEM:COUNT" if isinstance(variable, CountVector) else "STATE:LIKELIHOOD"
            raise EvidenceError(
                f"{variable.name!r} takes {pattern}, several separated by commas; got {item!r}."
            ) from error
    return found
