"""What a network carries besides its distribution: titles, notes and positions of its nodes."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from bayesgraph.core.errors import ModelError, suggestion
from bayesgraph.core.variables import Name

_EMPTY: Mapping[Any, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Annotations:
    """Titles, notes and positions of a network, which no answer depends on.

    Files of graphical programs have them. They are kept in editing and in files whose format holds
    them.

    Parameters
    ----------
    note : str
        A note on the network as a whole.
    positions : mapping from name to (x, y)
        The centre of each node in points, with y growing downwards as on a screen.
    notes : mapping from name to str
        A note on each variable.
    titles : mapping from name to str
        What programs show in the place of a name.

    Raises
    ------
    ModelError
        If a position is not two finite numbers, or a note or a title is no text.

    Examples
    --------
    >>> Annotations(positions={"rain": (40, 80)}).positions["rain"]
    (40.0, 80.0)
    """

    note: str = ""
    # Names, of which a mapping from text is a mapping too for those who read types.
    positions: Mapping[Any, tuple[float, float]] = field(default_factory=lambda: _EMPTY)
    notes: Mapping[Any, str] = field(default_factory=lambda: _EMPTY)
    titles: Mapping[Any, str] = field(default_factory=lambda: _EMPTY)

    def __post_init__(self) -> None:
        _text("The note", self.note)
        for name, text in (*self.notes.items(), *self.titles.items()):
            _text(f"A note or title of {name!r}", text)
        positions = {name: _position(name, place) for name, place in self.positions.items()}
        object.__setattr__(self, "positions", MappingProxyType(positions))
        object.__setattr__(self, "notes", MappingProxyType(dict(self.notes)))
        object.__setattr__(self, "titles", MappingProxyType(dict(self.titles)))

    def __bool__(self) -> bool:
        """Tell whether there is anything."""
        return bool(self.note or self.positions or self.notes or self.titles)

    def __reduce__(self) -> tuple[type[Annotations], tuple[Any, ...]]:
        # Read-only views of dicts cannot be pickled.
        mappings = (self.positions, self.notes, self.titles)
        return Annotations, (self.note, *(dict(mapping) for mapping in mappings))

    @property
    def names(self) -> Iterable[Name]:
        """Names of all variables that have an annotation."""
        return dict.fromkeys((*self.positions, *self.notes, *self.titles))

    def of(self, names: Iterable[Name]) -> Annotations:
        """Return the annotations of some variables, in their order, and the network's note."""
        if not self.names:
            return self
        mappings = (self.positions, self.notes, self.titles)
        kept: list[Any] = [{n: m[n] for n in names if n in m} for m in mappings]
        return Annotations(self.note, *kept)

    def renamed(self, new: Mapping[Name, Name]) -> Annotations:
        """Return the annotations with other names of some variables."""
        mappings = (self.positions, self.notes, self.titles)
        kept: list[Any] = [{new.get(n, n): value for n, value in m.items()} for m in mappings]
        return Annotations(self.note, *kept)

    def over(self, other: Annotations) -> Annotations:
        """Return these annotations, and of another what is missing here."""
        return Annotations(
            self.note or other.note,
            {**other.positions, **self.positions},
            {**other.notes, **self.notes},
            {**other.titles, **self.titles},
        )

    def check(self, names: Collection[Name]) -> None:
        """Raise a ModelError if a variable is not among `names`, those of a network."""
        for name in self.names:
            if name not in names:
                raise ModelError(
                    f"The annotations have {name!r}, which is no variable of the network."
                    f"{suggestion(name, names)}"
                )


def _text(what: str, value: object) -> None:
    """Raise a ModelError, in which `what` names the value, unless it is text."""
    if not isinstance(value, str):
        raise ModelError(f"{what} is text; got {value!r:.80}.")


def _position(name: Name, place: Any) -> tuple[float, float]:
    """Return a position as two floats, or raise a ModelError."""
    try:
        x, y = map(float, place)
    except (TypeError, ValueError):
        x = y = math.nan  # refused below
    if not (math.isfinite(x) and math.isfinite(y)):
        raise ModelError(f"The position of {name!r} is two finite numbers; got {place!r:.80}.")
    return x, y
