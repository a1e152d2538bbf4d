"""Posteriors of vectors of counts: mixtures of distributions of many items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from bayesgraph.checks import random_generator, whole_number
from bayesgraph.display import Displayed, DisplayTable, more
from bayesgraph.errors import EvidenceError, unknown_variable
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.components import Components, JoinedComponents
from bayesgraph.inference.leaf_mixture import LeafMixture
from bayesgraph.typing import RandomState
from bayesgraph.variables import Count, CountVector, Name

_MAX_LINES = 10


class ItemComponents(Protocol):
    """Protocol of k distributions of the counts of n items."""

    @property
    def presence(self) -> bool:
        """Whether items are present or absent, independently, and not counted."""
        ...

    @property
    def shares(self) -> Floats:
        """Probabilities of the items, shape (k, n)."""
        ...

    def log_probability(self, counts: Any, /) -> Floats:
        """Return the log probability of the counts of one row given their sum, shape (k,)."""
        ...

    def item(self, place: int, length: int, /) -> Components:
        """Return the distributions of the count of one item among `length` items."""
        ...

    def sample(self, chosen: NDArray[np.intp], random: np.random.Generator, /) -> Any:
        """Return a row of counts from each of the chosen distributions, as a sparse matrix."""
        ...


Parts: TypeAlias = Sequence[tuple[Floats, ItemComponents]]


class ItemsMixture(Displayed, Mapping[Name, float]):
    """The exact posterior of a vector of counts: a mixture of distributions of its items.

    A mapping from item to its probability: that the next item is this one or, where items are
    present or absent, that it is present.

    Parameters
    ----------
    variable : CountVector
        The vector of n items.
    parts : sequence of (weights, ItemComponents)
        The components by network, with their weights, which sum to one over all parts.
    log_evidence : float
        Natural log of the probability (density) of the evidence.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> kind = bg.Discrete("kind", ["work", "spam"])
    >>> words = bg.CountVector("words", ["meeting", "money"])
    >>> net = bg.BayesianNetwork([
    ...     bg.TableCPD(kind, [0.5, 0.5]),
    ...     bg.MultinomialCPD(words, [[0.8, 0.2], [0.1, 0.9]], parents=[kind]),
    ... ])
    >>> found = net.query("words", {"kind": {"work": 1, "spam": 3}})
    >>> found
    Probabilities of the items of words: a mixture of 2 distributions
      money    0.725000  █████████████████
      meeting  0.275000  ███████
    >>> found.item("money", length=2).density([0, 1, 2]).round(4)
    array([0.1675, 0.215 , 0.6175])
    """

    def __init__(self, variable: CountVector, parts: Parts, log_evidence: float) -> None:
        self.variable = variable
        self.parts = tuple(parts)
        self.log_evidence = log_evidence

    @property
    def weights(self) -> Floats:
        """Weights of all components, shape (k,)."""
        return np.concatenate([weights for weights, _ in self.parts])

    @property
    def presence(self) -> bool:
        """Whether items are present or absent, and not counted."""
        return any(found.presence for _, found in self.parts)

    @property
    def probabilities(self) -> Floats:
        """Probability of each item, shape (n,)."""
        return np.asarray(sum(weights @ found.shares for weights, found in self.parts))

    def __getitem__(self, item: Name) -> float:
        return float(self.probabilities[self._place(item)])

    def __iter__(self) -> Iterator[Name]:
        return iter(self.variable.items)

    def __len__(self) -> int:
        return len(self.variable.items)

    def _place(self, item: Name) -> int:
        try:
            return self.variable.positions[item]
        except (KeyError, TypeError):
            where = f"The vector {self.variable.name!r}"
            raise unknown_variable(item, self.variable.items, where=where) from None

    def top(self, n: int = 10) -> dict[Name, float]:
        """Return the n most probable items with their probabilities, the most probable first."""
        probabilities = self.probabilities
        order = np.argsort(-probabilities, kind="stable")[: whole_number("n", "items", n, 0)]
        return {self.variable.items[i]: float(probabilities[i]) for i in order.tolist()}

    def mean(self, length: int | None = None) -> Floats:
        """Return the expected counts, shape (n,).

        Parameters
        ----------
        length : int, optional
            Sum of the counts; left out where items are present or absent.
        """
        return self.probabilities * self._length(length)

    def _length(self, length: int | None) -> int:
        if self.presence and length is None:
            return 1
        if self.presence or length is None:
            raise EvidenceError(
                f"length= is the number of items of {self.variable.name!r}, and needed where they "
                f"are counted; where they are present or absent there is none. Got {length!r}."
            )
        return whole_number("length", "items", length, 0)

    def log_probability(self, counts: Mapping[Name, float]) -> float:
        """Return the natural log of the probability of all counts, given their sum.

        Where items are present or absent, it is that of which of them are present.

        Parameters
        ----------
        counts : mapping from item to count
            Items that are left out do not occur.
        """
        for item in counts:
            self._place(item)
        row = self.variable.encode(dict.fromkeys(self.variable.items, 0) | dict(counts))
        logs = np.concatenate([found.log_probability(row) for _, found in self.parts])
        return float(scipy.special.logsumexp(logs, b=self.weights))

    def item(self, item: Name, *, length: int) -> LeafMixture:
        """Return the posterior of the count of one item among `length` items.

        Raises
        ------
        UnknownVariableError
            For an unknown item; the message suggests the nearest one.
        EvidenceError
            If items are present or absent, and not counted.
        """
        place = self._place(item)
        if self.presence:
            raise EvidenceError(
                f"The items of {self.variable.name!r} are present or absent; posterior[{item!r}] "
                "is the probability that it is present."
            )
        size = whole_number("length", "items", length, 0)
        components = tuple(found.item(place, size) for _, found in self.parts)
        joint = components[0] if len(components) == 1 else JoinedComponents(components)
        return LeafMixture((Count(item),), self.weights, joint, self.log_evidence)

    def sample(self, n: int, *, random_state: RandomState = None) -> Any:
        """Return n rows of counts as a sparse matrix, with lengths from the distributions.

        Raises
        ------
        UnsupportedModelError
            If the distributions have no lengths.
        """
        size, random = whole_number("n", "rows", n, 0), random_generator(random_state)
        weights = self.weights
        chosen = np.sort(random.choice(len(weights), size, p=weights))
        ends = np.cumsum([len(part) for part, _ in self.parts])
        at = np.searchsorted(chosen, ends)
        found = [
            components.sample(rows - (end - len(part)), random)
            for (part, components), rows, end in zip(
                self.parts, np.split(chosen, at[:-1]), ends.tolist(), strict=True
            )
            if len(rows)
        ]
        if not found:
            return scipy.sparse.csr_array((0, len(self)))
        return scipy.sparse.vstack(found, "csr")[random.permutation(size)]

    def _display(self) -> DisplayTable:
        shown = self.top(_MAX_LINES)
        what = "Presence" if self.presence else "Probabilities"
        k = len(self.weights)
        return DisplayTable(
            f"{what} of the items of {self.variable.name}"
            + (f": a mixture of {k} distributions" if k > 1 else ""),
            [(str(item), f"{p:.6f}") for item, p in shown.items()],
            bars=list(shown.values()),
            note=more(len(self), len(shown), "items"),
        )
