"""Structure learners: functions from a count source to a directed acyclic graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree

from bayesgraph.errors import DataError, DataTypeError, GraphError, unknown_variable
from bayesgraph.factors.algebra import Floats
from bayesgraph.graph import Arc, build_dag
from bayesgraph.learning.information import discrete_scores, gaussian_scores, mixed_scores
from bayesgraph.learning.smoothing import Smoothing
from bayesgraph.statistics import CountSource, Family, Pairs, PairsSummary
from bayesgraph.statistics.moments import safe_divide
from bayesgraph.variables import Continuous, Discrete, Name, Variable

# Scores that differ by less than this are ties: rounding must not decide on a tree.
_TIE_DECIMALS = 12


@dataclass(frozen=True)
class Structure:
    """A directed acyclic graph over variables, with what the learner thought of its arcs.

    Attributes
    ----------
    variables : tuple of Variable
        The class first, if there is one.
    arcs : tuple of (parent name, child name)
    scores : mapping from arc to float
        In nats a row.
    """

    variables: tuple[Variable, ...]
    arcs: tuple[Arc, ...]
    scores: Mapping[Arc, float] = field(default_factory=dict)

    def parents(self) -> dict[Variable, list[Variable]]:
        """Return the parents of every variable, in the order of the arcs.

        Raises
        ------
        GraphError, UnknownVariableError
            As `graph` does.
        """
        by_name = {v.name: v for v in self.variables}
        found: dict[Variable, list[Variable]] = {v: [] for v in self.variables}
        try:
            for parent, child in self.arcs:
                found[by_name[child]].append(by_name[parent])
        except (KeyError, TypeError, ValueError):
            build_dag(by_name, self.arcs)  # says what is wrong
            raise
        if len(set(self.arcs)) < len(self.arcs):
            build_dag(by_name, self.arcs)
        return found

    @property
    def graph(self) -> nx.DiGraph:
        """The graph over names."""
        return build_dag([v.name for v in self.variables], self.arcs)


class StructureLearner(Protocol):
    """A function from a count source to a structure."""

    def __call__(self, source: CountSource, smoothing: Smoothing, /) -> Structure:
        """Return the structure."""
        ...


def star(source: CountSource, smoothing: Smoothing | None = None) -> Structure:
    """Return the naive Bayes structure: the class is the only parent of every feature.

    Asks for nothing: what is counted depends on the families of the features.
    """
    target = _target(source, "star")
    features = _features(source)
    arcs = tuple((target.name, feature.name) for feature in features)
    return Structure((target, *features), arcs)


def tan(
    source: CountSource, smoothing: Smoothing | None = None, *, root: Name | None = None
) -> Structure:
    """Return the tree-augmented naive Bayes structure.

    The star plus a maximum spanning tree over the features, weighted by conditional mutual
    information given the class (Friedman, Geiger, Goldszmidt 1997). Where types mix, the tree is
    built among the discrete features first, these are contracted to one node, and the rest joins;
    every arc between the types then points to the continuous feature.

    Parameters
    ----------
    source : CountSource
    smoothing : Smoothing, optional
        Of the moments behind the scores.
    root : name, optional
        Of the tree; by default the first discrete feature, or the first one if all are continuous.

    Raises
    ------
    GraphError
        For a continuous root where there are discrete features.
    UnknownVariableError
        For a root that is not a feature.
    """
    target = _target(source, "tan")
    features = _features(source)
    return _augmented(source, smoothing, target, features, root=root, penalised=False)


def forest(
    source: CountSource, smoothing: Smoothing | None = None, *, root: Name | None = None
) -> Structure:
    """Return the forest-augmented naive Bayes structure.

    The tree of `tan` without the edges that do not pay for their parameters: an edge stays only if
    rows x score exceeds the BIC penalty, log(rows) / 2 for each parameter it adds (Schwarz 1978).

    Parameters
    ----------
    source, smoothing, root
        As for `tan`; `root` is the root of its own component.
    """
    target = _target(source, "forest")
    features = _features(source)
    return _augmented(source, smoothing, target, features, root=root, penalised=True)


def chow_liu(
    source: CountSource, smoothing: Smoothing | None = None, *, root: Name | None = None
) -> Structure:
    """Return the tree over all columns, class included, of the highest likelihood.

    Chow and Liu (1968): a maximum spanning tree over mutual information.

    Parameters
    ----------
    source, smoothing
        As for `tan`.
    root : name, optional
        By default the class if there is one, else as for `tan`.
    """
    _check_source(source, "chow_liu")
    target = source.target
    columns = _features(source) if target is None else (target, *_features(source))
    if root is None and target is not None:
        root = target.name
    return _augmented(source, smoothing, None, columns, root=root, penalised=False)


def _target(source: CountSource, learner: str) -> Discrete:
    _check_source(source, learner)
    if source.target is None:
        raise DataError(f"{learner} needs to know the class: give the count source a target.")
    return source.target


def _check_source(source: object, learner: str) -> None:
    if not hasattr(source, "pairs"):
        raise DataTypeError(
            f"{learner} takes a count source; got {type(source).__name__}. Make one with "
            'bayesgraph.count_source(table, target="...").'
        )


def _features(source: CountSource) -> tuple[Variable, ...]:
    return tuple(v for v in source.variables if v != source.target)


def _augmented(
    source: CountSource,
    smoothing: Smoothing | None,
    given: Discrete | None,
    columns: tuple[Variable, ...],
    *,
    root: Name | None,
    penalised: bool,
) -> Structure:
    """Return a tree (forest) over the columns, below `given` if that is a variable."""
    at_root = _root(columns, root)
    edges = []
    if len(columns) > 1:
        summary = source.pairs(Pairs(columns, given))
        edges = _tree_edges(source, summary, smoothing or Smoothing(), penalised=penalised)
    tree_arcs = directed(columns, edges, at_root)
    variables = columns if given is None else (given, *columns)
    star_arcs = () if given is None else tuple((given.name, v.name) for v in columns)
    scores = {(a.name, b.name): score for (a, b), score in tree_arcs.items()}
    return Structure(variables, (*star_arcs, *scores), scores)


def _root(columns: tuple[Variable, ...], name: Name | None) -> Variable | None:
    if name is None:
        return None
    names = [v.name for v in columns]
    if name not in names:
        raise unknown_variable(name, names, where="root=: the tree")
    root = columns[names.index(name)]
    if isinstance(root, Continuous) and any(isinstance(v, Discrete) for v in columns):
        raise GraphError(
            f"root={name!r} is continuous, but a discrete feature cannot have a continuous parent; "
            "choose a discrete root."
        )
    return root


def _tree_edges(
    source: CountSource, summary: PairsSummary, smoothing: Smoothing, *, penalised: bool
) -> list[tuple[Variable, Variable, float]]:
    """Return the edges of a maximum spanning tree (forest), strongest type first."""
    at = summary.at
    variance = total_variances(source, at.continuous)
    ridge = smoothing.ridge(np.array([variance[v] for v in at.continuous]))
    k = len(summary.singles.totals)
    edges: list[tuple[Variable, Variable, float]] = []
    scores, rows = discrete_scores(summary)
    cost: Floats = k * np.outer(at.cards - 1.0, at.cards - 1.0)
    for i, j in _spanning(scores, rows, cost if penalised else None):
        edges.append((at.discrete[i], at.discrete[j], float(scores[i, j])))
    if not at.continuous:
        return edges
    # Node 0 stands for all discrete features together, reached through the best of them.
    n = len(at.continuous)
    scores, rows, cost = np.zeros((n + 1, n + 1)), np.ones((n + 1, n + 1)), np.zeros((n + 1, n + 1))
    scores[1:, 1:], rows[1:, 1:] = gaussian_scores(summary, smoothing, ridge)
    cost[1:, 1:] = k
    best = np.zeros(n, dtype=np.intp)
    if at.discrete:
        gains, gain_rows = mixed_scores(summary, smoothing, ridge, source.target)
        gain_cost = np.broadcast_to((2.0 * k * (at.cards - 1))[:, None], gains.shape)
        net = _net(gains, gain_rows, gain_cost) if penalised else gains
        best = np.argmax(np.round(net, _TIE_DECIMALS), axis=0)
        column = np.arange(n)
        for table, values in ((scores, gains), (rows, gain_rows), (cost, gain_cost)):
            table[0, 1:] = table[1:, 0] = values[best, column]
    first = 0 if at.discrete else 1
    part = slice(first, None)
    chosen = _spanning(
        scores[part, part], rows[part, part], cost[part, part] if penalised else None
    )
    for i, j in chosen:
        a, b = i + first - 1, j + first - 1
        left: Variable = at.continuous[a] if a >= 0 else at.discrete[best[b]]
        edges.append((left, at.continuous[b], float(scores[a + 1, b + 1])))
    return edges


def _net(scores: Floats, rows: Floats, parameters: Floats) -> Floats:
    """Return scores less the BIC penalty of the parameters an edge adds, in nats a row."""
    return scores - 0.5 * parameters * safe_divide(np.log(np.maximum(rows, 1.0)), rows)


def _spanning(scores: Floats, rows: Floats, cost: Floats | None) -> list[tuple[int, int]]:
    """Return the edges i < j of a maximum spanning tree; with costs, of those that pay.

    Ties go to the pair that comes first. Edges are handed over by rank, from 1: the library takes
    weights near zero for absent edges.
    """
    d = len(scores)
    left, right = np.triu_indices(d, k=1)
    net = scores if cost is None else _net(scores, rows, cost)
    weight = np.round(net[left, right], _TIE_DECIMALS)
    if cost is not None:
        pays = weight > 0
        left, right, weight = left[pays], right[pays], weight[pays]
    order = np.argsort(-weight, kind="stable")
    rank: NDArray[np.float64] = np.empty(len(order))
    rank[order] = np.arange(1, len(order) + 1)
    # SciPy before 1.17.1 takes 32-bit indices only.
    ends = left.astype(np.int32), right.astype(np.int32)
    tree = minimum_spanning_tree(coo_array((rank, ends), shape=(d, d)).tocsr()).tocoo()
    found = sorted(zip(tree.data, tree.row, tree.col, strict=True))
    return [(int(min(i, j)), int(max(i, j))) for _, i, j in found]


def directed(
    columns: tuple[Variable, ...],
    edges: list[tuple[Variable, Variable, float]],
    root: Variable | None,
) -> dict[tuple[Variable, Variable], float]:
    """Direct each tree of a forest away from its root and return arcs with scores.

    The root of a component is `root` if it lies there, else its first discrete variable, else its
    first one. Arcs are listed in order of the columns of their children.
    """
    forest: nx.Graph = nx.Graph()
    forest.add_nodes_from(columns)
    forest.add_weighted_edges_from(edges, weight="score")
    parent: dict[Variable, Variable] = {}
    starts = [v for v in columns if isinstance(v, Discrete)] + list(columns)
    seen: set[Variable] = set()
    for start in starts if root is None else [root, *starts]:
        if start in seen:
            continue
        seen.add(start)
        for a, b in nx.bfs_edges(forest, start):
            parent[b] = a
            seen.add(b)
    return {(parent[v], v): forest.edges[parent[v], v]["score"] for v in columns if v in parent}


def total_variances(
    source: CountSource, variables: tuple[Continuous, ...]
) -> dict[Continuous, float]:
    """Return the variance of each column over all rows, 0 where there are none."""
    families = {v: Family((), (v,)) for v in variables}
    found = source.families(families.values()) if families else {}
    return {
        v: float(safe_divide(found[f].comoment[0, 0], found[f].counts)) for v, f in families.items()
    }
