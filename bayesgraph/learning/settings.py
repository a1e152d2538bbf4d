"""Settings of a fit as text, for the record of what a model was fitted on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from inspect import Parameter, signature
from typing import Any

import networkx as nx
import numpy as np

from bayesgraph.learning.structure import card_of

# Characters of a text that are kept, and entries of a list.
_LONGEST, _ENTRIES = 60, 8


def changed_settings(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters that are not as by default, in alphabetic order, each as text.

    Parameters
    ----------
    function : callable
        A class or a function, whose signature has the defaults.
    given : mapping from str to object
        Parameters that the signature lacks count as changed unless they are None.
    """
    known = _parameters(function)
    nothing = Parameter("none", Parameter.KEYWORD_ONLY, default=None)
    found = {name: (value, known.get(name, nothing).default) for name, value in given.items()}
    return {
        name: as_text(value)
        for name, (value, default) in sorted(found.items())
        if repr(value) != repr(default)
    }


@cache
def _parameters(function: Callable[..., Any]) -> Mapping[str, Parameter]:
    return signature(function).parameters


def as_text(value: Any) -> str:
    """Return the value of a setting as a short text, the same for the same setting."""
    if found := card_of(value):
        name, options = found
        listed = [f"{key}={as_text(option)}" for key, option in options.items()]
        return f"{name}({', '.join(listed)})" if listed else name
    if isinstance(value, nx.DiGraph):
        return f"a graph of {len(value)} nodes and {len(value.edges)} arcs"
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        entries = [f"{as_text(k)}: {as_text(v)}" for k, v in value.items()]
        return f"{{{_listed(entries)}}}"
    if isinstance(value, (set, frozenset)):
        # A set has no order.
        return f"{{{_listed(sorted(map(as_text, value)))}}}"
    if isinstance(value, (list, tuple)):
        return f"[{_listed(list(map(as_text, value)))}]"
    named = callable(value) and hasattr(value, "__name__")
    text = value.__name__ if named else repr(value)
    if " at 0x" in text:  # the address of an object would differ each time
        text = type(value).__name__
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _listed(entries: list[str]) -> str:
    more = len(entries) - _ENTRIES
    return ", ".join([*entries[:_ENTRIES], *([f"and {more} more"] if more > 0 else [])])
