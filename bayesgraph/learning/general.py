"""Networks learned from tables without a class: structure, then parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from bayesgraph.errors import DataError, quoted
from bayesgraph.learning.em import Iterations, expectation_maximization
from bayesgraph.learning.fit import opened, plain_source, takes_em
from bayesgraph.learning.hill_climbing import tabu, unrestricted
from bayesgraph.learning.parameters import estimate_network
from bayesgraph.learning.pc import pc
from bayesgraph.learning.smoothing import Smoothing, as_smoothing, one_of
from bayesgraph.learning.spanning import chow_liu
from bayesgraph.learning.structure import Structure, learned_by
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.statistics import RowSource
from bayesgraph.variables import Variable

Learner: TypeAlias = Callable[..., Structure]

# Learners of general structures, by the names of `method=`.
METHODS: dict[str, Learner] = {
    "hill_climb": partial(unrestricted, max_parents=None),
    "tabu": tabu,
    "pc": pc,
    "chow_liu": chow_liu,
}


@dataclass(frozen=True)
class Learning:
    """How a network is learned: see the parameters of `BayesianNetwork.learn`.

    Attributes
    ----------
    method : str or callable
    smoothing : Smoothing
    by_em : bool
        Whether parameters are estimated by expectation maximisation.
    options : mapping
        Options of the learner.

    Raises
    ------
    DataError
        For an unknown method, or an option that the method does not take.
    """

    method: str | Learner
    smoothing: Smoothing
    by_em: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not callable(self.method):
            one_of("method", self.method, METHODS)
        parameters = inspect.signature(self.learner).parameters.values()
        if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters):
            return
        known = [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
        wrong = [name for name in self.options if name not in known]
        if wrong:
            raise DataError(
                f"method={self.title} does not take {quoted(wrong)}"
                f"{_REASONS.get((self.method, wrong[0]), '')}; it takes {quoted(known)}."
            )

    @property
    def learner(self) -> Learner:
        """The function that learns the structure."""
        return self.method if callable(self.method) else METHODS[self.method]

    @property
    def title(self) -> str:
        """The method in messages."""
        if callable(self.method):
            return str(getattr(self.method, "__name__", "learner"))
        return repr(self.method)

    def structure(self, source: Any) -> Structure:
        """Return the structure that a count source leads to."""
        learner = partial(self.learner, **self.options)
        return learned_by("method", learner, source, self.smoothing)

    def network(self, structure: Structure, source: RowSource) -> BayesianNetwork:
        """Return a structure's network with parameters estimated from a source."""
        if self.by_em:
            return expectation_maximization(structure, source, self.smoothing, Iterations())
        return estimate_network(structure, source, self.smoothing)


_REASONS: dict[tuple[Any, str], str] = {
    ("chow_liu", "tiers"): " (directions in a tree follow from its root)",
    ("chow_liu", "max_parents"): " (each variable of a tree has one parent)",
    ("chow_liu", "score"): " (the tree maximises the likelihood)",
    ("pc", "max_parents"): " (max_given= limits its tests)",
    ("pc", "score"): " (alpha= is the level of its tests)",
}


def learning(
    method: str | Learner, smoothing: Any, missing: str | None, options: Mapping[str, Any]
) -> Learning:
    """Return how a network is learned; options that are None are not given."""
    given = {name: value for name, value in options.items() if value is not None}
    return Learning(method, as_smoothing(smoothing), takes_em(missing, {}), given)


def learn_network(
    table: Any,
    method: str | Learner,
    *,
    missing: str | None,
    variables: Iterable[Variable],
    categorical: Any,
    smoothing: Any,
    sample_weight: Any,
    options: Mapping[str, Any],
) -> BayesianNetwork:
    """Return a network whose structure and parameters are learned from a table.

    See :meth:`bayesgraph.BayesianNetwork.learn`.
    """
    how = learning(method, smoothing, missing, options)
    source = plain_source(*opened(table, sample_weight), variables, categorical, sample_weight)
    return how.network(how.structure(source), source)
