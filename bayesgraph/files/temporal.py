"""The record of temporal networks in native files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

from bayesgraph.files.payloads import model_record
from bayesgraph.models import CPD, substituted
from bayesgraph.time import Before, TemporalNetwork, renamed

# Variables of earlier slices have a tuple of this, the name and the number of slices as a name.
_BEFORE = "before"


def _plain(cpd: CPD) -> CPD:
    """Return a CPD with tuples as the names of its parents of earlier slices; see `_BEFORE`."""
    names = {p: p.name for p in cpd.parents}
    past = {p: (_BEFORE, n.name, n.steps) for p, n in names.items() if isinstance(n, Before)}
    # A name that looks like such a tuple becomes one of no slice before.
    past |= {p: (_BEFORE, n, 0) for p, n in names.items() if _is_marked(n)}
    return substituted(cpd, {p: renamed(p, name) for p, name in past.items()})


def _lagged(cpd: CPD) -> CPD:
    """Return a CPD with `Before` as the names of its parents of earlier slices, as it was."""
    # Without the mark: the name and the number of slices.
    past = {p: p.name[1:] for p in cpd.parents if _is_marked(p.name)}
    lagged = {p: Before(name, steps) if steps else name for p, (name, steps) in past.items()}
    return substituted(cpd, {p: renamed(p, name) for p, name in lagged.items()})


def _is_marked(name: Any) -> TypeGuard[tuple[Any, ...]]:
    return isinstance(name, tuple) and name[:1] == (_BEFORE,)


def _made(static: Sequence[CPD], slices: Sequence[Sequence[CPD]]) -> TemporalNetwork:
    """Return the temporal network of the CPDs of its slices, the last of which repeats itself."""
    *first, later = [[_lagged(cpd) for cpd in cpds] for cpds in slices]
    return TemporalNetwork(first, later, static=static)


model_record(
    "temporal network",
    TemporalNetwork,
    _made,
    static=lambda model: list(model.static),
    slices=lambda model: [[_plain(cpd) for cpd in cpds] for cpds in model.slices],
)
