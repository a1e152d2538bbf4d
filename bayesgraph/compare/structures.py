"""Differences in structure: variables and their states, and arcs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bayesgraph.ancestors import Arc
from bayesgraph.display import DisplayTable
from bayesgraph.errors import quoted
from bayesgraph.models.mixture import arcs_of
from bayesgraph.models.model import Model
from bayesgraph.variables import Binned, CountVector, Discrete, Grouped, Name, Variable

_MAXIMUM_ARCS = 40


@dataclass(frozen=True)
class StructureChanges:
    """Variables and arcs that two models do not have in common.

    Attributes
    ----------
    added_variables, removed_variables : tuple of names
    changed_variables : dict from name to str
        What is different about a variable of both models, such as its states.
    added, removed : tuple of arcs
        Arcs (parent, child) that only the second or only the first model has.
    turned : tuple of arcs
        Arcs of the second model that the first one has in the other direction.
    kept : int
        Number of arcs of both models.
    probabilities : dict from arc to (float, float)
        Arcs whose probability differs between two mixtures or averages that both have them.
    """

    added_variables: tuple[Name, ...]
    removed_variables: tuple[Name, ...]
    changed_variables: Mapping[Name, str]
    added: tuple[Arc, ...]
    removed: tuple[Arc, ...]
    turned: tuple[Arc, ...]
    kept: int
    probabilities: Mapping[Arc, tuple[float, float]]

    @property
    def is_empty(self) -> bool:
        """Whether both models have the same variables and arcs."""
        return not any(
            (
                self.added_variables, self.removed_variables, self.changed_variables, self.added,
                self.removed, self.turned, self.probabilities,
            )
        )  # fmt: skip

    def tables(self) -> list[DisplayTable]:
        """Return the tables of variables and of arcs."""
        rows = [(str(name), "added") for name in self.added_variables]
        rows += [(str(name), "removed") for name in self.removed_variables]
        rows += [(str(name), text) for name, text in self.changed_variables.items()]
        found = [DisplayTable("Variables", rows or [("no difference", "")])]
        arcs = [
            (f"{a} → {b}", what)
            for what, chosen in (
                ("added", self.added),
                ("removed", self.removed),
                ("turned", self.turned),
            )
            for a, b in chosen
        ]
        arcs += [
            (f"{a} → {b}", f"probability {p:.3g} → {q:.3g}")
            for (a, b), (p, q) in self.probabilities.items()
        ]
        counts = f"{self.kept} in both, {len(self.added)} added, {len(self.removed)} removed, "
        shown = arcs[:_MAXIMUM_ARCS]
        note = f"... {len(arcs) - len(shown)} more arcs" if len(arcs) > len(shown) else ""
        title = f"Arcs: {counts}{len(self.turned)} turned"
        return [*found, DisplayTable(title, shown, note=note)]


def structure_changes(before: Model, after: Model) -> StructureChanges:
    """Return the differences between the variables and between the arcs of two models.

    An ensemble has the arcs of all its members; see `Ensemble.arc_probabilities`.
    """
    changed = {}
    for variable in before.variables:
        other = after.variable(variable.name) if variable.name in after.number else variable
        if other != variable:
            changed[variable.name] = _difference(variable, other)
    first, second = arcs_of(before), arcs_of(after)
    turned = [
        (a, b)
        for a, b in second
        if (a, b) not in first and (b, a) in first and (b, a) not in second
    ]
    flipped = {(b, a) for a, b in turned}
    return StructureChanges(
        tuple(name for name in after.names if name not in before.number),
        tuple(name for name in before.names if name not in after.number),
        changed,
        tuple(arc for arc in second if arc not in first and arc not in turned),
        tuple(arc for arc in first if arc not in second and arc not in flipped),
        tuple(turned),
        sum(arc in second for arc in first),
        {a: (p, second[a]) for a, p in first.items() if a in second and abs(p - second[a]) > 1e-12},
    )


def _difference(old: Variable, new: Variable) -> str:
    """Return in words how two variables of one name differ."""
    if isinstance(old, CountVector) and isinstance(new, CountVector):
        return _by_value("items", old.items, new.items)
    if isinstance(old, Binned) and isinstance(new, Binned):
        return f"cut points {quoted(old.cuts) or 'none'} became {quoted(new.cuts) or 'none'}"
    if type(old) is not type(new) or not (isinstance(old, Discrete) and isinstance(new, Discrete)):
        return f"{type(old).__name__} became {type(new).__name__}"
    if isinstance(old, Grouped):
        return f"groups {quoted(old.states)} became {quoted(new.states)}"
    return _by_value("states", old.states, new.states)


def _by_value(what: str, old: tuple[object, ...], new: tuple[object, ...]) -> str:
    known, wanted = ({(type(v), v) for v in values} for values in (old, new))
    more = [v for v in new if (type(v), v) not in known]
    fewer = [v for v in old if (type(v), v) not in wanted]
    parts = [f"{what} added: {quoted(more)}"] if more else []
    parts += [f"{what} removed: {quoted(fewer)}"] if fewer else []
    return "; ".join(parts) or f"{what} in another order: {quoted(new)}"
