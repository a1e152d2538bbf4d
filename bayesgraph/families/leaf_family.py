"""Cards of families of distributions.

A card is a frozen record that describes a family; other modules know the family by its card only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from bayesgraph.cpds import CPD
from bayesgraph.statistics import CountSource, Request, Samples, Singles
from bayesgraph.variables import Discrete, Variable

if TYPE_CHECKING:
    from bayesgraph.learning.smoothing import Smoothing

# Function that estimates the CPDs of features whose only parent is the class.
Estimate: TypeAlias = "Callable[[Sequence[Variable], Discrete, CountSource, Smoothing], list[CPD]]"


@dataclass(frozen=True)
class LeafFamily:
    """Card of a family of distributions: a record of its name, statistics and functions.

    Attributes
    ----------
    name : str
        Name of the family in ``distributions=``.
    summary : str
        Use of the family, a line of the documentation.
    variable : type
        The type of variable that a column of this family becomes.
    is_default : bool
        Whether variables of this type have this family if none is chosen.
    statistics : type
        The type of request for the statistics from which the family is estimated. All but
        `Samples` are sums over the rows, of constant size; `Samples` keeps the distinct values of
        each column.
    estimate : callable
        Function (features, class variable, count source, Smoothing) that returns the CPDs of the
        features, each with the class variable as its only parent.
    stored : mapping from str to type
        Classes of the family's CPDs, by their names in files.
    positive : bool
        Whether the family takes no negative numbers.
    vector : str
        For a family of many columns together, the name of the feature that they become.
    takes_states : bool
        Whether text, category and boolean columns may have the family; they become categorical.
    any_parents : bool
        Whether features with parents other than the class may have the family.
    own_smoothing : tuple of str
        Values of a Smoothing that no other family uses.
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
        """Whether the family's statistics keep the distinct values of each column."""
        return self.statistics is Samples

    @property
    def is_single(self) -> bool:
        """Whether the family needs only the summary `Singles`, which several families share."""
        return self.statistics is Singles
