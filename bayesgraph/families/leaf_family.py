"""The card of a family of distributions: all that other modules know of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from bayesgraph.cpds import CPD
from bayesgraph.statistics import CountSource, Request, Samples, Singles
from bayesgraph.variables import Discrete, Variable

if TYPE_CHECKING:
    from bayesgraph.learning.smoothing import Smoothing

# From children of the class alone to their distributions.
Estimate: TypeAlias = "Callable[[Sequence[Variable], Discrete, CountSource, Smoothing], list[CPD]]"


@dataclass(frozen=True)
class LeafFamily:
    """A family of distributions that a feature may have.

    Attributes
    ----------
    name : str
        In ``distributions=``.
    summary : str
        Its use, in a line of the documentation.
    variable : type
        The type of variable that a column of this family becomes.
    is_default : bool
        Whether variables of this type have this family if none is chosen.
    statistics : type
        The request that it is estimated from. All but `Samples` are sums over the rows, of a size
        that does not grow with them; `Samples` keeps the distinct values of each column.
    estimate : callable
        From children of the class alone, the class, a count source and Smoothing to their CPDs.
    stored : mapping from str to type
        Classes of its CPDs, by the names that files have for them.
    positive : bool
        Whether it takes no negative numbers.
    vector : str
        For a family of many columns together, the name of the feature that they become.
    takes_states : bool
        Whether text, category and boolean columns may be named for it; they become categorical.
    any_parents : bool
        Whether features with other parents than the class may have it.
    own_smoothing : tuple of str
        Values of a Smoothing that no other family reads.
    """

    name: str
    summary: str
    variable: type[Any]
    statistics: type[Request]
    estimate: Estimate
    stored: Mapping[str, type[CPD]] = field(default_factory=dict)
    is_default: bool = False
    positive: bool = False
    vector: str = ""
    takes_states: bool = False
    any_parents: bool = False
    own_smoothing: tuple[str, ...] = ()

    @property
    def keeps_values(self) -> bool:
        """Whether its statistics keep the values themselves."""
        return self.statistics is Samples

    @property
    def is_single(self) -> bool:
        """Whether statistics of single columns are enough, which serve several families at once."""
        return self.statistics is Singles
