"""The solver of leaves: posteriors of variables whose distributions the engine cannot multiply.

Given the configuration of its parents, a leaf is independent of the evidence if none of its
children is observed or a target. Its posterior is then a mixture of the distributions of its CPD,
weighted by the posterior of the parents, which another solver gives:

    p(x | e) = sum_u P(u | e) p(x | u).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesgraph.errors import UnsupportedModelError
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.components import Components, GaussianComponents, ProductComponents
from bayesgraph.inference.contract import Case, Joint, Pattern, Solver, Work
from bayesgraph.inference.factor_solver import leaves_of, log_mass, parent_cells
from bayesgraph.inference.items_mixture import ItemsMixture
from bayesgraph.inference.leaf_mixture import LeafMixture
from bayesgraph.inference.plan import Plan
from bayesgraph.inference.results import MixedPosterior, NumberMixture, Posterior
from bayesgraph.variables import CountVector, Discrete, Variable


class _Inner(NamedTuple):
    """The answer of the inner query: for discrete targets and parents, and other numbers.

    Attributes
    ----------
    weights : ndarray, shape (configurations,)
        Posterior probabilities of the joint configurations of discrete targets and parents.
    numbers : sequence of NumberMixture or None
        Posterior of the other numbers in each configuration; empty if no others are asked.
    log_evidence : float
    """

    weights: Floats
    numbers: Sequence[NumberMixture | None]
    log_evidence: float


class LeafJoint(Work):
    """Prepared query for the joint posterior of leaves and any other variables."""

    def _begin(self, model: Any) -> None:
        targets = self.question.targets
        wanted = [model.variables[v] for v in targets]
        self._cpds = leaves_of(model, targets, self.pattern)
        vector = next((v for v in self._cpds if isinstance(v, CountVector)), None)
        if vector is not None and len(targets) > 1:
            raise UnsupportedModelError(
                f"{vector.name!r} is a vector of counts, whose posterior is answered alone; leave "
                "the other targets out, or observe them."
            )
        self._continuous = tuple(v for v in wanted if not isinstance(v, Discrete))
        self._discrete = tuple(v for v in wanted if isinstance(v, Discrete))
        parents = dict.fromkeys(p for cpd in self._cpds.values() for p in cpd.parents)
        number = model.number
        numbered = {p: number[p.name] for p in parents}
        self._observed = {p: v for p, v in numbered.items() if v in self.pattern.observed}
        hidden = [p for p in parents if p not in self._observed and p not in self._discrete]
        # Each state of the discrete targets has a stretch of configurations of the parents.
        self._axes = (*self._discrete, *hidden)
        others = [v for v in self._continuous if v not in self._cpds]
        self.inner = Joint(tuple(number[v.name] for v in (*self._axes, *others)))

    def _run(self, case: Case, memory_limit: float | None) -> Any:
        inner = self._inner(case, memory_limit)
        if inner is None:
            return None
        cells = self._cells(case, len(inner.weights))
        if not self._discrete:
            return self._mixture(inner, cells, slice(0, len(inner.weights)))
        cards = [v.cardinality for v in self._discrete]
        size = len(inner.weights) // math.prod(cards)
        probabilities = inner.weights.reshape(*cards, -1).sum(axis=-1)
        starts = range(0, len(inner.weights), size)
        mixtures = [self._mixture(inner, cells, slice(at, at + size)) for at in starts]
        return MixedPosterior(
            Posterior(self._discrete, probabilities, inner.log_evidence), mixtures
        )

    def _inner(self, case: Case, memory_limit: float | None) -> _Inner | None:
        """Return the posterior of parents and other targets; None for impossible evidence."""
        if not self.inner.targets:
            log_evidence = log_mass(self.model, case, memory_limit)
            return None if log_evidence == -np.inf else _Inner(np.ones(1), (), log_evidence)
        found = self.model.work(self.inner, self.pattern, memory_limit).run(case, memory_limit)
        if found is None:
            return None
        if isinstance(found, Posterior):
            return _Inner(found.probabilities.reshape(-1), (), found.log_evidence)
        if isinstance(found, MixedPosterior):
            weights = found.discrete.probabilities.reshape(-1)
            return _Inner(weights, found.mixtures, found.log_evidence)
        return _Inner(np.ones(1), (found,), found.log_evidence)

    def _cells(self, case: Case, n: int) -> Mapping[Variable, NDArray[np.intp]]:
        """Return the configuration of each leaf's parents in each of n joint configurations."""
        shape = [v.cardinality for v in self._axes]
        found = np.unravel_index(np.arange(n), shape) if shape else ()
        codes = dict(zip(self._axes, found, strict=True))
        codes |= {p: np.full(n, case.hard[v]) for p, v in self._observed.items()}
        return {leaf: parent_cells(cpd, codes, n) for leaf, cpd in self._cpds.items()}

    def _mixture(
        self, inner: _Inner, cells: Mapping[Variable, NDArray[np.intp]], part: slice
    ) -> Any:
        """Return the posterior of the numbers in some configurations; None if it has no weight."""
        used = np.flatnonzero(inner.weights[part] > 0) + part.start
        if not len(used):
            return None
        weights = inner.weights[used] / inner.weights[used].sum()
        rows = used
        vector = self._continuous[0]
        if isinstance(vector, CountVector):
            items = self._cpds[vector].components(cells[vector][used])
            return ItemsMixture(vector, [(weights, items)], inner.log_evidence)
        blocks: list[tuple[tuple[int, ...], Components]] = []
        others = [mixture for i in used.tolist() for mixture in inner.numbers[i : i + 1]]
        if others:
            known = [mixture for mixture in others if mixture is not None]
            assert len(known) == len(others)  # configurations without weight are left out
            rows = np.repeat(used, [len(mixture.weights) for mixture in known])
            shares = [w * mixture.weights for w, mixture in zip(weights, known, strict=True)]
            weights = np.concatenate(shares)
            gaussians = GaussianComponents(
                np.concatenate([mixture.means for mixture in known]),
                np.concatenate([mixture.covariances for mixture in known]),
            )
            blocks.append((tuple(map(self._continuous.index, known[0].variables)), gaussians))
        for leaf, cpd in self._cpds.items():
            blocks.append(((self._continuous.index(leaf),), cpd.components(cells[leaf][rows])))
        components = blocks[0][1] if len(blocks) == 1 else ProductComponents(tuple(blocks))
        return LeafMixture(self._continuous, weights, components, inner.log_evidence)


class Leaves(Solver):
    """Solver of posteriors of leaves, by the posterior of their parents."""

    name = "leaves"
    condition = "a leaf of any family, which is independent of the evidence given its parents"
    works: ClassVar = {Joint: LeafJoint}

    def serves(self, model: Any) -> bool:
        return bool(model.form in ("product", "tempered"))

    def takes(self, model: Any, question: Any, pattern: Pattern) -> bool:
        return not pattern.rows and bool(leaves_of(model, question.targets, pattern))

    def plan(self, model: Any, question: Any, pattern: Pattern) -> Plan:
        work = LeafJoint(self, model, question, pattern)
        keep = tuple(model.variables[v] for v in question.targets)
        if not work.inner.targets:
            return Plan(keep=keep)
        inner = model.plan_of(work.inner, pattern)
        return Plan(keep=keep, parts=(inner,))
