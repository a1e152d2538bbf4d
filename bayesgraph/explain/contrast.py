"""Log odds of one class against another, or against all others together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesgraph.errors import DataError, quoted
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.normalise import log_total
from bayesgraph.variables import Discrete


@dataclass(frozen=True)
class Contrast:
    """A comparison of one class with another class, or with all other classes together.

    Attributes
    ----------
    target : Discrete
        The class variable.
    positive : int
        Code of the class whose log odds are computed.
    negative : int or None
        Code of the class it is compared with; None for all other classes together.
    """

    target: Discrete
    positive: int
    negative: int | None

    @classmethod
    def of(cls, target: Discrete, positive: Any = None, negative: Any = None) -> Contrast:
        """Return the contrast of the state `positive` with the state `negative`.

        For two states, the default compares the second state with the first. For more states,
        `positive` must be given, and `negative` is by default all other states together.

        Raises
        ------
        DataError
            For a target with one state, a target with more than two states without `positive`, or
            the same class given twice.
        UnknownStateError
            For a class that is not a state of the target.
        """
        n = target.cardinality
        if n < 2:
            raise DataError(
                f"Log odds compare classes; {target.name!r} has only {quoted(target.states)}."
            )
        if positive is None and n > 2:
            raise DataError(
                f"{target.name!r} has {n} classes: say with positive= whose log odds you want, "
                f"one of {quoted(target.states)}, and with negative= against which (by default all "
                "others together)."
            )
        other = None if negative is None else target.index(negative)
        if positive is not None:
            wanted = target.index(positive)
        else:
            wanted = 1 if other is None else 1 - other
        if other is None and n == 2:
            other = 1 - wanted
        if wanted == other:
            raise DataError(
                f"positive= and negative= both name {target.states[wanted]!r}; log odds compare "
                "two classes."
            )
        return cls(target, wanted, other)

    def __call__(self, log_scores: Floats) -> Floats:
        """Return log odds of shape (...) from log scores of all classes, shape (..., n_classes).

        The result is NaN if both compared alternatives are impossible.
        """
        positive = log_scores[..., self.positive]
        with np.errstate(invalid="ignore"):
            if self.negative is not None:
                return np.asarray(positive - log_scores[..., self.negative])
            others = np.delete(log_scores, self.positive, axis=-1)
            return np.asarray(positive - log_total(others))

    def shift(self, before: Floats, step: Floats) -> Floats:
        """Return the change of the log odds if `step` is added to the log scores `before`.

        Parameters
        ----------
        before, step : ndarray, shape (..., n_classes)

        Returns
        -------
        ndarray, shape (...)
            NaN where the change is undefined. For two classes it does not depend on `before`.
        """
        if self.negative is not None:
            return self(step)
        with np.errstate(invalid="ignore"):
            return np.asarray(self(before + step) - self(before))

    def __str__(self) -> str:
        states = self.target.states
        against = "the rest" if self.negative is None else repr(states[self.negative])
        return f"{self.target.name} = {states[self.positive]!r} against {against}"
