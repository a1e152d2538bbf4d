"""Logistic distributions: each state of each parent adds to the log odds of a discrete child."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.cpds.base import CPD
from bayesgraph.cpds.canonical import MAX_LINK_STATES, CanonicalCPD, Codes, one_hot, parts_of
from bayesgraph.cpds.description import Description, describe_numbers, state_texts
from bayesgraph.cpds.validation import checked_numbers
from bayesgraph.errors import CPDError
from bayesgraph.factors.algebra import Floats
from bayesgraph.variables import Discrete, Variable

# Sums of weights that differ by less than this share of the largest possible sum are one state.
_SAME = 1e-14


class LogisticCPD(CanonicalCPD):
    """A discrete child whose log odds are a sum of one weight for each parent.

    Given its parents, state y of the child has a probability in proportion to
    ``exp(intercept[y] + sum_i weights[i][state of parent i, y])``: logistic regression on discrete
    parents, multinomial if the child has more than two states.

    Sums that are equal share a state of the auxiliary variables of inference, so that weights of
    few different values are linear in the number of parents. Others are exponential in the number
    of those parents that are not observed.

    Parameters
    ----------
    variable : Discrete
        The child.
    intercept : float or array_like of shape (states of the child,)
        A number, for a child with two states, is the log odds of the second one.
    weights : sequence of numbers or array_like
        For each parent its term, in nats: an array of shape (states of the parent, states of the
        child); for a child with two states also the terms of its second state, of shape (states of
        the parent,), or, if the parent has two states too, the number of the second of these.
    parents : iterable of Discrete

    Raises
    ------
    CPDError
        For variables that are not discrete, wrong shapes, or numbers that are not finite.

    Examples
    --------
    >>> smoke, old = Discrete("smoke", ["no", "yes"]), Discrete("old", ["no", "yes"])
    >>> cpd = LogisticCPD(Discrete("ill", ["no", "yes"]), -3.0, [1.5, 2.0], [smoke, old])
    >>> float(cpd.to_table().values[1, 1, 1].round(4))
    0.6225
    """

    other_arrays = ("intercept", "weights")

    def __init__(
        self,
        variable: Discrete,
        intercept: ArrayLike,
        weights: Sequence[ArrayLike],
        parents: Iterable[Discrete] = (),
    ) -> None:
        self._set_family(variable, parents)
        if not hasattr(weights, "__len__") or len(weights) != len(self.parents):
            raise CPDError(
                f"{self.title}: weights takes a list with one entry for each of the "
                f"{len(self.parents)} parents, in their order; got {weights!r:.200}."
            )
        binary = variable.cardinality == 2
        start = [0.0, intercept] if binary and np.ndim(intercept) == 0 else intercept
        self.intercept = checked_numbers(
            start,  # type: ignore[arg-type]
            (variable.cardinality,),
            what=f"{self.title}: intercept",
        )
        self.weights = tuple(
            self._terms(parent, given) for parent, given in zip(self.parents, weights, strict=True)
        )

    def _terms(self, parent: Discrete, given: ArrayLike) -> Floats:
        """Return the terms of a parent, shape (its states, states of the child)."""
        what = f"{self.title}: the weights of {parent.name!r}"
        if self.variable.cardinality == 2 and np.ndim(given) < 2:
            if np.ndim(given) == 0 and parent.cardinality == 2:
                given = [0.0, given]  # type: ignore[assignment]
            numbers = checked_numbers(given, (parent.cardinality,), what=what)
            given = np.stack([np.zeros_like(numbers), numbers], axis=-1)
        return checked_numbers(given, (parent.cardinality, self.variable.cardinality), what=what)

    @property
    def n_parameters(self) -> int:
        """Number of free terms: those of the first state of each variable may be zero."""
        free = 1 + sum(parent.cardinality - 1 for parent in self.parents)
        return free * (self.variable.cardinality - 1)

    def distributions(self, codes: Sequence[Codes]) -> Floats:
        """Return the distribution of the child given states of all parents; see CanonicalCPD."""
        scores = self.intercept
        for terms, code in zip(self.weights, codes, strict=True):
            scores = scores + terms[code]
        return _softmax(scores)

    def links(self) -> list[Floats] | None:
        """Return a chain whose links are the sums so far, if few of these differ."""
        sums = self.intercept[None]
        scale = np.abs(sums).max() + sum(np.abs(terms).max() for terms in self.weights)
        found: list[Floats] = []
        for terms in self.weights[:-1]:
            wide = sums[:, None] + terms
            flat = wide.reshape(-1, wide.shape[-1])
            odds = np.round((flat - flat[:, :1]) / (_SAME * max(scale, 1.0)))
            _, first, steps = np.unique(odds, axis=0, return_index=True, return_inverse=True)
            if len(first) > MAX_LINK_STATES:
                return None
            sums = flat[first]
            found.append(one_hot(steps.reshape(wide.shape[:-1]), len(first)))
        if not self.weights:
            return None
        return [*found, _softmax(sums[:, None] + self.weights[-1])]

    def with_parents_set(self, values: Mapping[Variable, Any]) -> CPD:
        """Return the CPD given states of some parents, whose terms join the intercept; see CPD."""
        rest, known = self._split(values)
        start = self.intercept + sum(self.weights[k][values[self.parents[k]]] for k in known)
        parents = [self.parents[k] for k in rest]
        return LogisticCPD(self.variable, start, [self.weights[k] for k in rest], parents)

    def with_parent(self, parent: Variable) -> CPD:
        """Return the CPD with one more parent, of weight zero; see CPD."""
        if not isinstance(parent, Discrete):
            return super().with_parent(parent)
        none = np.zeros((parent.cardinality, self.variable.cardinality))
        parents = [*self.parents, parent]
        return LogisticCPD(self.variable, self.intercept, [*self.weights, none], parents)

    def permuted(self, variable: Discrete, order: Sequence[int]) -> CPD:
        """Return the CPD with the states of a variable in another order; see CPD."""
        places = list(order)
        if variable == self.variable:
            weights = [terms[:, places] for terms in self.weights]
            return LogisticCPD(variable, self.intercept[places], weights, self.parents)
        weights = [
            terms[places] if parent == variable else terms
            for parent, terms in zip(self.parents, self.weights, strict=True)
        ]
        return LogisticCPD(self.variable, self.intercept, weights, self.parents)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the intercept, and the weights of all parents one below the other; see CPD."""
        nothing = np.empty((0, len(self.intercept)))
        return {"intercept": self.intercept, "weights": np.concatenate([nothing, *self.weights])}

    @classmethod
    def from_arrays(
        cls, children: Sequence[Variable], parents: Sequence[Variable], arrays: Mapping[str, Any]
    ) -> LogisticCPD:
        """Return a CPD made from the arrays that `to_arrays` returned; see CPD."""
        weights = parts_of(arrays["weights"], parents)  # type: ignore[arg-type]
        return cls(children[0], arrays["intercept"], weights, parents)  # type: ignore[arg-type]

    def describe(self, max_rows: int, max_columns: int) -> Description:
        """Return a row with the terms of each state of each parent; see CPD."""
        names = state_texts(self.variable, 16, max_columns)
        rows = np.concatenate([self.intercept[None], *self.weights])
        columns = {name: rows[:, k] for k, name in enumerate(names)}
        row = Discrete("row", range(len(rows)))
        shown = describe_numbers([row], [self.variable], columns, len(rows))
        keys = [["intercept", ""]]
        keys += [[str(p.name), s] for p in self.parents for s in state_texts(p, 16)]
        lines = [[*key, *cells[1:]] for key, cells in zip(keys, shown.rows, strict=True)]
        note = f"… {len(lines) - max_rows:,} more rows" if len(lines) > max_rows else ""
        return Description(["parent", "state", *names], lines[:max_rows], None, note, keys=2)


def _softmax(scores: Floats) -> Floats:
    """Return probabilities in proportion to the exponentials along the last axis."""
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))
